"""The pictures of the studio in README.md and docs/how-to/studio.md; made only when asked for.

PRISTE_PICTURES=docs/images python -m pytest -n 0 tests/studio/test_page_pictures.py
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from tests.studio.running_studio import RunningStudio
from tests.studio.studio_in_browser import PHONE, address_of, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = os.environ.get("PRISTE_PICTURES")


@pytest.mark.skipif(FOLDER is None, reason="PRISTE_PICTURES names no folder for the pictures.")
def test_pictures_for_the_docs(tmp_path: Path, chromium: Browser) -> None:
    """The town, guarded against one who knows the population: desk, dark, two settings, phone."""
    assert FOLDER is not None
    folder = Path(FOLDER)
    with ExitStack() as ending:
        own = RunningStudio(tmp_path, "--seed", "1")
        ending.callback(own.stop)
        at = ending.enter_context(tab(chromium, address_of(own), device_scale_factor=1.5))
        page = at.page
        page.get_by_role("button", name="Open the town").click()
        page.wait_for_selector("#bench:not([hidden]) canvas.cells")
        at.tab("secrets")
        page.locator("#view-secrets .chance").first.wait_for()
        page.screenshot(path=folder / "studio-secret.png")
        at.tab("protection")
        page.get_by_label("Which adversary?").press("Home")
        page.get_by_label("home", exact=True).check()
        at.tab("run")
        page.get_by_role("button", name="Run the week").click()
        page.locator("#view-run .card.verdict").wait_for(timeout=600_000)
        page.get_by_label("Moment of the week").focus()
        for _ in range(104):  # back to the second Wednesday
            page.keyboard.press("ArrowLeft")
        # Charts are drawn anew at each step, so the view that holds them is what is moved.
        page.locator("#view-run").evaluate(
            "view => { const top = each => each.getBoundingClientRect().top;"
            " view.scrollTop += top(view.querySelector('.chart')) - top(view) - 50 }"
        )
        page.screenshot(path=folder / "studio-desk.png")
        page.emulate_media(color_scheme="dark")
        page.screenshot(path=folder / "studio-dark.png")
        page.emulate_media(color_scheme="light")
        at.tab("compare")
        page.get_by_role("button", name="Keep the setting at hand as A").click()
        at.tab("protection")
        page.get_by_label("How sure may the adversary get?").press("ArrowRight")
        at.tab("run")
        page.get_by_role("button", name="Run again").click()
        at.until("document.querySelector('#view-run .card.verdict') === null")
        page.locator("#view-run .card.verdict").wait_for(timeout=600_000)
        page.get_by_label("Moment of the week").focus()
        for _ in range(104):
            page.keyboard.press("ArrowLeft")
        at.tab("compare")
        page.locator("#view-compare .chart").first.wait_for()
        page.wait_for_timeout(300)
        page.screenshot(path=folder / "studio-compare.png")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        at.tab("protection")
        page.locator("#view-protection .costs").first.wait_for(timeout=600_000)
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=folder / "studio-phone.png")
    for path in folder.glob("studio-*.png"):
        # The page has few colours: with a palette the pictures are a third of the size.
        Image.open(path).convert("RGB").quantize(256, kmeans=2).save(path, optimize=True)
