"""The uncalibrated mechanism: full budget at every step, no check, no guarantee.

It is what a location app with a mechanism and nothing else would release. Its streams
are there to be compared with: their leakage is measured like any other, and it may exceed ε.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from priste.randomness import BitSource
from priste.release.calibrator import Draw, Law

if TYPE_CHECKING:
    from priste.release.public_state import PublicState


class Uncalibrated:
    """Draw once at the full budget, whatever was released before; guarantees nothing.

    The ledger of such a stream tells how much the mechanism by itself would have given away.

    >>> from priste import Grid, MarkovModel, PlanarLaplace, Protector, presence
    >>> grid = Grid(rows=3, columns=3, cell_size=1.0)
    >>> model = MarkovModel.gaussian(grid, sigma=1.0)
    >>> mech = PlanarLaplace(grid, alpha=3.0)
    >>> p = Protector(model, presence([0], steps=[1]), mech, guarantee=0.1,
    ...               calibrator="uncalibrated", rng=1)
    >>> [p.release(0).budget for _ in range(2)], p.leakage[0] > 0.1
    ([3.0, 3.0], True)
    """

    guarantee = False

    def draw(self, state: PublicState, cell: int, bits: BitSource) -> Draw:
        """Draw once at the full budget."""
        mechanism = state.mechanism
        return Draw(output=mechanism.sample(cell, bits), budget=mechanism.budget)

    def law(self, state: PublicState) -> Law:
        """Return the emission table at the full budget: one layer."""
        mechanism = state.mechanism
        return Law((mechanism.budget,), mechanism.emission()[None, :, :])

    def describe(self) -> dict[str, Any]:
        """Return its name; it has no parameters."""
        return {"kind": "uncalibrated"}
