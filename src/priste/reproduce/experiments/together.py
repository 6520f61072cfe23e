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
    budgets: list[float] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    leakage: list[list[float]] = field(default_factory=list)

    def mechanism_now(self) -> Mechanism:
        """Return the mechanism of the next step at its full budget."""
        if not self.mechanism.uses_belief:
            return self.mechanism
        return self.mechanism.at_belief(self.prediction.predicted())


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
    waiting = np.arange(len(runs))
    attempt = 0
    while waiting.size:
        asked = [lower.budgets(runs[run])[attempt] for run in waiting]
        mechanisms = [
            lower.at(runs[run], now[run], budget)
            for run, budget in zip(waiting, asked, strict=True)
        ]
        outputs = [
            int(mechanism.sample(runs[run].walk[step], runs[run].bits))
            for run, mechanism in zip(waiting, mechanisms, strict=True)
        ]
        columns = np.stack(
            [m.column(output) for m, output in zip(mechanisms, outputs, strict=True)], axis=1
        )
        found = [each.moments_if(columns, waiting) for each in histories]
        limits = np.array([runs[run].epsilon for run in waiting])
        kept = np.stack([_passes(moments, limits) for moments in found])
        done = kept.all(axis=0) | (np.array(asked) == 0.0)
        told = np.stack(
            [
                _told(moments, limits, verdict, done)
                for moments, verdict in zip(found, kept, strict=True)
            ]
        )
        for place in np.flatnonzero(done):
            run, column = runs[waiting[place]], columns[:, place]
            informative = bool((column != column[0]).any())
            before = run.leakage[-1] if run.leakage else [0.0] * len(histories)
            run.leakage.append(told[:, place].tolist() if informative else before)
            run.budgets.append(asked[place])
            run.cells.append(outputs[place])
            run.attempts.append(attempt + 1)
            if run.mechanism.uses_belief:
                run.prediction.correct(column if informative else None)
            released[:, waiting[place]] = column if informative else 1.0
        waiting = waiting[~done]
        attempt += 1
    return released


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
