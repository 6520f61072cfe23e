"""How a map of nearly 40,000 cells follows the hand in a real browser; measured when asked for.

PRISTE_LARGE_MAP=1 python -m pytest -s -n 0 tests/studio/test_page_large_map.py
"""

from __future__ import annotations

import math
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.studio.studio_in_browser import Tab, own_studio, tab

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


@pytest.mark.skipif("PRISTE_LARGE_MAP" not in os.environ, reason="PRISTE_LARGE_MAP is not set.")
def test_a_large_map_follows_the_hand(chromium: Browser, tmp_path: Path) -> None:
    """Move, zoom, paint and draw around on a map of 197 by 196 cells."""
    lines = ["time,lat,lon"]
    for hour in range(72):
        at_time = datetime(2026, 3, 3, tzinfo=UTC) + timedelta(hours=hour)
        lat, lon = (46.165, 7.235) if 8 <= at_time.hour < 18 else (46.0, 7.0)
        lines.append(f"{at_time:%Y-%m-%dT%H:%M:%SZ},{lat},{lon}")
    path = tmp_path / "week.csv"
    path.write_text("\n".join(lines) + "\n")
    with own_studio() as address, tab(chromium, address) as at:
        page = at.page
        at.open_file(path)
        begin = time.process_time()
        page.get_by_label("Size of a cell").select_option("0.1")
        at.until(
            "!document.querySelector('#view-week .busy') && "
            "document.querySelector('#view-week select').value === '0.1'"
        )
        cells = page.evaluate("document.querySelector('#view-week .quiet.small').textContent")
        print(f"\n{cells.partition(',')[0]}, opened in {time.process_time() - begin:.1f} CPU s")
        at.tab("places")
        page.evaluate(MEASURE)
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
