"""Every state of the page in light and dark, on a desk and a phone; made only when asked for.

PRISTE_STATES=FOLDER python -m pytest -n 0 tests/studio/test_page_states.py

Writes one picture per state and look, for people to look at. With PRISTE_STATES_AXE=1 axe-core
looks at each as well, which takes minutes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.live.one_person import one_person
from tests.live.running import serving
from tests.live.small_town import fix_of
from tests.studio.running_studio import RunningStudio, workers_of
from tests.studio.studio_in_browser import (
    DESK,
    PHONE,
    Tab,
    address_of,
    complaints_of_axe,
    tab,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = os.environ.get("PRISTE_STATES")
WITH_AXE = "PRISTE_STATES_AXE" in os.environ
LOOKS = [(scheme, size) for size in (DESK, PHONE) for scheme in ("light", "dark")]

pytestmark = pytest.mark.skipif(FOLDER is None, reason="PRISTE_STATES names no folder.")


class Album:
    """Pictures of one tab, and what is wrong with them that a program can tell."""

    def __init__(self, at: Tab, folder: Path) -> None:
        self.at = at
        self._folder = folder
        self.complaints: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)

    def take(self, state: str, *, top: str | None = None) -> None:
        """Picture a state in all looks; ``top`` is what the panel is scrolled to."""
        page = self.at.page
        for scheme, size in LOOKS:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size(size)  # type: ignore[arg-type]
            self.at.drawn()
            if top is not None:
                page.locator(top).first.evaluate("each => each.scrollIntoView({block: 'start'})")
            look = f"{scheme}-{size['width']}"
            page.screenshot(
                path=self._folder / f"{state}-{look}.png", full_page=size is PHONE and top is None
            )
            wide = page.evaluate("document.documentElement.scrollWidth")
            if wide > size["width"]:
                self.complaints.append(f"{state}, {look}: sticks out to {wide} px")
            if WITH_AXE and (found := complaints_of_axe(page)):
                self.complaints.append(f"{state}, {look}: {found}")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(DESK)  # type: ignore[arg-type]


def held(at: Tab, pattern: str) -> list[object]:
    """Hold back requests to addresses that match; returns the list that they gather in."""
    waiting: list[object] = []
    at.page.route(pattern, lambda route: waiting.append(route))
    return waiting


def let_go(at: Tab, pattern: str, waiting: list[object]) -> None:
    """Let requests through that were held back, and all later ones."""
    for route in waiting:
        route.continue_()  # type: ignore[attr-defined]
    at.page.unroute(pattern)


@pytest.fixture
def album(studio: RunningStudio, chromium: Browser) -> Iterator[Album]:
    """An album of a tab of its own."""
    assert FOLDER is not None
    with tab(chromium, address_of(studio)) as at:
        album = Album(at, Path(FOLDER))
        yield album
        assert album.complaints == []


def cells_of(at: Tab, kilometres: str) -> None:
    """Cut the map into cells of a size."""
    at.tab("week")
    at.cut(kilometres)


def test_opening(album: Album, week: Path, tmp_path: Path) -> None:
    """From the empty page to a week on the map, and what cannot be opened."""
    at, page = album.at, album.at.page
    album.take("01-empty")
    large = tmp_path / "large.csv"
    with large.open("wb") as out:
        out.truncate(41_000_000 + 2**20)
    page.set_input_files("#file", large)
    page.get_by_role("alert").wait_for()
    album.take("02-too-large")
    broken = tmp_path / "broken.gpx"
    broken.write_text("<gpx><trk><trkseg><trkpt lat='46' lon=")
    page.set_input_files("#file", broken)
    page.get_by_role("alert").filter(has_not_text="MB").wait_for()
    album.take("03-malformed")
    waiting = held(at, "**/town")
    page.get_by_role("button", name="Open the town").click()
    page.locator("#start .busy").wait_for()
    album.take("04-loading")
    let_go(at, "**/town", waiting)
    page.wait_for_selector("#bench:not([hidden]) canvas.cells")
    album.take("05-town")
    page.get_by_role("button", name="Open another file").click()
    at.open_file(week)
    album.take("06-file")
    waiting = held(at, "**/ground")
    at.days_map_and_steps()
    page.get_by_label("Size of a cell").select_option("2")
    page.locator("#view-week .busy").wait_for()
    # What was chosen stays in sight meanwhile.
    assert page.get_by_label("Size of a cell").input_value() == "2"
    album.take("07-cutting")
    let_go(at, "**/ground", waiting)
    at.until("!document.querySelector('#view-week .busy')")


def test_places(album: Album, week: Path) -> None:
    """Suggested, made and painted."""
    at, page = album.at, album.at.page
    at.open_file(week)
    at.tab("places")
    album.take("08-places")
    page.get_by_role("button", name="New place").click()
    album.take("09-new-place")
    box = page.locator("#map .map").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    album.take("10-painted")


def test_secrets(album: Album, week: Path) -> None:
    """Each kind of event as picture and text, and one that cannot be read."""
    at, page = album.at, album.at.page
    at.open_file(week)
    cells_of(at, "2")
    at.tab("secrets")
    page.locator("#view-secrets .chance").first.wait_for()
    album.take("11-secrets")
    text = page.locator("#view-secrets textarea").first
    kinds = {
        "then": 'presence(home, "wed 08:00-10:00") and presence(place2, "wed 14:00-16:00")',
        "often": 'at_least(3, home, "tue 00:00-12:00", "wed 12:00-24:00")',
        "free": 'presence(place2, "wed 14:00-16:00") and not at(home, "thu 08:00")',
        "wrong": "presence(nowhere, 1..2)",
    }
    for name, formula in kinds.items():
        text.fill(formula)
        page.wait_for_timeout(1500)
        album.take(f"12-secret-{name}")
    text.fill('presence(place2, "14:00-16:00")')
    page.wait_for_timeout(300)
    page.get_by_label("How often").first.select_option("day")
    page.wait_for_timeout(1200)
    album.take("13-secret-recurring")
    page.get_by_label("How often").first.select_option("")
    text.fill('presence(place2, "wed 14:00-16:00")')
    page.locator("#view-secrets .chance").first.wait_for()


def test_protection(album: Album, week: Path) -> None:
    """The forecast as it is made and moved; the expert's numbers."""
    at, page = album.at, album.at.page
    at.open_file(week)
    waiting = held(at, "**/forecasts")
    at.tab("protection")
    page.locator("#view-protection .busy").first.wait_for()
    album.take("14-forecasting")
    let_go(at, "**/forecasts", waiting)
    page.locator("#view-protection .costs").first.wait_for()
    page.wait_for_selector("#view-protection .busy", state="detached")
    album.take("15-forecast")
    assert page.locator("#view-protection .glance").inner_text().startswith("It will cost about")
    album.take("16-forecast-costs", top="#view-protection .list .costs")
    waiting = held(at, "**/forecasts")
    page.get_by_label("Which adversary?").press("End")
    page.wait_for_selector("#view-protection .computing")
    album.take("17-forecast-moving")
    let_go(at, "**/forecasts", waiting)
    page.get_by_text("A cap on how sure").click()
    page.get_by_label("How sure may the adversary get?").press("Home")
    page.wait_for_selector("#view-protection .computing", state="detached")
    album.take("18-cap")
    page.get_by_label("Which adversary?").press("Home")
    page.get_by_text("The expert’s numbers").click()
    page.get_by_text("The whole guarantee in words").click()
    page.wait_for_selector("#view-protection .computing", state="detached")
    page.get_by_label("Seed").fill("7")
    page.get_by_label("Seed").press("Tab")
    album.take("19-expert", top="#view-protection details")
    page.get_by_text("Nobody learns either way").click()


def test_runs(album: Album, week: Path) -> None:
    """Before, at the beginning, over; scrubbed; through other eyes."""
    at, page = album.at, album.at.page
    at.open_file(week)
    cells_of(at, "1")
    at.tab("run")
    album.take("20-run-before")
    waiting = held(at, "**/runs")
    page.get_by_role("button", name="Run the week").click()
    album.take("21-run-queued")
    let_go(at, "**/runs", waiting)
    page.locator("#view-run .card.verdict").wait_for()
    album.take("22-run-done")
    album.take("23-run-charts", top="#view-run .chart")
    album.take("24-run-strip", top="#view-run .next")
    for _ in range(14):
        page.get_by_label("Moment of the week").press("ArrowLeft")
    album.take("25-scrubbed", top="#view-run .chart")
    page.get_by_label("Read the releases as").select_option("uniform")
    at.until("!document.querySelector('#view-run .busy')")
    album.take("26-uniform", top="#view-run .chart")
    page.get_by_label("Read the releases as").select_option("painted")
    page.wait_for_timeout(300)
    album.take("27-prior-to-paint")
    page.locator("#map .map").focus()
    page.keyboard.press("ArrowRight")
    with page.expect_response(lambda answer: answer.url.endswith("/prior")):
        page.keyboard.press("Space")
    page.wait_for_timeout(300)
    album.take("28-prior-painted", top="#view-run .chart")
    page.get_by_label("Read the releases as").select_option("worst")


def test_runs_that_end_early(album: Album, week: Path, studio: RunningStudio) -> None:
    """A run that is stopped, and one whose process dies."""
    at, page = album.at, album.at.page
    at.open_file(week)
    cells_of(at, "0.1")
    at.tab("run")
    page.get_by_role("button", name="Run the week").click()
    page.wait_for_selector("#view-run .tile b")
    album.take("29-running")
    page.get_by_role("button", name="Stop").click()
    page.locator("#view-run .says.note:not(.check-note)").wait_for()
    album.take("30-stopped")
    page.get_by_role("button", name="Run again").click()
    page.wait_for_selector("#view-run .tile b")
    for number in workers_of(studio):
        os.kill(number, signal.SIGKILL)
    page.locator("#view-run .says.bad").wait_for()
    album.take("31-crashed")


def test_comparing_and_exporting(album: Album, week: Path) -> None:
    """Nothing kept, one kept, both; before and after saving."""
    at, page = album.at, album.at.page
    at.open_file(week)
    cells_of(at, "1")
    at.tab("export")
    album.take("32-export-before")
    at.tab("run")
    page.get_by_role("button", name="Run the week").click()
    page.locator("#view-run .card.verdict").wait_for()
    at.tab("compare")
    album.take("33-compare-empty")
    page.get_by_role("button", name="Keep the setting at hand as A").click()
    at.tab("protection")
    page.get_by_label("How sure may the adversary get?").press("ArrowRight")
    page.get_by_label("How sure may the adversary get?").press("ArrowRight")
    at.tab("compare")
    page.wait_for_timeout(500)
    album.take("34-compare-half")
    at.tab("run")
    album.take("35-run-changed")
    page.get_by_role("button", name="Run again").click()
    at.until("document.querySelector('#view-run .card.verdict') === null")
    page.locator("#view-run .card.verdict").wait_for()
    at.tab("compare")
    page.locator("#view-compare .chart").first.wait_for()
    page.wait_for_timeout(300)
    album.take("36-compare")
    album.take("37-compare-charts", top="#view-compare .chart")
    at.tab("export")
    album.take("38-export")
    with page.expect_download():
        page.get_by_role("button", name="Save the policy", exact=True).click()
    page.wait_for_timeout(200)
    album.take("39-exported")


def test_watching(album: Album, tmp_path: Path) -> None:
    """A running service: asked for, refused, connected, with points, gone."""
    page = album.at.page
    page.get_by_role("button", name="Watch a running stream").click()
    album.take("41-live-asked")
    form = page.locator("#panel-live")
    form.get_by_label("Address").fill("http://127.0.0.1:9")
    form.get_by_label("Person").fill("ada")
    form.get_by_role("button", name="Watch", exact=True).click()
    form.get_by_text("does not answer").wait_for()
    album.take("42-live-nobody")
    form.get_by_role("button", name="Stop watching").click()
    with serving(one_person(tmp_path, token="a token of one person")) as service:
        form.get_by_label("Address").fill(service.url)
        form.get_by_label("Token").fill("a wrong one")
        form.get_by_role("button", name="Watch", exact=True).click()
        form.locator(".says.bad").wait_for()
        album.take("43-live-refused")
        form.get_by_label("Token").fill("a token of one person")
        form.get_by_role("button", name="Watch", exact=True).click()
        form.get_by_text("Connected.").wait_for()
        album.take("44-live-connected")
        for step in range(3):
            service.do(service.person.take(fix_of(step)))
        form.get_by_text("shown; the latest").wait_for()
        page.wait_for_selector("canvas.cells")
        album.take("45-live-points")
    page.wait_for_timeout(3000)
    album.take("46-live-lost")


def test_an_address_without_its_key(studio: RunningStudio, chromium: Browser) -> None:
    """What somebody sees who opens the address without what follows the #."""
    assert FOLDER is not None
    with tab(chromium, f"http://127.0.0.1:{studio.port}/#") as at:
        Album(at, Path(FOLDER)).take("47-no-key")
