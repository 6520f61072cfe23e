"""The delta-location set around any mechanism: hide only where the user plausibly is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.errors import InvalidParameter
from priste.mechanisms.mechanism import ROUNDING_SLIP, Mechanism, normalise_rows
from priste.mechanisms.plausible_cells import (
    Surrogates,
    checked_belief,
    checked_delta,
    likely_cells,
)
from priste.mechanisms.restricted import RestrictedMechanism, remapped_columns
from priste.mechanisms.saved_arrays import array_to_dict

_WHOLE_TABLE_BYTES = 2**27


class LocationSet(RestrictedMechanism):
    """Runs ``base`` inside the smallest set of cells with predicted probability >= 1 - delta.

    A true cell outside the set is replaced by the nearest cell inside (its surrogate) before
    ``base`` runs; an output outside is replaced by the nearest cell inside afterwards. Nothing is
    renormalised, so inside the set the level of ``base`` stays whole. Between two cells outside it,
    the surrogates may lie farther apart than the cells; ``claimed_alpha`` takes the largest such
    stretch into account, over the whole map.

    ``belief`` is the predicted probability of each cell, from public knowledge (uniform when left
    out); never from the true location, as the set shows. ``at_belief`` gives the mechanism for
    another prediction: a release loop asks for it at every step. ``delta`` is in [0, 1); 0 keeps
    every cell of positive probability. ``base`` must have outputs that are cells.

    >>> from priste.maps import Grid
    >>> from priste.mechanisms import PlanarLaplace
    >>> base = PlanarLaplace(Grid(rows=1, columns=4, cell_size=1.0), alpha=1.0)
    >>> mech = LocationSet(base, delta=0.1, belief=[0.5, 0.3, 0.15, 0.05])
    >>> mech.cells
    (0, 1, 2)
    >>> bool((mech.row(3) == mech.row(2)).all()), mech.row(0)[3].item()
    (True, 0.0)
    """

    def __init__(self, base: Mechanism, delta: float, belief: ArrayLike | None = None) -> None:
        if not isinstance(base, Mechanism):
            raise InvalidParameter(
                "must be a mechanism", parameter="base", owner="LocationSet", value=type(base)
            )
        if base.uses_belief:
            raise InvalidParameter(
                "must not use a belief itself",
                parameter="base",
                owner="LocationSet",
                value=type(base),
            )
        value = checked_delta(delta, who="LocationSet")
        grid = base.grid
        if belief is None:
            belief = np.full(grid.size, 1.0 / grid.size)
        odds = checked_belief(belief, grid, who="LocationSet")
        super().__init__(Surrogates(grid, likely_cells(odds, value)), base.budget)
        meant = base.output_cells()
        if meant is None:
            raise InvalidParameter(
                "must release cells",
                parameter="base",
                owner="LocationSet",
                got=f"{type(base).__name__} whose outputs are not cells; give it output_cells",
            )
        self._base = base
        self._meant = meant
        self._delta = value
        self._belief = odds

    @property
    def base(self) -> Mechanism:
        """The mechanism that runs inside the set."""
        return self._base

    @property
    def delta(self) -> float:
        """The probability that may be left out of the set."""
        return self._delta

    @property
    def claimed_alpha(self) -> float:
        stretch = self._surrogates.stretch(self._surrogates.distances())
        if stretch == 0.0:
            return 0.0
        return self._base.claimed_alpha * stretch + ROUNDING_SLIP / self.grid.cell_size

    @property
    def uses_belief(self) -> bool:
        return True

    def with_budget(self, budget: float) -> LocationSet:
        """Return the same set around ``base.with_budget(budget)``."""
        value = self._checked_budget(budget)
        return self if value == self.budget else self.around(self._base.with_budget(value))

    def around(self, base: Mechanism) -> Self:
        """Return the same set around its base at another budget, which may serve many sets."""
        other = self._twin()
        other._base, other._budget = base, base.budget
        return other

    def at_belief(self, predicted: ArrayLike) -> LocationSet:
        """Return the same mechanism for another predicted probability of each cell."""
        return LocationSet(self._base, self._delta, predicted)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": "location_set",
            "base": self._base.describe(),
            "delta": self._delta,
            "belief": array_to_dict(self._belief),
        }

    def _make_inner(self) -> NDArray[np.float64]:
        cells = self._surrogates.cells
        if 8 * self.grid.size * self._base.outputs <= _WHOLE_TABLE_BYTES:
            rows = self._base.emission()[cells]
        else:
            rows = np.stack([self._base.row(cell) for cell in cells.tolist()])
        targets = self._surrogates.nearest[self._meant]
        return normalise_rows(remapped_columns(rows, targets, len(cells)))
