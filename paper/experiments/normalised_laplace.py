"""A planar Laplace whose rows are normalised: the shortcut that many implementations take.

Each cell is weighted by ``exp(-alpha * d)`` and the row is divided by its sum. The sums differ
from row to row, so the level of geo-indistinguishability may be up to twice ``alpha``. The paper
does not say how it made its discrete mechanism; this one is here to see what difference it
makes, and protects nobody.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.mechanisms import Mechanism, Uniform
from priste.mechanisms.mechanism import normalise_rows


class NormalisedLaplace(Mechanism):
    """Cells with probability proportional to ``exp(-alpha * distance)``, row by row.

    Its budget is the alpha before rows were normalised.
    """

    def __init__(self, grid: Grid, alpha: float) -> None:
        super().__init__(grid, grid.size, alpha)

    @property
    def claimed_alpha(self) -> float:
        """Twice alpha: what normalising may have done."""
        return 2.0 * self.budget + 1e-11 / self.grid.cell_size

    def with_budget(self, budget: float) -> Mechanism:
        """Return the mechanism with a smaller alpha; at 0 it is uniform."""
        value = self._checked_budget(budget)
        return Uniform(self.grid) if value == 0.0 else NormalisedLaplace(self.grid, value)

    def describe(self) -> dict[str, Any]:
        """Return its name and alpha."""
        return {"kind": "normalised_laplace", "alpha": self.budget}

    def _make_table(self) -> NDArray[np.float64]:
        weights = np.exp(-self.budget * self.grid.distances())
        return normalise_rows(weights / weights.sum(axis=1, keepdims=True))
