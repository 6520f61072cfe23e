"""Attacks on the location: how far from the truth is the best guess?

ε alone says little about that (Oya, Troncoso and Pérez-González 2017 make the point for
geo-indistinguishability): the same ε can leave an adversary metres or kilometres away. The
measure here is the expected distance of the estimate that is best for the adversary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.audit.beliefs import location_belief
from priste.audit.estimates import CONFIDENCE, Estimate, mean
from priste.audit.procedure import Procedure
from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.randomness import BitSource, Seed, bit_source
from priste.release import Protector

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LocalisationAttack:
    """The distance in km between the truth and the adversary's best guess, step by step.

    ``error[t]`` is over all runs, given all releases; ``overall`` is the mean over all steps of a
    run. ``blind`` is the expected error without any release.
    """

    runs: int
    error: tuple[Estimate, ...]
    overall: Estimate
    blind: tuple[float, ...]


def best_guess(belief: ArrayLike, distances: Floats) -> tuple[int, float]:
    """Return the cell with the smallest expected distance under a belief (m,), and that distance.

    >>> best_guess([0.4, 0.2, 0.4], np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    (1, 0.8)
    """
    costs = np.asarray(belief, dtype=np.float64) @ distances
    cell = int(costs.argmin())
    return cell, float(costs[cell])


def expected_error(mechanism: Mechanism, prior: ArrayLike | None = None) -> float:
    """Return the expected distance (km) of the best guess after one release, exactly.

    The sum over outputs of the smallest expected distance; ``prior`` is uniform unless given.
    """
    cells = mechanism.grid.size
    stated = np.full(cells, 1.0 / cells) if prior is None else np.asarray(prior, dtype=np.float64)
    joint = mechanism.emission() * stated[:, None]
    return float((joint.T @ mechanism.grid.distances()).min(axis=1).sum())


def localisation_attack(
    protector: Protector,
    steps: int,
    *,
    runs: int = 100,
    rng: Seed | BitSource = None,
    prior: ArrayLike | None = None,
    truth: MarkovModel | None = None,
    adversary_model: MarkovModel | None = None,
    confidence: float = CONFIDENCE,
) -> LocalisationAttack:
    """Locate the users of ``runs`` streams at every step, given all of their releases.

    Arguments as in :func:`~priste.audit.event_attack`; the adversary knows the code.
    """
    procedure = Procedure(protector)
    moving = procedure.terms.models[0] if truth is None else truth
    reckoning = procedure.terms.models[0] if adversary_model is None else adversary_model
    start = procedure.prior(None if prior is None else np.asarray(prior, dtype=np.float64))
    distances = reckoning.grid.distances()
    bits = bit_source(rng)
    errors = np.empty((runs, steps))
    for number in range(runs):
        trajectory = moving.sample(steps, bits, start)
        seen = procedure.run(trajectory, bits).likelihoods
        belief = location_belief(reckoning, seen, prior=start)
        guesses = (belief @ distances).argmin(axis=1)
        errors[number] = distances[trajectory, guesses]
    nothing = location_belief(reckoning, [None] * steps, prior=start)
    return LocalisationAttack(
        runs,
        tuple(mean(errors[:, step], confidence) for step in range(steps)),
        mean(errors.mean(axis=1), confidence),
        tuple(best_guess(row, distances)[1] for row in nothing),
    )


def averaging_attack(
    mechanism: Mechanism,
    draws: Sequence[int],
    *,
    runs: int = 200,
    rng: Seed | BitSource = None,
    prior: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> dict[int, Estimate]:
    """Return the distance (km) of the best guess after each number of ``draws`` from one place.

    That is what an uncalibrated mechanism gives away when an application asks again and again while
    the user stays. A Protector does not: a step is drawn once, and staying is part of
    the movement it reckons with.
    """
    wanted = sorted(set(draws))
    if not wanted or wanted[0] < 1:
        raise InvalidParameter("must be numbers >= 1", parameter="draws", value=tuple(draws))
    cells = mechanism.grid.size
    stated = np.full(cells, 1.0 / cells) if prior is None else np.asarray(prior, dtype=np.float64)
    still = MarkovModel(mechanism.grid, np.eye(cells))
    distances = mechanism.grid.distances()
    with np.errstate(divide="ignore"):
        logs = np.log(mechanism.emission())
        first = np.log(stated)
    bits = bit_source(rng)
    errors: dict[int, list[float]] = {count: [] for count in wanted}
    for _ in range(runs):
        cell = int(still.sample(1, bits, stated)[0])
        score = first.copy()
        for count in range(1, wanted[-1] + 1):
            score = score + logs[:, mechanism.sample(cell, bits)]
            if count in errors:
                belief = np.exp(score - score.max())
                guess, _ = best_guess(belief / belief.sum(), distances)
                errors[count].append(float(distances[cell, guess]))
    return {count: mean(values, confidence) for count, values in errors.items()}
