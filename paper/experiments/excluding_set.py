"""A δ-location set read literally: what lies outside it has likelihood zero.

The paper says that the mechanism runs inside ΔX_t and that a true location outside is replaced
by the nearest inside, but not what the check takes the likelihood of an output to be at the
cells outside. With zero, every release tells the adversary that the user is inside: histories
that lead elsewhere are excluded, and where they are those with or without the event no budget is
small enough, not even 0. It is here to see what difference it makes, and protects nobody: the
true distribution of a release is the one with surrogates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paper.experiments.sparing_set import SparingSet


class ExcludingSet(SparingSet):
    """Draws as a ``LocationSet`` does; its columns are zero at cells outside the set."""

    def likelihood(self, output: int) -> NDArray[np.float64]:
        """Return the likelihood that the check is told: zero outside the set."""
        return self._inside(super().likelihood(output))

    def rough_column(self, output: int) -> NDArray[np.float64]:
        """Return ``likelihood(output)`` up to rounding."""
        return self._inside(super().rough_column(output))

    def _inside(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        told = np.zeros(self.grid.size)
        inside = self._surrogates.cells
        told[inside] = column[inside]
        told.flags.writeable = False
        return told

    def at_belief(self, predicted: ArrayLike) -> ExcludingSet:
        """Return the same mechanism for another predicted probability of each cell."""
        return ExcludingSet(self.base, self.delta, predicted)

    def describe(self) -> dict[str, Any]:
        """Return the description of the set, under a kind of its own."""
        return {**super().describe(), "kind": "excluding_set"}
