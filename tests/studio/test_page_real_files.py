"""The studio in a real browser with files that people recorded, and how they are packed."""

from __future__ import annotations

import zipfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.studio.studio_in_browser import FIRST_DAY, HOME, OFFICE, Tab, tab
from typer.testing import CliRunner

from priste.cli.application import app
from priste.policy import read_policy

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WALK = Path(__file__).resolve().parents[3] / "shared" / "data" / "gpx" / "visnjan.gpx"


def saved(at: Tab, name: str) -> bytes:
    """Press one of the buttons of the last step; returns what was downloaded."""
    with at.page.expect_download() as download:
        at.page.get_by_role("button", name=f"Save {name}", exact=True).click()
    return Path(download.value.path()).read_bytes()


@pytest.mark.skipif(not WALK.exists(), reason="the shared walk is not on this machine")
def test_a_walk_that_somebody_recorded(address: str, chromium: Browser, tmp_path: Path) -> None:
    """Open it, paint a place on it, run, and export what the command line gives, to the byte."""
    with tab(chromium, address) as at:
        page = at.page
        at.open_file(WALK)
        assert page.get_by_label("Time zone of the clock").input_value() == "Europe/Zagreb"
        at.tab("places")
        page.get_by_role("button", name="New place").click()
        page.keyboard.type("viewpoint")
        page.keyboard.press("Tab")
        page.locator("#map .map").focus()
        page.keyboard.press("Space")
        at.tab("protection")
        page.get_by_text("The expert’s numbers").click()
        page.get_by_label("Seed").fill("3")
        page.get_by_label("Seed").press("Tab")
        at.tab("run")
        page.get_by_role("button", name="Remove it").click()
        page.get_by_role("button", name="Run the week").click()
        page.locator("#view-run .card.verdict").wait_for()
        # The page stands at a moment of the secret, with the chart in sight.
        assert page.locator("#view-run .chart").first.is_visible()
        at.tab("export")
        text = saved(at, "the policy")
        assert {each.name for each in read_policy(text.decode()).events.values()} == {
            "at viewpoint"
        }
        (tmp_path / "policy.toml").write_bytes(text)
        target = tmp_path / "out.gpx"
        command = ["protect", str(WALK), "-p", str(tmp_path / "policy.toml"), "--seed", "3"]
        result = CliRunner().invoke(app, [*command, "-o", str(target)])
        assert result.exit_code == 0, result.output
        assert target.read_bytes() == saved(at, "the released trace")


def test_days_in_an_archive_are_one_week(address: str, chromium: Browser, tmp_path: Path) -> None:
    """A ZIP with a GPX file for each day opens as the week of one person, every day of it."""
    days = tmp_path / "days.zip"
    with zipfile.ZipFile(days, "w") as archive:
        for day in range(4):
            points = []
            for hour in range(0, 24, 2):
                at_time = FIRST_DAY + timedelta(days=day, hours=hour)
                lat, lon = OFFICE if 8 <= hour < 18 else HOME
                time = f"<time>{at_time:%Y-%m-%dT%H:%M:%SZ}</time>"
                points.append(f'<trkpt lat="{lat}" lon="{lon}">{time}</trkpt>')
            track = f"<trk><trkseg>{''.join(points)}</trkseg></trk>"
            gpx = f'<gpx version="1.1" creator="a phone">{track}</gpx>'
            archive.writestr(f"{FIRST_DAY + timedelta(days=day):%Y-%m-%d}.gpx", gpx)
    with tab(chromium, address) as at:
        at.open_file(days)
        at.page.get_by_text("48", exact=True).wait_for()  # positions of all days
        rows = at.page.locator("#view-week .week-picture .day-name").all_text_contents()
        assert {"Tue 3 Mar", "Fri 6 Mar"} <= set(rows)
