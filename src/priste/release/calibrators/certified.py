"""The certified calibrator: a budget that depends on past releases only.

Before a step it looks for the largest budget at which *every* possible output keeps every
event within its ε, and then draws once. So the table that was checked is the table of the
release, and the guarantee holds against an adversary who knows the code, the events, ε, and the
budget in use.

An uninformative release (the same likelihood at every cell) changes no ratio (Theorem 3 of
docs/explanation/proofs.md). It is always allowed, without the rounded check, so the stream cannot
get stuck.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_int
from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.quantify import Guarantee
from priste.release.accountant import AccountantState
from priste.release.calibrators.best_guess import Costs, guessed
from priste.release.calibrators.spending import checked_pace, finite_budget, paced_limits
from priste.release.release_tables import CheckedTable, ReleaseTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

STEPS_PER_HALVING = 8
"""The resolution of the search: budgets are ``full * 2**(-k / 8)``, 8.3 % apart."""

HALVINGS = 20
"""Below ``full * 2**-20`` the search gives up and releases something uninformative."""

SUSPECTS = 16
"""How many outputs are tried first; a budget that they refuse needs no further look."""

SCATTERED = 33
"""How many outputs from all over are tried before all of them."""

WHOLE_TABLE = 2**16
"""Up to this many entries (256 cells) the whole table of a budget is made for a few columns.

A question is then dear and a column cheap: several rungs are asked about at once, and all outputs
without some from all over before them."""

NEAR = 3
"""How many rungs above the first one are asked about with it, and one below; most budgets rise."""


class Certified:
    """Choose the largest budget at which every output passes, then draw once.

    Budgets are taken from a public ladder, ``full * 2**(-k / steps_per_halving)`` down to
    ``full * 2**-halvings``, then 0. The search starts at the budget of the last step, doubles
    its stride until the verdict changes, and bisects. It does not assume that the verdict is
    monotone: the budget it returns has been checked with all outputs. Where the verdict is
    monotone, that budget is the largest of the ladder.

    ``pace`` in (0, 1] is the share of what is left of each ε that one step may use up, whatever
    the output: 1 takes the largest budget now and leaves little for later; less spreads a
    stream's budget over more steps. The guarantee is the same for every pace.

    With ``guess`` (the default) each output is replaced by the best public guess: the output of
    least expected distance given past releases and what was drawn, under the public prediction.
    That is public post-processing, and what is released, checked and stored is the guess. Without
    it, or where outputs are no cells, the mechanism's own output is released.

    >>> from priste.maps import Grid
    >>> from priste.mechanisms import PlanarLaplace
    >>> Certified().ladder(PlanarLaplace(Grid(rows=2, columns=2, cell_size=1.0), alpha=1.0))[:3]
    (1.0, 0.9170040432046712, 0.8408964152537145)
    """

    guaranteed = True

    def __init__(
        self,
        *,
        pace: float = 1.0,
        steps_per_halving: int = STEPS_PER_HALVING,
        halvings: int = HALVINGS,
        guess: bool = True,
    ) -> None:
        for name, value in (("steps_per_halving", steps_per_halving), ("halvings", halvings)):
            check_int(value, name, "Certified", least=1, most=1000)
        if not isinstance(guess, bool):
            raise InvalidParameter(
                "must be a bool", parameter="guess", owner="Certified", value=guess
            )
        self._pace = checked_pace(pace, "Certified")
        self._costs = Costs("distance", "Certified") if guess else None
        self._steps_per_halving = steps_per_halving
        self._halvings = halvings
        self._last_ladder: tuple[float, ...] = (0.0,)

    def ladder(self, mechanism: Mechanism) -> tuple[float, ...]:
        """Return the budgets that may be chosen, largest first, 0.0 last."""
        budget = mechanism.budget
        if budget == 0.0:
            return (0.0,)
        top, ladder = finite_budget(mechanism), self._last_ladder
        known = ladder[:2] == (budget, top) if math.isinf(budget) else ladder[0] == top
        if not known:  # the steps of a stream nearly always ask about the same mechanism
            rungs = _rungs(top, self._steps_per_halving, self._halvings)
            self._last_ladder = ladder = (budget, *rungs) if math.isinf(budget) else rungs
        return ladder

    def propose(self, state: AccountantState) -> CheckedTable:
        """Return the table at the largest budget that passes, with best guesses if asked for.

        Where the check refuses a table, which only rounding can bring about, the best constant
        output is released.
        """
        limits = paced_limits(state, self._pace)
        budget, suspects = self.search(state, state.last_budget, state.hints, limits)
        mechanism = state.mechanism_at(budget)
        if self._costs is not None and mechanism.output_cells() is not None:
            table = guessed(state, mechanism, budget, self._costs)
            if table.budget != budget:  # the budget of a constant guess is 0
                rung = self.ladder(state.mechanism).index(budget)
                suspects = (_hint_to_begin_at(rung), *suspects)
            checked = state.check(replace(table, hints=suspects)).table
            if checked is not None:
                return checked
        outputs = np.arange(mechanism.outputs)
        table = ReleaseTable(mechanism.emission(), outputs, len(outputs), budget, hints=suspects)
        used = table.likelihoods.any(axis=0)
        if not used.all():
            table = replace(table, likelihoods=table.likelihoods[:, used], outputs=outputs[used])
        checked = state.check(table).table
        if checked is not None:
            return checked
        return state.constant(int(np.argmax(state.predicted() @ mechanism.emission())), math.nan)

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names."""
        return {
            "kind": "certified",
            "pace": self._pace,
            "steps_per_halving": self._steps_per_halving,
            "halvings": self._halvings,
            "guess": self._costs is not None,
        }

    def search(
        self,
        state: AccountantState,
        last_budget: float | None,
        suspects: Sequence[int],
        limits: Sequence[Guarantee],
    ) -> tuple[float, tuple[int, ...]]:
        """Return the budget for this step, and the outputs to ask first at the next one.

        The search begins at ``last_budget`` (None: at the top), or where a hint says, and asks
        ``suspects`` first: what it returned at the last step. They change how long it takes, and
        where verdicts are not monotone also which budget it finds, never whether that budget was
        checked.
        """
        ladder = self.ladder(state.mechanism)
        search = _Search(state, ladder, limits, last_budget, suspects)
        return ladder[search.best()], search.suspects


class _Search:
    """The search for a rung of the ladder that every output allows.

    A few suspects are asked first, all outputs last: a rung that a suspect refuses is refused, and
    a rung counts as allowed only when all outputs have been asked. No output is asked twice about
    a rung.
    """

    def __init__(
        self,
        state: AccountantState,
        ladder: tuple[float, ...],
        limits: Sequence[Guarantee],
        last_budget: float | None,
        suspects: Sequence[int],
    ) -> None:
        self._state = state
        self._ladder = ladder
        self._zero = len(ladder) - 1
        self._limits = limits
        self._refused: set[int] = set()
        self._allowed: dict[int, Booleans] = {}  # by rung: which outputs have allowed it
        self._first = _starting_rung(ladder, last_budget, suspects)
        outputs = state.mechanism.outputs
        self._outputs = np.arange(outputs)
        self._small = outputs * state.mechanism.grid.size <= WHOLE_TABLE
        # A stream may have been begun with another calibrator, whose hints mean other things.
        known = [hint for hint in suspects if 0 <= hint < outputs]
        self._suspects: list[int] = list(dict.fromkeys(known)) or _few(self._outputs)

    @property
    def suspects(self) -> tuple[int, ...]:
        """The outputs to ask first at the next step: those that refused last come first."""
        return tuple(self._suspects[:SUSPECTS])

    def best(self) -> int:
        """Return the rung: 0, or one whose upper neighbour is refused, where verdicts are monotone.

        The last rung is uninformative and needs no check.
        """
        rung = self._first
        while True:
            rung = self._walk(rung)
            if rung == self._zero:
                return rung
            if self._all_allow(rung):
                return rung

    def _walk(self, rung: int) -> int:
        """Return the rung that the suspects allow, as high as doubling strides find one."""
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
        suspects = np.array(self._suspects)
        if self._small and not self._allowed:  # where the first strides may lead, in one question
            self._ask(range(max(0, rung - NEAR), min(self._zero, rung + 2)), suspects)
        return self._allow(rung, suspects)

    def _all_allow(self, rung: int) -> bool:
        if not self._small and not self._allow(rung, np.array(_few(self._outputs, SCATTERED))):
            return False
        return self._allow(rung, self._outputs)

    def _allow(self, rung: int, outputs: Integers) -> bool:
        """Return whether outputs allow a rung that none has refused yet."""
        self._ask([rung], outputs)
        return rung not in self._refused

    def _ask(self, rungs: Iterable[int], outputs: Integers) -> None:
        """Ask outputs about rungs in one question; those that refuse are suspects from now on."""
        questions: list[tuple[int, Integers]] = []
        columns: list[Floats] = []
        for rung in rungs:
            known = self._allowed.setdefault(rung, np.zeros(len(self._outputs), dtype=np.bool_))
            asked = outputs[~known[outputs]]
            if rung not in self._refused and asked.size:
                questions.append((rung, asked))
                columns.append(self._likelihoods(rung, asked))
        if not questions:
            return
        verdicts = self._verdicts(columns[0] if len(columns) == 1 else np.hstack(columns))
        end = 0
        for rung, asked in questions:
            begin, end = end, end + len(asked)
            passed = verdicts[begin:end]
            self._allowed[rung][asked[passed]] = True
            refused = asked[~passed]
            if refused.size:
                self._refused.add(rung)
                self._suspects = list(dict.fromkeys([*_few(refused), *self._suspects]))

    def _likelihoods(self, rung: int, outputs: Integers) -> Floats:
        mechanism = self._state.mechanism_at(self._ladder[rung])
        if len(outputs) == len(self._outputs):
            return mechanism.emission()
        if self._small or 2 * len(outputs) > len(self._outputs):
            return mechanism.emission().take(outputs, axis=1)
        # Most budgets that are looked at never need the whole table.
        return mechanism.likelihoods(outputs.tolist())

    def _verdicts(self, columns: Floats) -> Booleans:
        """Return (k,) which columns keep the limits; one that is never released reveals nothing."""
        possible = np.asarray(columns.any(axis=0))
        if possible.all():
            return self._state.passes(columns, self._limits)
        verdicts = ~possible
        if possible.any():
            verdicts[possible] = self._state.passes(columns[:, possible], self._limits)
        return verdicts


def _few(outputs: Integers, count: int = SUSPECTS) -> list[int]:
    """Return a few of the outputs, from all over."""
    if len(outputs) > count:
        outputs = outputs[np.linspace(0, len(outputs) - 1, count).astype(int)]
    found: list[int] = outputs.tolist()
    return found


def _rungs(top: float, steps_per_halving: int, halvings: int) -> tuple[float, ...]:
    """Return the finite budgets of a ladder, largest first, 0.0 last."""
    budgets = [
        top * 2.0 ** (-k / steps_per_halving) for k in range(halvings * steps_per_halving + 1)
    ]
    return (*(budget for budget in budgets if budget > 0.0), 0.0)


def _hint_to_begin_at(rung: int) -> int:
    """Return a hint that is no output: where the search of the next step begins."""
    return -1 - rung


def _starting_rung(ladder: tuple[float, ...], last: float | None, hints: Sequence[int]) -> int:
    """Return where to begin: where a hint says, at the last budget, at the top before any release.

    After an uninformative release without a hint that is the lowest rung above 0, so that a stream
    at its bound costs one check a step.
    """
    above_zero = ladder[:-1]
    if last is None or not above_zero:
        return 0
    begin = next((-1 - hint for hint in hints if hint < 0), len(above_zero))
    if begin < len(above_zero):
        return begin
    if last in above_zero:
        return above_zero.index(last)
    return min(range(len(above_zero)), key=lambda rung: abs(above_zero[rung] - last))
