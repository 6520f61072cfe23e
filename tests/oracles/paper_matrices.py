"""The paper's own formulas, written down as printed: matrices of 2m x 2m, lemmas, conditions.

Times count from 1 here, as in the paper; cells from 0. Nothing of priste takes part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class PaperEvent:
    """A PRESENCE or PATTERN over consecutive times ``start`` to ``end``, a region for each.

    ``printed`` takes the region of PATTERN's matrices as printed, s_t, and not s_(t+1), the region
    at which the move from t to t+1 arrives.
    """

    def __init__(
        self,
        kind: str,
        matrix: Array,
        regions: Mapping[int, Sequence[int]],
        *,
        printed: bool = False,
    ) -> None:
        self.kind, self.matrix, self.regions, self.printed = kind, matrix, regions, printed
        self.start, self.end = min(regions), max(regions)
        self.cells = len(matrix)

    def lifted(self, t: int) -> Array:
        """M_t, equations (new-M-1) to (new-M-6)."""
        m, zero = self.matrix, np.zeros_like(self.matrix)
        if t < self.start - 1 or t >= self.end:
            return np.block([[m, zero], [zero, m]])
        arrival = t if self.printed and t >= self.start else t + 1
        inside = np.zeros(self.cells)
        inside[list(self.regions[arrival])] = 1.0
        into = m * inside
        if self.kind == "presence" or t == self.start - 1:
            return np.block([[m - into, into], [zero, m]])
        return np.block([[m, zero], [m - into, into]])

    def product(self, first: int, last: int) -> Array:
        """M_first ... M_last; the identity if there is none."""
        found = np.eye(2 * self.cells)
        for t in range(first, last + 1):
            found = found @ self.lifted(t)
        return found

    @property
    def true_world(self) -> Array:
        """[0, 1]."""
        return np.repeat([0.0, 1.0], self.cells)

    def prior(self) -> Array:
        """Lemma III.1: Pr(EVENT | first cell), as a column of 2m (the upper half is meant)."""
        return self.product(1, self.end - 1) @ self.true_world

    def _emissions(self, columns: Sequence[Array]) -> list[Array]:
        return [np.diag(np.tile(column, 2)) for column in columns]

    def joint(self, columns: Sequence[Array], *, any_world: bool = False) -> Array:
        """Lemmas III.2 and III.3: b, or c with ``any_world``, as a column of 2m."""
        worlds = np.ones(2 * self.cells) if any_world else self.true_world
        seen, t = self._emissions(columns), len(columns)
        forward = seen[0]
        for i in range(2, min(t, self.end) + 1):
            forward = forward @ self.lifted(i - 1) @ seen[i - 1]
        if t <= self.end:
            rest = np.eye(2 * self.cells) if any_world else self.product(t, self.end - 1)
            return forward @ rest @ worlds
        backward = np.ones(2 * self.cells)
        for i in range(t - 1, self.end - 1, -1):
            backward = backward @ seen[i] @ self.lifted(i).T
        return forward @ (backward * worlds)

    def conditions(
        self, pi: Array, columns: Sequence[Array], epsilon: float
    ) -> tuple[float, float]:
        """Theorem IV.1: the left sides of its two conditions, for a prior or any vector."""
        m, r = self.cells, np.exp(epsilon)
        a, b, c = (
            vector[:m]
            for vector in (self.prior(), self.joint(columns), self.joint(columns, any_world=True))
        )
        first = pi @ ((r - 1) * np.outer(a, b) - r * np.outer(a, c)) @ pi + pi @ b
        second = pi @ ((r - 1) * np.outer(a, b) + np.outer(a, c)) @ pi - r * (pi @ b)
        return float(first), float(second)
