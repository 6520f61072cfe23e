"""Attacks on the event, run many times: what an adversary wins, at most and in fact.

A guarantee of ε bounds every attack. If the likelihoods given the event and given its negation
differ by at most a factor e**ε, no decision rule is right more often than
max(p, 1 - p, e**ε / (1 + e**ε)) when the event has probability p, and no score has a larger area
under its ROC curve than e**ε / (1 + e**ε). (The curve lies below the two lines of slope e**ε and
e**-ε through its corners; the bounds are the corner where they meet.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import check_int
from priste.audit.estimates import CONFIDENCE, Estimate, area_under_curve, proportion
from priste.audit.procedure import Procedure, Run
from priste.audit.true_leakage import MAX_HISTORIES, Sees, output_histories
from priste.mobility import MarkovModel
from priste.quantify import AnyPrior, KnownPrior, Quantifier
from priste.randomness import BitSource, Seed, bit_source
from priste.release import Protector

Floats = NDArray[np.float64]


def largest_accuracy(epsilon: float, prior_belief: float) -> float:
    """Return the largest share of right guesses that a leakage of ``epsilon`` allows.

    >>> round(largest_accuracy(0.5, 0.5), 4), largest_accuracy(0.5, 0.9)
    (0.6225, 0.9)
    """
    return max(prior_belief, 1.0 - prior_belief, largest_area(epsilon))


def largest_area(epsilon: float) -> float:
    """Return the largest area under a ROC curve that a leakage of ``epsilon`` allows."""
    return 1.0 / (1.0 + math.exp(-epsilon))


@dataclass(frozen=True)
class EventAttack:
    """Bayesian inference of an event, over many runs.

    The adversary says "it happened" when the posterior is above one half. ``accuracy`` is the share
    of right answers, ``advantage`` the accuracy above that of the best guess without any release,
    ``area`` that under the ROC curve of the posterior. ``accuracy_bound`` and ``area_bound`` are
    what ε allows, 1 where the guarantee does not bound odds both ways for any prior.
    ``prior_belief`` is the true probability of the event.
    """

    runs: int
    prior_belief: float
    accuracy: Estimate
    advantage: Estimate
    area: Estimate
    accuracy_bound: float
    area_bound: float


def event_attack(
    protector: Protector,
    steps: int,
    *,
    event: str | None = None,
    runs: int = 1000,
    rng: Seed | BitSource = None,
    prior: ArrayLike | None = None,
    truth: MarkovModel | None = None,
    adversary_model: MarkovModel | None = None,
    knows_code: bool = True,
    confidence: float = CONFIDENCE,
) -> EventAttack:
    """Attack ``runs`` streams of ``steps`` steps and count how often the adversary is right.

    Users move by ``truth`` and start by ``prior`` (uniform unless given); the adversary reckons
    with ``adversary_model`` and the same prior. Both models are the first guarded one unless
    given, so a wrong or a better model is an argument. With ``knows_code`` it uses the
    true distribution of every release, budgets included, otherwise the one that the procedure
    itself believes in. ``protector`` must not have released anything; nothing is drawn from it.
    """
    procedure = Procedure(protector)
    terms = procedure.terms
    number = procedure.event_number(event)
    happening = terms.events[number]
    moving = terms.models[0] if truth is None else truth
    reckoning = terms.models[0] if adversary_model is None else adversary_model
    start = procedure.prior(None if prior is None else np.asarray(prior, dtype=np.float64))
    length = max(steps, 1 + (happening.last_step or 0))
    bits = bit_source(rng)
    check_int(runs, "runs", "an attack", least=2)
    happened, scores = [], []
    known: dict[tuple[tuple[int, ...], tuple[float, ...]], float] = {}
    for _ in range(runs):
        trajectory = moving.sample(length, bits, start)
        run = procedure.run(trajectory[:steps], bits)
        key = (run.outputs, run.budgets)
        if key not in known:
            quantifier = Quantifier(reckoning, happening, KnownPrior(start))
            for likelihood in _observed(run, knows_code):
                quantifier.observe(likelihood)
            known[key] = quantifier.posterior()
        happened.append(happening.holds(trajectory.tolist()))
        scores.append(known[key])
    right = sum((score > 0.5) == event for score, event in zip(scores, happened, strict=True))
    share = Quantifier(moving, happening, KnownPrior(start)).posterior()
    accuracy = proportion(right, runs, confidence)
    return EventAttack(
        runs,
        share,
        accuracy,
        accuracy.shifted(-max(share, 1.0 - share)),
        area_under_curve(
            [score for score, event in zip(scores, happened, strict=True) if event],
            [score for score, event in zip(scores, happened, strict=True) if not event],
            confidence,
        ),
        largest_accuracy(_bound_both_ways(procedure, number), share),
        largest_area(_bound_both_ways(procedure, number)),
    )


def _bound_both_ways(procedure: Procedure, event: int) -> float:
    """Return the ε that bounds attacks with any prior; inf where the guarantee bounds none.

    A guarantee in one direction, about beliefs, or to some adversaries only leaves attacks by
    others, or by those who look for the negation, without a bound.
    """
    guarantee = procedure.guarantees[event]
    if guarantee.belief_cap is not None or procedure.terms.adversary != AnyPrior():
        return math.inf
    return max(guarantee.up, guarantee.down)


def exact_accuracy(
    protector: Protector,
    steps: int,
    *,
    event: str | None = None,
    sees: Sees = "budgets",
    prior: ArrayLike | None = None,
    max_histories: int = MAX_HISTORIES,
) -> float:
    """Return how often the best attack is right, exactly, by enumeration of all histories.

    >>> from priste import EmissionTable, Grid, MarkovModel, Protector, at
    >>> grid = Grid(rows=1, columns=2, cell_size=1.0)
    >>> model = MarkovModel(grid, [[0.5, 0.5], [0.5, 0.5]])
    >>> coin = EmissionTable(grid, [[0.75, 0.25], [0.25, 0.75]])
    >>> exact_accuracy(Protector(model, at([0], 0), coin, 2.0, adversary=AnyPrior(),
    ...                          calibrator="uncalibrated"), steps=1)
    0.75
    """
    number = Procedure(protector).event_number(event)
    stated = None if prior is None else np.asarray(prior, dtype=np.float64)
    right = 0.0
    for history in output_histories(
        protector, steps, sees=sees, prior=stated, max_histories=max_histories
    ):
        if len(history.outputs) == steps:
            with_event = history.with_event[number]
            right += max(with_event, history.probability - with_event)
    return right


def _observed(run: Run, knows_code: bool) -> tuple[Floats, ...]:
    return run.likelihoods if knows_code else run.nominal
