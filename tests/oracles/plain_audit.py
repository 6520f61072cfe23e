"""What releases tell about a visit, by plain sums: nothing of what protects is used."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from priste import MarkovModel
from priste.release import Ledger

Likelihood = NDArray[np.float64] | None


def likelihoods_of(ledgers: Iterable[Ledger]) -> list[Likelihood]:
    """Return the likelihood of each release of ledgers one after the other, None for silence."""
    return [ledger.likelihood(step) for ledger in ledgers for step in range(len(ledger))]


def leakage_about_a_visit(
    model: MarkovModel, told: Iterable[Likelihood], cells: Collection[int], steps: Collection[int]
) -> tuple[float, float, float]:
    """Return ln of the odds factor about "in the cells at one of the steps", and both beliefs.

    The sums go over the cell of a step and whether the visit happened by then. The prior is the
    stationary distribution of the model, which must be the same at every step.
    """
    move, held = model.transition(0).toarray(), sorted(cells)
    prior = np.zeros((model.grid.size, 2))
    prior[:, 0] = model.stationary()
    joint = prior.copy()
    for step, likelihood in enumerate(told):
        if step:
            prior, joint = move.T @ prior, move.T @ joint
        if step in steps:
            for table in (prior, joint):
                table[held, 1] += table[held, 0]
                table[held, 0] = 0.0
        if likelihood is not None:
            joint *= likelihood[:, None]
    (no, yes), (no_told, yes_told) = prior.sum(axis=0), joint.sum(axis=0)
    leakage = abs(math.log(yes_told / yes) - math.log(no_told / no))
    return leakage, float(yes), float(yes_told / (yes_told + no_told))
