"""Exact leakages on a small map, derived again with libqif (``qif`` 1.6): an independent opinion.

The channel from the event to everything that is released has two rows: the event and its negation.
libqif computes its smallest ε and its Bayes vulnerability. priste computes the largest leakage over
all sequences of releases, one by one.
"""

from __future__ import annotations

import itertools
import math
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, Quantifier, presence
from priste.audit import output_histories
from priste.audit.move_likelihoods import MoveQuantifier
from priste.mechanisms import Identity
from priste.mechanisms.alternatives import (
    MoveTable,
    PointTable,
    adaptive,
    coarsened,
    constant_point,
    landmarks,
    policy_graph,
    remapped,
    velocity_aware,
    zones,
)

Floats = NDArray[np.float64]

GRID = Grid(rows=2, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
EVENT = presence([5], [1, 2])
PRIOR = np.array([0.3, 0.2, 0.15, 0.15, 0.1, 0.1])
STEPS = 3
EPSILON = 0.5


def tables() -> dict[str, PointTable | MoveTable]:
    """Return the alternatives on the small map."""
    noise = PlanarLaplace(GRID, 1.0)
    moves = PRIOR[:, None] * MODEL.transition(0).toarray()
    return {
        "exact": PointTable(Identity(GRID), GRID.centers),
        "coarse": coarsened(GRID, 1.5),
        "zones": zones(GRID, [GRID.centers[5]], 0.8),
        "landmarks": landmarks(GRID, [0, 2, 4], 2),
        "laplace": PointTable(noise, GRID.centers),
        "remapped": remapped(noise, PRIOR),
        "pglp": policy_graph(GRID, 2, 1.0),
        "adaptive": adaptive(noise),
        "velocity": velocity_aware(noise, strength=2.0, hours=1.0, moves=moves, bandwidth=0.25),
        "constant": constant_point(GRID, 1),
    }


def paths() -> tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]:
    """Return (n, STEPS) every path of the small map, (n,) its probability, and (n,) the event."""
    every = list(itertools.product(range(GRID.size), repeat=STEPS))
    matrix = MODEL.transition(0).toarray()
    weights = np.array(
        [PRIOR[p[0]] * math.prod(matrix[i, j] for i, j in itertools.pairwise(p)) for p in every]
    )
    return np.array(every), weights, np.array([EVENT.holds(list(path)) for path in every])


def channel_of(table: PointTable | MoveTable) -> tuple[Floats, float, float]:
    """Return (2, sequences) by summing over all paths, Pr(event), and priste's largest leakage."""
    every, weights, holds = paths()
    if isinstance(table, MoveTable):
        count = GRID.size
        firsts = [table.first_likelihood(output) for output in range(count)]
        laters = [table.likelihood(output) for output in range(count)]
    else:
        emission = table.mechanism.emission()
        count = emission.shape[1]
        firsts = laters = [emission[:, output] for output in range(count)]
    columns, largest = [], 0.0
    for seen in itertools.product(range(count), repeat=STEPS):
        likelihoods = [firsts[seen[0]], *(laters[output] for output in seen[1:])]
        told = np.array([_likelihood(likelihoods, path) for path in every])
        joint = [float((weights * told)[holds].sum()), float((weights * told)[~holds].sum())]
        if sum(joint) == 0.0:
            continue
        columns.append(joint)
        asked: Quantifier | MoveQuantifier
        if isinstance(table, MoveTable):
            asked = MoveQuantifier(MODEL, EVENT, KnownPrior(PRIOR))
        else:
            asked = Quantifier(MODEL, EVENT, KnownPrior(PRIOR))
        for likelihood in likelihoods:
            asked.observe(likelihood)
        largest = max(largest, *asked.directions())
    happens = float(weights[holds].sum())
    joint_table = np.array(columns).T
    return joint_table / np.array([[happens], [1 - happens]]), happens, largest


def _likelihood(likelihoods: list[Floats], path: tuple[int, ...]) -> float:
    told = 1.0
    for step, likelihood in enumerate(likelihoods):
        place: Any = path[step] if likelihood.ndim == 1 else (path[step - 1], path[step])
        told *= float(likelihood[place])
    return told


def priste_channel() -> tuple[Floats, float, float]:
    """Return the same for priste, from the exact distribution of all its histories."""
    protector = Protector(
        MODEL, EVENT, PlanarLaplace(GRID, 1.0), EPSILON, "optimal", adversary=KnownPrior(PRIOR)
    )
    everything = output_histories(protector, STEPS, prior=PRIOR, sees="budgets")
    histories = [each for each in everything if len(each.outputs) == STEPS]
    joint = np.array([[h.with_event[0], h.probability - h.with_event[0]] for h in histories]).T
    happens = float(joint[0].sum())
    largest = max(max(h.for_event[0], h.against_event[0]) for h in histories)
    return joint / joint.sum(axis=1, keepdims=True), happens, largest


def exact_figures() -> dict[str, Any]:
    """Return, per way of releasing, what libqif and priste say."""
    qif: Any = import_module("qif")
    channels = {"priste": priste_channel()}
    channels |= {name: channel_of(table) for name, table in tables().items()}
    rows = {}
    for name, (joint, happens, largest) in channels.items():
        channel = joint / joint.sum(axis=1, keepdims=True)
        derived = qif.measure.d_privacy.smallest_epsilon(channel, lambda i, j: float(i != j))
        guess = qif.measure.bayes_vuln.posterior(np.array([happens, 1 - happens]), channel)
        own = float(np.maximum(happens * channel[0], (1 - happens) * channel[1]).sum())
        rows[name] = {
            "priste": largest if math.isfinite(largest) else None,
            "qif": derived if math.isfinite(derived) else None,
            "apart": 0.0 if derived == largest else abs(derived - largest),
            "guess_apart": abs(guess - own),
        }
    return {"rows": rows, "epsilon": EPSILON, "cells": GRID.size, "steps": STEPS}
