"""Make the pictures of the studio in docs/images from the album of its states.

Run ``python docs/pictures/make_studio_pictures.py``; it needs a chromium on the PATH. The album is
that of ``tests/studio/test_page_states.py``, which walks through the page in a real browser.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "images"
COLOURS = 128
TALLEST = 1600
"""Pixels; the page on a phone is longer, and is cut there."""

STATES = {
    "studio-desk": "23-run-charts-light-1280",
    "studio-dark": "22-run-done-dark-1280",
    "studio-phone": "22-run-done-light-390",
    "studio-secret": "11-secrets-light-1280",
    "studio-compare": "36-compare-light-1280",
}
"""The pictures of docs/, and the states and looks of the album that they show."""


def main() -> None:
    """Take the album, and keep the states that the docs show."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0"]
        command += ["tests/studio/test_page_states.py", "-k", "runs or secrets or comparing"]
        environment = {**os.environ, "PRISTE_STATES": name}
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        for picture, state in STATES.items():
            taken = Image.open(Path(name) / f"{state}.png").convert("RGB")
            part = taken.crop((0, 0, taken.width, min(taken.height, TALLEST)))
            part.quantize(COLOURS).save(FOLDER / f"{picture}.png", optimize=True)


if __name__ == "__main__":
    main()
