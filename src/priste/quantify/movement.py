"""Moving scaled rows through a transition without losing a product to underflow.

Dense and sparse transitions multiply each number by one float, which the scaling of
rows allows for. Separable and blended ones multiply by two or three in turn; where those
could underflow together, the stages are taken one at a time and scaled in between.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from priste.mobility import (
    BlendedTransition,
    DenseTransition,
    SeparableTransition,
    SparseTransition,
)
from priste.quantify.moments import Floats
from priste.quantify.scaling import ScaledRows

if TYPE_CHECKING:
    from priste.mobility import Transition


def may_lose_products(transition: Transition) -> bool:
    """Tell whether the least positive factors of a transition multiply to less than a float."""
    if isinstance(transition, SeparableTransition):
        factors: tuple[Floats, ...] = transition.factors
    elif isinstance(transition, BlendedTransition):
        weights, prior, _ = transition.parts
        factors = (weights, *prior.factors)
    else:
        return False
    exponent = 0
    for factor in factors:
        least = float(np.min(factor, where=factor > 0.0, initial=1.0))
        exponent += math.frexp(least)[1] - 1
    return exponent < -1074


def least_factor(transition: Transition) -> float:
    """Bound from below what one number is multiplied by, stage by stage; 0.0 where not known."""
    if isinstance(transition, DenseTransition):
        factors: tuple[Floats, ...] = (transition.matrix,)
    elif isinstance(transition, SparseTransition):
        factors = (transition.matrix.data,)
    elif isinstance(transition, SeparableTransition):
        factors = transition.factors
    else:
        return 0.0
    return math.prod(float(np.min(factor, where=factor > 0.0, initial=1.0)) for factor in factors)


def moved_ahead(rows: ScaledRows, transition: Transition, *, stages: bool) -> ScaledRows:
    """Return ``rows @ M``; ``stages`` says that the transition may lose products."""
    if stages:
        return pushed_in_stages(rows, transition)
    return rows.through(partial(push_states, transition=transition), rescale=False, by_blocks=True)


def moved_back(rows: ScaledRows, transition: Transition, *, stages: bool) -> ScaledRows:
    """Return ``M @ columns``; ``stages`` says that the transition may lose products."""
    if stages:
        return pulled_in_stages(rows, transition)
    return rows.through(partial(pull_states, transition=transition), rescale=False)


def push_states(values: Floats, transition: Transition) -> Floats:
    """Return ``values @ M`` along the last axis."""
    moved = transition.push(values.reshape(-1, values.shape[-1]))
    return moved.reshape(*values.shape[:-1], -1)


def pull_states(values: Floats, transition: Transition) -> Floats:
    """Return ``M @ values`` along the last axis."""
    carried = transition.pull(values.reshape(-1, values.shape[-1]).T)
    return np.ascontiguousarray(carried.T).reshape(*values.shape[:-1], -1)


def pushed_in_stages(rows: ScaledRows, transition: Transition) -> ScaledRows:
    """Return ``rows @ M`` for a transition that may lose products."""
    if isinstance(transition, BlendedTransition):
        weights, prior, seen = transition.parts
        expected = pushed_in_stages(rows.through(lambda values: values * weights), prior)
        return expected.plus(rows.through(partial(_sparse_product, matrix=seen.T)))
    for stage in _stages(transition):
        rows = rows.through(partial(push_states, transition=stage))
    return rows


def pulled_in_stages(rows: ScaledRows, transition: Transition) -> ScaledRows:
    """Return ``M @ columns`` for a transition that may lose products."""
    if isinstance(transition, BlendedTransition):
        weights, prior, seen = transition.parts
        expected = pulled_in_stages(rows, prior).through(lambda values: values * weights)
        return expected.plus(rows.through(partial(_sparse_product, matrix=seen)))
    for stage in _stages(transition):
        rows = rows.through(partial(pull_states, transition=stage))
    return rows


def _stages(transition: Transition) -> tuple[Transition, ...]:
    """Write a separable transition as two that multiply by one float and by 1."""
    if not isinstance(transition, SeparableTransition):
        return (transition,)
    down, across = transition.factors
    return (
        SeparableTransition(np.eye(len(down)), across),
        SeparableTransition(down, np.eye(len(across))),
    )


def _sparse_product(values: Floats, matrix: sparse.csr_array | sparse.csc_array) -> Floats:
    """Return ``matrix @ values`` along the last axis."""
    product = matrix @ values.reshape(-1, values.shape[-1]).T
    return np.ascontiguousarray(product.T).reshape(*values.shape[:-1], -1)
