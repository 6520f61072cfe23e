"""The certified calibrator: a budget that depends on past releases only.

Before a step it looks for the largest budget at which *every* possible output keeps every
event within its ε, and then draws once. So the law that was checked is the law of the
release, and the promise holds against an adversary who knows the code, the events, ε, and the
budget in use.

An uninformative release (the same column for every cell) multiplies the likelihood of the
event and of its negation alike: it changes no ratio. It is therefore always allowed, by that
argument and not by the rounded check, and the stream cannot get stuck.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.randomness import BitSource
from priste.release.calibration import Draw, Law, Situation, finite_budget, register

STEPS_PER_HALVING = 8
"""The resolution of the search: budgets are ``full * 2**(-k / 8)``, 8.3 % apart."""

HALVINGS = 20
"""Below ``full * 2**-20`` the search gives up and releases something uninformative."""

_QUICK_LOOK = 32  # how many suspects are tried before all outputs are
_SUSPECTS_KEPT = 64


class Certified:
    """Choose the largest budget at which every output passes, then draw once.

    Budgets are taken from a public ladder, ``full * 2**(-k / steps_per_halving)`` down to
    ``full * 2**-halvings``, then 0. The search starts at the budget of the last step,
    doubles its stride until the verdict changes, and bisects. It does not assume that the
    verdict is monotone: the budget it returns has been checked with all outputs. Where the
    verdict is monotone, that budget is the largest of the ladder.

    >>> from priste.maps import Grid
    >>> from priste.mechanisms import PlanarLaplace
    >>> Certified().ladder(PlanarLaplace(Grid(rows=2, columns=2, cell_size=1.0), alpha=1.0))[:3]
    (1.0, 0.9170040432046712, 0.8408964152537145)
    """

    def __init__(
        self, *, steps_per_halving: int = STEPS_PER_HALVING, halvings: int = HALVINGS
    ) -> None:
        for name, value in (("steps_per_halving", steps_per_halving), ("halvings", halvings)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:
                raise InvalidParameter(
                    f"The '{name}' of Certified must be an integer from 1 to 1000. Got {value!r}."
                )
        self._steps_per_halving = steps_per_halving
        self._halvings = halvings

    def ladder(self, mechanism: Mechanism) -> tuple[float, ...]:
        """Return the budgets that may be chosen, largest first, 0.0 last."""
        if mechanism.budget == 0.0:
            return (0.0,)
        top = finite_budget(mechanism)
        rungs = [
            top * 2.0 ** (-k / self._steps_per_halving)
            for k in range(self._halvings * self._steps_per_halving + 1)
        ]
        exact = (mechanism.budget,) if math.isinf(mechanism.budget) else ()
        return (*exact, *(rung for rung in rungs if rung > 0.0), 0.0)

    def budget(self, situation: Situation) -> float:
        """Return the budget for this step; it depends on nothing but the situation."""
        ladder = self.ladder(situation.mechanism)
        zero = len(ladder) - 1
        if zero == 0:
            return 0.0
        verdicts: dict[int, bool] = {zero: True}

        def safe(rung: int) -> bool:
            if rung not in verdicts:
                verdicts[rung] = _all_outputs_pass(situation, ladder[rung])
            return verdicts[rung]

        rung = _nearest_rung(ladder, situation.last_budget)
        stride = 1
        if safe(rung):
            good = rung
            while good > 0:
                above = max(0, good - stride)
                if not safe(above):
                    return ladder[_bisect(above, good, safe)]
                good, stride = above, 2 * stride
            return ladder[good]
        bad = rung
        while True:
            below = min(zero, bad + stride)
            if safe(below):
                return ladder[_bisect(bad, below, safe)]
            bad, stride = below, 2 * stride

    def draw(self, situation: Situation, cell: int, bits: BitSource) -> Draw:
        """Draw once, at the budget that was found without looking at the cell."""
        budget = self.budget(situation)
        return Draw(output=situation.at(budget).sample(cell, bits), budget=budget)

    def law(self, situation: Situation) -> Law:
        """Return the emission table at the chosen budget: one layer."""
        budget = self.budget(situation)
        return Law((budget,), situation.at(budget).emission()[None, :, :])

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names."""
        return {
            "kind": "certified",
            "steps_per_halving": self._steps_per_halving,
            "halvings": self._halvings,
        }


def _nearest_rung(ladder: tuple[float, ...], last: float | None) -> int:
    """Return where to begin: at the last budget, at the top before the first release.

    After an uninformative release that is the lowest rung above 0, so that a stream at its bound
    costs one check a step.
    """
    if last is None:
        return 0
    return min(
        range(len(ladder) - 1), key=lambda k: abs(ladder[k] - last) if ladder[k] != last else -1.0
    )


def _bisect(bad: int, good: int, safe: Any) -> int:
    while good - bad > 1:
        middle = (bad + good) // 2
        if safe(middle):
            good = middle
        else:
            bad = middle
    return good


def _all_outputs_pass(situation: Situation, budget: float) -> bool:
    """Tell whether every output that can occur at this budget passes for every event."""
    table = situation.at(budget).emission()
    suspects = situation.suspects
    first = [output for output in suspects[:_QUICK_LOOK] if table[:, output].any()]
    if first:
        verdict = situation.passes(np.ascontiguousarray(table[:, first]))
        if not verdict.all():
            return False
    possible = np.flatnonzero(table.any(axis=0))
    columns = table if len(possible) == table.shape[1] else table[:, possible]
    verdict = situation.passes(columns)
    if verdict.all():
        return True
    failed = possible[~verdict][:_SUSPECTS_KEPT].tolist()
    kept = set(failed)
    suspects[:] = (failed + [output for output in suspects if output not in kept])[:_SUSPECTS_KEPT]
    return False


register("certified", Certified)
