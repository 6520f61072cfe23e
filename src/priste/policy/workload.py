"""How much work a policy is: what is stated before it starts, and what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.policy.policy import Policy

MOST_CELLS = 20_000
"""A map with more cells is refused: it would take more than 36 GB, and minutes a release."""

MOST_CELLS_OF_FEW_ROWS = 100_000
"""The same where adversary and mechanism need no table of cells by cells."""

BYTES_PER_PAIR = 90.0
"""What a stream takes per pair of cells, or of cells and outputs: ``optimal`` against any start
took 80 to 86 bytes on 3,600 and 6,400 cells with Gaussian movement, ``certified`` 63 to 67."""

SECONDS_PER_CELL = 3e-4
"""One release took about so long per cell of the map, measured on 200 to 900 cells, ..."""

SECONDS_PER_PAIR = 2e-7
"""... and so long per pair of cells where these are more, measured on 3,600 and 6,400."""

DENSE_CELLS, LAW_CELLS = 400, 400
"""Above this many cells an adversary of few rows gets a table of about as many outputs."""

LONG = 600.0
LARGE = 2e9
"""From this many seconds or bytes on, the work is stated before it starts."""


@dataclass(frozen=True)
class Workload:
    """What one user's stream takes, roughly: a busy or slow machine takes several times as long."""

    cells: int
    steps: int
    seconds: float
    bytes: float

    @property
    def is_large(self) -> bool:
        """Whether a person should know before it starts."""
        return self.seconds >= LONG or self.bytes >= LARGE

    def words(self) -> str:
        """Say it with one digit, as it is not known better."""
        return (
            f"A map of {self.cells:,} cells and a clock of {self.steps:,} steps: about "
            f"{_duration(self.seconds)} for a user with a fix in every step, and "
            f"{_memory(self.bytes)} of memory. Larger cells and longer steps take less."
        )


def workload(policy: Policy) -> Workload:
    """Return what one user's stream under a policy takes, roughly."""
    cells = policy.grid.size
    few = policy.chosen_adversary.adversary.row_count(cells) < cells and cells > DENSE_CELLS
    wide = LAW_CELLS if few else cells
    release = SECONDS_PER_CELL * wide if few else seconds_of_a_release(cells)
    return Workload(
        cells,
        policy.steps,
        policy.steps * release * len(policy.models),
        BYTES_PER_PAIR * cells * wide * len(policy.models),
    )


def seconds_of_a_release(cells: int) -> float:
    """Return about how long one release takes where every first cell counts.

    >>> seconds_of_a_release(400), seconds_of_a_release(10_000)
    (0.12, 20.0)
    """
    return max(SECONDS_PER_CELL * cells, SECONDS_PER_PAIR * cells**2)


def check_map(grid: Grid, *, few_rows: bool = False) -> None:
    """Refuse a map that is too large for a machine, and name a cell size that works.

    ``few_rows`` says that the adversary knows the population, so that nothing is cells by cells.
    """
    most = MOST_CELLS_OF_FEW_ROWS if few_rows else MOST_CELLS
    if grid.size > most:
        memory = _memory(BYTES_PER_PAIR * grid.size**2)
        needed = "" if few_rows else f"about {memory} of memory, and "
        known = "" if few_rows else f" Against knows = 'population' {MOST_CELLS_OF_FEW_ROWS:,} are."
        raise InvalidParameter(
            f"makes a map of {grid.size:,} cells, which would take {needed}too long; {most:,} "
            f"cells are allowed.{known}",
            parameter="cell_size",
            hint=f"Take a cell_size of {cell_size_for(grid, most):g} km or more, or a smaller map.",
        )


def cell_size_for(grid: Grid, most: float) -> float:
    """Return a size of cells, in km, at which a map has no more than this many: two digits, up.

    >>> cell_size_for(Grid(rows=20, columns=20, cell_size=0.5), 100)
    1.0
    """
    larger = grid.cell_size * math.sqrt(grid.size / most)
    digit = 10.0 ** (math.floor(math.log10(larger)) - 1)
    return math.ceil(larger / digit) * digit


def _duration(seconds: float) -> str:
    for unit, name in ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second")):
        if seconds >= unit:
            count = max(1, round(seconds / unit))
            return f"{count} {name}{'s' if count != 1 else ''}"
    return "a second"


def _memory(size: float) -> str:
    if size >= 1e9:
        return f"{size / 1e9:.0f} GB"
    return f"{max(1.0, size / 1e6):.0f} MB"
