"""Nine cells, hours, one person with a clinic to hide: small enough for every test."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from priste import Grid
from priste.traces import Fix

SOUTH, WEST, NORTH, EAST = 46.000, 7.000, 46.0265, 7.0385
GRID = Grid.covering(SOUTH, WEST, NORTH, EAST, 1.0)
START = datetime(2026, 3, 4, tzinfo=UTC)  # a Wednesday
HOUR = timedelta(hours=1)
PATH = [0, 0, 1, 4, 4, 5, 8, 7, 4, 3, 0, 0]

POLICY = f"""\
[map]
south = {SOUTH}
west = {WEST}
north = {NORTH}
east = {EAST}
cell_size = 1.0

[clock]
start = 2026-03-04T00:00:00
step = "1h"
steps = 12

[mobility]
kind = "gaussian"
sigma = 1.0

[mechanism]
kind = "planar-laplace"
alpha = 1.5

[guarantee]
epsilon = 0.8

[release]
pace = 0.3

[regions.clinic]
cells = [4, 5]

[events.visit]
formula = 'presence(clinic, "04:00-06:00")'
"""
DAILY = POLICY + 'every = "day"\n'
GROUP = """
[events.group]
formula = 'presence(clinic, "08:00-10:00")'
"""
TOGETHER = POLICY + GROUP + '[secrets.health]\ntogether = ["visit", "group"]\n'
WHICH = """
[secrets.which]
answers = { first = 'at(clinic, 3)', second = 'at(clinic, 5) and not at(clinic, 3)' }
odds_up = 0.7
"""


def write_policy(folder: Path, text: str = POLICY) -> Path:
    """Write the policy and return its path."""
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def true_position(step: int, path: list[int] = PATH) -> tuple[float, float]:
    """Return a true position of a step: inside its cell, and at the centre of none."""
    lat, lon = GRID.latlon(path[step % len(path)])
    return lat + 0.00123 + step * 1e-5, lon - 0.00217 - step * 1e-5


def fix_of(step: int, minute: int = 30, path: list[int] = PATH) -> Fix:
    """Return the fix of a step, at some minute of its hour."""
    return Fix(None, START + step * HOUR + timedelta(minutes=minute), *true_position(step, path))


def truths(steps: int = len(PATH), path: list[int] = PATH) -> list[bytes]:
    """Return what would betray a true position in an output: its digits, in degrees and minutes.

    Both with the whole degrees before them, which no time or leakage has, and cut where released
    points (the centres of cells) still differ.
    """
    found = set()
    for step in range(steps):
        for degrees in true_position(step, path):
            whole, minutes = divmod(60 * degrees, 60)
            in_minutes = f"{whole:.0f}{minutes:09.6f}"
            found |= {f"{degrees:.7f}"[: len(str(int(degrees))) + 5].encode()}
            found |= {in_minutes[:-4].encode()}
    return sorted(found)


def assert_no_truth(output: bytes, steps: int = len(PATH), path: list[int] = PATH) -> None:
    """Fail if any true coordinate stands anywhere in some bytes."""
    betrayed = [truth for truth in truths(steps, path) if truth in output]
    assert not betrayed, f"{len(betrayed)} true coordinates are in the output"


def folder_bytes(folder: Path) -> bytes:
    """Return all bytes of all files of a folder."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
