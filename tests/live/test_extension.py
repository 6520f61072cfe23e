"""The extension in real browsers: pages are given released points, and never the true ones."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.live.firefox import firefox
from tests.live.one_person import one_person
from tests.live.running import InThread, program, serving, wait_for
from tests.live.small_town import fix_of, true_position
from tests.real_browser import FLAGS
from typer.testing import CliRunner

from priste.cli.application import app
from priste.live.browser_extension import FOLDER

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

TOKEN = "a-token-of-ada"
TRUE = true_position(0)

ASK = """(geolocation) => new Promise((done) => geolocation.getCurrentPosition(
  (p) => done([p.coords.latitude, p.coords.longitude, p.coords.accuracy, p.timestamp]),
  (e) => done([e.code, e.message])))"""
HERE = f"() => ({ASK})(navigator.geolocation)"
WATCH = """() => {
  window.watched = [];
  window.watch = navigator.geolocation.watchPosition((p) => window.watched.push(
    [p.coords.latitude, p.coords.longitude, p.coords.accuracy, p.timestamp]));
}"""
WATCHED = "() => window.watched"
IN_A_FRAME = f"""(source) => {{
  const frame = document.createElement("iframe");
  if (source) frame.srcdoc = source;
  document.body.append(frame);
  return ({ASK})(frame.contentWindow.navigator.geolocation);
}}"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<!doctype html><title>a site</title><p>a site"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@pytest.fixture
def site() -> Iterator[int]:
    """The port of a web server; 127.0.0.1 and localhost are two sites of it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()
        thread.join()


@contextmanager
def extended(profile: Path) -> Iterator[tuple[BrowserContext, str]]:
    """Open Chromium with the extension, and a true location that it would give to pages."""
    from playwright.sync_api import sync_playwright

    chromium = program("chromium")  # the headless shell takes no extensions
    flags = [flag for flag in FLAGS if flag != "--headless"]
    flags += ["--headless=new", f"--load-extension={FOLDER}"]
    with sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile,
            executable_path=chromium,
            headless=False,
            args=flags,
            ignore_default_args=["--disable-extensions"],
            geolocation={"latitude": TRUE[0], "longitude": TRUE[1]},
        )
        try:
            worker = context.service_workers or [context.wait_for_event("serviceworker")]
            registered = "() => chrome.scripting.getRegisteredContentScripts()"
            wait_for(lambda: len(worker[0].evaluate(registered)) == 2, "the extension is ready")
            yield context, worker[0].url.rpartition("/")[0]
        finally:
            context.close()


def opened(context: BrowserContext, url: str) -> Page:
    page = context.new_page()
    page.goto(url)
    return page


def settings_page(context: BrowserContext, extension: str, active: str) -> Page:
    """Open the extension's page as it opens over the tab of a site."""
    page = context.new_page()
    page.add_init_script(f"chrome.tabs.query = async () => [{{url: {active!r}}}];")
    page.goto(f"{extension}/popup.html")
    return page


def released(live: InThread) -> list[float]:
    point = live.person.latest
    assert point is not None
    return [point.lat, point.lon, point.accuracy, 1000 * point.seconds]


def test_pages_are_given_the_released_location(tmp_path: Path, site: int) -> None:
    """Also frames; the switch gives one site the browser's own, which all others never get."""
    with (
        serving(one_person(tmp_path, token=TOKEN)) as live,
        extended(tmp_path / "profile") as (context, extension),
    ):
        page = opened(context, f"http://127.0.0.1:{site}/")
        assert page.evaluate(HERE) == [2, "priste live does not answer."]
        chosen = settings_page(context, extension, f"http://localhost:{site}/a")
        chosen.get_by_text("Where priste live is").click()
        for label, text in (("Address", live.url + "/"), ("Person", "ada"), ("Token", TOKEN)):
            chosen.get_by_label(label).fill(text)
            chosen.get_by_label(label).blur()
        chosen.get_by_text("Nothing has been released yet.").wait_for()
        for step in range(2):
            live.do(live.person.take(fix_of(step)))
        assert page.evaluate(HERE) == released(live)
        state = "async () => (await navigator.permissions.query({name: 'geolocation'})).state"
        assert page.evaluate(state) == "granted"
        assert page.evaluate(IN_A_FRAME, "<p>a frame") in (released(live), DENIED)
        assert page.evaluate(IN_A_FRAME, "") in (released(live), DENIED)
        page.clock.install()  # a watch looks again every 15 seconds
        page.evaluate(WATCH)
        wait_for(lambda: page.evaluate(WATCHED) == [released(live)], "the watch has the latest")
        live.do(live.person.take(fix_of(2)))
        assert page.evaluate(HERE) == released(live)
        page.clock.run_for(31_000)
        wait_for(lambda: page.evaluate(WATCHED)[1:] == [released(live)], "the watch has the next")
        page.evaluate("() => navigator.geolocation.clearWatch(window.watch)")
        live.do(live.person.take(fix_of(3)))
        page.clock.run_for(31_000)
        assert page.evaluate(HERE) == released(live)
        assert len(page.evaluate(WATCHED)) == 2  # once for each release, and none after the end

        other = opened(context, f"http://localhost:{site}/")
        assert other.evaluate(HERE) == released(live)
        chosen.get_by_label("localhost gets released locations").uncheck()
        context.grant_permissions(["geolocation"], origin=f"http://localhost:{site}")
        wait_for(lambda: _again(other)[:2] == list(TRUE), "the site is given the browser's own")
        assert _again(page) == released(live)
        chosen.get_by_label("localhost gets released locations").check()
        wait_for(lambda: _again(other) == released(live), "the site is given released ones again")


DENIED = [1, "User denied Geolocation"]
"""What the browser says to a frame that asked before the extension was in it."""


def _again(page: Page) -> list[float]:
    page.reload()
    return list(page.evaluate(HERE))


DONE = "const done = arguments[arguments.length - 1];"
IN_FIREFOX = f"{DONE} ({ASK})(navigator.geolocation).then(done)"
KNOWN_AS = "6b1b4d4c-5a3e-4a39-9d3a-0d3b7a1c2e4f"
"""The name of the extension in addresses of this profile; Firefox would draw one."""

FILL = (
    DONE
    + """
for (const [id, text] of Object.entries(arguments[0])) {
  document.getElementById(id).value = text;
  document.getElementById(id).dispatchEvent(new Event("change"));
}
const told = setInterval(() => {
  const state = document.getElementById("state").textContent;
  if (state.includes("latest release")) { clearInterval(told); done(state); }
}, 50);"""
)


def test_firefox_loads_it_too(tmp_path: Path, site: int) -> None:
    """The packed extension in Firefox gives a page the released location."""
    ran = CliRunner().invoke(app, ["live", "extension", str(tmp_path / "released.xpi")])
    assert ran.exit_code == 0, ran.output
    names = json.dumps({"released-location@priste": KNOWN_AS})
    with (
        serving(one_person(tmp_path, token=TOKEN)) as live,
        firefox(tmp_path / "profile", {"extensions.webextensions.uuids": names}) as browser,
    ):
        for step in range(2):
            live.do(live.person.take(fix_of(step)))
        browser.do("Addon:Install", path=str(tmp_path / "released.xpi"), temporary=True)
        browser.do("WebDriver:Navigate", url=f"moz-extension://{KNOWN_AS}/popup.html")
        browser.run(FILL, {"url": live.url, "person": "ada", "token": TOKEN})
        browser.do("WebDriver:Navigate", url=f"http://127.0.0.1:{site}/")
        assert browser.run(IN_FIREFOX) == released(live)


def test_the_extension_is_written_once(tmp_path: Path) -> None:
    """As a folder or as one file; what is there is not touched."""
    run = CliRunner().invoke
    names = sorted(path.name for path in FOLDER.iterdir())
    assert run(app, ["live", "extension", str(tmp_path / "made")]).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == names
    assert run(app, ["live", "extension", str(tmp_path / "made.zip")]).exit_code == 0
    with zipfile.ZipFile(tmp_path / "made.zip") as packed:
        assert sorted(packed.namelist()) == names
    for name in ("made", "made.zip"):
        again = run(app, ["live", "extension", str(tmp_path / name)])
        assert again.exit_code != 0
        assert "not touched" in again.output
