"""How sure releases make an adversary: bounds on Pr(EVENT | releases) over rows and mixtures.

Pr(EVENT | o) <= p under a prior w means w·b <= c w·d with c = p / (1 - p): linear in w, so every
mixture of rows keeps it iff every row does (Theorem 6 of docs/explanation/proofs.md). With
|x̂ - x| <= γ x + δ,

    b <= (b̂ + δ) / (1 - γ),    d >= (d̂ - δ) / (1 + γ),

so b̂ + δ, taken times (1 + γ) / (1 - γ), is compared with c times d̂ - δ. The factors cover the
roundings of both sides, and one more float outwards covers what underflows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from priste.quantify.joint_probabilities import Floats, JointProbabilities
from priste.quantify.rounding import UNIT_ROUNDOFF

_EVALUATION = 1.0 + 16.0 * UNIT_ROUNDOFF
"""Covers the roundings of one line of arithmetic."""


def beliefs_within(joint: JointProbabilities, odds: float) -> NDArray[np.bool_]:
    """Tell for each candidate, shape (k,), whether b <= ``odds`` times d holds surely in every row.

    Rows that the releases exclude (b = d = 0) keep any bound.
    """
    event, complement = _bounds(joint)
    with np.errstate(over="ignore"):
        right = np.nextafter(complement * (odds / _EVALUATION), 0.0)
    return np.asarray((event <= right).all(axis=0))


def largest_belief(joint: JointProbabilities) -> float:
    """Bound Pr(EVENT | releases) over every mixture of the rows, from above; at most 1.

    The joint probabilities describe one set of releases. Rows that the releases exclude hold no
    belief; 0.0 when that leaves none.
    """
    event, complement = _bounds(joint)
    return _share(event[:, 0], complement[:, 0])


def _bounds(joint: JointProbabilities) -> tuple[Floats, Floats]:
    columns = (joint.event, joint.complement)
    return _outwards(joint, *(np.asarray(x).reshape(joint.rows, -1) for x in columns))


def _outwards(
    joint: JointProbabilities, event: Floats, complement: Floats
) -> tuple[Floats, Floats]:
    """Return an upper bound of b and a lower one of d, both times the same (1 + γ)."""
    gamma, delta = joint.relative_error, joint.absolute_error
    if not gamma < 0.5 or delta == math.inf:
        return np.full_like(event, math.inf), np.zeros_like(complement)
    above = (event + delta) * ((1.0 + gamma) / (1.0 - gamma) * _EVALUATION)
    above = np.where(event + delta > 0.0, np.nextafter(above, math.inf), 0.0)
    below = np.where(complement > delta, np.nextafter(complement - delta, 0.0), 0.0)
    return above, np.where(delta > 0.0, below, complement)


def _share(event: Floats, complement: Floats) -> float:
    """Return the largest event / (event + complement), rounded up."""
    possible = (event > 0.0) | (complement > 0.0)
    if not possible.any():
        return 0.0
    event, complement = event[possible], complement[possible]
    with np.errstate(over="ignore", invalid="ignore"):
        share = np.where(event < math.inf, event / (event + complement), 1.0)
    largest = float(np.nextafter(share.max() * _EVALUATION, math.inf)) if share.any() else 0.0
    return min(largest, 1.0)
