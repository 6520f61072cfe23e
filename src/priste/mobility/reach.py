"""Where people go when they leave a cell: a power law of the distance.

Along each axis a move of k cells weighs ``max(k, 1) ** -decay``, and the two axes multiply. The
tail is heavy, so that long journeys stay possible, and on any rectangular map the matrix is a
Kronecker product of two small ones. Only products, quotients and square roots are taken, which
every machine rounds alike.
"""

from __future__ import annotations

import numpy as np

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.validation import FloatArray

LARGEST_DECAY = 8.0


def checked_decay(decay: object, owner: str) -> float:
    """Return a decay: a multiple of 0.5 from 0.5 to ``LARGEST_DECAY``."""
    value = check_float(decay, "decay", owner, least=0.5, most=LARGEST_DECAY)
    if value * 2 != int(value * 2):
        raise InvalidParameter(
            "must be a multiple of 0.5", parameter="decay", owner=owner, value=decay
        )
    return value


def reach_factors(grid: Grid, decay: float) -> tuple[FloatArray, FloatArray]:
    """Return the row factor and the column factor, each with rows that sum to 1."""
    factors = []
    for length in (grid.rows, grid.columns):
        positions = np.arange(length, dtype=np.float64)
        apart = np.maximum(np.abs(positions[:, None] - positions), 1.0)
        weights = np.ones_like(apart) if decay == int(decay) else 1.0 / np.sqrt(apart)
        for _ in range(int(decay)):
            weights = weights / apart
        factors.append(weights / weights.sum(axis=1, keepdims=True))
    return factors[0], factors[1]


def self_shares(factors: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the diagonal of the product of two factors: the probability of coming out unmoved."""
    return np.outer(np.diagonal(factors[0]), np.diagonal(factors[1])).reshape(-1)
