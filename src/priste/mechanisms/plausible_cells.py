"""The cells where a user plausibly is: which they are, and which of them stands in for others."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import check_distribution, check_float
from priste.errors import InvalidParameter
from priste.maps import Cells, Grid, cell_numbers
from priste.randomness import ExactDistribution

BELIEF_SUM_TOLERANCE = 1e-6
"""A belief must sum to 1 within this; only its proportions are used."""

BELIEF_DIGITS = 24
"""With this many binary digits a belief decides which cells are likely."""

_BLOCK_ENTRIES = 2**21


def checked_belief(belief: ArrayLike, grid: Grid, *, who: str) -> NDArray[np.float64]:
    """Return a read-only copy of a probability for each cell, or raise InvalidParameter."""
    return check_distribution(belief, "belief", who, (grid.size,), tolerance=BELIEF_SUM_TOLERANCE)


def checked_delta(delta: float, *, who: str) -> float:
    """Return delta as a float in [0, 1), or raise InvalidParameter."""
    return check_float(
        delta,
        "delta",
        who,
        least=0,
        below=1,
        hint="It is the probability that may be left out of the set; 0 keeps every possible cell.",
    )


def checked_cells(cells: Cells, grid: Grid, *, who: str) -> tuple[int, ...]:
    """Return cell numbers of the grid in order, or raise InvalidParameter."""
    numbers = tuple(sorted(cell_numbers(cells)))
    if numbers[-1] >= grid.size:
        raise InvalidParameter(
            f"must be cells of its grid, from 0 to {grid.size - 1}",
            parameter="cells",
            owner=who,
            value=numbers[-1],
        )
    return numbers


def likely_cells(belief: NDArray[np.float64], delta: float) -> tuple[int, ...]:
    """Return the smallest set of cells whose share of the belief is at least 1 - delta, in order.

    The likeliest cells come first; of equally likely ones, those with smaller numbers. On a regular
    map many cells are equally likely but for the last bit, which differs between processors: so
    probabilities are taken with ``BELIEF_DIGITS`` binary digits, which leaves the share within
    1e-7 of what is asked for. Their sums are exact, and delta is taken as the decimal number it is
    written as: the set is the same on every machine. A cell of probability 0 is never in it.

    >>> likely_cells(np.array([0.1, 0.4, 0.1, 0.4]), 0.1)
    (0, 1, 3)
    """
    mantissa, exponent = np.frexp(belief)
    belief = np.ldexp(np.rint(np.ldexp(mantissa, BELIEF_DIGITS)), exponent - BELIEF_DIGITS)
    exact = ExactDistribution(belief)
    enough = math.ceil((1 - Fraction(repr(delta))) * exact.total)  # shares are whole numbers
    taken: list[int] = []
    share = 0
    for cell in np.argsort(-belief, kind="stable").tolist():
        taken.append(cell)
        share += exact.numerators[cell]
        if share >= enough:
            break
    return tuple(sorted(taken))


class Surrogates:
    """A set of cells, and for every cell of the map the nearest cell of the set (its surrogate).

    ``nearest[l]`` counts within ``cells``: the surrogate of cell l is ``cells[nearest[l]]``, itself
    for cells of the set. Of equally near cells the smallest number wins; distances are compared
    exactly.
    """

    def __init__(self, grid: Grid, cells: tuple[int, ...]) -> None:
        self.grid = grid
        self.cells = np.array(cells, dtype=np.int64)
        rows, columns = np.divmod(np.arange(grid.size), grid.columns)
        set_rows, set_columns = np.divmod(self.cells, grid.columns)
        self.nearest = np.empty(grid.size, dtype=np.intp)
        block = max(1, _BLOCK_ENTRIES // len(cells))
        for start in range(0, grid.size, block):
            part = slice(start, start + block)
            squares = (rows[part, None] - set_rows) ** 2 + (columns[part, None] - set_columns) ** 2
            self.nearest[part] = squares.argmin(axis=1)
        self.cells.flags.writeable = False
        self.nearest.flags.writeable = False

    def stretch(self, apart: NDArray[np.float64]) -> float:
        """Return the largest ``apart[s(l), s(l')] / d(l, l')`` over pairs of cells of the map.

        ``apart`` (k, k) says how far apart two cells of the set are, in whatever measure; d is the
        distance of the centres in km, and s the surrogate. 0 for a set or a map of one cell.
        """
        largest = 0.0
        for cell in range(self.grid.size - 1):
            others = apart[self.nearest[cell], self.nearest[cell + 1 :]]
            # Between cells with one surrogate nothing differs.
            differing = np.flatnonzero(others)
            if differing.size:
                distance = self.grid.distances_from(cell)[cell + 1 :][differing]
                largest = max(largest, float((others[differing] / distance).max()))
        return largest

    def distances(self) -> NDArray[np.float64]:
        """Return (k, k), the distances in km between the cells of the set."""
        centers = self.grid.centers[self.cells]
        between = centers[:, None, :] - centers[None, :, :]
        result: NDArray[np.float64] = np.hypot(between[..., 0], between[..., 1])
        return result
