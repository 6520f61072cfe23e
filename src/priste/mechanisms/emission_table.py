"""A mechanism of the user's own, given as its emission matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import as_floats, check_array, check_float
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms.mechanism import (
    Mechanism,
    exact_row_excess,
    normalise_rows,
    refuse_large_table,
)
from priste.mechanisms.saved_arrays import array_to_dict

GIVEN_ROW_TOLERANCE = 1e-9
"""Rows of a given table must sum to 1 within this; they are then scaled to sum to 1."""


class EmissionTable(Mechanism):
    """A mechanism from a table (cells, outputs) of probabilities; outputs need not be cells.

    ``table[l, o]`` is Pr(output o | true cell l): finite, >= 0, rows summing to 1 within 1e-9. A
    row that sums to 1 within 2**-50 is used to the bit; any other is divided by its sum (its zeros
    stay zeros). ``output_cells`` names the cell that each output means, if any; by default output
    and cell have the same number when there are as many outputs as cells, and outputs are not
    cells otherwise. The table is copied.

    Its budget is a share between 0 and 1 (without a unit, not per km): at ``budget`` b the output
    is drawn from the table with probability b and otherwise from ``background``, a row that does
    not depend on the cell. So a smaller budget is always post-processing of a larger one, and at 0
    every row is the background. ``background`` defaults to the mean of the rows.

    ``claimed_alpha`` is what ``smallest_alpha()`` measures, since nothing else is known. With
    outputs that are not cells ``output_cells()`` is None, and distances from the truth have no
    meaning.

    >>> grid = Grid(rows=1, columns=2, cell_size=1.0)
    >>> coin = EmissionTable(grid, [[0.75, 0.25], [0.25, 0.75]])
    >>> coin.with_budget(0.5).emission().tolist()
    [[0.625, 0.375], [0.375, 0.625]]
    """

    def __init__(
        self,
        grid: Grid,
        table: ArrayLike,
        *,
        output_cells: ArrayLike | None = None,
        background: ArrayLike | None = None,
        budget: float = 1.0,
    ) -> None:
        given = as_floats(table, "table", "EmissionTable").copy()
        if given.ndim != 2 or given.shape[0] != grid.size or given.shape[1] == 0:
            raise InvalidParameter(
                f"must have one row for each of the {grid.size} cells and at least one column",
                parameter="table",
                owner="EmissionTable",
                got=f"shape {given.shape}",
            )
        refuse_large_table("EmissionTable", *given.shape)
        share = check_float(
            budget, "budget", "EmissionTable", least=0, most=1, why="a share from 0 to 1"
        )
        super().__init__(grid, given.shape[1], share)
        self._given = _as_distributions(given, "table")
        self._background = _as_distributions(
            self._background_row(background)[None, :], "background"
        )[0]
        for array in (self._given, self._background):
            array.flags.writeable = False
        self._output_cells = self._meaning(output_cells)

    @property
    def claimed_alpha(self) -> float:
        return self.smallest_alpha()

    def with_budget(self, budget: float) -> EmissionTable:
        """Return the mixture with another share of the table, from 0 up to its own."""
        value = self._checked_budget(budget)
        if value == self._budget:
            return self
        other = self._twin()  # everything else was validated once
        other._budget = value
        return other

    def output_cells(self) -> NDArray[np.int64] | None:
        return self._output_cells

    def describe(self) -> dict[str, Any]:
        cells = self._output_cells
        return {
            "kind": "emission_table",
            "table": array_to_dict(self._given),
            "output_cells": None if cells is None else cells.tolist(),
            "background": array_to_dict(self._background),
            "budget": self._budget,
        }

    def _make_table(self) -> NDArray[np.float64]:
        if self._budget == 1.0:
            return self._given
        if self._budget == 0.0:
            return np.repeat(self._background[None, :], self.grid.size, axis=0)
        mixture = self._budget * self._given + (1.0 - self._budget) * self._background
        return normalise_rows(mixture)

    def _background_row(self, background: ArrayLike | None) -> NDArray[np.float64]:
        if background is None:
            mean: NDArray[np.float64] = self._given.mean(axis=0)
            return mean
        row = as_floats(background, "background", "EmissionTable").copy()
        if row.shape != (self.outputs,):
            raise InvalidParameter(
                f"must have one entry for each of the {self.outputs} outputs",
                parameter="background",
                owner="EmissionTable",
                got=f"shape {row.shape}",
            )
        return row

    def _meaning(self, output_cells: ArrayLike | None) -> NDArray[np.int64] | None:
        if output_cells is None:
            if self.outputs != self.grid.size:
                return None
            return super().output_cells()
        cells = np.asarray(output_cells)
        if (
            cells.shape != (self.outputs,)
            or not np.issubdtype(cells.dtype, np.integer)
            or (cells < 0).any()
            or (cells >= self.grid.size).any()
        ):
            raise InvalidParameter(
                f"must name a cell from 0 to {self.grid.size - 1} for each of the "
                f"{self.outputs} outputs",
                parameter="output_cells",
                owner="EmissionTable",
                got=f"an array of {cells.dtype} with shape {cells.shape}",
            )
        meant = cells.astype(np.int64)
        meant.flags.writeable = False
        return meant


def _as_distributions(rows: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    if check_array(rows, name, "EmissionTable").max(initial=0.0) > 1.0 + GIVEN_ROW_TOLERANCE:
        raise InvalidParameter(
            "must hold probabilities, from 0 to 1",
            parameter=name,
            owner="EmissionTable",
            value=float(rows.max()),
        )
    worst = float(np.abs(exact_row_excess(rows)).max())
    if not worst <= GIVEN_ROW_TOLERANCE:
        raise InvalidParameter(
            f"Every row of the {name!r} of EmissionTable must sum to 1 within "
            f"{GIVEN_ROW_TOLERANCE:g}.",
            got=f"a row that misses it by {worst:.3g}",
            hint="Check which axis holds the true cells: rows do.",
        )
    return normalise_rows(rows)
