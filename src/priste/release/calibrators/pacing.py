"""How much one step may use: where a search for a budget begins, its share of each guarantee."""

from __future__ import annotations

import math

from priste.arguments import check_float
from priste.mechanisms import Mechanism
from priste.quantify import Guarantee
from priste.release.accountant import AccountantState

NEARLY_EXACT = 32.0
"""In units of 1 / cell size: a planar Laplace at this budget almost always keeps the cell."""


def finite_budget(mechanism: Mechanism) -> float:
    """Return the budget from which a search walks down: the mechanism's own, if it is finite.

    The family of an exact release has an infinite budget at its end; below it the search begins
    at ``NEARLY_EXACT`` divided by the cell size.
    """
    if math.isinf(mechanism.budget):
        return NEARLY_EXACT / mechanism.grid.cell_size
    return mechanism.budget


def checked_pace(pace: float, who: str) -> float:
    """Return the pace of a calibrator, or raise InvalidParameter."""
    return check_float(pace, "pace", who, above=0.0, most=1.0)


def paced_limits(state: AccountantState, pace: float) -> list[Guarantee]:
    """Return per event the guarantee for this step: ``pace`` of what is left may be used up.

    What was leaked so far, over all bounded directions, counts in each of them. A release that
    says nothing keeps every one of these limits, as they leave the stream where it is.
    """
    return [
        guarantee.paced(leaked, sure, pace)
        for leaked, sure, guarantee in zip(
            state.leakage, state.belief, state.guarantees, strict=True
        )
    ]
