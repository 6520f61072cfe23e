"""Runs of the paper's loop that advance together: the numbers of one run after another, sooner.

The check of a draw needs the releases of its own run alone, but all runs on one world go
through the same matrix; see :mod:`paper.experiments.many_histories`. Every run has the walk and
the source of bits that it would have alone, and the same verdicts up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from paper.experiments.many_histories import ManyHistories
from paper.experiments.sparing_set import SparingSet
from paper.experiments.witnesses import Witnesses
from priste.events import Event
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import JointProbabilities, leakages, passes, worst_prior_leakage
from priste.quantify.joint_probabilities import candidate_of, candidates_of
from priste.randomness import BitSource
from priste.release import Paper
from priste.release.accountant import Prediction

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


@dataclass(frozen=True)
class _Event:
    """What one event asks of all runs."""

    histories: ManyHistories
    witnesses: Witnesses


def advance_together(model: MarkovModel, events: Sequence[Event], runs: Sequence[Run]) -> None:
    """Release all steps of all runs by the paper's loop with the exact check.

    Runs must have walks of one length. The budgets, cells, attempts and leakages are those of
    ``Protector(model, events, mechanism, epsilon, Paper(), rng=bits)`` on each walk.
    """
    followed = []
    for event in events:
        histories = ManyHistories(model, event, len(runs))
        followed.append(_Event(histories, Witnesses(histories, len(runs))))
    lower = _LowerBudgets()
    for step in range(len(runs[0].walk)):
        columns = _one_step(followed, runs, step, lower)
        for each in followed:
            each.histories.observe(columns)
            each.witnesses.follow()


class _LowerBudgets:
    """Mechanisms at lower budgets, each made once."""

    def __init__(self) -> None:
        # With the mechanism that the id is of, so that no other has it meanwhile.
        self._made: dict[tuple[int, float], tuple[Mechanism, Mechanism]] = {}
        self._budgets: dict[int, tuple[float, ...]] = {}

    def budgets(self, run: Run) -> tuple[float, ...]:
        key = id(run.mechanism)  # held by the run, so that no other has it meanwhile
        if key not in self._budgets:
            self._budgets[key] = Paper().budgets(run.mechanism)
        return self._budgets[key]

    def at(self, run: Run, now: Mechanism, budget: float) -> Mechanism:
        if isinstance(now, SparingSet):  # it is another one in each run and step
            return now.around(self._made_once(now.base, budget))
        return self._made_once(now, budget)

    def _made_once(self, full: Mechanism, budget: float) -> Mechanism:
        key = id(full), budget
        if key not in self._made:
            self._made[key] = full, full.with_budget(budget)
        return self._made[key][1]


@dataclass(frozen=True)
class _Drawn:
    """A draw: the number of its run, the mechanism at a budget, and the output."""

    run: int
    mechanism: Mechanism
    budget: float
    output: int

    def likelihood(self) -> Floats:
        """Return the likelihood of the output."""
        return self.mechanism.likelihood(self.output)

    def rough_column(self) -> Floats:
        """Return it up to rounding, where that is quicker."""
        if isinstance(self.mechanism, SparingSet):
            return self.mechanism.rough_column(self.output)
        return self.mechanism.likelihood(self.output)


def _one_step(
    followed: Sequence[_Event], runs: Sequence[Run], step: int, lower: _LowerBudgets
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
            drawn.append(_Drawn(number, mechanism, budget, output))
        attempt += 1
        open_to_all = _without_witnesses(followed, runs, drawn)
        for draw, column, leakage in _accepted(followed, runs, open_to_all):
            informative = bool((column != column[0]).any())
            released[:, draw.run] = column if informative else 1.0
            runs[draw.run].take(
                draw.output,
                draw.budget,
                attempt,
                column if informative else None,
                leakage if informative else None,
            )
            waiting.remove(draw.run)
    return released


def _without_witnesses(
    followed: Sequence[_Event], runs: Sequence[Run], drawn: Sequence[_Drawn]
) -> list[_Drawn]:
    """Return the draws that no witness refuses, and those at budget 0: they are not checked."""
    decided = np.any([each.witnesses.decided for each in followed], axis=0)
    last = [draw for draw in drawn if draw.budget == 0.0]
    asked = [draw for draw in drawn if draw.budget > 0.0 and not decided[draw.run]]
    if not asked:
        return last
    columns = np.stack([draw.rough_column() for draw in asked], axis=1)
    numbers, limits = _numbers_and_limits(runs, asked)
    refused = np.any([each.witnesses.refuse(columns, numbers, limits) for each in followed], axis=0)
    return [draw for draw, over in zip(asked, refused, strict=True) if not over] + last


def _numbers_and_limits(runs: Sequence[Run], drawn: Sequence[_Drawn]) -> tuple[Integers, Floats]:
    numbers = np.array([draw.run for draw in drawn], dtype=np.int64)
    return numbers, np.array([runs[draw.run].epsilon for draw in drawn])


def _accepted(
    followed: Sequence[_Event], runs: Sequence[Run], drawn: Sequence[_Drawn]
) -> list[tuple[_Drawn, Floats, list[float]]]:
    """Return the draws that are released, each with its column and its leakage by event."""
    if not drawn:
        return []
    columns = np.stack([draw.likelihood() for draw in drawn], axis=1)
    numbers, limits = _numbers_and_limits(runs, drawn)
    found = [each.histories.joint_if(columns, numbers) for each in followed]
    kept = [_passes(joint, limits) for joint in found]
    # A draw at budget 0 is the last one: it is not checked.
    accepted = np.all(kept, axis=0) | np.array([draw.budget == 0.0 for draw in drawn])
    for each, joint, passed in zip(followed, found, kept, strict=True):
        _learn(each.witnesses, joint, numbers, passed, accepted)
    pairs = zip(found, kept, strict=True)
    told = np.stack([_told(each, limits, passed, accepted) for each, passed in pairs])
    return [
        (drawn[place], columns[:, place], told[:, place].tolist())
        for place in np.flatnonzero(accepted).tolist()
    ]


def _learn(
    witnesses: Witnesses,
    joint: JointProbabilities,
    numbers: Integers,
    kept: Booleans,
    accepted: Booleans,
) -> None:
    """Keep the worst prior of draws that were refused, and streams that decided the event."""
    streams, priors = [], []
    for place in np.flatnonzero(~kept).tolist():
        number = int(numbers[place])
        if accepted[place]:
            if _decides(joint, place):
                witnesses.decide(number)
        elif witnesses.wanted(number):
            worst = worst_prior_leakage(_one(joint, place)).worst_prior
            prior = np.zeros(joint.rows)
            prior[list(worst)] = list(worst.values())
            streams.append(number)
            priors.append(prior)
    if streams:
        witnesses.take(np.array(streams), np.stack(priors))


def _decides(joint: JointProbabilities, place: int) -> bool:
    """Tell whether a column excludes the event or its negation from every first cell.

    Where both were possible from each before, it stays so, and no later release is private.
    """
    return (
        joint.absolute_error == 0.0
        and bool(joint.prior_event.all() and joint.prior_complement.all())
        and not (joint.event[:, place].any() and joint.complement[:, place].any())
    )


def _passes(joint: JointProbabilities, limits: Floats) -> Booleans:
    """Tell for each column whether it keeps its own ε."""
    verdict = np.zeros(len(limits), dtype=bool)
    for limit in np.unique(limits):
        here = np.flatnonzero(limits == limit)
        verdict[here] = passes(_columns(joint, here), float(limit))
    return verdict


def _told(joint: JointProbabilities, limits: Floats, kept: Booleans, wanted: Booleans) -> Floats:
    """Return the leakage of the wanted columns; where ε is surely kept it is not above that."""
    value = np.full(len(limits), np.nan)
    here = np.flatnonzero(wanted)
    if here.size:
        value[here] = leakages(_columns(joint, here))
    return np.where(kept, np.minimum(value, limits), value)


def _one(joint: JointProbabilities, place: int) -> JointProbabilities:
    return candidate_of(joint, place)


def _columns(joint: JointProbabilities, chosen: Integers) -> JointProbabilities:
    return candidates_of(joint, chosen)
