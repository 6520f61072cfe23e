"""The studio in a real browser: the whole story, from the first page to the exported files."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tests.live.one_person import one_person
from tests.live.running import serving
from tests.live.small_town import fix_of
from tests.studio.studio_in_browser import (
    DESK,
    PHONE,
    Tab,
    accessible,
    tab,
)
from typer.testing import CliRunner

from priste.cli.application import app
from priste.policy import read_policy

if TYPE_CHECKING:
    from playwright.sync_api import Browser


RECENT = 6
"""So many releases are drawn on the map: twelve hours of them."""


def saved(at: Tab, name: str, file: str) -> bytes:
    """Press one of the buttons of the last step; returns what was downloaded as this file."""
    with at.page.expect_download() as download:
        at.page.get_by_role("button", name=f"Save {name}", exact=True).click()
    assert download.value.suggested_filename == file
    return Path(download.value.path()).read_bytes()


def table(at: Tab) -> list[list[str]]:
    """Return the run's numbers as the page's table has them, step by step."""
    rows = at.page.locator("#view-run .scroll[aria-label^=Numbers] tbody tr")
    rows.nth(35).wait_for()
    return [row.split("\t") for row in rows.all_inner_texts()]


def trail(cells: list[str]) -> tuple[object, ...]:
    """Return what a map draws of releases: where they are, where they were, and ways between."""
    recent = cells[-RECENT:]
    middle = len(recent) // 2
    ways = [
        {frozenset(way) for way in pairwise(part) if "none" not in way and len(set(way)) == 2}
        for part in (recent[: middle + 1], recent[middle:])
    ]
    return cells[-1], set(recent), *ways


def both_maps(at: Tab) -> list[str]:
    """Return what is drawn on the map of A and on that of B at the moment shown."""
    drawn = "document.querySelector(`${id} canvas.moving`).toDataURL()"
    found: list[str] = at.page.evaluate(f"['#map-kept', '#map'].map((id) => {drawn})")
    return found


def test_the_whole_story(address: str, chromium: Browser, week: Path, tmp_path: Path) -> None:
    """Drop a file, paint, say what is secret in picture and text, protect, run, scrub, export."""
    with tab(chromium, address) as at:
        page = at.page
        accessible(at, "the first page")
        at.drop_file(week)
        # The token is not left in the address bar, nor sent in any address.
        assert page.url == f"{at.origin}/"
        token = address.split("token=")[1]
        assert not [url for url in at.requests if token in url and "#" not in url]
        at.cut("2")
        accessible(at, "the week")

        # --- places: paint with the mouse, take a suggestion, rename
        at.tab("places")
        before = page.locator("#view-places li[data-row]").count()
        page.get_by_role("button", name="New place").click()
        box = page.locator("#map .map").bounding_box()
        assert box is not None
        middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + 30, middle[1] + 10, steps=4)
        page.mouse.up()
        rows = page.locator("#view-places li[data-row]")
        assert rows.count() == before + 1
        assert "cell" in rows.last.inner_text()
        assert "no cells" not in rows.last.inner_text()
        name = rows.last.get_by_label("Name of the place")
        name.fill("clinic <b>")
        name.press("Tab")
        # What is painted is guarded, and its times are chosen beside it.
        assert "secret" in rows.last.inner_text()
        rows.last.get_by_role("button", name="Working hours").click()
        rows.last.get_by_text("Monday to Friday, 08:00 to 18:00").wait_for()
        accessible(at, "places")

        # --- secrets: picture to text, text to picture, in words, with its probability
        at.tab("secrets")
        for _ in range(page.locator("#view-secrets section.card").count()):
            page.locator("#view-secrets section.card").first.get_by_role(
                "button", name="Remove", exact=True
            ).first.click()
        page.get_by_role("button", name="New secret").click()
        card = page.locator("#view-secrets section.card")
        text = card.get_by_label("As text")
        card.get_by_label("Where").select_option("clinic <b>")
        at.until("document.querySelector('#view-secrets textarea').value.includes('clinic <b>')")
        card.get_by_text("On dates").click()
        assert card.locator(".day-chosen").count() == 7  # every day, all day
        text.fill('presence("clinic <b>", "wed 14:00-16:00")')
        at.until("document.querySelectorAll('#view-secrets .day-chosen').length === 1")
        assert "14:00" in card.locator(".stretches").inner_text()
        card.locator("svg.hours").scroll_into_view_if_needed()
        picture = card.locator("svg.hours").bounding_box()
        assert picture is not None
        # Drag over hours of Thursday: the text follows the picture.
        page.mouse.move(
            picture["x"] + 0.5 * picture["width"], picture["y"] + 0.45 * picture["height"]
        )
        page.mouse.down()
        page.mouse.move(
            picture["x"] + 0.6 * picture["width"], picture["y"] + 0.45 * picture["height"]
        )
        page.mouse.up()
        at.until("document.querySelector('#view-secrets textarea').value.includes('\"thu ')")
        text.fill("presence(nowhere, 1..2)")
        card.locator(".says.bad").wait_for()
        assert "nowhere" in card.locator(".says.bad").inner_text()
        text.fill('presence("clinic <b>", "wed 14:00-16:00")')
        card.locator(".chance").wait_for()
        assert "%" in card.locator(".chance").inner_text()
        assert "clinic <b>" in card.locator(".says:not(.bad)").inner_text()
        accessible(at, "secrets")

        # --- protection: the forecast moves with the slider
        at.tab("protection")
        page.locator("#view-protection .costs").first.wait_for()
        page.get_by_label("Which adversary?").focus()
        page.keyboard.press("End")
        page.wait_for_selector("#view-protection .computing")
        assert "Any prior" in page.locator("#view-protection output").first.inner_text()
        page.get_by_label("Which adversary?").press("Home")
        page.wait_for_selector("#view-protection .computing", state="detached")
        # A weaker guarantee costs less, on the same days and with the same random numbers.
        page.wait_for_selector("#view-protection .busy", state="detached")
        for _ in range(3):
            page.get_by_label("How sure may the adversary get?").press("ArrowRight")
        page.get_by_text("less than the setting before, on the same days").wait_for()
        for _ in range(3):
            page.get_by_label("How sure may the adversary get?").press("ArrowLeft")
        page.get_by_text("The expert’s numbers").click()
        assert page.get_by_label("Seed").input_value() == ""  # the system's randomness, unless told
        page.get_by_label("Seed").fill("7")
        page.get_by_label("Seed").press("Tab")
        accessible(at, "protection", ("light", PHONE), ("dark", DESK))

        # --- run: what is shown is what is exported
        at.tab("run")
        page.get_by_role("button", name="Run the week").click()
        page.locator("#view-run .card.verdict").wait_for()
        said = page.locator("#view-run .card.verdict h3").inner_text()
        assert said == "The guarantee was kept, of this stream and under these models."
        assert page.locator("#view-run .chart svg").count() == 2
        page.locator("#view-run").get_by_text("As a table").first.click()
        shown = table(at)
        assert len(shown) == 49
        accessible(at, "a run")

        # Scrub back, play, pause.
        page.get_by_role("button", name="Back to the beginning").click()
        assert page.locator(".moment").inner_text() == shown[0][0]
        page.get_by_role("button", name="Play").click()
        first = json.dumps(shown[0][0])
        at.until(f"document.querySelector('.moment').textContent !== {first}")
        page.get_by_role("button", name="Pause").click()

        # Another pair of eyes: uniform, then painted on the map with the keyboard.
        page.get_by_label("Read the releases as").select_option("uniform")
        at.until("!document.querySelector('#view-run .busy')")
        page.get_by_label("Read the releases as").select_option("painted")
        page.locator("#map .map").focus()
        page.keyboard.press("ArrowRight")
        with page.expect_response(lambda answer: answer.url.endswith("/prior")) as painted:
            page.keyboard.press("Space")
        assert painted.value.ok

        # --- compare: keep this as A, change the guarantee, see both
        at.tab("compare")
        page.get_by_role("button", name="Keep the setting at hand as A").click()
        at.tab("protection")
        page.get_by_label("How sure may the adversary get?").press("Home")
        at.tab("run")
        page.get_by_role("button", name="Run again").click()
        at.until("document.querySelector('#view-run').textContent.includes('Run the week')")
        page.locator("#view-run .card.verdict").wait_for()
        at.until("!document.querySelector('#view-run .busy')")
        kept_cells, hand_cells = [row[1] for row in shown], [row[1] for row in table(at)]
        assert len(hand_cells) == len(kept_cells)
        at.tab("compare")
        assert page.locator("#view-compare .pair .card").count() == 2
        # Two maps of one size, each with its own releases, and one clock for both.
        sizes = [page.locator(f"{each} .map").bounding_box() for each in ("#map-kept", "#map")]
        assert sizes[0] is not None
        assert sizes[1] is not None
        assert abs(sizes[0]["width"] - sizes[1]["width"]) < 2
        assert sizes[0]["x"] + sizes[0]["width"] <= sizes[1]["x"]
        at.until("document.querySelectorAll('#map-kept canvas.moving').length === 1")
        # From the last moment back to the first: alike where the same was released, different
        # where something else is to be drawn.
        page.get_by_role("button", name="Latest").click()
        pictures = []
        for number in reversed(range(len(kept_cells))):
            at.drawn()
            pictures.append(both_maps(at))
            sides = [trail(cells[: number + 1]) for cells in (kept_cells, hand_cells)]
            if kept_cells[: number + 1][-RECENT:] == hand_cells[: number + 1][-RECENT:]:
                assert pictures[-1][0] == pictures[-1][1], number
            elif sides[0] != sides[1]:
                assert pictures[-1][0] != pictures[-1][1], number
            page.get_by_label("Moment of the week").press("ArrowLeft")
        differing = [n for n, (one, other) in enumerate(pictures) if one != other]
        assert differing
        assert all(len(set(drawn)) > 1 for drawn in zip(*pictures, strict=True))
        assert page.locator("#view-compare .chart path.kept").count() == 2
        accessible(at, "the comparison")
        number = len(kept_cells) - 1 - differing[0]
        page.get_by_label("Moment of the week").fill(str(number))
        at.drawn()
        before = both_maps(at)
        assert before[0] != before[1]
        page.get_by_role("button", name="Swap A and B").click()
        at.until("!document.querySelector('#view-compare [data-swap]').disabled")
        assert page.locator("#map-kept").is_visible()
        # What was drawn of A is now drawn of B, and the other way round.
        page.get_by_label("Moment of the week").fill(str(number))
        at.drawn()
        assert both_maps(at) == before[::-1]

        # --- export
        at.tab("export")
        accessible(at, "the export")
        text = saved(at, "the policy", "policy.toml")
        policy = read_policy(text.decode())
        assert [event.split(",")[0] for event in policy.events] == ["at clinic <b>"]
        assert policy.steps >= len(shown)
        handed_out = saved(at, "the released trace", "week.released.csv")
        released = list(csv.DictReader(handed_out.decode().splitlines()))
        assert [policy.grid.cell_at(float(row["lat"]), float(row["lon"])) for row in released] == [
            int(row[1]) for row in shown if row[1] != "none"
        ]
        for name, file in (
            ("the report", "report.html"),
            ("the report to share", "report-to-share.html"),
        ):
            report = saved(at, name, file).decode()
            private = file == "report.html"
            assert ("The guarantee was kept, of this stream" in report) == private
            assert ("clinic &lt;b&gt;" in report) == private
        # The command line gives the same bytes for the policy that was saved.
        (tmp_path / "policy.toml").write_bytes(text)
        target = tmp_path / "out.csv"
        command = ["protect", str(week), "-p", str(tmp_path / "policy.toml"), "--seed", "7"]
        result = CliRunner().invoke(app, [*command, "-o", str(target)])
        assert result.exit_code == 0, result.output
        assert target.read_bytes() == handed_out
        assert Path(f"{target}.ledger.csv").read_bytes() == saved(
            at, "the ledger", "week.released.csv.ledger.csv"
        )


def test_a_running_service_is_watched(address: str, chromium: Browser, tmp_path: Path) -> None:
    """With its token the releases of a service appear on the map; with a wrong one, words."""
    with (
        serving(one_person(tmp_path, token="a token of one person")) as service,
        tab(chromium, address, reduced_motion="no-preference") as at,
    ):
        page = at.page
        page.get_by_role("button", name="Watch a running stream").click()
        form = page.locator("#panel-live")
        form.get_by_label("Address").fill(service.url)
        form.get_by_label("Person").fill("ada")
        form.get_by_label("Token").fill("a wrong one")
        form.get_by_role("button", name="Watch", exact=True).click()
        form.locator(".says.bad").wait_for()
        form.get_by_label("Token").fill("a token of one person")
        form.get_by_role("button", name="Watch", exact=True).click()
        form.get_by_text("Connected.").wait_for()
        for step in range(3):
            service.do(service.person.take(fix_of(step)))
        form.get_by_text("shown; the latest").wait_for()
        page.wait_for_selector("canvas.cells")
        accessible(at, "watching")
        page.get_by_role("button", name="Back to the beginning").click()
        assert page.locator("#start").is_visible()
