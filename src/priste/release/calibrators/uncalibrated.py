"""The uncalibrated mechanism: full budget at every step, no check, no guarantee.

It is what a location app with a mechanism and nothing else would release. Its streams are there
to be compared with: their leakage is measured like any other, and it may exceed ε.
"""

from __future__ import annotations

from typing import Any

from priste.release.accountant import AccountantState
from priste.release.release_tables import UncheckedTable


class Uncalibrated:
    """Draw once at the full budget, whatever was released before; gives no guarantee.

    The ledger of such a stream shows how much the mechanism by itself would have revealed.

    >>> from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
    >>> grid = Grid(rows=3, columns=3, cell_size=1.0)
    >>> model = MarkovModel.gaussian(grid, sigma=1.0)
    >>> mechanism = PlanarLaplace(grid, alpha=3.0)
    >>> p = Protector(model, presence([0], steps=[1]), mechanism, guarantee=0.1,
    ...               adversary=AnyPrior(), calibrator="uncalibrated", rng=1)
    >>> [p.release(0).budget for _ in range(2)], p.leakage[0] > 0.1
    ([3.0, 3.0], True)
    """

    guaranteed = False

    def propose(self, state: AccountantState) -> UncheckedTable:
        """Return the emission matrix at the full budget."""
        return UncheckedTable.of(state.mechanism)

    def describe(self) -> dict[str, Any]:
        """Return its name; it has no parameters."""
        return {"kind": "uncalibrated"}
