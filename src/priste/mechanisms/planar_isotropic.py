"""The planar isotropic mechanism: noise shaped like the set of cells where the user may be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.maps import Cells, Grid
from priste.mechanisms.hull_integrals import HullMasses
from priste.mechanisms.mechanism import FLOOR, ROUNDING_SLIP, normalise_rows
from priste.mechanisms.plausible_cells import (
    Surrogates,
    checked_belief,
    checked_cells,
    checked_delta,
    likely_cells,
)
from priste.mechanisms.restricted import RestrictedMechanism, remapped_columns
from priste.mechanisms.saved_arrays import array_to_dict
from priste.mechanisms.sensitivity_hull import SensitivityHull

_WHO = "PlanarIsotropic"


class PlanarIsotropic(RestrictedMechanism):
    """K-norm noise on a location set: density proportional to exp(-alpha * norm_K(z - x)).

    K is the sensitivity hull of the set: the convex hull of the differences of its cells. The
    noise is a radius with distribution Gamma(3, 1/alpha) times a uniform point *of the body* K. The
    noisy point goes to the nearest point of the map, its cell to the nearest cell of the set; a
    true cell outside the set is replaced by the nearest one inside. If all cells of the set lie on
    one line, K is a segment and the noise is that of the line (Gamma(2, 1/alpha) times a uniform
    point of the segment, which is Laplace); a set of one cell is always released as itself.

    What it guarantees: any two cells of the set give any output with probabilities within a factor
    exp(alpha), and within exp(alpha * norm_K of their difference). So ``alpha`` (finite, > 0; also
    its budget) is per unit of that norm, **not per km**. ``claimed_alpha`` is the level per km that
    follows for this set, over all cells of the map.

    The set is either fixed (``cells``), or the smallest set of predicted probability >= 1 -
    ``delta`` under ``belief`` (uniform when left out) and then follows ``at_belief``.

    ``with_budget(0.0)`` releases the cells of the set uniformly. At any budget a release is uniform
    on the set with a probability of k x 2**-512 (k cells), which keeps deep tails from underflow.

    >>> grid = Grid(rows=5, columns=5, cell_size=1.0)
    >>> mech = PlanarIsotropic(grid, alpha=1.0, cells=[6, 7, 8, 12])
    >>> row = mech.row(7)
    >>> [cell for cell in range(25) if row[cell] > 0]
    [6, 7, 8, 12]
    """

    def __init__(
        self,
        grid: Grid,
        alpha: float,
        *,
        cells: Cells | None = None,
        delta: float | None = None,
        belief: ArrayLike | None = None,
    ) -> None:
        value = check_float(
            alpha,
            "alpha",
            _WHO,
            least=0,
            why="per unit of its norm; 0 is uninformative",
            hint="For an exact release use the identity mechanism.",
        )
        if (cells is None) == (delta is None):
            raise InvalidParameter(
                "must be given (a fixed set), or else 'delta' (a set that follows the belief)",
                parameter="cells",
                owner=_WHO,
                got="neither" if cells is None else "both",
            )
        odds: NDArray[np.float64] | None = None
        share: float | None = None
        if delta is not None:
            share = checked_delta(delta, who=_WHO)
            if belief is None:
                belief = np.full(grid.size, 1.0 / grid.size)
            odds = checked_belief(belief, grid, who=_WHO)
            chosen = likely_cells(odds, share)
        elif cells is not None:
            if belief is not None:
                raise InvalidParameter(
                    "must be left out with fixed 'cells'",
                    parameter="belief",
                    owner=_WHO,
                    hint="Give 'delta' instead.",
                )
            chosen = checked_cells(cells, grid, who=_WHO)
        super().__init__(Surrogates(grid, chosen), value)
        rows, columns = np.divmod(self._surrogates.cells, grid.columns)
        self._delta = share
        self._belief = odds
        self._hull = SensitivityHull(zip(columns.tolist(), rows.tolist(), strict=True))
        self._masses = HullMasses(self._hull, grid.rows, grid.columns)

    @property
    def alpha(self) -> float:
        """The budget per unit of the norm; on the set, no log ratio of an output exceeds it."""
        return self._budget

    @property
    def delta(self) -> float | None:
        """The probability that may be left out of the set; None if the set is fixed."""
        return self._delta

    @property
    def hull(self) -> SensitivityHull:
        """The sensitivity hull of the set, in cells (column, row)."""
        return self._hull

    @property
    def claimed_alpha(self) -> float:
        if self._budget == 0.0 or len(self._surrogates.cells) == 1:
            return 0.0
        rows, columns = np.divmod(self._surrogates.cells, self.grid.columns)
        places = np.stack([columns, rows], axis=1).astype(np.float64)
        norms = self._hull.norm(places[:, None, :] - places[None, :, :])
        slip = ROUNDING_SLIP / self.grid.cell_size
        return self._budget * self._surrogates.stretch(norms) + slip

    @property
    def uses_belief(self) -> bool:
        return self._belief is not None

    def with_budget(self, budget: float) -> PlanarIsotropic:
        """Return the mechanism on the same set with a smaller alpha."""
        value = self._checked_budget(budget)
        if value == self._budget:
            return self
        other = self._twin()
        other._budget = value
        return other

    def at_belief(self, predicted: ArrayLike) -> PlanarIsotropic:
        """Return the mechanism on the set of another prediction; itself if the set is fixed."""
        if self._delta is None:
            return self
        return PlanarIsotropic(self.grid, self._budget, delta=self._delta, belief=predicted)

    def describe(self) -> dict[str, Any]:
        saved: dict[str, Any] = {"kind": "planar_isotropic", "alpha": self._budget}
        if self._belief is None:
            return saved | {"cells": list(self.cells), "delta": None, "belief": None}
        belief = array_to_dict(self._belief)
        return saved | {"cells": None, "delta": self._delta, "belief": belief}

    def _make_inner(self) -> NDArray[np.float64]:
        cells = self._surrogates.cells
        count = len(cells)
        if self._budget == 0.0 or count == 1:
            return np.full((count, count), 1.0 / count)
        rows, columns = self.grid.rows, self.grid.columns
        masses = self._masses.at(self._budget)
        true_rows, true_columns = np.divmod(cells, columns)
        # [true row, column offset, target row]
        by_row = np.stack([_on_map(masses.T, row, rows) for row in range(rows)])
        rows_of_noise = np.empty((count, rows, columns))
        for column in np.unique(true_columns).tolist():
            here = np.flatnonzero(true_columns == column)
            # [true row, target row, target column]
            by_cell = _on_map(by_row.transpose(0, 2, 1), column, columns)
            rows_of_noise[here] = by_cell[true_rows[here]]
        inner = remapped_columns(rows_of_noise.reshape(count, -1), self._surrogates.nearest, count)
        return normalise_rows(inner + FLOOR)


def _on_map(masses: NDArray[np.float64], position: int, count: int) -> NDArray[np.float64]:
    """Turn offsets (last axis, 2 count + 1 slots) into targets 0 .. count-1, seen from a position.

    The first and the last target take everything beyond them.
    """
    if count == 1:
        whole: NDArray[np.float64] = masses.sum(axis=-1, keepdims=True)
        return whole
    targets = masses[..., count - position : 2 * count - position].copy()
    targets[..., 0] = masses[..., : count - position + 1].sum(axis=-1)
    targets[..., -1] = masses[..., 2 * count - 1 - position :].sum(axis=-1)
    return targets
