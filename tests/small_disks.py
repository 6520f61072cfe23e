"""Small disks of their own for tests: mounted in a private namespace, really full or read-only."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

FULL = """
import os, sys
from pathlib import Path
place = Path(sys.argv[1])

def fill(leaving):
    '''Fill the disk but for some bytes; return the file that takes the room.'''
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leaving))
    return filler
"""


def mounted(script: str, place: Path, *arguments: str, size: str = "400k") -> str:
    """Run a script in which ``place`` is a small disk of its own; return what it printed."""
    place.mkdir(exist_ok=True)
    command = f"mount -t tmpfs -o size={size} tmpfs '{place}' && exec \"$@\""
    run = subprocess.run(
        ["unshare", "-m", "sh", "-c", command, "sh", sys.executable, "-c", FULL + script, place,
         *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


@functools.cache
def why_not() -> str | None:
    """Why no file system can be mounted here, None if it can."""
    if shutil.which("unshare") is None:
        return "there is no unshare"
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else f"nothing can be mounted: {done.stderr.strip()[:80]}"
