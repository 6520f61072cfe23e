"""The studio without a mouse and without a screen: keys alone, and what is said aloud."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tests.studio.studio_in_browser import Tab, tab

from priste.policy import read_policy

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HEADINGS = """
() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
  .filter((each) => each.checkVisibility())
  .map((each) => Number(each.tagName[1]))
"""


HEADED = "document.activeElement.matches('h2') && document.activeElement.parentNode.id"
"""The step whose heading has the focus: who goes on by keys begins where it begins."""


def in_order(at: Tab, where: str) -> None:
    """Look at the headings as they are: one first one, and none that skips a level."""
    levels = at.page.evaluate(HEADINGS)
    assert levels[0] == 1, (where, levels)
    assert levels.count(1) == 1, (where, levels)
    for before, after in pairwise(levels):
        assert after <= before + 1, (where, levels)


def tab_to(at: Tab, selector: str) -> None:
    """Press Tab until the focus is there; wherever it comes through, it can be seen."""
    for _ in range(120):
        if at.page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        at.page.keyboard.press("Tab")
    raise AssertionError(f"No way with the Tab key to {selector}")


def press(at: Tab, selector: str, key: str = "Enter") -> None:
    """Go somewhere with the Tab key, and press a key there."""
    tab_to(at, selector)
    at.page.keyboard.press(key)


def test_the_whole_story_by_keys_and_by_ear(address: str, chromium: Browser, week: Path) -> None:
    """From the first page to saved files with keys alone; every turn of it is said."""
    with tab(chromium, address) as at:
        page = at.page
        at.listen()
        page.on("filechooser", lambda chooser: chooser.set_files(week))
        in_order(at, "the first page")
        outline = page.locator("body").aria_snapshot()
        for part in ("- banner", "- main", 'button "Open the town"', 'region "Your own file"'):
            assert part in outline
        # --- open a file: the dialog is the system's, and a key opens it
        press(at, "#file")
        at.until("window.said.length > 0")
        page.wait_for_selector("#bench:not([hidden]) canvas.cells")
        # Who asked for less motion gets none: neither on the map nor in the panel.
        assert page.locator("#map .leaflet-zoom-anim, #map .leaflet-fade-anim").count() == 0
        moving = "element => getComputedStyle(element).animationDuration"
        assert float(page.locator(".panel").evaluate(moving).removesuffix("s")) < 0.001
        assert page.evaluate(HEADED) == "view-week"
        in_order(at, "the week")
        outline = page.locator("body").aria_snapshot()
        for part in (
            'region "Map and time"',
            'region "Settings and results"',
            'tablist "Steps"',
            'tab "Week" [selected]',
            'tabpanel "Week"',
            'application "Map of cells. Arrow keys',
        ):
            assert part in outline, outline
        # Longer steps, chosen by an arrow; the focus stays on the choice.
        press(at, "#view-week summary")
        press(at, "#view-week [data-part=step]", "ArrowDown")
        at.until("document.querySelector('#view-week').textContent.includes('28 steps')")
        assert page.evaluate("document.activeElement.value") == "6h"

        # --- places: a new one, named and painted on the map
        page.keyboard.press("Shift+Tab")
        tab_to(at, "#view-week .next .main")
        page.keyboard.press("Enter")
        assert page.evaluate(HEADED) == "view-places"
        in_order(at, "places")
        press(at, "#view-places > .row > button")
        rows = page.locator("#view-places li[data-row]")
        page.keyboard.type("quiet place")
        page.keyboard.press("Tab")
        assert rows.last.get_by_label("Name of the place").input_value() == "quiet place"
        tab_to(at, "#map .map")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        assert "2 cells" in rows.last.inner_text()
        page.keyboard.press("Space")
        last = "document.querySelector('#view-places li[data-row]:last-child').textContent"
        at.until(f"{last}.includes('1 cell,')")
        assert "Erased. Row" in at.heard()[-1]

        # --- secrets: the text box says the same as the picture
        tab_to(at, "#tab-places")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.id") == "tab-secrets"
        in_order(at, "secrets")
        tab_to(at, "#view-secrets textarea")
        page.keyboard.press("Control+A")
        page.keyboard.type('presence("quiet place", "wed 06:00-18:00")')
        page.locator("#view-secrets .says").filter(
            has_text="You are at quiet place"
        ).first.wait_for()
        page.locator("#view-secrets .chance").first.wait_for()
        press(at, "#view-secrets .next .main")

        # --- protection: sliders say where they are in words
        assert page.evaluate(HEADED) == "view-protection"
        in_order(at, "protection")
        tab_to(at, "#view-protection input[type=range]")
        words = "document.activeElement.getAttribute('aria-valuetext')"
        assert page.evaluate(words) == "Knows the population and your home"
        page.keyboard.press("End")
        assert page.evaluate(words) == "Any prior: whatever it knows"
        page.keyboard.press("Home")
        at.until("window.said.some((each) => each.startsWith('The forecast is ready. Expect'))")
        press(at, "#view-protection .next .main")

        # --- run, scrub, and hear how it ends
        in_order(at, "before a run")
        press(at, "#view-run button.main")
        page.locator("#view-run .card.verdict").wait_for()
        in_order(at, "a run")
        tab_to(at, "#player input[type=range]")
        page.keyboard.press("ArrowLeft")
        assert "from the truth" in page.evaluate(words)
        said = at.heard()
        begun = said.index("The run begins.")
        ended = next(
            n for n, each in enumerate(said) if each.startswith("The run is over. The gua")
        )
        between = said[begun:ended]
        assert any(each.startswith("The first release is") for each in between)
        assert len(between) <= 8  # quarters, not every release

        # --- export
        press(at, "#view-run .next .main")
        assert page.evaluate(HEADED) == "view-export"
        in_order(at, "the export")
        tab_to(at, "#view-export button[aria-label='Save the policy']")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        policy = read_policy(Path(download.value.path()).read_text())
        assert "quiet place" in policy.regions
        tab_to(at, "#view-export button[aria-label='Save the released trace']")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        assert download.value.suggested_filename == "week.released.csv"
        at.until("window.said.at(-1).startsWith('Saved the released trace')")
        said = at.heard()
        for words in (
            "Opening “week.csv”",
            "Your week is open",
            "The week is laid out again: 1",
            "Painted. Row",
            "The forecast is being made.",
            "Saved the policy as",
        ):
            assert any(words in each for each in said), (words, said)
        # What has not changed is not said again: a box that is typed into letter by letter.
        assert len(said) < 60, said
        assert all(said.count(each) < 4 for each in set(said)), said
