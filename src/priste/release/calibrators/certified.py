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
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from priste.arguments import whole
from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.quantify import Promise
from priste.randomness import BitSource
from priste.release.calibrator import Draw, Law
from priste.release.calibrators.cost import Costs
from priste.release.calibrators.laws.column_law import ColumnLaw
from priste.release.calibrators.laws.public_guess import guessed
from priste.release.calibrators.pacing import checked_pace, finite_budget, paced_limits

if TYPE_CHECKING:
    from priste.release.public_state import PublicState

STEPS_PER_HALVING = 8
"""The resolution of the search: budgets are ``full * 2**(-k / 8)``, 8.3 % apart."""

HALVINGS = 20
"""Below ``full * 2**-20`` the search gives up and releases something uninformative."""

SUSPECTS = 16
"""How many outputs are tried first; a budget that they refuse needs no further look."""

SCATTERED = 32
"""How many outputs from all over are tried before all of them."""

GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0
"""Its multiples stay apart, in rows and in columns where outputs are the cells of a map."""


class Certified:
    """Choose the largest budget at which every output passes, then draw once.

    Budgets are taken from a public ladder, ``full * 2**(-k / steps_per_halving)`` down to
    ``full * 2**-halvings``, then 0. The search starts at the budget of the last step, doubles
    its stride until the verdict changes, and bisects. It does not assume that the verdict is
    monotone: the budget it returns has been checked with all outputs. Where the verdict is
    monotone, that budget is the largest of the ladder.

    ``pace`` in (0, 1] is the share of what is left of each ε that one step may use up, whatever
    the output: 1 takes the largest budget now and leaves little for later; less spreads a
    stream's budget over more steps. The promise is the same for every pace.

    With ``guess`` (the default) each output is replaced by the best public guess: the output of
    least expected distance given past releases and what was drawn, under the public prediction.
    That is public post-processing, and what is released, checked and stored is the guess. Without
    it, or where outputs are no cells, the mechanism's own output is released.

    >>> from priste.maps import Grid
    >>> from priste.mechanisms import PlanarLaplace
    >>> Certified().ladder(PlanarLaplace(Grid(rows=2, columns=2, cell_size=1.0), alpha=1.0))[:3]
    (1.0, 0.9170040432046712, 0.8408964152537145)
    """

    promise = True

    def __init__(
        self,
        *,
        pace: float = 1.0,
        steps_per_halving: int = STEPS_PER_HALVING,
        halvings: int = HALVINGS,
        guess: bool = True,
    ) -> None:
        for name, value in (("steps_per_halving", steps_per_halving), ("halvings", halvings)):
            whole(value, f"The '{name}' of Certified", least=1, most=1000)
        if not isinstance(guess, bool):
            raise InvalidParameter(f"The 'guess' of Certified must be a bool. Got {guess!r}.")
        self._pace = checked_pace(pace, "Certified")
        self._costs = Costs("distance", "Certified") if guess else None
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

    def budget(self, state: PublicState) -> float:
        """Return the budget for this step; it depends on nothing but the state."""
        return self.search(state, state.last_budget, state.hints)[0]

    def choose(self, state: PublicState) -> ColumnLaw:
        """Return the law for this step; it depends on nothing but the state."""
        budget, suspects = self.search(state, state.last_budget, state.hints)
        mechanism = state.at(budget)
        if self._costs is not None and mechanism.output_cells() is not None:
            law = guessed(state, mechanism, budget, self._costs)
            if law is not None:
                return replace(law, hints=suspects)
        table, outputs = mechanism.emission(), np.arange(mechanism.outputs)
        return ColumnLaw(table, outputs, len(outputs), budget, math.nan, True, suspects)

    def draw(self, state: PublicState, cell: int, bits: BitSource) -> Draw:
        """Draw once, from the law that was found without looking at the cell."""
        return state.chosen(self, self.choose).draw(cell, bits)

    def law(self, state: PublicState) -> Law:
        """Return the table of the chosen law: one layer."""
        return state.chosen(self, self.choose).law()

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names."""
        described = {
            "kind": "certified",
            "pace": self._pace,
            "steps_per_halving": self._steps_per_halving,
            "halvings": self._halvings,
        }
        return described if self._costs is None else {**described, "guess": True}

    def search(
        self, state: PublicState, last_budget: float | None, suspects: Sequence[int]
    ) -> tuple[float, tuple[int, ...]]:
        """Return the budget for this step, and the outputs to ask first at the next one.

        The search begins at ``last_budget`` (None: at the top) and asks ``suspects`` first: what
        it returned at the last step. They change how long it takes, and where verdicts are not
        monotone also which budget it finds, never whether that budget was checked.
        """
        ladder = self.ladder(state.mechanism)
        limits = paced_limits(state, self._pace)
        search = _Search(state, ladder, limits, last_budget, suspects)
        return ladder[search.best()], search.suspects


class _Search:
    """The search for a rung of the ladder that every output allows.

    A few suspects are asked first, all outputs last: a rung that a suspect refuses is refused, and
    a rung counts as allowed only when all outputs have been asked. In between come outputs from
    all over, as suspects of the last step may be harmless at this one.
    """

    def __init__(
        self,
        state: PublicState,
        ladder: tuple[float, ...],
        limits: Sequence[Promise],
        last_budget: float | None,
        suspects: Sequence[int],
    ) -> None:
        self._state = state
        self._ladder = ladder
        self._last_budget = last_budget
        self._zero = len(ladder) - 1
        self._limits = limits
        self._refused: set[int] = set()
        outputs = state.mechanism.outputs
        evenly = np.linspace(0, outputs - 1, min(SUSPECTS, outputs)).astype(int).tolist()
        scattered = (np.arange(SCATTERED) + 0.5) * GOLDEN_RATIO % 1.0
        self._scattered = np.unique((outputs * scattered).astype(int)).tolist()
        # A stream may have been begun with another calibrator, whose hints mean other things.
        known = [hint for hint in suspects if 0 <= hint < outputs]
        self._suspects: list[int] = known or evenly

    @property
    def suspects(self) -> tuple[int, ...]:
        """The outputs to ask first at the next step: those that refused last come first."""
        return tuple(self._suspects[:SUSPECTS])

    def best(self) -> int:
        """Return the rung: 0, or one whose upper neighbour is refused, where verdicts are monotone.

        The last rung is uninformative and needs no check.
        """
        rung = _starting_rung(self._ladder, self._last_budget)
        while True:
            rung = self._walk(rung)
            if rung == self._zero or (self._allow(rung, self._scattered) and self._all_allow(rung)):
                return rung

    def _walk(self, rung: int) -> int:
        """Return the rung that the suspects allow, as high as doubling strides can tell."""
        stride = 1
        if self._suspects_allow(rung):
            good = rung
            while good > 0:
                above = max(0, good - stride)
                if not self._suspects_allow(above):
                    return self._between(above, good)
                good, stride = above, 2 * stride
            return good
        bad = rung
        while True:
            below = min(self._zero, bad + stride)
            if self._suspects_allow(below):
                return self._between(bad, below)
            bad, stride = below, 2 * stride

    def _between(self, bad: int, good: int) -> int:
        while good - bad > 1:
            middle = (bad + good) // 2
            if self._suspects_allow(middle):
                good = middle
            else:
                bad = middle
        return good

    def _suspects_allow(self, rung: int) -> bool:
        if rung == self._zero:
            return True
        return rung not in self._refused and self._allow(rung, self._suspects)

    def _allow(self, rung: int, outputs: list[int]) -> bool:
        mechanism = self._state.at(self._ladder[rung])
        # Some columns alone, as most budgets that are looked at never need the whole table.
        asked = list(dict.fromkeys(outputs))
        few = mechanism.columns(asked)
        possible = np.flatnonzero(few.any(axis=0))
        if len(possible) < len(asked):
            asked, few = [asked[place] for place in possible], few[:, possible]
        if asked:
            verdict = self._state.passes(few, self._limits)
            if not verdict.all():
                self._refuse(rung, [o for o, ok in zip(asked, verdict, strict=True) if not ok])
                return False
        return True

    def _all_allow(self, rung: int) -> bool:
        table = self._state.at(self._ladder[rung]).emission()
        possible = np.flatnonzero(table.any(axis=0))
        columns = table if len(possible) == table.shape[1] else table[:, possible]
        verdict = self._state.passes(columns, self._limits)
        if not verdict.all():
            failed = possible[~verdict]
            few = np.linspace(0, len(failed) - 1, min(SUSPECTS, len(failed))).astype(int)
            self._refuse(rung, failed[few].tolist())
            return False
        return True

    def _refuse(self, rung: int, outputs: list[int]) -> None:
        self._refused.add(rung)
        first = set(outputs)
        self._suspects = outputs + [output for output in self._suspects if output not in first]


def _starting_rung(ladder: tuple[float, ...], last: float | None) -> int:
    """Return where to begin: at the last budget, at the top before the first release.

    After an uninformative release that is the lowest rung above 0, so that a stream at its bound
    costs one check a step.
    """
    above_zero = ladder[:-1]
    if last is None or not above_zero:
        return 0
    if last in above_zero:
        return above_zero.index(last)
    return min(range(len(above_zero)), key=lambda rung: abs(above_zero[rung] - last))
