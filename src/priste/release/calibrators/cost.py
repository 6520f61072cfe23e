"""What a release costs: the distance to the truth, its square, or one's own."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import Mechanism

Floats = NDArray[np.float64]
CostName = Literal["distance", "squared"]
Cost = CostName | Sequence[Sequence[float]] | Floats

COST_NAMES = ("distance", "squared")


class Costs:
    """What it costs to release each output at each true cell, and how tables are compared.

    - ``"distance"``: the expected distance in km under the public prediction;
    - ``"squared"``: the expected squared distance, in km²;
    - a matrix (cells, outputs) of one's own: its expectation under the public prediction.

    ``who`` names the calibrator in messages.

    >>> Costs("distance", "Optimal").name
    'distance'
    """

    def __init__(self, cost: Cost, who: str) -> None:
        self._who = who
        self._given: Floats | None = None
        self._last: tuple[Grid, NDArray[np.int64], Floats] | None = None
        if isinstance(cost, str):
            if cost not in COST_NAMES:
                raise InvalidParameter(
                    f"The 'cost' of {who} must be one of {list(COST_NAMES)} or a matrix (cells, "
                    f"outputs). Got {cost!r}."
                )
            self.name: str = cost
        else:
            self.name = "matrix"
            self._given = _checked_matrix(cost, who)

    def matrix(self, mechanism: Mechanism) -> Floats:
        """Return (cells, outputs), the cost of each output at each true cell.

        Raises InvalidParameter when a given matrix has another shape, or when distances are
        asked for and the outputs of the mechanism are not cells.
        """
        self.check(mechanism)
        meant = mechanism.output_cells()
        if self._given is not None or meant is None:
            return np.asarray(self._given)
        kept = self._kept(mechanism.grid, meant)
        if kept is not None:
            return kept
        centers = mechanism.grid.centers
        apart = np.hypot(
            centers[:, 0][:, None] - centers[meant, 0], centers[:, 1][:, None] - centers[meant, 1]
        )
        costs = np.asarray(apart * apart if self.name == "squared" else apart)
        costs.flags.writeable = False
        self._last = mechanism.grid, meant, costs  # the same at every step of most streams
        return costs

    def check(self, mechanism: Mechanism) -> None:
        """Raise InvalidParameter if these costs do not fit the outputs of a mechanism."""
        shape = (mechanism.grid.size, mechanism.outputs)
        if self._given is not None and self._given.shape != shape:
            raise InvalidParameter(
                f"The 'cost' of {self._who} must have one row per cell and one column per output "
                f"of the mechanism, {shape}. Got {self._given.shape}."
            )
        if self._given is None and mechanism.output_cells() is None:
            raise InvalidParameter(
                f"{self._who} measures distances to outputs, and the outputs of this mechanism are "
                "not cells. Give 'output_cells' to the mechanism, or a matrix as 'cost'."
            )

    def _kept(self, grid: Grid, meant: NDArray[np.int64]) -> Floats | None:
        if self._last is None:
            return None
        known_grid, known_meant, costs = self._last
        return costs if known_grid == grid and np.array_equal(known_meant, meant) else None

    def between(self, points: Floats, others: Floats) -> Floats:
        """Return (n, k), the cost of releasing each of k points at each of n, given in km."""
        apart = np.hypot(points[:, 0][:, None] - others[:, 0], points[:, 1][:, None] - others[:, 1])
        return np.asarray(apart * apart if self.name == "squared" else apart)

    def by_cell(self, table: Floats, outputs: NDArray[np.int64], mechanism: Mechanism) -> Floats:
        """Return (m,) what the table (cells, k) of these outputs costs at each cell."""
        costs = self.at(np.arange(len(table)), outputs, mechanism)
        return np.asarray(np.einsum("lo,lo->l", table, costs))

    def at(
        self, cells: NDArray[np.int64], outputs: NDArray[np.int64], mechanism: Mechanism
    ) -> Floats:
        """Return (n, k), the cost of each of k outputs at each of n true cells."""
        meant = mechanism.output_cells()
        if self._given is not None or meant is None:
            return self.matrix(mechanism)[np.ix_(cells, outputs)]
        kept = self._kept(mechanism.grid, meant)
        if kept is not None:
            return _taken(_taken(kept, cells, 0), outputs, 1)
        centers = mechanism.grid.centers
        return self.between(centers[cells], centers[meant[outputs]])

    @property
    def key(self) -> Hashable:
        """What tells these costs from others."""
        return self.name if self._given is None else (self._given.shape, self._given.tobytes())

    def describe(self) -> str | list[list[float]]:
        """Return what makes these costs again; it can be put in JSON."""
        if self._given is None:
            return self.name
        listed: list[list[float]] = self._given.tolist()
        return listed


def _taken(table: Floats, numbers: NDArray[np.int64], axis: int) -> Floats:
    """Return these rows or columns of a table; the table itself if they are all of them."""
    every = len(numbers) == table.shape[axis] and np.array_equal(numbers, np.arange(len(numbers)))
    return table if every else table.take(numbers, axis=axis)


def _checked_matrix(cost: ArrayLike, who: str) -> Floats:
    try:
        given = np.array(cost, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InvalidParameter(
            f"The 'cost' of {who} must be one of {list(COST_NAMES)} or a matrix of numbers. "
            f"Got {problem}."
        ) from problem
    if given.ndim != 2 or not np.isfinite(given).all():
        raise InvalidParameter(
            f"The 'cost' matrix of {who} must be (cells, outputs) with finite entries. "
            f"Got shape {given.shape}."
        )
    given.flags.writeable = False
    return given
