"""How a map of nearly 40,000 cells opens, follows the hand, is forecast and run; when asked for.

PRISTE_LARGE_MAP=1 python -m pytest -s -n 0 tests/studio/test_page_large_map.py
"""

from __future__ import annotations

import math
import os
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.studio.running_studio import RunningStudio
from tests.studio.studio_in_browser import Tab, address_of, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MEASURE = """
() => {
  const ask = window.requestAnimationFrame.bind(window);
  Object.assign(window, { drawn: [], frames: [] });
  window.requestAnimationFrame = (draw) =>
    ask((now) => {
      const begin = performance.now();
      draw(now);
      window.drawn.push(performance.now() - begin);
    });
  let last = performance.now();
  const count = (now) => {
    window.frames.push(now - last);
    last = now;
    ask(count);
  };
  ask(count);
}
"""


def told(at: Tab, what: str) -> None:
    """Print how long drawing took and how frames came since the last time."""
    drawn, frames = at.page.evaluate("[window.drawn.splice(0), window.frames.splice(0)]")
    parts = []
    for name, values in (("drawing", drawn), ("frames", frames)):
        ranked = sorted(values) or [math.nan]
        middle, high = (ranked[int(share * (len(ranked) - 1))] for share in (0.5, 0.95))
        parts.append(f"{name} {middle:.1f} ms (95 %: {high:.1f}, most: {ranked[-1]:.1f})")
    print(f"{what}: {', '.join(parts)}")


class Stopwatch:
    """Wall and processor seconds of the studio's own process since the last time."""

    def __init__(self, studio: RunningStudio) -> None:
        self._file = Path(f"/proc/{studio.process.pid}/stat")
        self._last = self._now()

    def _now(self) -> tuple[float, float]:
        fields = self._file.read_text().rpartition(")")[2].split()
        ticks = sum(int(field) for field in fields[11:13])
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK")

    def told(self, what: str) -> None:
        """Print how long something took."""
        before, self._last = self._last, self._now()
        wall, used = (now - then for now, then in zip(self._last, before, strict=True))
        print(f"{what}: {wall:.1f} s, {used:.1f} CPU s of the server")


@pytest.mark.skipif("PRISTE_LARGE_MAP" not in os.environ, reason="PRISTE_LARGE_MAP is not set.")
def test_a_large_map_follows_the_hand(chromium: Browser, tmp_path: Path) -> None:
    """Open, move, zoom, paint, draw around, forecast, run and scrub on 197 by 196 cells."""
    lines = ["time,lat,lon"]
    for hour in range(72):
        at_time = datetime(2026, 3, 3, tzinfo=UTC) + timedelta(hours=hour)
        lat, lon = (46.165, 7.235) if 8 <= at_time.hour < 18 else (46.0, 7.0)
        if at_time.day == 4 and at_time.hour in (14, 15):
            lat, lon = 46.1, 7.13
        lines.append(f"{at_time:%Y-%m-%dT%H:%M:%SZ},{lat},{lon}")
    path = tmp_path / "week.csv"
    path.write_text("\n".join(lines) + "\n")
    with ExitStack() as ending:
        studio = RunningStudio(tmp_path)
        ending.callback(studio.stop)
        at = ending.enter_context(tab(chromium, address_of(studio)))
        page, watch = at.page, Stopwatch(studio)
        at.open_file(path)
        watch.told("\nthe file, with large cells")
        at.cut("0.1")
        cells = page.evaluate("document.querySelector('#view-week details .quiet').textContent")
        watch.told(f"{cells.partition(',')[0]}, until the map is there")
        at.tab("places")
        page.evaluate(MEASURE)
        _by_hand(at)
        at.tab("secrets")
        watch.told("by hand")
        page.locator("#view-secrets .chance").first.wait_for()
        watch.told("the probability of the secret")
        at.tab("protection")
        page.locator("#glance").filter(has_text="releases").wait_for()
        watch.told("the forecast tells of its first release")
        page.locator("#view-protection .costs").first.wait_for()
        watch.told("the forecast")
        print(page.locator("#view-protection .costs").first.locator("..").inner_text())
        at.until("!document.querySelector('#view-protection .busy')")
        page.get_by_label("Which adversary?").press("End")
        page.locator("#view-protection .says.bad").first.wait_for()
        watch.told("that any prior is too much for so many cells")
        print(page.locator("#view-protection .says.bad").first.inner_text())
        page.get_by_label("Which adversary?").press("Home")
        page.wait_for_timeout(1000)
        watch.told("the slider back, and a second")
        at.tab("run")
        page.get_by_role("button", name="Run the week").click()
        for releases in (1, 10):
            at.until(
                "(document.querySelector('#view-run .busy')?.textContent.match(/^\\d+(?= of)/)?.[0]"
                f" ?? 0) >= {releases}"
            )
            watch.told(f"{releases} released")
        told(at, "while it runs")
        for number in range(40):
            page.get_by_label("Moment of the week").press(
                "ArrowRight" if number % 2 else "ArrowLeft"
            )
        page.wait_for_timeout(300)
        told(at, "scrub")
        page.get_by_role("button", name="Stop").click()
        page.locator("#view-run .says.note").wait_for()
        watch.told("stopped")
        page.get_by_role("button", name="Run again").click()
        page.locator("#view-run .busy").filter(has_text="1 of").wait_for()
        watch.told("the first release of another run")


def _by_hand(at: Tab) -> None:
    """Move, zoom, paint and draw around, and tell how frames came."""
    page = at.page
    box = page.locator("#map .map").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(points: list[tuple[float, float]]) -> None:
        page.mouse.move(*points[0])
        page.mouse.down()
        for point in points:
            page.mouse.move(*point)
        page.mouse.up()
        page.wait_for_timeout(300)

    drag([(x + 3 * k, y + 2 * k) for k in range(40)])
    told(at, "move")
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(700)
    told(at, "zoom")
    page.get_by_role("button", name="New place").click()
    drag([(x - 100 + 4 * k, y + 60 * math.sin(k / 6)) for k in range(60)])
    told(at, "paint")
    page.get_by_role("button", name="Draw around").click()
    drag([(x - 200 * math.cos(k / 12.7), y + 200 * math.sin(k / 12.7)) for k in range(80)])
    told(at, "draw around")
    assert "cells" in page.locator("#view-places li[data-row]").last.inner_text()
