"""How far "at least once" and "every time" can move, where each time is guarded by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import numpy as np
from numpy.typing import NDArray

from priste.errors import TooManyWorlds
from priste.events import Event
from priste.mobility import MarkovModel
from priste.quantify import Adversary, Family, Quantifier

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RecurrenceAudit:
    """What a stream reveals about an event over all its days or weeks.

    ``at_least_once`` is the largest leakage after any release about "it happened in one of the
    ``periods`` at least", ``every_time`` that about "it happened in all of them"; over both
    directions and every prior of the adversary, never below the exact value. None where nothing is
    open about it, or its automaton would be too large.
    """

    periods: int
    at_least_once: float | None
    every_time: float | None


def audit_recurrence(
    models: MarkovModel | Sequence[MarkovModel],
    events: Sequence[Event],
    likelihoods: Iterable[Floats | None],
    adversary: Adversary,
    *,
    family: Family = "joint",
) -> RecurrenceAudit:
    """Audit a recurring event, given as one event for each day or week.

    A guarantee about each of them bounds neither number: six events within ε = 1 can move "every
    time" by a factor of 259. Both are computed exactly, as any event is. ``likelihoods`` as in
    :func:`~priste.audit.audit_stream`.

    >>> from priste import Grid, KnownPrior, at
    >>> model = MarkovModel(Grid(rows=1, columns=2, cell_size=1.0), [[0.1, 0.9], [0.1, 0.9]])
    >>> visits = [at([0], day) for day in range(3)]
    >>> found = audit_recurrence(model, visits, [[0.5, 0.25]] * 3, KnownPrior([0.1, 0.9]))
    >>> round(float(np.exp(found.every_time)), 2), round(float(np.exp(found.at_least_once)), 2)
    (6.04, 2.22)
    """
    stream = [None if each is None else np.asarray(each, dtype=np.float64) for each in likelihoods]
    numbers = []
    for join in (or_, and_):
        numbers.append(_largest(models, reduce(join, events), stream, adversary, family))
    return RecurrenceAudit(len(events), *numbers)


def _largest(
    models: MarkovModel | Sequence[MarkovModel],
    event: Event,
    likelihoods: Sequence[Floats | None],
    adversary: Adversary,
    family: Family,
) -> float | None:
    try:
        if event.automaton().constant is not None:
            return None
    except TooManyWorlds:
        return None
    quantifier = Quantifier(models, event, adversary, family=family, method="stream")
    if not quantifier.judge.undecided_prior(quantifier.joint_probabilities()):
        return None
    largest = 0.0
    for likelihood in likelihoods:
        quantifier.observe(likelihood)
        if likelihood is not None and (likelihood != likelihood[0]).any():
            largest = max(largest, *quantifier.directions())
    return largest
