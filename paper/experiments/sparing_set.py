"""A δ-location set for many draws of one row each: it makes no table where a row will do.

Each run has another set at each step, so that the table of a set at a budget serves one draw and
one check. The draw needs one row of it, and a check that refuses needs no more than a column
up to rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.mechanisms import LocationSet
from priste.mechanisms.mechanism import normalise_rows
from priste.mechanisms.restricted import remapped_columns


class SparingSet(LocationSet):
    """The mechanism ``LocationSet``; single rows are made alone."""

    def row(self, cell: int) -> NDArray[np.float64]:
        """Return the distribution of the outputs at a true cell."""
        if self._inner is not None:
            return super().row(cell)
        place = self._surrogates.nearest[self._checked_cell(cell)]
        inside = self._surrogates.cells
        distribution = self.base.row(int(inside[place]))[None, :]
        targets = self._surrogates.nearest[self._meant]
        row = np.zeros(self.outputs)
        row[inside] = normalise_rows(remapped_columns(distribution, targets, len(inside)))[0]
        row.flags.writeable = False
        return row

    def rough_column(self, output: int) -> NDArray[np.float64]:
        """Return ``column(output)`` up to rounding."""
        place = self._surrogates.nearest[self._checked_output(output)]
        sources = np.flatnonzero(self._surrogates.nearest[self._meant] == place)
        inside = self.base.emission()[np.ix_(self._surrogates.cells, sources)].sum(axis=1)
        return np.asarray(inside[self._surrogates.nearest])

    def at_belief(self, predicted: ArrayLike) -> SparingSet:
        """Return the same mechanism for another predicted probability of each cell."""
        return SparingSet(self.base, self.delta, predicted)
