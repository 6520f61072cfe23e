"""A real browser for tests of the page; every complaint and every stranger asked fails the test."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tests.studio.running_studio import RunningStudio

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

DESK: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}

PATIENCE = 90_000
"""Milliseconds after which a test gives up waiting; no test is about how long things take."""

HOME, OFFICE, CLINIC = (46.005, 7.008), (46.031, 7.030), (46.010, 7.045)
FIRST_DAY = datetime(2026, 3, 3, tzinfo=UTC)


Scheme = Literal["light", "dark"]

LISTEN = """
() => {
  const regions = "[aria-live], [role=status], [role=alert]";
  window.said = [];
  const hear = (node) => {
    const words = node.textContent.trim();
    if (node.checkVisibility() && words && words !== window.said.at(-1)) window.said.push(words);
  };
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      const at = target instanceof Element ? target : target.parentElement;
      const region = at?.closest(regions);
      if (region) hear(region);
      else
        for (const node of addedNodes)
          if (node instanceof Element)
            for (const each of [node, ...node.querySelectorAll(regions)])
              if (each.matches(regions)) hear(each);
    }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}
"""
"""Live regions speak when what they hold changes and they are on the page."""


def write_week(path: Path) -> Path:
    """Write three days of one person, a fix every two hours: home, office, and once the clinic."""
    lines = ["time,lat,lon"]
    for step in range(36):
        at = FIRST_DAY + timedelta(hours=2 * step)
        place = OFFICE if 8 <= at.hour < 18 else HOME
        if at.day == 4 and at.hour == 14:
            place = CLINIC
        lines.append(f"{at + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ},{place[0]},{place[1]}")
    path.write_text("\n".join(lines) + "\n")
    return path


def address_of(studio: RunningStudio) -> str:
    """Return the address that a studio printed."""
    return f"http://127.0.0.1:{studio.port}/#token={studio.token}"


class Tab:
    """One tab, with all that it asked for and complained of."""

    def __init__(self, opened: Browser, address: str, **settings: Any) -> None:
        self.origin = address.split("/#")[0]
        # Without a graphics card every frame of something that turns is work; one test wants it.
        given = {"viewport": DESK, "reduced_motion": "reduce", "accept_downloads": True}
        self.context = opened.new_context(**{**given, **settings})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.expected: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(error.stack or str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")

    def _hear(self, message: Any) -> None:
        # Chromium writes one line for each answer that is no success; the page shows it in words.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def tab(self, name: str) -> None:
        """Go to one of the steps of the story."""
        self.page.click(f"#tab-{name}")

    def days_map_and_steps(self) -> None:
        """Unfold what is said of days, cells and steps on the page of the week."""
        self.page.evaluate("document.querySelector('#view-week details').open = true")

    def cut(self, kilometres: str) -> None:
        """Lay out the map with cells of another size, and wait until it is there."""
        self.days_map_and_steps()
        self.page.get_by_label("Size of a cell").select_option(kilometres)
        self.until(
            "!document.querySelector('#view-week .busy') && [...document.querySelectorAll("
            f"'#view-week select')].some((each) => each.value === '{kilometres}')"
        )

    def until(self, expression: str) -> None:
        """Wait until an expression of the page is true.

        Playwright's own ``wait_for_function`` evaluates text in the page, which the page's
        content security policy forbids: as it should.
        """
        deadline = time.monotonic() + PATIENCE / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, f"It never became true that {expression}"
            time.sleep(0.1)

    def drawn(self) -> None:
        """Wait until what changed is drawn: with the next frames, late on a busy machine."""
        self.page.evaluate(
            "() => new Promise((seen) => { const next = (left) =>"
            " requestAnimationFrame(() => (left ? next(left - 1) : seen())); next(4); })"
        )

    def open_file(self, path: Path) -> None:
        """Give the page a file, and wait until its map is there."""
        self.page.set_input_files("#file", path)
        self.page.wait_for_selector("#bench:not([hidden]) canvas.cells")

    def drop_file(self, path: Path) -> None:
        """Drop a file on the page, and wait until its map is there."""
        moved = self.page.evaluate_handle(
            "([name, text]) => { const moved = new DataTransfer();"
            " moved.items.add(new File([text], name)); return moved }",
            [path.name, path.read_text()],
        )
        self.page.dispatch_event("#start", "dragover", {"dataTransfer": moved})
        assert self.page.locator(".drop.over").count() == 1
        self.page.dispatch_event("#start", "drop", {"dataTransfer": moved})
        self.page.wait_for_selector("#bench:not([hidden]) canvas.cells")

    def listen(self) -> None:
        """Write down from now on what a screen reader would be given to say."""
        self.page.evaluate(LISTEN)

    def heard(self) -> list[str]:
        """Return what was to be said since, in order."""
        return list(self.page.evaluate("window.said"))

    def close(self) -> None:
        """Close the tab; it must have asked nobody else, and must have nothing to complain of."""
        complaints = list(self.complaints)  # not those of requests that closing breaks off
        self.context.close()
        own = (f"{self.origin}/", "blob:", "data:", *self.expected)
        strangers = [url for url in self.requests if not url.startswith(own)]
        assert strangers == []
        assert complaints == [], complaints


@contextmanager
def own_studio(**given: Any) -> Iterator[str]:
    """Serve a studio with other options from this process; yields its address.

    It makes no runs, so its workers are not warmed up.
    """
    import uvicorn

    from priste.studio.guard import Guard
    from priste.studio.routes import Studio

    studio = Studio(**given)
    studio.jobs.warm = lambda: None  # type: ignore[method-assign]
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    guard = Guard(studio.application(), port, "a token", studio.tile_host)
    server = uvicorn.Server(uvicorn.Config(guard, lifespan="off", log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/#token=a%20token"
    finally:
        server.should_exit = True
        thread.join(timeout=PATIENCE / 1000)
        studio.close()
        listening.close()


@contextmanager
def tab(opened: Browser, address: str, **settings: Any) -> Iterator[Tab]:
    """Open a tab for a test; what it asked and complained of is looked at when it closes."""
    found = Tab(opened, address, **settings)
    try:
        yield found
    except BaseException:
        found.context.close()
        raise
    found.close()


def complaints_of_axe(page: Page) -> str:
    """Return what axe-core finds on the page as it is; empty if nothing."""
    from axe_playwright_python.sync_playwright import Axe

    there = page.evaluate("typeof axe === 'object'")  # half a megabyte: once a page
    found = (Axe("null") if there else Axe()).run(page)
    return "" if found.violations_count == 0 else str(found.generate_report())


def accessible(at: Tab, where: str, *looks: tuple[Scheme, ViewportSize]) -> None:
    """Look at the page as it is with axe-core, in light and dark, on a desk and a phone."""
    for scheme, size in looks or (("light", DESK), ("dark", PHONE)):
        at.page.emulate_media(color_scheme=scheme)
        at.page.set_viewport_size(size)
        assert complaints_of_axe(at.page) == "", f"{where}, {scheme}, {size['width']} px"
        wide = at.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= size["width"], f"{where} sticks out at {size['width']} px"
    at.page.emulate_media(color_scheme="light")
    at.page.set_viewport_size(DESK)
