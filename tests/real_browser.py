"""The machine's Chromium, for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.live.running import program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]


@contextmanager
def browser() -> Iterator[Browser]:
    """Open it; where there is none, skip here and fail in CI. One at a time in a process.

    The shell is the same engine without windows, and takes a third of the work of a whole browser.
    """
    chromium = shutil.which("chromium-headless-shell") or program("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            yield opened
        finally:
            opened.close()
