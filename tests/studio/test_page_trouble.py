"""The studio in a real browser when things go wrong: words, and a page that lives."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.studio.running_studio import RunningStudio, workers_of
from tests.studio.studio_in_browser import DESK, PHONE, accessible, address_of, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_files_that_cannot_be_read_are_told_in_words(
    address: str, chromium: Browser, tmp_path: Path, week: Path
) -> None:
    """Too large, malformed, empty: each is an alert in words, and the next file opens."""
    large = tmp_path / "large.csv"
    with large.open("wb") as out:
        out.truncate(41_000_000 + 2**20)
    broken = tmp_path / "broken.gpx"
    broken.write_text("<gpx><trk><trkseg><trkpt lat='46' lon=")
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    named = tmp_path / "<img src=x onerror=alert(1)>.csv"
    named.write_text("")
    with tab(chromium, address) as at:
        told = []
        for path in (large, broken, picture, named):
            at.page.set_input_files("#file", path)
            alert = at.page.get_by_role("alert")
            alert.filter(has_not_text=told[-1] if told else "no such words").wait_for()
            told.append(alert.inner_text())
            assert "Traceback" not in told[-1]
            assert at.page.locator("#start").is_visible()
            assert at.page.locator("#start img").count() == 0
        assert "large.csv" in told[0]
        assert "MB" in told[0]
        assert len(set(told)) == 4
        at.open_file(week)


def signalled(studio: RunningStudio, number: signal.Signals) -> None:
    """Send a signal to the processes in which a studio does its work."""
    for process in workers_of(studio):
        os.kill(process, number)


def test_a_long_run_is_stopped_and_one_that_dies_is_told(
    chromium: Browser, studio: RunningStudio, week: Path
) -> None:
    """Opening, stopped and dead states are in words, heard, accessible; the page goes on."""
    with tab(chromium, address_of(studio)) as at:
        page = at.page
        at.listen()
        # While the town is being opened: held back, so that there is time to look.
        waiting: list[Any] = []
        page.route("**/town", lambda route: waiting.append(route))
        page.get_by_role("button", name="Open the town").click()
        page.locator("#start .busy").wait_for()
        accessible(at, "opening", ("dark", PHONE))
        waiting[0].continue_()
        page.unroute("**/town")
        page.wait_for_selector("#bench:not([hidden]) canvas.cells")
        at.tab("run")
        page.get_by_role("heading", name="What will be run").wait_for()
        page.get_by_role("button", name="Run the week").click()
        page.wait_for_selector("#view-run .tile b")
        signalled(studio, signal.SIGSTOP)  # so that the run does not end before the click
        page.get_by_role("button", name="Stop").click()
        signalled(studio, signal.SIGCONT)
        note = page.locator("#view-run .says.note")
        note.wait_for()
        assert note.inner_text().startswith("Stopped after")
        assert page.get_by_role("button", name="Run again").is_enabled()
        assert page.locator("#view-run .chart svg").count() == 2
        accessible(at, "a run that was stopped", ("light", PHONE))

        # The process dies during the next run, which is held back: it repeats known steps quickly.
        signalled(studio, signal.SIGSTOP)
        page.get_by_role("button", name="Run again").click()
        page.locator("#view-run .busy").wait_for()
        signalled(studio, signal.SIGKILL)
        alert = page.locator("#view-run").get_by_role("alert")
        alert.wait_for()
        assert "has died" in alert.inner_text()
        accessible(at, "a run whose process died", ("dark", DESK))
        said = at.heard()
        for words in ("Opening the town", "Your week is open", "The run begins.",
                      "The run was stopped after", "The run failed. The process"):  # fmt: skip
            assert any(words in each for each in said), (words, said)
        page.get_by_role("button", name="Run again").click()
        page.locator("#view-run .busy").wait_for()
        page.get_by_role("button", name="Stop").click()
        note.wait_for()


def test_two_tabs_do_not_mix(address: str, chromium: Browser, week: Path) -> None:
    """Each tab has its own week, places and name; what one does the other does not see."""
    with tab(chromium, address) as one, tab(chromium, address) as other:
        one.open_file(week)
        other.page.get_by_role("button", name="Open the town").click()
        other.page.wait_for_selector("#bench:not([hidden]) canvas.cells")
        assert one.page.locator("#source").inner_text() == "week.csv"
        assert "town" in other.page.locator("#source").inner_text()
        for at in (one, other):
            at.tab("places")
        count = other.page.locator("#view-places li[data-row]").count()
        one.page.get_by_role("button", name="New place").click()
        name = one.page.locator("#view-places li[data-row]").last.get_by_label("Name of the place")
        name.fill("only here")
        name.press("Tab")
        assert other.page.locator("#view-places li[data-row]").count() == count
        # A window that was folded away to nothing and comes back shows the whole map again.
        frame = "JSON.stringify(document.querySelector('#map canvas').getBoundingClientRect())"
        before = other.page.evaluate(frame)
        for height in (40, DESK["height"]):
            other.page.set_viewport_size({"width": DESK["width"], "height": height})
            other.drawn()
        assert other.page.evaluate(frame) == before
        # A reload finds the week and the place again; the other tab goes on.
        one.page.reload()
        one.page.wait_for_selector("html[data-ready]")
        assert one.page.locator("#source").inner_text() == "week.csv"
        again = one.page.locator("#view-places li[data-row]").last.get_by_label("Name of the place")
        assert again.input_value() == "only here"
        other.tab("secrets")
        other.page.locator("#view-secrets .chance").first.wait_for()
