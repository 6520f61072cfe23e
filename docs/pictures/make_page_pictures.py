"""Makes the pictures of README.md and docs/ that show pages: the strip, the map and the forecast.

Run ``python docs/pictures/make_page_pictures.py``; it needs a chromium on the PATH. The pages are
those of ``priste demo`` and of ``priste forecast`` on the demo's policy, with their default seeds.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from priste.forecast import forecast
from priste.forecast.picture import save_forecast
from priste.policy import load_policy

FOLDER = Path(__file__).parent.parent / "images"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
COLOURS = 128
PARTS = {
    "strip": "section.card:has(> .strip)",
    "map": "section.card:has(> .maps)",
    "event": "section.card:has(h4)",
}


def main() -> None:
    """Run the demo, photograph parts of its page, and draw its forecast."""
    names = ("chromium", "chromium-headless-shell", "chromium-browser")
    chromium = next(filter(None, map(shutil.which, names)), None)
    with tempfile.TemporaryDirectory() as name:
        town = Path(name) / "town"
        subprocess.run([sys.executable, "-m", "priste", "demo", "--folder", town], check=True)
        with sync_playwright() as play:
            browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": 900, "height": 900}, device_scale_factor=1.5)
            page.goto((town / "report.html").as_uri())
            for part, selector in PARTS.items():
                photograph = io.BytesIO(page.locator(selector).first.screenshot())
                small = Image.open(photograph).convert("RGB").quantize(COLOURS)
                small.save(FOLDER / f"{part}.png", optimize=True)
            browser.close()
        found = forecast(load_policy(town / "policy.toml"), runs=10)
    save_forecast(found.rows, FOLDER / "forecast.png", overwrite=True)
    for row in found.rows:
        print(row.name, row.sentence())


if __name__ == "__main__":
    main()
