"""Mechanisms that release only cells of a set, and treat a true cell outside as the nearest inside.

All of their table is in the square table between the cells of the set, the *inner* table: a true
cell outside the set has the row of its surrogate, and outputs outside the set have probability 0
from everywhere. So no output is possible from one cell and impossible from another unless the
inner table says so.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.mechanisms.mechanism import Mechanism, refuse_large_table
from priste.mechanisms.plausible_cells import Surrogates


class RestrictedMechanism(Mechanism):
    """What location sets have in common; outputs carry the numbers of all cells of the map."""

    def __init__(self, surrogates: Surrogates, budget: float) -> None:
        super().__init__(surrogates.grid, surrogates.grid.size, budget)
        self._surrogates = surrogates
        self._inner: NDArray[np.float64] | None = None

    @property
    def cells(self) -> tuple[int, ...]:
        """The cells of the set, in order."""
        return tuple(self._surrogates.cells.tolist())

    @abstractmethod
    def _make_inner(self) -> NDArray[np.float64]:
        """Build the table between the cells of the set; called at most once."""

    def row(self, cell: int) -> NDArray[np.float64]:
        inner_row = self._inner_table()[self._surrogates.nearest[self._checked_cell(cell)]]
        row = np.zeros(self.outputs)
        row[self._surrogates.cells] = inner_row
        row.flags.writeable = False
        return row

    def likelihood(self, output: int) -> NDArray[np.float64]:
        position = np.searchsorted(self._surrogates.cells, self._checked_output(output))
        likelihood = np.zeros(self.grid.size)
        if position < len(self._surrogates.cells) and self._surrogates.cells[position] == output:
            likelihood = self._inner_table()[self._surrogates.nearest, position]
        likelihood.flags.writeable = False
        return likelihood

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_inner": None}

    def _inner_table(self) -> NDArray[np.float64]:
        if self._inner is None:
            count = len(self._surrogates.cells)
            refuse_large_table(type(self).__name__, count, count)
            self._inner = self._make_inner()
        return self._inner

    def _make_table(self) -> NDArray[np.float64]:
        table = np.zeros((self.grid.size, self.outputs))
        table[:, self._surrogates.cells] = self._inner_table()[self._surrogates.nearest]
        return table


def remapped_columns(
    rows: NDArray[np.float64], targets: NDArray[np.intp], count: int
) -> NDArray[np.float64]:
    """Add up the columns of ``rows`` that have one target: (k, n) -> (k, count)."""
    order = np.argsort(targets, kind="stable")
    found, starts = np.unique(targets[order], return_index=True)
    summed = np.zeros((rows.shape[0], count))
    summed[:, found] = np.add.reduceat(rows[:, order], starts, axis=1)
    return summed
