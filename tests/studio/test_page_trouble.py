"""The studio in a real browser when things go wrong: words, and a page that lives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.studio.studio_in_browser import tab

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


def test_a_long_run_is_stopped_and_the_page_lives(address: str, chromium: Browser) -> None:
    """Stop ends a run of the town; what was released stays on the page, and it can run again."""
    with tab(chromium, address) as at:
        at.page.get_by_role("button", name="Open the town").click()
        at.page.wait_for_selector("#bench:not([hidden]) canvas.cells")
        at.tab("run")
        at.page.get_by_role("button", name="Run the week").click()
        at.page.wait_for_selector("#view-run .tile b")
        at.page.get_by_role("button", name="Stop").click()
        note = at.page.locator("#view-run .says.note")
        note.wait_for()
        assert note.inner_text().startswith("Stopped after")
        assert at.page.get_by_role("button", name="Run again").is_enabled()
        assert at.page.locator("#view-run .chart svg").count() == 2


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
        # A reload loses the week and nothing else; the other tab goes on.
        one.page.reload()
        one.page.wait_for_selector("html[data-ready]")
        assert one.page.locator("#start").is_visible()
        other.tab("secrets")
        other.page.locator("#view-secrets .chance").first.wait_for()


def test_everything_can_be_done_with_the_keyboard(
    address: str, chromium: Browser, week: Path
) -> None:
    """Paint, make a secret and run without a mouse; the focus is seen and never caught."""
    with tab(chromium, address, reduced_motion="reduce") as at:
        page = at.page
        at.open_file(week)  # the file dialog is the system's
        # Who asked for less motion gets none: neither on the map nor in the panel.
        assert page.locator("#map .leaflet-zoom-anim, #map .leaflet-fade-anim").count() == 0
        moving = "element => getComputedStyle(element).animationDuration"
        assert float(page.locator(".panel").evaluate(moving).removesuffix("s")) < 0.001

        def tab_to(selector: str) -> None:
            for _ in range(120):
                if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                    return
                page.keyboard.press("Tab")
            raise AssertionError(f"No way with the Tab key to {selector}")

        page.focus("body")
        tab_to("#tab-week")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == "tab-places"
        tab_to("#view-places .row > button:not([aria-pressed]):not(.plain)")
        page.keyboard.press("Enter")
        rows = page.locator("#view-places li[data-row]")
        page.keyboard.type("quiet place")
        page.keyboard.press("Tab")
        assert rows.last.get_by_label("Name of the place").input_value() == "quiet place"
        page.keyboard.press("Shift+Tab")
        tab_to("#map .map")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        assert "2 cells" in rows.last.inner_text()
        page.keyboard.press("Space")
        last = "document.querySelector('#view-places li[data-row]:last-child').textContent"
        at.until(f"{last}.includes('1 cell,')")
        tab_to("#tab-places")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")
        tab_to("#view-secrets .row > button:not(.plain):not(.main)")
        tab_to("#view-run, #view-secrets .next .main")
        page.keyboard.press("Enter")
        # "Next" takes the focus along.
        assert page.evaluate("document.activeElement.id") == "view-protection"
        tab_to("#view-protection input[type=range]")
        page.keyboard.press("End")
        page.keyboard.press("Home")
        tab_to("#view-protection .next .main")
        page.keyboard.press("Enter")
        tab_to("#view-run button.main")
        page.keyboard.press("Enter")
        page.wait_for_selector("#view-run .tile b")
        tab_to("#view-run .row > button:not(.main)")
        page.keyboard.press("Enter")
        page.locator("#view-run .says.note, #view-run .card.verdict").first.wait_for()
