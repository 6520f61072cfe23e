"""The studio in a real browser: what is painted is guarded, and nothing that was done is lost."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from tests.studio.studio_in_browser import Tab, accessible, tab

from priste.events import Secret
from priste.policy import read_policy
from priste.results import length, odds, percent

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def exported_policy(at: Tab) -> str:
    """Save the policy; returns its text."""
    at.tab("export")
    with at.page.expect_download() as download:
        at.page.get_by_role("button", name="Save the policy", exact=True).click()
    return Path(download.value.path()).read_text()


def test_a_painted_place_is_guarded_in_the_exported_policy(
    address: str, chromium: Browser, week: Path
) -> None:
    """Painting makes a secret; before a run places that nothing guards and examples are told."""
    with tab(chromium, address) as at:
        page = at.page
        at.open_file(week)
        at.tab("run")
        example = page.locator("#view-run .says.note").filter(has_text="example of the draft")
        example.wait_for()
        at.tab("places")
        rows = page.locator("#view-places li[data-row]")
        before = rows.count()
        page.get_by_role("button", name="New place").click()
        box = page.locator("#map .map").bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        at.until(f"document.querySelectorAll('#view-places li[data-row]').length === {before + 1}")
        assert "1 cell" in rows.last.inner_text()
        name = rows.last.get_by_label("Name of the place").input_value()
        at.tab("secrets")
        page.locator("#view-secrets .chance").last.wait_for()
        policy = read_policy(exported_policy(at))
        guarded = [each for each in policy.events.values() if each.name == f"at {name}"]
        assert guarded
        cells = set(policy.regions[name].cells)
        # Every step of every week that the event speaks of is about the painted cells.
        spoken = set()
        for each in guarded:
            for layer in each.event.automaton().layers:
                spoken.add(layer.step)
                assert layer.classes == (frozenset(cells),)
        assert spoken == set(range(policy.steps))
        # A secret that is taken away leaves a place that nothing guards: it is told before a run.
        at.tab("secrets")
        card = page.get_by_label(f"Secret: at {name}", exact=True)
        card.get_by_role("button", name="Remove", exact=True).first.click()
        at.tab("run")
        told = page.locator("#view-run .says.note").filter(has_text=f"“{name}” is painted")
        told.get_by_role("button", name="Guard it").click()
        told.wait_for(state="detached")
        example.get_by_role("button", name="Remove it").click()
        example.wait_for(state="detached")
        found = read_policy(exported_policy(at))
        assert {each.name for each in found.events.values()} == {f"at {name}"}


def test_several_secrets_are_guarded_together(address: str, chromium: Browser, week: Path) -> None:
    """Which of two places is one secret with four answers: shown, run, kept and exported."""
    with tab(chromium, address) as at:
        page = at.page
        at.open_file(week)
        at.cut("2")
        at.tab("secrets")
        page.get_by_role("button", name="Guard several together").click()
        card = page.locator("section[aria-label^='Guarded together']")
        # The one step of the afternoon holds one place only.
        card.get_by_text("No two of these 3 answers").wait_for()
        members = [each.inner_text() for each in card.locator("label:has(:checked)").all()]
        names = [each for each in members if each not in ("Every week", "On dates")]
        assert len(names) == 2
        card.get_by_label("Name").fill("where I was")
        card.get_by_label("Name").press("Tab")
        # The times of both are chosen at once; with another day both can happen.
        card.get_by_text("Add a time by its numbers").click()
        card.get_by_label("Day", exact=True).select_option("thu")
        card.get_by_role("button", name="Add this time").click()
        at.until(
            "[...document.querySelectorAll('#view-secrets textarea')]"
            ".every((each) => each.value.includes('thu 14:00-16:00'))"
        )
        card.get_by_text("No two of these 4 answers").wait_for()
        card.locator(".chance").wait_for()
        accessible(at, "guarded together")
        at.tab("run")
        page.get_by_role("button", name="Run the week").click()
        page.locator("#view-run .card.verdict").wait_for()
        page.get_by_text("How sure the adversary is that any of them happened").wait_for()
        policy = read_policy(exported_policy(at))
        (guarded,) = {each.name for each in policy.events.values()}
        assert guarded == "where I was"
        for each in policy.events.values():
            assert isinstance(each.event, Secret)
            assert list(each.event.events) == names
            assert len(each.event.answers) == 4
        page.reload()
        page.wait_for_selector("html[data-ready]")
        at.tab("secrets")
        card.get_by_text("No two of these 4 answers").wait_for()


def test_hours_that_the_draft_has_read_are_told_and_left_out(
    address: str, chromium: Browser, week: Path
) -> None:
    """A painted place whose hours the draft read is told of; another draft leaves them out."""
    with tab(chromium, address) as at:
        page = at.page
        at.open_file(week)
        at.tab("places")
        page.get_by_role("button", name="New place").click()
        page.keyboard.type("choir")
        page.keyboard.press("Tab")
        page.locator("#map .map").focus()
        page.keyboard.press("Space")
        rows = page.locator("#view-places li[data-row]")
        at.tab("run")
        told = page.locator("#view-run .says.note").filter(has_text="were read when this map")
        told.get_by_text("Choose fewer hours").wait_for()
        at.tab("places")
        rows.last.get_by_role("button", name="Nights").click()
        at.tab("run")
        told.get_by_role("button", name="Draft again without them").click()
        told.wait_for(state="detached")
        at.until("!document.querySelector('#view-week .busy')")
        policy = read_policy(exported_policy(at))
        assert policy.document.drafted is not None
        assert policy.document.drafted.without == ["daily 22:00-06:00"]
        assert {each.name for each in policy.events.values()} == {"at choir"}
        assert policy.regions["choir"].cells


def test_a_mark_does_not_take_the_stroke_of_the_brush(address: str, chromium: Browser) -> None:
    """Where a place is suggested the brush paints the cell; pressed with no brush, it is taken."""
    with tab(chromium, address) as at:
        page = at.page
        page.get_by_role("button", name="Open the town").click()
        page.wait_for_selector("#bench:not([hidden]) canvas.cells")
        at.tab("places")
        rows = page.locator("#view-places li[data-row]")
        before, marks = rows.count(), page.locator("#map .place-mark").count()
        page.get_by_role("button", name="New place").click()
        box = page.locator("#map .place-mark").first.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + 15, box["y"] + 15)
        at.until(
            "document.querySelector('#view-places li[data-row]:last-child')"
            ".textContent.includes('1 cell')"
        )
        assert rows.count() == before + 1
        page.get_by_role("button", name="Move", exact=True).click()
        left = page.locator("#map .place-mark").count()
        page.locator("#map .place-mark").last.click()
        at.until(f"document.querySelectorAll('#map .place-mark').length === {left - 1}")
        assert rows.count() == before + 2 <= before + marks


def test_reload_and_back_lose_nothing(address: str, chromium: Browser, week: Path) -> None:
    """A place, a guarantee and a run are there after a reload; Back goes a step back."""
    with tab(chromium, address) as at:
        page = at.page
        at.open_file(week)
        at.cut("2")
        at.tab("places")
        page.get_by_role("button", name="New place").click()
        page.keyboard.type("studio flat")
        page.keyboard.press("Tab")
        page.locator("#map .map").focus()
        page.keyboard.press("Space")
        at.tab("secrets")
        page.locator("#view-secrets .chance").last.wait_for()
        at.tab("protection")
        page.get_by_label("How sure may the adversary get?").press("Home")
        at.tab("run")
        page.get_by_role("button", name="Run the week").click()
        page.locator("#view-run .card.verdict").wait_for()
        moment = page.locator("#player .moment").inner_text()
        dialogs: list[str] = []
        page.on("dialog", lambda each: (dialogs.append(each.type), each.accept()))
        with page.expect_response(lambda each: each.url.endswith("/work")):
            at.tab("compare")
        page.go_back()
        at.until("document.querySelector('#tab-run').ariaSelected === 'true'")
        with page.expect_response(lambda each: each.url.endswith("/work")):
            page.wait_for_timeout(500)
        page.reload()
        page.wait_for_selector("html[data-ready]")
        page.locator("#view-run .card.verdict").wait_for()
        assert dialogs == ["beforeunload"]
        at.until(f"document.querySelector('#player .moment').textContent === {json.dumps(moment)}")
        at.tab("protection")
        slider = page.get_by_label("How sure may the adversary get?")
        assert slider.input_value() == "0"
        assert "studio flat" in page.locator("#view-places").inner_html()
        # From the first step Back goes to the first page, which offers to go on.
        for _ in range(12):
            page.go_back()
            if page.locator("#start").is_visible():
                break
        page.get_by_role("button", name="Continue").click()
        assert page.locator("#bench").is_visible()
        # What is exported can be left without a word.
        exported_policy(at)
        page.reload()
        page.wait_for_selector("html[data-ready]")
        assert dialogs == ["beforeunload"]


def test_page_and_server_say_numbers_alike(address: str, chromium: Browser) -> None:
    """Lengths, probabilities and odds have one form, whoever composes the sentence."""
    metres = [0.0, 0.4, 7.5, 12.5, 99.4, 99.6, 104.9, 115.0, 994.9, 995.1, 996.0, 1049.0, 1843.0,
              9949.0, 9951.0, 20_000.0, 1_234_567.0]  # fmt: skip
    shares = [0.0, 1e-9, 0.001, 0.0123, 0.5, 0.6666, 0.999, 0.99999, 1.0]
    leakages = [0.0, 0.1, 0.5, 1.0, 2.3, 2.31, 3.0, 5.0, 9.9, 13.3, 30.0]
    wanted = [[length(each) for each in metres], [percent(each) for each in shares],
              [odds(each) for each in (*leakages, math.inf)]]  # fmt: skip
    with tab(chromium, address) as at:
        said = at.page.evaluate(
            """async ([metres, shares, leakages]) => {
              const words = await import("/page/modules/words.js");
              return [
                metres.map(words.metres),
                shares.map(words.percent),
                [...leakages, Infinity].map(words.odds),
              ];
            }""",
            [metres, shares, leakages],
        )
        assert said == wanted
