"""How large a map may be: for some adversaries every first cell counts, and cells by cells are
many.

The page says so before anything is computed, with a size that works.
"""

from __future__ import annotations

import math

from priste.maps import Grid
from priste.policy.workload import cell_size_for
from priste.results import length
from priste.studio.wire import Problem, Refused
from priste.studio.worker import most_memory

MOST_CELLS = 40_000
"""The largest map that the studio takes."""

FEW_ROWS = ("population", "starts")
"""Adversaries of few beliefs: nothing is cells by cells."""

BYTES_PER_PAIR = 110.0
SECONDS_PER_PAIR = 8.5e-7
"""What two streams, and one release, took per pair of cells against the others, measured on 4,489
cells with the default calibrator: 2.1 GB, and 17 seconds of one core."""

SLOW = 2.0
"""Seconds a release from which on it is said beforehand."""


def check_size(grid: Grid, knows: str | None) -> None:
    """Refuse a map that is too large for the studio, or for an adversary who ``knows`` so much."""
    if grid.size > MOST_CELLS:
        raise _refused(
            f"The studio takes maps of up to {MOST_CELLS:,} cells. This one has {grid.size:,}. "
            "Choose larger cells or a smaller area."
        )
    words = too_large(grid)
    if words and knows not in FEW_ROWS:
        raise _refused(words)


def too_large(grid: Grid) -> str:
    """Say that the map is too large for adversaries who may believe anything; empty if it is not.

    >>> too_large(Grid(rows=20, columns=20, cell_size=0.5))
    ''
    """
    needed, most = BYTES_PER_PAIR * grid.size**2, most_memory()
    if needed <= most:
        return ""
    return (
        f"Against them, every first cell counts: {grid.size:,} cells need about "
        f"{needed / 2**30:.0f} GB of memory, and {most / 2**30:.0f} GB may be used. Choose cells "
        f"of {_wide(grid, math.sqrt(most / BYTES_PER_PAIR))} or more, a smaller area, or one who "
        "knows the population."
    )


def slow(grid: Grid) -> str:
    """Say how long releases take against adversaries who may believe anything; empty if not long.

    >>> slow(Grid(rows=20, columns=20, cell_size=0.5))
    ''
    """
    seconds = SECONDS_PER_PAIR * grid.size**2
    if seconds < SLOW:
        return ""
    quick = _wide(grid, math.sqrt(1.0 / SECONDS_PER_PAIR))
    return (
        f"Against them, every first cell counts: of {grid.size:,} cells each release takes about "
        f"{seconds:.0f} seconds. Cells of {quick} would take about one."
    )


def _wide(grid: Grid, most: float) -> str:
    return length(1000.0 * cell_size_for(grid, most))


def _refused(words: str) -> Refused:
    return Refused(422, words, problems=[Problem("map.cell_size", words)])
