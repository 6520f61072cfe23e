"""Where people go when they go: nearer cells more often, far ones seldom, none never.

Along each axis a move of k cells weighs ``max(k, 1) ** -decay``, and the two axes multiply. The
tail is heavy, so that no journey is all but impossible, and on any rectangular map the matrix
is a Kronecker product of two small ones. Only products, quotients and square roots are
taken, which every machine rounds alike.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from priste.arguments import number
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.gaussian import DENSE_LIMIT
from priste.mobility.structured import AnyTransition, BlendedTransition, SeparableTransition
from priste.mobility.transitions import DenseTransition
from priste.mobility.validation import FloatArray

LARGEST_DECAY = 8.0


def checked_decay(decay: object, owner: str) -> float:
    """Return a decay: a multiple of 0.5 from 0.5 to ``LARGEST_DECAY``."""
    value = number(decay, f"The 'decay' of {owner}", least=0.5, most=LARGEST_DECAY)
    if value * 2 != int(value * 2):
        raise InvalidParameter(f"The 'decay' of {owner} must be a multiple of 0.5. Got {decay!r}.")
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


def own_shares(factors: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return what the product of two factors leaves in each cell itself."""
    return np.outer(np.diagonal(factors[0]), np.diagonal(factors[1])).reshape(-1)


def stay_or_go_transition(grid: Grid, stay: FloatArray, decay: float) -> AnyTransition:
    """Stay with the probability ``stay`` of each cell, else go to another cell by distance.

    In a separable form "go" may not lead back, so a cell whose ``stay`` is below its own share of
    the product gets that share instead. Dense up to ``DENSE_LIMIT`` cells, blended above.
    """
    if grid.size == 1:
        return DenseTransition(np.ones((1, 1)))
    factors = reach_factors(grid, decay)
    own = own_shares(factors)
    kept = np.maximum(stay, own)
    weights = (1.0 - kept) / (1.0 - own)
    rest = kept - weights * own
    if grid.size <= DENSE_LIMIT:
        whole = weights[:, None] * np.kron(*factors)
        whole[np.arange(grid.size), np.arange(grid.size)] = kept
        return DenseTransition(whole)
    diagonal = sparse.csr_array(sparse.diags_array(np.maximum(rest, 0.0)))
    return BlendedTransition(weights, SeparableTransition(*factors), diagonal)
