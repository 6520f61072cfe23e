"""The planar Laplace mechanism on a grid: alpha-geo-indistinguishable at the cell centres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_float
from priste.maps import Grid
from priste.mechanisms.laplace_integrals import LaplaceTable, LaplaceTables
from priste.mechanisms.mechanism import FLOOR, ROUNDING_SLIP, Mechanism
from priste.mechanisms.uniform import Uniform


class PlanarLaplace(Mechanism):
    """Noise with density proportional to exp(-alpha * distance), seen through the grid.

    The continuous noise is added at the centre of the true cell, and the released cell is the one
    that holds the noisy point; a point off the map goes to the nearest point of the map first.
    ``emission()`` holds the exact distribution of that, as integrals of the density. Both steps
    only process the noisy point further, so the rows are alpha-geo-indistinguishable at the cell
    centres.

    ``alpha`` is per km, finite and > 0. Every entry has a relative error below 1e-12. No entry is
    0: a release is uniform with probability m x 2**-512, which keeps alpha (a mixture with a
    distribution that does not depend on the cell cannot hurt it) and keeps the deep tails out of
    underflow. ``claimed_alpha`` is alpha plus what rounding might add, 1e-11 over the cell size.

    ``with_budget(0.0)`` is ``Uniform``, which says as little as the limit of ever smaller alpha
    (the four corners, 1/4 each) and is nearer to the truth. ``row`` and ``likelihood`` need no
    table and serve grids whose table would be too large.

    >>> mech = PlanarLaplace(Grid(rows=20, columns=20, cell_size=1.0), alpha=0.5)
    >>> mech.emission().shape, mech.smallest_alpha() <= mech.claimed_alpha
    ((400, 400), True)
    """

    def __init__(self, grid: Grid, alpha: float) -> None:
        level = check_float(
            alpha,
            "alpha",
            "PlanarLaplace",
            above=0,
            why="per km",
            hint="For an exact release use the identity mechanism, for a silent one the uniform.",
        )
        super().__init__(grid, grid.size, level)
        self._tables = LaplaceTables(grid.rows, grid.columns)

    @property
    def alpha(self) -> float:
        """The nominal level of geo-indistinguishability, per km; also its budget."""
        return self._budget

    @property
    def claimed_alpha(self) -> float:
        return self._budget + ROUNDING_SLIP / self.grid.cell_size

    def with_budget(self, budget: float) -> Mechanism:
        """Return the mechanism with a smaller alpha; at 0 that is ``Uniform``."""
        value = self._checked_budget(budget)
        if value == 0.0:
            return Uniform(self.grid)
        return self if value == self._budget else self._at(value)

    def _at(self, alpha: float) -> PlanarLaplace:
        other = self._twin()  # which shares the integrals
        other._budget = alpha
        return other

    def row(self, cell: int) -> NDArray[np.float64]:
        row, column = divmod(self._checked_cell(cell), self.grid.columns)
        table = self._integrals()
        return self._gathered(table, table.row_slots[row], table.column_slots[column])

    def likelihood(self, output: int) -> NDArray[np.float64]:
        row, column = divmod(self._checked_output(output), self.grid.columns)
        table = self._integrals()
        return self._gathered(table, table.row_slots[:, row], table.column_slots[:, column])

    def likelihoods(self, outputs: Sequence[int]) -> NDArray[np.float64]:
        asked = np.asarray(outputs)
        if asked.dtype.kind != "i" or not ((asked >= 0) & (asked < self.outputs)).all():
            asked = np.array([self._checked_output(output) for output in outputs], dtype=np.int64)
        row, column = np.divmod(asked, self.grid.columns)
        table = self._integrals()
        slots = table.row_slots[:, None, row], table.column_slots[None, :, column]
        return table.probability[slots].reshape(self.grid.size, -1) + FLOOR

    def rectangles(self, boxes: Sequence[tuple[int, int, int, int]]) -> NDArray[np.float64]:
        """Return (cells, k), from the table of displacements only: rows first, then columns.

        The numbers of a rectangle lie side by side in memory.
        """
        table = self._integrals()
        probability = table.probability + FLOOR
        rows, columns = self.grid.rows, self.grid.columns
        merged = np.empty((len(boxes), rows, columns))
        across: dict[tuple[int, int], NDArray[np.float64]] = {}
        for place, (top, bottom, left, right) in enumerate(boxes):
            if (left, right) not in across:
                slots = table.column_slots[:, left:right]
                summed = probability[:, slots[:, 0]]
                for column in range(1, right - left):
                    summed = summed + probability[:, slots[:, column]]
                across[left, right] = summed
            strip = across[left, right]
            box = merged[place]
            box[:] = strip[table.row_slots[:, top]]
            for row in range(top + 1, bottom):
                box += strip[table.row_slots[:, row]]
        return merged.reshape(len(boxes), -1).T

    def describe(self) -> dict[str, Any]:
        return {"kind": "planar_laplace", "alpha": self._budget}

    def _integrals(self) -> LaplaceTable:
        # A product out of range is as good as its end of the range: no noise, or nothing but.
        cell_alpha = min(max(self._budget * self.grid.cell_size, 1e-300), 1e300)
        return self._tables.at(cell_alpha)

    def _gathered(
        self, table: LaplaceTable, rows: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        row = table.probability[rows[:, None], columns].ravel() + FLOOR
        row.flags.writeable = False
        return row

    def _make_table(self) -> NDArray[np.float64]:
        table = self._integrals()
        size, probability = self.grid.size, table.probability + FLOOR
        entries = np.empty((self.grid.rows, self.grid.columns, self.grid.rows, self.grid.columns))
        for row, slots in enumerate(table.row_slots):
            # (target row, true column, target column) -> (true column, target row, target column)
            entries[row] = probability[slots][:, table.column_slots].transpose(1, 0, 2)
        return entries.reshape(size, size)
