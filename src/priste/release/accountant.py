"""The accountant: what the releases so far have revealed, and what the next one may reveal.

A state is a value. It follows from the terms and the past releases; nothing in it has seen a true
location, and nothing in it is random. An adversary who knows the terms can compute all of it, and
the audit does.
"""

from __future__ import annotations

import copy
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import (
    CandidateOperator,
    Guarantee,
    JointProbabilities,
    Leakage,
    Quantifier,
    StreamSnapshot,
)
from priste.release.release_tables import CheckedTable, Draw, ReleaseTable
from priste.release.terms import Terms

CACHE_BYTES = 2**28
"""How much memory the emission matrices of recently used budgets may take: 256 MiB."""


class MechanismCache:
    """One mechanism at recently used budgets, up to a limit of memory; safe across threads."""

    def __init__(self, full: Mechanism) -> None:
        self.full = full
        self._turn = threading.RLock()
        self._by_budget: OrderedDict[float, Mechanism] = OrderedDict()
        self._room = max(2, CACHE_BYTES // (8 * full.grid.size * full.outputs))

    def at(self, budget: float) -> Mechanism:
        """Return the mechanism at a budget up to its own; the same object as lately if kept."""
        if budget == self.full.budget:
            return self.full
        with self._turn:
            found = self._by_budget.get(budget)
            if found is None:
                found = self._by_budget[budget] = self.full.with_budget(budget)
                if len(self._by_budget) > self._room:
                    self._by_budget.popitem(last=False)
            self._by_budget.move_to_end(budget)
            return found


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PredictionSnapshot:
    """Where the user was predicted to be at ``step``, and how many steps have passed since."""

    states: Floats
    step: int
    due: int


class Prediction:
    """The filter of Algorithm 3: predict with the model, correct with each release.

    It holds nothing that an adversary with the same prior could not compute.
    """

    def __init__(self, model: MarkovModel, prior: Floats) -> None:
        self._movement = model.schedule
        self._cells = model.grid.size
        self._states: Floats = np.array(prior)
        self._step = 0
        self._due = 0  # steps passed since the last time the states were pushed forward

    def predicted(self) -> Floats:
        """Return (m,), the probability of each cell before the release of this step."""
        self._catch_up()
        cells = self._movement.cells(self._step)
        marginal = np.zeros(self._cells)
        np.add.at(marginal, cells, self._states)
        return np.asarray(marginal / marginal.sum())

    def correct(self, likelihood: Floats | None) -> None:
        """Take in the release of this step (None for one that says nothing) and go on.

        A release that was predicted to be impossible (only under a prior with zeros) leaves the
        prediction only.
        """
        if likelihood is not None:
            self._catch_up()
            scaled = likelihood / likelihood.max()
            weighted = self._states * scaled[self._movement.cells(self._step)]
            total = weighted.sum()
            if total > 0.0:
                self._states = weighted / total
        self._due += 1

    def snapshot(self) -> PredictionSnapshot:
        """Return all that the prediction remembers."""
        return PredictionSnapshot(self._states, self._step, self._due)

    def restored(self, snapshot: PredictionSnapshot) -> Prediction:
        """Return this prediction as it was at a snapshot; ValueError if it is of another one."""
        states = snapshot.states
        if snapshot.step < 0 or snapshot.due < 0:
            raise ValueError("its prediction is of an impossible step")
        if states.shape != (self._movement.states(snapshot.step),):
            raise ValueError("its prediction has another shape")
        if not (states.min() >= 0.0 and states.max() < math.inf and states.sum() > 0.0):
            raise ValueError("its prediction is no distribution")
        twin = self.copy()
        twin._states, twin._step, twin._due = states, snapshot.step, snapshot.due
        return twin

    def copy(self) -> Prediction:
        """Return an independent copy."""
        return copy.copy(self)  # its arrays are replaced, never written to

    def _catch_up(self) -> None:
        while self._due:
            pushed = self._movement.at(self._step).push(self._states)
            self._states = pushed / pushed.sum()
            self._step += 1
            self._due -= 1


Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EventOperator:
    """How the joint probabilities of one event depend on the likelihood of the next release.

    ``event`` is the place of the event or secret, ``operator`` one group of rows of the adversary
    that may be mixed (see :meth:`priste.quantify.Quantifier.candidate_operators`), with all
    answers. For searching only: ``AccountantState.check`` decides.
    """

    event: int
    operator: CandidateOperator

    def comparisons(self, limit: Guarantee) -> Iterator[tuple[CandidateOperator, Guarantee]]:
        """Yield what a guarantee asks of two answers at a time: one comparison for an event."""
        for each in limit.comparisons(len(self.operator.prior), self.operator.has_rest):
            operator = self.operator.compared(each.first, each.second)
            if operator.rows:
                yield operator, each.guarantee


@dataclass(frozen=True, eq=False)
class StateSnapshot:
    """What the releases so far left in the quantifiers, one entry per event, and the prediction."""

    step: int
    quantifiers: tuple[tuple[StreamSnapshot, ...], ...]
    prediction: PredictionSnapshot

    @property
    def bytes(self) -> int:
        """How much memory the numbers take."""
        return sum(each.bytes for snapshots in self.quantifiers for each in snapshots)


@dataclass(frozen=True, eq=False)
class CheckResult:
    """The answer to a check: ``passed`` (k,) per column, and the table if all of them passed."""

    passed: Booleans
    table: CheckedTable | None


class AccountantState:
    """What is known before the next step: quantifiers, prediction, leakage, mechanism.

    :meth:`first` makes the state before any release, :meth:`after` the state after one more. A
    state never changes, so several histories may go on from it.
    """

    def __init__(
        self,
        terms: Terms,
        step: int,
        quantifiers: Sequence[Quantifier],
        prediction: Prediction,
        *,
        leakage: tuple[float, ...],
        belief: tuple[float, ...],
        last_budget: float | None = None,
        hints: tuple[int, ...] = (),
    ) -> None:
        self.terms = terms
        self.step = step
        """The step to be released next; steps count from 0."""
        self.leakage = leakage
        """The leakage so far, one entry per event: the worst over the priors of the adversary and
        the directions that the guarantee of the event bounds. Never below the exact value."""
        self.belief = belief
        """How sure the surest prior of the adversary is of each event, rounded up."""
        self.last_budget = last_budget
        """The budget of the last step that was not silent; None before the first."""
        self.hints = hints
        """What the calibrator left for itself with the last draw."""
        self._quantifiers = tuple(quantifiers)
        self._prediction = prediction

    @classmethod
    def first(cls, terms: Terms) -> AccountantState:
        """Return the state before any release.

        Raises InvalidParameter for an event that cannot happen or happens for certain, and for a
        guarantee that the adversary's prior belief breaks already.
        """
        # A stream asks about hundreds of likelihoods a step, for as long as it lasts.
        quantifiers = [
            Quantifier(terms.models, event, terms.adversary, family=terms.family, method="stream")
            for event in terms.events
        ]
        terms.check_feasible(quantifiers)
        return cls(
            terms,
            0,
            quantifiers,
            Prediction(terms.models[0], terms.expected_start()),
            leakage=(0.0,) * len(quantifiers),
            belief=tuple(quantifier.prior_belief() for quantifier in quantifiers),
        )

    # ------------------------------------------------------------------ looking

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantee of each event, in order."""
        return self.terms.guarantees

    @property
    def bytes(self) -> int:
        """How much memory the numbers of a state take, about."""
        return sum(quantifier.operator_bytes for quantifier in self._quantifiers)

    @cached_property
    def prior_belief(self) -> tuple[float, ...]:
        """How sure the surest prior of the adversary was of each event before any release."""
        return tuple(quantifier.prior_belief() for quantifier in self._quantifiers)

    def prior_by_start(self) -> tuple[Floats, ...]:
        """Return Pr(event | first cell) of each event before any release, (m,) or (models, m)."""
        return tuple(quantifier.prior_by_start() for quantifier in self._quantifiers)

    @cached_property
    def _mechanisms(self) -> MechanismCache:
        given = self.terms.mechanism
        if given.uses_belief:
            return MechanismCache(given.at_belief(self.predicted()))
        return self.terms.derived("mechanisms", lambda: MechanismCache(given))

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of this step at its full budget."""
        return self._mechanisms.full

    def mechanism_at(self, budget: float) -> Mechanism:
        """Return the mechanism of this step at a budget up to its own."""
        return self._mechanisms.at(budget)

    def predicted(self) -> Floats:
        """Return (m,), the probability of each cell given past releases and the public prior."""
        return self._prediction.predicted()

    def leakages(self) -> tuple[Leakage, ...]:
        """Return the leakage of each event in both directions, with a worst prior."""
        return tuple(quantifier.leakage() for quantifier in self._quantifiers)

    def joint_probabilities(
        self, likelihood: Floats
    ) -> Iterator[tuple[JointProbabilities, Guarantee]]:
        """Yield per event the joint probabilities after a candidate (m,), and the guarantee."""
        for quantifier, guarantee in zip(self._quantifiers, self.guarantees, strict=True):
            yield quantifier.candidate_joint(likelihood[:, None]), guarantee

    def operators(self) -> Iterator[EventOperator]:
        """Yield per event and group of rows what turns a likelihood into joint probabilities."""
        for number, quantifier in enumerate(self._quantifiers):
            for operator in quantifier.candidate_operators():
                yield EventOperator(number, operator)

    @property
    def rows(self) -> int:
        """The largest number of rows that an adversary has about an event."""
        return max(quantifier.rows for quantifier in self._quantifiers)

    def check_horizon(self, step: int) -> None:
        """Raise InvalidParameter if a model has no transition up to this step."""
        last = self.terms.last_step
        if last is not None and step > last:
            raise InvalidParameter(
                f"must be at most {last}, where the mobility model ends",
                parameter="step",
                owner="a release",
                value=step,
                hint="Use a model with more matrices, or one whose matrices repeat.",
            )

    # ------------------------------------------------------------------ deciding

    def passes(
        self, likelihoods: Floats, limits: Sequence[float | Guarantee] | None = None
    ) -> Booleans:
        """Return (k,) whether each likelihood (m, k) keeps every guarantee; doubt is False.

        Exact up to rounding, against every prior of the adversary. ``limits`` are guarantees to
        check instead, one per event. For searching: only :meth:`check` makes a table that may be
        drawn from.
        """
        verdict = np.ones(likelihoods.shape[1], dtype=bool)
        guarantees = self.guarantees if limits is None else limits
        for quantifier, guarantee in zip(self._quantifiers, guarantees, strict=True):
            if verdict.all():
                verdict = np.asarray(quantifier.passes(likelihoods, guarantee))
            elif verdict.any():
                left = np.flatnonzero(verdict)
                verdict[left] = quantifier.passes(likelihoods[:, left], guarantee)
        return verdict

    def passes_with_constant(
        self, likelihoods: Floats, limits: Sequence[Guarantee]
    ) -> Callable[[Integers, Floats], Booleans]:
        """Return what says whether likelihoods (m, k) with a constant added keep the limits.

        As :meth:`passes`, of the columns at some places and an amount for each; for searching.
        """
        searches = [
            quantifier.passes_with_constant(likelihoods, limit)
            for quantifier, limit in zip(self._quantifiers, limits, strict=True)
        ]

        def passes(places: Integers, amounts: Floats) -> Booleans:
            verdict = np.ones(len(places), dtype=bool)
            for search in searches:
                left = np.flatnonzero(verdict)
                if left.size:
                    verdict[left] = search(places[left], amounts[left])
            return verdict

        return passes

    def verdicts(self, likelihood: Floats) -> tuple[bool, ...]:
        """Return per event whether one likelihood (m,) keeps its guarantee; doubt is False."""
        column = likelihood[:, None]
        return tuple(
            bool(quantifier.passes(column, guarantee)[0])
            for quantifier, guarantee in zip(self._quantifiers, self.guarantees, strict=True)
        )

    def check(self, table: ReleaseTable, limits: Sequence[Guarantee] | None = None) -> CheckResult:
        """Check every column of a table against every prior of the adversary.

        ``limits``, one per event, may ask for more than the guarantees and never for less. A
        column of one number at every cell multiplies both sides of every ratio alike, so it
        changes none: it passes by that argument and not by the rounded check. Doubt fails.
        """
        if limits is not None:
            for limit, guarantee in zip(limits, self.guarantees, strict=True):
                if not limit.implies(guarantee):
                    raise InvalidParameter(
                        "must be at least as strict as the guarantees",
                        parameter="limits",
                        owner="a check",
                        got=f"{limit!r} where {guarantee!r} is guaranteed",
                    )
        columns = table.likelihoods
        passed = np.asarray((columns == columns[:1]).all(axis=0))
        informative = np.flatnonzero(~passed)
        if informative.size:
            passed[informative] = self.passes(
                columns if informative.size == len(passed) else columns[:, informative], limits
            )
        return CheckResult(passed, CheckedTable(table, self) if passed.all() else None)

    def constant(self, output: int, cost: float, hints: tuple[int, ...] = ()) -> CheckedTable:
        """Return the table that releases one output whatever the true cell; it reveals nothing."""
        cells, width = self.terms.mechanism.grid.size, self.terms.mechanism.outputs
        table = ReleaseTable(np.ones((cells, 1)), np.array([output]), width, 0.0, cost, hints)
        return CheckedTable(table, self)

    # ------------------------------------------------------------------ going on

    def after(self, drawn: Draw | None) -> AccountantState:
        """Return the state after a draw, None for silence; the leakage of the draw is measured.

        A likelihood of one number everywhere is counted as silence: leakage and belief stay the
        very numbers they were.
        """
        following = self._after(drawn)
        if following is not self and _informative(drawn):
            following.leakage, following.belief = _measured(
                following._quantifiers, self.terms.guarantees
            )
        return following

    def replayed(
        self, drawn: Draw | None, leakage: tuple[float, ...], belief: tuple[float, ...]
    ) -> AccountantState:
        """Return the state after a recorded draw, with the numbers that were measured then."""
        following = self._after(drawn)
        following.leakage, following.belief = leakage, belief
        return following

    def _after(self, drawn: Draw | None) -> AccountantState:
        self.check_horizon(self.step)
        likelihood = drawn.likelihood if drawn is not None and _informative(drawn) else None
        following = copy.copy(self)
        vars(following).pop("_mechanisms", None)
        quantifiers = tuple(quantifier.copy() for quantifier in self._quantifiers)
        for quantifier in quantifiers:
            quantifier.observe(likelihood)
        following._quantifiers = quantifiers
        following._prediction = self._prediction.copy()
        following._prediction.correct(likelihood)
        following.step = self.step + 1
        if drawn is not None:
            following.last_budget, following.hints = float(drawn.budget), tuple(drawn.hints)
        return following

    def snapshot(self) -> StateSnapshot | None:
        """Return what the releases so far left; None on maps so large that it is not kept."""
        taken = [quantifier.snapshot() for quantifier in self._quantifiers]
        found = tuple(each for each in taken if each is not None)
        if len(found) < len(taken):
            return None
        return StateSnapshot(self.step, found, self._prediction.snapshot())

    def restored(
        self,
        snapshot: StateSnapshot,
        *,
        leakage: tuple[float, ...],
        belief: tuple[float, ...],
        last_budget: float | None,
        hints: tuple[int, ...],
    ) -> AccountantState:
        """Return the state of a snapshot of a stream under these terms.

        Raises ValueError if the snapshot is of a stream under other terms.
        """
        prediction = snapshot.prediction
        steps = {each.step for snapshots in snapshot.quantifiers for each in snapshots}
        if steps != {snapshot.step} or prediction.step + prediction.due != snapshot.step:
            raise ValueError("its parts are of several steps")
        pairs = zip(self._quantifiers, snapshot.quantifiers, strict=True)
        return AccountantState(
            self.terms,
            snapshot.step,
            [quantifier.restored(each) for quantifier, each in pairs],
            self._prediction.restored(prediction),
            leakage=leakage,
            belief=belief,
            last_budget=last_budget,
            hints=hints,
        )


def _informative(drawn: Draw | None) -> bool:
    return drawn is not None and bool((drawn.likelihood != drawn.likelihood[0]).any())


def _measured(
    quantifiers: Sequence[Quantifier], guarantees: Sequence[Guarantee]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return leakage and belief per event, upper bounds of the exact ones."""
    leakage = tuple(
        guarantee.leakage(*quantifier.directions())
        for quantifier, guarantee in zip(quantifiers, guarantees, strict=True)
    )
    return leakage, tuple(quantifier.belief() for quantifier in quantifiers)
