"""The interface of mechanisms: an emission matrix, and draws from exactly that matrix.

A mechanism turns the true cell into a random output. Its emission matrix (or table) is
``E[l, o] = Pr(output o | true cell l)``. Every subclass guarantees:

- rows are distributions: finite, >= 0, and the exact sum of the floats of a row is within
  ``ROW_SUM_TOLERANCE`` of 1;
- ``sample`` draws from the very floats of the row, taken as exact weights;
- ``with_budget`` gives the member of the same family at a smaller budget; at budget 0 all rows are
  identical to the bit, so that the output says nothing about the cell;
- ``claimed_alpha`` is never below the level of geo-indistinguishability that the table has;
- objects do not change once made, and the arrays they hand out are read-only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import check_float, check_int
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.randomness import BitSource, ExactDistribution, Seed

ROW_SUM_TOLERANCE = 2.0**-50
"""The exact sum of the floats of every row of every emission table is within this of 1."""

FEW_ROWS = 8
"""Up to this many rows are added one by one, which is quicker than all of them column by column."""


def two_sum(
    left: NDArray[np.float64], right: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add two arrays without loss: the first result is the rounded sum, the second what it lost."""
    total = left + right
    kept = total - left
    return total, (left - (total - kept)) + (right - kept)


def exact_row_excess(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (sum of row) - 1 for every row, from a sum carried in twice the working precision.

    For nonnegative rows near 1 the result is within 2**-80 of the exact excess, up to 2**20
    entries a row.

    >>> exact_row_excess(np.array([[1.0, 2.0**-70, 2.0**-70]])).item() == 2.0**-69
    True
    """
    if len(table) <= FEW_ROWS:
        return np.array([math.fsum([-1.0, *row]) for row in table.tolist()])
    high = np.full(table.shape[0], -1.0)
    low = np.zeros(table.shape[0])
    for column in np.ascontiguousarray(table.T):
        high, lost = two_sum(high, column)
        low += lost
    excess: NDArray[np.float64] = high + low
    return excess


def normalise_rows(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows that sum to 1 within ``ROW_SUM_TOLERANCE``; rows that already do stay untouched.

    Every other row is divided by its sum, and what rounding leaves over goes to its largest entry
    (the first of them). Zeros stay zeros. Equal rows stay equal to the bit. Rows must have a
    positive finite sum.
    """
    excess = exact_row_excess(table)
    off = np.abs(excess) > ROW_SUM_TOLERANCE
    if not off.any():
        return table
    normalised = table.copy()
    rows = normalised[off]
    rows /= (1.0 + excess[off])[:, None]
    largest = rows.argmax(axis=1)
    rows[np.arange(len(rows)), largest] -= exact_row_excess(rows)
    normalised[off] = rows
    return normalised


MAX_TABLE_BYTES = 2**30
"""The largest emission table that is made, 1 GiB: 11,585 cells with as many outputs."""

ROUNDING_SLIP = 1e-11
"""What floating point may add to a log ratio of two entries of one column, at most."""

FLOOR = 2.0**-512
"""Added to every entry of a table with tails: a uniform release of negligible probability.

Without it, tails that underflow to 0 would make an output possible from one cell and impossible
from another. Mixing with a row that does not depend on the cell keeps the bound of every ratio.
"""

_BLOCK_ENTRIES = 2**21


class Mechanism(ABC):
    """A location privacy mechanism on a grid. Immutable; see the module for its guarantees.

    A subclass gives the abstract parts and keeps what it needs in attributes that begin with an
    underscore: all others are refused.
    """

    def __init__(self, grid: Grid, outputs: int, budget: float) -> None:
        self._grid = grid
        self._outputs = outputs
        self._budget = float(budget)
        self._table: NDArray[np.float64] | None = None

    @property
    def grid(self) -> Grid:
        """The map whose cells go in."""
        return self._grid

    @property
    def uses_belief(self) -> bool:
        """Whether the table depends on where the user is predicted to be (see ``at_belief``)."""
        return False

    @property
    def outputs(self) -> int:
        """How many different outputs there are; they are numbered from 0."""
        return self._outputs

    @property
    def budget(self) -> float:
        """How much the output says about the cell, in the unit of its family; 0 says nothing."""
        return self._budget

    @property
    @abstractmethod
    def claimed_alpha(self) -> float:
        """A level of geo-indistinguishability, per km, that the table surely has; may be inf.

        For all cells l, l' and outputs o: ``E[l, o] <= exp(claimed_alpha * d(l, l')) * E[l', o]``
        with d the distance between the centres. Never below ``smallest_alpha()``.
        """

    @abstractmethod
    def with_budget(self, budget: float) -> Mechanism:
        """Return the member of the same family at another budget, from 0 up to its own."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what ``mechanism_from_dict`` needs to restore it exactly; can be put in JSON."""

    @abstractmethod
    def _make_table(self) -> NDArray[np.float64]:
        """Build the emission table; called at most once."""

    def emission(self) -> NDArray[np.float64]:
        """Return the table (cells, outputs): row l is the distribution of the output at cell l.

        Made when first asked for, then kept. Raises InvalidParameter when it would take more than
        ``MAX_TABLE_BYTES``.
        """
        if self._table is None:
            refuse_large_table(type(self).__name__, self._grid.size, self._outputs)
            table = self._make_table()
            table.flags.writeable = False
            if isinstance(table.base, np.ndarray):  # what it was made as, in another shape
                table.base.flags.writeable = False
            self._table = table
        return self._table

    def row(self, cell: int) -> NDArray[np.float64]:
        """Return (outputs,), the distribution of the output at a true cell; read-only."""
        found: NDArray[np.float64] = self.emission()[self._checked_cell(cell)]
        return found

    def likelihood(self, output: int) -> NDArray[np.float64]:
        """Return (cells,), the likelihood of every true cell given ``output``; read-only."""
        return self.emission()[:, self._checked_output(output)]

    def likelihoods(self, outputs: Sequence[int]) -> NDArray[np.float64]:
        """Return (cells, k), the likelihoods of some outputs, as ``likelihood`` gives them."""
        return np.stack([self.likelihood(output) for output in outputs], axis=1)

    def rectangles(self, boxes: Sequence[tuple[int, int, int, int]]) -> NDArray[np.float64]:
        """Return (cells, k): the probability that the output lies in each rectangle of the map.

        A rectangle is (first row, row after the last, first column, column after the last). Each
        entry is a sum of entries of the table, nothing is subtracted. For mechanisms whose outputs
        are the cells of the map; no table of cells times cells is kept where it can be avoided.
        """
        table = self.emission()
        if self._outputs != self._grid.size:
            raise InvalidParameter(
                "must be the cells of its map to lie in rectangles",
                parameter="outputs",
                owner=type(self).__name__,
                hint="Use emission().",
            )
        squares = table.reshape(self._grid.size, self._grid.rows, self._grid.columns)
        merged = np.empty((self._grid.size, len(boxes)))
        for place, (top, bottom, left, right) in enumerate(boxes):
            merged[:, place] = squares[:, top:bottom, left:right].sum(axis=(1, 2))
        return merged

    def sample(self, cell: int, rng: Seed | BitSource = None) -> int:
        """Draw an output at a true cell, with exactly the probabilities in ``row(cell)``.

        ``rng``: None draws from the operating system's cryptographic generator; a seed or a numpy
        generator repeats its draws and is for experiments only.
        """
        return ExactDistribution(self.row(cell)).draw(rng)

    def output_cells(self) -> NDArray[np.int64] | None:
        """Return (outputs,), the cell that each output means, or None if outputs are not cells."""
        cells = np.arange(self._outputs, dtype=np.int64)
        cells.flags.writeable = False
        return cells

    def at_belief(self, predicted: ArrayLike) -> Mechanism:
        """Return the mechanism to use when the user is predicted at each cell with these odds.

        Mechanisms that do not use a belief return themselves.
        """
        return self

    def smallest_alpha(self) -> float:
        """Measure the level of geo-indistinguishability, per km, that the table really has.

        That is the largest ``|ln E[l, o] - ln E[l', o]| / d(l, l')`` over outputs and pairs of
        cells: 0 when all rows are equal, inf when an output is possible from one cell and
        impossible from another. Compares all pairs of cells for all outputs, so the time grows
        with the third power of the map: to examine a mechanism, not for a loop.
        """
        return measured_alpha(self.emission(), self._grid.centers)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self._grid.rows}x{self._grid.columns} cells, "
            f"budget={self.budget:g})"
        )

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"A {type(self).__name__} cannot be changed; make a new one.")
        super().__setattr__(name, value)

    def __copy__(self) -> Self:
        return self

    def _twin(self) -> Self:
        """Return the same without its tables, to be given another budget before it is used."""
        twin = object.__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin

    def __getstate__(self) -> dict[str, Any]:
        # Tables can be made again, and processes pass mechanisms to each other.
        return {**self.__dict__, "_table": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            setattr(self, name, value)

    def _checked_cell(self, cell: int) -> int:
        # The message leaves the value out: it is where the user is.
        return check_int(
            cell,
            "cell",
            type(self).__name__,
            most=self._grid.size - 1,
            hint="cell_at() of the grid finds cells.",
            secret=True,
        )

    def _checked_output(self, output: int) -> int:
        return check_int(output, "output", type(self).__name__, most=self._outputs - 1)

    def _checked_budget(self, budget: float) -> float:
        return check_float(
            budget,
            "budget",
            f"{type(self).__name__}.with_budget",
            least=0,
            most=self.budget,
            why="its own budget is the largest",
            hint="For more budget make a new mechanism.",
        )


def refuse_large_table(who: str, cells: int, outputs: int) -> None:
    """Raise InvalidParameter if a table of this shape exceeds ``MAX_TABLE_BYTES``."""
    needed = 8 * cells * outputs
    if needed > MAX_TABLE_BYTES:
        raise InvalidParameter(
            f"The emission table of {who} for {cells} cells and {outputs} outputs would take "
            f"{needed / 2**30:.1f} GiB; the limit is {MAX_TABLE_BYTES / 2**30:.1f} GiB.",
            owner=who,
            hint="Use a coarser grid, or row() and likelihood() of PlanarLaplace or Uniform, "
            "which need "
            "no table.",
        )


def measured_alpha(table: NDArray[np.float64], centers: NDArray[np.float64]) -> float:
    """Return the largest |ln table[l, o] - ln table[l', o]| / |centers[l] - centers[l']|.

    0/0 counts as no difference, x/0 as inf. Two cells with one centre and different rows give inf.
    """
    positive = table > 0
    if (positive.any(axis=0) != positive.all(axis=0)).any():
        return math.inf
    logs = np.log(table[:, positive.all(axis=0)])
    level = 0.0
    cells, outputs = logs.shape
    block = max(1, _BLOCK_ENTRIES // max(1, outputs))
    for cell in range(cells - 1):
        for start in range(cell + 1, cells, block):
            others = slice(start, min(start + block, cells))
            apart = np.abs(logs[others] - logs[cell]).max(axis=1, initial=0.0)
            distance = np.hypot(*(centers[others] - centers[cell]).T)
            differing = apart > 0
            if not distance[differing].all():
                return math.inf
            ratios = apart[differing] / distance[differing]
            level = max(level, float(ratios.max(initial=0.0)))
    return level
