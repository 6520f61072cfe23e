"""The mechanism that says nothing: any cell, each as likely, whatever the true cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.mechanisms.mechanism import Mechanism


class Uniform(Mechanism):
    """Releases every cell of the map with the same probability: the float nearest to 1/m.

    All rows are identical to the bit, so a release multiplies the likelihood of every trajectory
    alike and no belief changes. Its budget is 0.

    >>> Uniform(Grid(rows=2, columns=2, cell_size=1.0)).emission()[0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, grid: Grid) -> None:
        super().__init__(grid, grid.size, 0.0)

    @property
    def claimed_alpha(self) -> float:
        return 0.0

    def with_budget(self, budget: float) -> Uniform:
        """Return itself; 0 is the only budget it has."""
        self._checked_budget(budget)
        return self

    def row(self, cell: int) -> NDArray[np.float64]:
        self._checked_cell(cell)
        return self._even()

    def likelihood(self, output: int) -> NDArray[np.float64]:
        self._checked_output(output)
        return self._even()

    def rectangles(self, boxes: Sequence[tuple[int, int, int, int]]) -> NDArray[np.float64]:
        """Return (cells, k), the share of the map that each rectangle has."""
        areas = [(bottom - top) * (right - left) for top, bottom, left, right in boxes]
        shares = np.array(areas, dtype=np.float64) / self.grid.size
        return np.tile(shares, (self.grid.size, 1))

    def describe(self) -> dict[str, Any]:
        return {"kind": "uniform"}

    def _even(self) -> NDArray[np.float64]:
        even = np.full(self.grid.size, 1.0 / self.grid.size)
        even.flags.writeable = False
        return even

    def _make_table(self) -> NDArray[np.float64]:
        return np.full((self.grid.size, self.outputs), 1.0 / self.grid.size)
