"""The mechanism that adds no noise: for comparison, and for maps where nothing needs hiding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.mechanisms.mechanism import Mechanism
from priste.mechanisms.planar_laplace import PlanarLaplace
from priste.mechanisms.uniform import Uniform


class Identity(Mechanism):
    """Releases the true cell. It hides nothing: its budget and its alpha are infinite.

    It is the end of the planar Laplace family: ``with_budget(alpha)`` for a finite alpha > 0 is
    ``PlanarLaplace(grid, alpha)``, and at 0 ``Uniform(grid)``.

    >>> Identity(Grid(rows=1, columns=2, cell_size=1.0)).emission().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, grid: Grid) -> None:
        super().__init__(grid, grid.size, math.inf)
        self._family = PlanarLaplace(grid, 1.0)  # holds the tables of its smaller budgets

    @property
    def claimed_alpha(self) -> float:
        return math.inf

    def with_budget(self, budget: float) -> Mechanism:
        value = self._checked_budget(budget)
        if value == math.inf:
            return self
        if value == 0.0:
            return Uniform(self.grid)
        return self._family._at(value)

    def row(self, cell: int) -> NDArray[np.float64]:
        return self._unit(self._checked_cell(cell))

    def likelihood(self, output: int) -> NDArray[np.float64]:
        return self._unit(self._checked_output(output))

    def rectangles(self, boxes: Sequence[tuple[int, int, int, int]]) -> NDArray[np.float64]:
        """Return (cells, k): 1 where the cell lies in the rectangle, else 0."""
        inside = np.zeros((self.grid.rows, self.grid.columns, len(boxes)))
        for place, (top, bottom, left, right) in enumerate(boxes):
            inside[top:bottom, left:right, place] = 1.0
        return inside.reshape(self.grid.size, len(boxes))

    def describe(self) -> dict[str, Any]:
        return {"kind": "identity"}

    def _unit(self, position: int) -> NDArray[np.float64]:
        unit = np.zeros(self.grid.size)
        unit[position] = 1.0
        unit.flags.writeable = False
        return unit

    def _make_table(self) -> NDArray[np.float64]:
        return np.eye(self.grid.size)
