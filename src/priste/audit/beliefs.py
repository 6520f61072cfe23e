"""What an adversary believes: about the event, about where the user was, and along which way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.errors import InvalidParameter
from priste.events import Guarded, at
from priste.mobility import MarkovModel
from priste.quantify import KnownPrior, Quantifier

Floats = NDArray[np.float64]

MAX_VITERBI_STATES = 12_000
"""Above this many states the matrix of one move takes more than a GiB."""


@dataclass(frozen=True, eq=False)
class EventBelief:
    """The probability of an event over time; entry 0 is before any release.

    ``given`` is for the stated prior, ``worst`` for the worst prior (the one that the releases
    moved most, at the step where they did). ``lowest`` and ``highest`` bound it over the whole
    range of priors asked about: for all their mixtures too, as the posterior of a mixture lies
    between those of its parts. Priors under which the releases are impossible drop out.
    """

    given: tuple[float, ...]
    worst: tuple[float, ...]
    worst_prior: Mapping[int, float]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]


def event_belief(
    model: MarkovModel,
    event: Guarded,
    likelihoods: Sequence[Floats | None],
    *,
    prior: ArrayLike | None = None,
    priors: ArrayLike | None = None,
) -> EventBelief:
    """Return the adversary's probability of the event, before and after each release.

    ``prior`` (m,) is uniform unless given. ``priors`` (K, m) is the range of priors; by default
    every prior there is. ``likelihoods`` as in :func:`~priste.audit.audit_stream`.

    >>> from priste import Grid, MarkovModel, at
    >>> grid = Grid(rows=1, columns=2, cell_size=1.0)
    >>> model = MarkovModel(grid, [[0.5, 0.5], [0.5, 0.5]])
    >>> b = event_belief(model, at([0], 0), [[0.9, 0.1]])
    >>> [round(x, 6) for x in b.given], b.lowest, b.highest
    ([0.5, 0.9], (0.0, 0.0), (1.0, 1.0))
    """
    cells = model.grid.size
    stated = np.full(cells, 1.0 / cells) if prior is None else np.asarray(prior, dtype=np.float64)
    quantifier = Quantifier(model, event)
    several = quantifier if priors is None else Quantifier(model, event, KnownPrior(priors))
    given, ranges = [quantifier.posterior(stated)], [_range(several)]
    most, worst_prior = -math.inf, dict(quantifier.leakage().worst_prior)
    for likelihood in likelihoods:
        quantifier.observe(likelihood)
        if several is not quantifier:
            several.observe(likelihood)
        given.append(quantifier.posterior(stated))
        ranges.append(_range(several))
        leakage = quantifier.leakage()
        if leakage.value > most and leakage.worst_prior:
            most, worst_prior = leakage.value, dict(leakage.worst_prior)
    worst = _under(model, event, likelihoods, worst_prior) if worst_prior else tuple(given)
    return EventBelief(
        tuple(given), worst, worst_prior, tuple(r[0] for r in ranges), tuple(r[1] for r in ranges)
    )


def _range(quantifier: Quantifier) -> tuple[float, float]:
    joint = quantifier.joint_probabilities()
    happened = joint.joint[:-1].sum(axis=0)
    total = happened + joint.joint[-1]
    alive = total > 0.0
    if not alive.any():
        return math.nan, math.nan
    shares = happened[alive] / total[alive]
    return float(shares.min()), float(shares.max())


def _under(
    model: MarkovModel,
    event: Guarded,
    likelihoods: Sequence[Floats | None],
    prior: Mapping[int, float],
) -> tuple[float, ...]:
    weights = np.zeros(model.grid.size)
    for cell, weight in prior.items():
        weights[cell] = weight
    quantifier = Quantifier(model, event, KnownPrior(weights / weights.sum()))
    path = [quantifier.posterior()]
    for likelihood in likelihoods:
        quantifier.observe(likelihood)
        try:
            path.append(quantifier.posterior())
        except InvalidParameter:  # the releases after the worst step exclude these starts
            path.append(math.nan)
    return tuple(path)


def prior_in_words(
    worst_prior: Mapping[int, float], name_of: Callable[[int], str] | None = None
) -> str:
    """Say a prior as a sentence about a person.

    >>> prior_in_words({3: 0.25, 17: 0.75}, lambda cell: {17: "home"}.get(cell, f"cell {cell}"))
    'an adversary who thinks the user started at home (75 %) or cell 3 (25 %)'
    >>> prior_in_words({3: 1.0})
    'an adversary who knows that the user started at cell 3'
    >>> prior_in_words({})
    'no adversary: the releases do not distinguish this event from its negation'
    """
    name = name_of or (lambda cell: f"cell {cell}")
    ordered = sorted(worst_prior.items(), key=lambda item: (-item[1], item[0]))
    if not ordered:
        return "no adversary: the releases do not distinguish this event from its negation"
    if len(ordered) == 1:
        return f"an adversary who knows that the user started at {name(ordered[0][0])}"
    parts = [f"{name(cell)} ({_percent(weight)})" for cell, weight in ordered]
    return f"an adversary who thinks the user started at {' or '.join(parts)}"


def _percent(weight: float) -> str:
    if weight < 0.005:
        return "< 1 %"
    return "> 99 %" if weight > 0.995 else f"{100 * weight:.0f} %"


def location_belief(
    model: MarkovModel,
    likelihoods: Sequence[Floats | None],
    *,
    prior: ArrayLike | None = None,
    hindsight: bool = True,
) -> Floats:
    """Return (steps, m), the adversary's probability of each cell at each step.

    With ``hindsight`` given all releases; without it given those up to the step.
    """
    cells = model.grid.size
    stated = np.full(cells, 1.0 / cells) if prior is None else np.asarray(prior, dtype=np.float64)
    quantifier = Quantifier(model, at([0], 0), KnownPrior(stated))
    rows = []
    for step, likelihood in enumerate(likelihoods):
        quantifier.observe(likelihood)
        if not hindsight:
            rows.append(quantifier.location_posterior(step=step))
    if hindsight:
        return quantifier.location_posterior()
    return np.array(rows).reshape(len(rows), cells)


def most_likely_trajectory(
    model: MarkovModel,
    likelihoods: Sequence[Floats | None],
    *,
    prior: ArrayLike | None = None,
) -> tuple[tuple[int, ...], float]:
    """Return the most likely true cells given all releases (Viterbi), and ln of their probability.

    The probability is that of the trajectory together with the releases. Of equally likely
    trajectories the one with lower numbers late wins. Raises InvalidParameter without
    releases, if the releases are impossible, or above ``MAX_VITERBI_STATES`` states.
    """
    if not likelihoods:
        raise InvalidParameter(
            "must have at least one step",
            parameter="likelihoods",
            owner="the most likely trajectory",
            got="none",
        )
    cells = model.grid.size
    stated = np.full(cells, 1.0 / cells) if prior is None else np.asarray(prior, dtype=np.float64)
    if stated.shape != (cells,):
        raise InvalidParameter(
            f"must have shape ({cells},)",
            parameter="prior",
            owner="the most likely trajectory",
            value=stated.shape,
        )
    score = _log(stated) + _log_likelihood(model, likelihoods[0], 0)
    origins: list[NDArray[np.int64]] = []
    for step, likelihood in enumerate(likelihoods[1:], start=1):
        if model.states(step) > MAX_VITERBI_STATES:
            raise InvalidParameter(
                f"must have at most {MAX_VITERBI_STATES} states, as the whole matrix of a move is "
                "needed",
                parameter="model",
                owner="the most likely trajectory",
                value=model.states(step),
                hint="Use a coarser map.",
            )
        ways = score[:, None] + _log(model.transition(step - 1).toarray())
        origins.append(ways.argmax(axis=0))
        score = ways.max(axis=0) + _log_likelihood(model, likelihood, step)
    best = float(score.max())
    if best == -math.inf:
        raise InvalidParameter(
            "The releases are impossible under this prior and model: no trajectory explains them.",
            hint="Give the model and a prior that they were made with.",
        )
    state = int(score.argmax())
    states = [state]
    for origin in reversed(origins):
        state = int(origin[state])
        states.append(state)
    states.reverse()
    return tuple(int(model.cell_of_state(t)[s]) for t, s in enumerate(states)), best


def _log_likelihood(model: MarkovModel, likelihood: Floats | None, step: int) -> Floats:
    if likelihood is None:
        return np.zeros(model.states(step))
    return _log(np.asarray(likelihood, dtype=np.float64))[model.cell_of_state(step)]


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))
