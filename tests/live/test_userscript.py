"""The userscript of docs/how-to/live.md in a real browser: a page gets the released location."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
from tests.live.running import serving
from tests.live.small_town import assert_no_truth, fix_of, write_policy

from priste.live.person_stream import StreamOptions
from priste.live.settings import PersonSettings, Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "live.md"

# What the extension that runs a userscript gives it.
EXTENSION = """
const unsafeWindow = window;
const GM_xmlhttpRequest = ({url, onload, onerror}) => window.fetched(url).then(
  ([status, responseText]) => onload({status, responseText}), onerror);
"""
ASK = "() => new Promise((ok, no) => navigator.geolocation.getCurrentPosition(p => ok(" \
      "[p.coords.latitude, p.coords.longitude, p.coords.accuracy, p.timestamp]), no))"  # fmt: skip


def userscript(port: int | None) -> str:
    found = re.search(r"    // ==UserScript==.*?\n\n", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[0].replace("8787", str(port))


def test_a_page_is_told_the_released_location(tmp_path: Path, chromium: Browser) -> None:
    """The script as it stands in the docs answers a page with the point that the service serves."""
    asked: list[str] = []

    def fetched(url: str) -> list[object]:
        asked.append(url)
        answer = httpx.get(url, trust_env=False, timeout=30)
        return [answer.status_code, answer.text]

    person = PersonSettings(
        "me", write_policy(tmp_path), options=StreamOptions(seed=5), clock="fixes"
    )
    chosen = Settings(tmp_path / "state", (person,), listen=("127.0.0.1", 0))
    with serving(chosen) as live:
        for step in range(2):
            live.do(live.person.take(fix_of(step)))
        page = chromium.new_page()
        try:
            page.expose_function("fetched", fetched)
            page.add_init_script(EXTENSION + userscript(live.service.port))
            page.goto("data:text/html,<p>a page</p>")
            told = page.evaluate(ASK)
        finally:
            page.close()
        latest = live.person.latest
        assert latest is not None
        assert told == [latest.lat, latest.lon, latest.accuracy, 1000 * latest.seconds]
    assert asked == [f"{live.url}/people/me/latest"]
    assert_no_truth(repr(told).encode())
