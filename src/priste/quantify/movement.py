"""Moving scaled rows through a transition without losing a product to underflow.

Dense and sparse transitions multiply each number by one float, which the scaling of
rows allows for. Separable and blended ones multiply by two or three in turn; where those
could underflow together, the stages are taken one at a time and scaled in between.

A full matrix that is a Kronecker product but for last bits, as a Gaussian on a small map, is pushed
by its two factors: a tenth of the work on 400 cells. They are read from the matrix alone, so that a
model from a file is pushed as the one that was saved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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
from priste.mobility.structured import push_separately
from priste.quantify.joint_probabilities import Floats
from priste.quantify.rounding import UNIT_ROUNDOFF
from priste.quantify.scaling import ScaledRows

if TYPE_CHECKING:
    from priste.maps import Grid
    from priste.mobility import Transition

LEAST_SAVING = 8
"""How many times less work two factors must be: on 100 cells they are 5 times less, no quicker."""

APART = 8 * UNIT_ROUNDOFF
"""How far, relatively, rounded products of two factors may be from the entries of a matrix.

Three entries of the matrix, each one rounding from a product, one quotient and the product itself
are behind each of them.
"""

APART_ROUNDINGS = 10
"""What using such factors adds to the roundings of a sum: ``APART``, and the rounded product."""


@dataclass(frozen=True, eq=False)
class Factors:
    """A matrix as ``down (x) across``, nearly; see :func:`factored`."""

    down: Floats
    across: Floats


def factored(transition: Transition, grid: Grid) -> Factors | None:
    """Write a full matrix as a product of a movement along columns and one along rows of a map.

    None where that is not so up to ``APART`` in each entry, saves little, would make more roundings
    than the transition states, or could lose a product to underflow.

    >>> from priste import Grid, MarkovModel
    >>> model = MarkovModel.gaussian(Grid(rows=20, columns=20, cell_size=1.0), sigma=1.0)
    >>> factored(model.transition(0), model.grid).down.shape
    (20, 20)
    """
    rows, columns = grid.rows, grid.columns
    if (
        not isinstance(transition, DenseTransition)
        or transition.shape != (grid.size, grid.size)
        or grid.size < LEAST_SAVING * (rows + columns)
        or transition.nonzeros_per_row < rows + columns + APART_ROUNDINGS
    ):
        return None
    matrix = transition.matrix
    source, target = divmod(int(matrix.argmax()), grid.size)
    (row, column), (to_row, to_column) = divmod(source, columns), divmod(target, columns)
    by_axis = matrix.reshape(rows, columns, rows, columns)
    down = np.ascontiguousarray(by_axis[:, column, :, to_column])
    across = by_axis[row, :, to_row, :] / matrix[source, target]
    # One row of it first, which tells of most others.
    if not _near(np.kron(down[row], across[column]), matrix[source]):
        return None
    if not _near(np.kron(down, across), matrix) or _may_underflow(down, across):
        return None
    return Factors(down, across)


def _near(products: Floats, entries: Floats) -> bool:
    return bool((np.abs(products - entries) <= APART * entries).all())


def may_lose_products(transition: Transition) -> bool:
    """Tell whether the least positive factors of a transition multiply to less than a float."""
    if isinstance(transition, SeparableTransition):
        factors: tuple[Floats, ...] = transition.factors
    elif isinstance(transition, BlendedTransition):
        weights, prior, _ = transition.parts
        factors = (weights, *prior.factors)
    else:
        return False
    return _may_underflow(*factors)


def _may_underflow(*factors: Floats) -> bool:
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


def moved_ahead(
    rows: ScaledRows, transition: Transition, *, stages: bool, factors: Factors | None = None
) -> ScaledRows:
    """Return ``rows @ M``; ``stages`` says that the transition may lose products."""
    if stages:
        return pushed_in_stages(rows, transition)
    push = partial(push_states, transition=transition, factors=factors)
    return rows.through(push, rescale=False, by_blocks=True)


def moved_back(rows: ScaledRows, transition: Transition, *, stages: bool) -> ScaledRows:
    """Return ``M @ columns``; ``stages`` says that the transition may lose products."""
    if stages:
        return pulled_in_stages(rows, transition)
    return rows.through(partial(pull_states, transition=transition), rescale=False)


def push_states(values: Floats, transition: Transition, factors: Factors | None = None) -> Floats:
    """Return ``values @ M`` along the last axis; by the factors of M, if they are given."""
    if factors is not None:
        return push_separately(values, factors.down, factors.across)
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
