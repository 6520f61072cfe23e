"""The linear programme over remaps, solved by HiGHS with rows added as they are violated.

A remap K sends output o to target k with probability K[o, k]. For one prior w the condition on
column k of E·K is linear in column k of K. There are infinitely many priors; the worst one for a
given column is found exactly, and only such priors are ever written down. Without any of
them the programme is the best remap of the mechanism's outputs, privacy of events aside.

Nothing here is trusted for privacy: what comes out is a proposal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from priste.quantify import Belief, Moments, Odds, Promise, worst_prior_leakage
from priste.quantify.adversaries import AnyMixture
from priste.quantify.promises import as_limits
from priste.release.calibrator import EventOperator, Floats

VIOLATION = 1e-8
"""By how much a leakage must exceed its limit for another row to be written."""

SEPARATION_ERROR = 1e-12
"""The relative error that the search for violated priors allows its numbers."""

SOLVER_TOLERANCE = 1e-9
"""HiGHS's feasibility tolerances; rows are scaled to a largest entry of 1."""

PROGRESS = 1e-10
"""By which share of itself the value must grow in a round to be said to grow."""

STALLED = 3
"""After so many rounds without growth the programme is taken for solved, if ..."""

NEARLY = 1e-6
"""... no leakage exceeds its limit by this much; the exact check sees to the rest."""

LARGEST_EXCESS = 700.0
"""What stands for an infinite excess."""

NEGLIGIBLE = 1e-9
"""Entries of K below this are rounding of the solver: they are set to 0."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """What a programme found: a remap K (sources, targets) and what none can cost less than.

    ``remap`` is None when nothing was solved; ``lower_bound`` is the value of the last programme
    solved to the end, over the sources and targets it was given. ``finished`` tells that no prior
    was violated any more, or none that matters.
    """

    remap: Floats | None
    lower_bound: float | None
    rounds: int
    finished: bool


@dataclass(frozen=True, eq=False)
class Violation:
    """A target of K that leaks ``excess`` too much, and the row (sources,) that forbids it.

    ``row @ K[:, target] <= 0`` is what the worst prior of that target asks for.
    """

    target: int
    row: Floats
    excess: float


class Deadline:
    """A moment after which nothing new is begun; None means never. ``clock`` counts the seconds."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    def left(self) -> float:
        """Return the seconds that are left, inf without an end, 0 when it has passed."""
        if self._end is None:
            return math.inf
        return max(0.0, self._end - self._clock())

    def part(self, share: float) -> Deadline:
        """Return the moment at which this share of what is left has passed."""
        left = self.left()
        return Deadline(None if left == math.inf else share * left, self._clock)


class EventCuts:
    """One event: finds priors for whom the promise is broken, and writes their rows."""

    def __init__(self, operator: EventOperator, emission: Floats, promise: Promise) -> None:
        self._prior_event = operator.prior_event
        self._prior_complement = operator.prior_complement
        self._event = operator.event @ emission
        self._complement = operator.complement @ emission
        self._exponent = operator.exponent
        self._adversary = operator.adversary
        alive = (self._event > 0).any(axis=1) | (self._complement > 0).any(axis=1)
        highest = int(operator.exponent[alive].max(initial=-(2**40)))
        shift = np.clip(operator.exponent - highest, -1000, 0).astype(np.int32)
        self._scale = np.ldexp(1.0, shift)
        self._promise = promise
        self._limits = as_limits(promise)

    def violated(self, remap: Floats) -> list[Violation]:
        """Return what the worst prior asks of each target of K (sources, targets) that fails."""
        used = np.flatnonzero(remap.any(axis=0))
        event, complement = self._event @ remap[:, used], self._complement @ remap[:, used]
        widened = self._limits.moved(VIOLATION) or self._limits
        fine = self._adversary.passes(self._moments(event, complement), widened)
        found = []
        for place in np.flatnonzero(~fine):
            row, excess = self._forbidden(self._moments(event[:, place], complement[:, place]))
            if row is not None and excess > VIOLATION:
                found.append(Violation(int(used[place]), row, excess))
        return found

    def _forbidden(self, moments: Moments) -> tuple[Floats | None, float]:
        """Return the row (sources,) that forbids what a prior of the class learns, and its excess.

        None where no prior is known, as the worst one may speak in a direction that is free: then
        the programme lacks a row, its value stays a lower bound, and the exact check sees to it.
        """
        if isinstance(self._promise, Belief):
            return self._forbidden_belief(moments)
        worst = self._adversary.leakage(moments)
        excess = worst.for_event - self._limits.up, worst.against_event - self._limits.down
        against = excess[1] > excess[0]
        if against != (worst.against_event > worst.for_event):
            if not isinstance(self._adversary, AnyMixture):
                return None, 0.0
            one_way = Odds(math.inf, 1.0) if against else Odds(1.0, math.inf)
            worst = worst_prior_leakage(moments, one_way)
        bound = self._limits.down if against else self._limits.up
        return self._row(worst.worst_prior, bound, against=against), max(excess)

    def _forbidden_belief(self, moments: Moments) -> tuple[Floats | None, float]:
        """Return the row of the start that is surest: any mixture of starts is less sure."""
        if not isinstance(self._adversary, AnyMixture):
            return None, 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.where(moments.event > 0.0, moments.event / moments.complement, 0.0)
        worst = int(odds.argmax())
        row = self._event[worst] - self._limits.belief * self._complement[worst]
        excess = float(np.log(odds[worst])) - math.log(self._limits.belief)
        return _scaled_to_one(row), min(excess, LARGEST_EXCESS)

    def _moments(self, event: Floats, complement: Floats) -> Moments:
        return Moments(
            self._prior_event,
            self._prior_complement,
            event,
            complement,
            self._exponent,
            SEPARATION_ERROR,
            0.0,
        )

    def _row(self, prior: dict[int, float], bound: float, *, against: bool) -> Floats | None:
        ratio = math.exp(min(bound, 700.0))
        rows, weights = np.array(list(prior), dtype=np.int64), np.array(list(prior.values()))
        a = float(weights @ self._prior_event[rows])
        complement = float(weights @ self._prior_complement[rows])
        scaled = weights * self._scale[rows]
        b, d = scaled @ self._event[rows], scaled @ self._complement[rows]
        row = a * d - ratio * complement * b if against else complement * b - ratio * a * d
        return _scaled_to_one(row)


def _scaled_to_one(row: Floats) -> Floats | None:
    """Return a row with a largest entry of 1; None if that is impossible."""
    largest = float(np.abs(row).max(initial=0.0))
    return np.asarray(row / largest) if 0.0 < largest < math.inf else None


class Programme:
    """Minimise the cost of the law·K over all remaps K of sources to targets.

    A source is an output, or a group of outputs that are sent alike. ``weights`` (sources,
    targets) is what it costs to send one to the other. ``by_cell`` is None, or the law (m,
    sources) and the costs (m, targets) when the largest expected cost of a cell is to be small.
    """

    def __init__(self, weights: Floats, by_cell: tuple[Floats, Floats] | None = None) -> None:
        import highspy

        self._shape = weights.shape
        sources, targets = weights.shape
        count = sources * targets
        # Variable v sends source v // targets to target v % targets.
        self._names = np.arange(count, dtype=np.int32).reshape(weights.shape)
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # it has no types
        self._no_bound = -highspy.kHighsInf
        solver = self._solver
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        solver.setOptionValue("primal_feasibility_tolerance", SOLVER_TOLERANCE)
        solver.setOptionValue("dual_feasibility_tolerance", SOLVER_TOLERANCE)
        solver.addVars(count, np.zeros(count), np.ones(count))
        if by_cell is None:
            solver.changeColsCost(count, self._names.ravel(), np.ravel(weights))
        for mine in self._names:
            solver.addRow(1.0, 1.0, targets, mine, np.ones(targets))
        if by_cell is not None:
            self._add_largest(*by_cell)

    def _add_largest(self, law: Floats, costs: Floats) -> None:
        """Minimise one more variable, which no cell's expected cost may exceed."""
        count = self._names.size
        self._solver.addVar(0.0, -self._no_bound)
        self._solver.changeColCost(count, 1.0)
        names = np.arange(count + 1, dtype=np.int32)
        for by_source, by_target in zip(law, costs, strict=True):
            row = np.outer(by_source, by_target).ravel()
            self._solver.addRow(self._no_bound, 0.0, count + 1, names, np.append(row, -1.0))

    def solve(self, cuts: Sequence[EventCuts], max_rounds: int, deadline: Deadline) -> Proposal:
        """Solve, look for violated priors, write them down, and again."""
        best: Floats | None = None
        bound: float | None = None
        stalled = 0
        for done in range(1, max_rounds + 1):
            if deadline.left() <= 0.0:
                return Proposal(best, bound, done - 1, finished=False)
            solved = self._run(deadline)
            if solved is None:
                return Proposal(best, bound, done - 1, finished=False)
            grows = bound is None or solved[1] > bound + PROGRESS * abs(bound)
            stalled = 0 if grows else stalled + 1
            best, bound = solved
            excess = self._write(cuts, best)
            # What is left at the end is the tolerance of the solver.
            if excess == 0.0 or (excess < NEARLY and stalled >= STALLED):
                return Proposal(best, bound, done, finished=True)
        return Proposal(best, bound, max_rounds, finished=False)

    def _write(self, cuts: Sequence[EventCuts], remap: Floats) -> float:
        """Add the row of every violated prior; return the largest excess, 0 if there is none.

        A prior that one target shows is a condition on all targets, but rows for all of them
        make the programme slower by more than they make it better.
        """
        excess = 0.0
        for event in cuts:
            for violation in event.violated(remap):
                into = np.ascontiguousarray(self._names[:, violation.target])
                self._solver.addRow(self._no_bound, 0.0, len(into), into, violation.row)
                excess = max(excess, violation.excess)
        return excess

    def _run(self, deadline: Deadline) -> tuple[Floats, float] | None:
        if not solved(self._solver, deadline):
            return None
        values = np.array(self._solver.getSolution().col_value, dtype=np.float64)
        bound = float(self._solver.getInfo().objective_function_value)
        if len(values) < self._names.size or not math.isfinite(bound):
            return None
        cleaned = cleaned_remap(values[: self._names.size].reshape(self._shape))
        return None if cleaned is None else (cleaned, bound)


def solved(solver: Any, deadline: Deadline) -> bool:
    """Run HiGHS until the deadline; whether it came to an optimum.

    Whatever stops it, False: the caller has something else to release.
    """
    import highspy

    left = deadline.left()
    if left < math.inf:
        # The solver's clock runs on from one call to the next.
        solver.setOptionValue("time_limit", solver.getRunTime() + left)
    try:
        solver.run()
    except (RuntimeError, MemoryError):
        return False
    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def cleaned_remap(remap: Floats, negligible: float = NEGLIGIBLE) -> Floats | None:
    """Return K with rows that sum to 1 and no negligible entries; None if it is no remap at all."""
    if not np.isfinite(remap).all():
        return None
    kept = np.where(remap > negligible, remap, 0.0)
    totals = kept.sum(axis=1)
    if not (np.abs(totals - 1.0) < 1e-3).all():
        return None
    return np.asarray(kept / totals[:, None])
