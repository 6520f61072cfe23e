"""Runs of the paper's loop that advance together: the numbers of one run after another, sooner.

The check of a draw needs the releases of its own run alone, but all runs on one world go
through the same matrix; see :mod:`priste.quantify.many_histories`. Every run has the walk and
the source of bits that it would have alone, and the same verdicts up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from priste.events import Event
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import Moments, leakages, passes
from priste.quantify.many_histories import ManyHistories
from priste.randomness import BitSource
from priste.release import Paper
from priste.release.prediction import Prediction

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]


@dataclass
class Run:
    """One run: what it follows and draws with, and per step what came of it."""

    walk: Sequence[int]
    bits: BitSource
    mechanism: Mechanism
    epsilon: float
    prediction: Prediction
    events: int
    budgets: list[float] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    leakage: list[list[float]] = field(default_factory=list)

    def mechanism_now(self) -> Mechanism:
        """Return the mechanism of the next step at its full budget."""
        if not self.mechanism.uses_belief:
            return self.mechanism
        return self.mechanism.at_belief(self.prediction.predicted())

    def take(
        self,
        cell: int,
        budget: float,
        attempts: int,
        column: Floats | None,
        leakage: list[float] | None,
    ) -> None:
        """Take in a release; without a column it told nothing, and the leakage stays."""
        self.cells.append(cell)
        self.budgets.append(budget)
        self.attempts.append(attempts)
        if leakage is None:
            leakage = self.leakage[-1] if self.leakage else [0.0] * self.events
        self.leakage.append(leakage)
        if self.mechanism.uses_belief:
            self.prediction.correct(column)


def advance_together(model: MarkovModel, events: Sequence[Event], runs: Sequence[Run]) -> None:
    """Release all steps of all runs by the paper's loop with the exact check.

    Runs must have walks of one length. The budgets, cells, attempts and leakages are those of
    ``Protector(model, events, mechanism, epsilon, Paper(), rng=bits)`` on each walk.
    """
    histories = [ManyHistories(model, event, len(runs)) for event in events]
    lower = _LowerBudgets()
    for step in range(len(runs[0].walk)):
        columns = _one_step(histories, runs, step, lower)
        for each in histories:
            each.observe(columns)


class _LowerBudgets:
    """Mechanisms at lower budgets, each made once."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, float], Mechanism] = {}
        self._budgets: dict[int, tuple[float, ...]] = {}

    def budgets(self, run: Run) -> tuple[float, ...]:
        key = id(run.mechanism)  # held by the run, so that no other has it meanwhile
        if key not in self._budgets:
            self._budgets[key] = Paper().budgets(run.mechanism)
        return self._budgets[key]

    def at(self, run: Run, now: Mechanism, budget: float) -> Mechanism:
        if run.mechanism.uses_belief:  # it is another one in each run and step
            return now.with_budget(budget)
        key = id(run.mechanism), budget
        if key not in self._made:
            self._made[key] = now.with_budget(budget)
        return self._made[key]


def _one_step(
    histories: Sequence[ManyHistories], runs: Sequence[Run], step: int, lower: _LowerBudgets
) -> Floats:
    """Draw until every run has released, and return (m, runs) the columns that were released."""
    now = [run.mechanism_now() for run in runs]
    released = np.empty((now[0].grid.size, len(runs)))
    waiting = list(range(len(runs)))
    attempt = 0
    while waiting:
        drawn = []
        for number in waiting:
            run, budget = runs[number], lower.budgets(runs[number])[attempt]
            mechanism = lower.at(run, now[number], budget)
            output = int(mechanism.sample(run.walk[step], run.bits))
            drawn.append((number, budget, output, mechanism.column(output)))
        attempt += 1
        accepted, told = _checked(histories, runs, drawn)
        for place in np.flatnonzero(accepted).tolist():
            number, budget, output, column = drawn[place]
            informative = bool((column != column[0]).any())
            released[:, number] = column if informative else 1.0
            leakage = told[:, place].tolist() if informative else None
            runs[number].take(output, budget, attempt, column if informative else None, leakage)
        waiting = [each[0] for each, done in zip(drawn, accepted, strict=True) if not done]
    return released


_Drawn = tuple[int, float, int, Floats]
"""The number of a run, its budget, its output, and the column of that."""


def _checked(
    histories: Sequence[ManyHistories], runs: Sequence[Run], drawn: Sequence[_Drawn]
) -> tuple[Booleans, Floats]:
    """Tell which draws are released, and (events, draws) the leakage of those."""
    columns = np.stack([column for *_, column in drawn], axis=1)
    numbers = np.array([number for number, *_ in drawn])
    found = [each.moments_if(columns, numbers) for each in histories]
    limits = np.array([runs[number].epsilon for number in numbers.tolist()])
    kept = [_passes(moments, limits) for moments in found]
    # A draw at budget 0 is the last one: it is not checked.
    accepted = np.all(kept, axis=0) | np.array([budget == 0.0 for _, budget, *_ in drawn])
    pairs = zip(found, kept, strict=True)
    return accepted, np.stack([_told(each, limits, passed, accepted) for each, passed in pairs])


def _passes(moments: Moments, limits: Floats) -> Booleans:
    """Tell for each column whether it keeps its own ε."""
    verdict = np.zeros(len(limits), dtype=bool)
    for limit in np.unique(limits):
        here = np.flatnonzero(limits == limit)
        verdict[here] = passes(_columns(moments, here), float(limit))
    return verdict


def _told(moments: Moments, limits: Floats, kept: Booleans, wanted: Booleans) -> Floats:
    """Return the leakage of the wanted columns; where ε is surely kept it is not above that."""
    value = np.full(len(limits), np.nan)
    here = np.flatnonzero(wanted)
    if here.size:
        value[here] = leakages(_columns(moments, here))
    return np.where(kept, np.minimum(value, limits), value)


def _columns(moments: Moments, chosen: Integers) -> Moments:
    return Moments.of_checked(
        moments.prior_event,
        moments.prior_complement,
        np.ascontiguousarray(moments.event[:, chosen]),
        np.ascontiguousarray(moments.complement[:, chosen]),
        moments.exponent,
        moments.relative_error,
        moments.absolute_error,
    )
