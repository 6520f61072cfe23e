"""The share of time that a chain spends in each state in the long run.

Defined for every finite chain: the limit of the average of the first ``n`` distributions,
from a given start. If the chain is irreducible this is its only stationary distribution,
periodic or not, and the start does not matter. If it is reducible, each closed class
takes the mass that ends up in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from priste.errors import PristeError
from priste.mobility.gaussian import DENSE_LIMIT
from priste.mobility.structured import AnyTransition, SeparableTransition
from priste.mobility.transitions import DenseTransition, SparseTransition
from priste.mobility.validation import FloatArray, IntArray

STATIONARY_TOLERANCE = 1e-10
"""Largest ``sum(abs(p @ M - p))`` of an answer ``p``."""

MAX_POWER_STEPS = 50_000
"""Steps of power iteration before a matrix-free answer is given up."""

_REFERENCE_STEPS = 50

Matrix = FloatArray | sparse.csr_array


def long_run_share(transitions: Sequence[AnyTransition], start: FloatArray) -> FloatArray:
    """Return the long-run share of each state, seen once per round of ``transitions``.

    ``start`` is the distribution of the first state. The answer is unchanged by a round up
    to ``STATIONARY_TOLERANCE``; if that is not reached, a :class:`PristeError` says so.
    """
    matrix = _as_matrix(transitions)
    if matrix is not None:
        share = _by_classes(matrix, start)
    elif len(transitions) == 1 and isinstance(transitions[0], SeparableTransition):
        share = _of_separable(transitions[0], transitions, start)
    else:
        share = _by_iteration(transitions, start)
    share = share / share.sum()
    moved = _round(transitions, share)
    gap = float(np.abs(moved / moved.sum() - share).sum())
    if not gap <= STATIONARY_TOLERANCE:
        raise PristeError(
            f"The long-run distribution was found only within {gap:.3g} (wanted "
            f"{STATIONARY_TOLERANCE:g}): this chain mixes too slowly. Give the start of sample() "
            "or the prior yourself."
        )
    return share


def _round(transitions: Sequence[AnyTransition], share: FloatArray) -> FloatArray:
    for transition in transitions:
        share = transition.push(share)
    return share


def _as_matrix(transitions: Sequence[AnyTransition]) -> Matrix | None:
    """Return one round as a matrix where that is cheap."""
    if len(transitions) == 1 and isinstance(transitions[0], SparseTransition):
        return transitions[0].matrix
    if transitions[0].shape[0] > DENSE_LIMIT:
        return None
    if len(transitions) == 1 and isinstance(transitions[0], DenseTransition):
        return transitions[0].matrix
    product = transitions[0].toarray()
    for transition in transitions[1:]:
        product = transition.push(product)
    return product


def _of_separable(
    transition: SeparableTransition, transitions: Sequence[AnyTransition], start: FloatArray
) -> FloatArray:
    """Rows and columns move apart, so their shares multiply, unless they beat in step.

    With a positive diagonal nothing is periodic and the powers of both factors converge.
    """
    rows, columns = transition.factors
    uniform = bool(np.all(start == start[0]))
    if not uniform or not (np.all(np.diag(rows) > 0.0) and np.all(np.diag(columns) > 0.0)):
        return _by_iteration(transitions, start)
    parts = [
        long_run_share([DenseTransition(factor)], np.full(len(factor), 1.0 / len(factor)))
        for factor in (rows, columns)
    ]
    return np.kron(parts[0], parts[1])


def _by_iteration(transitions: Sequence[AnyTransition], start: FloatArray) -> FloatArray:
    """Iterate the lazy chain (half the time it stays): same answer, and never periodic."""
    share = start / start.sum()
    for _ in range(MAX_POWER_STEPS):
        moved = _round(transitions, share)
        moved /= moved.sum()
        if float(np.abs(moved - share).sum()) <= STATIONARY_TOLERANCE / 4.0:
            break
        share = 0.5 * (share + moved)
    return share


def _by_classes(matrix: Matrix, start: FloatArray) -> FloatArray:
    from scipy.sparse.csgraph import connected_components

    pattern = sparse.csr_array(matrix)
    count, labels = connected_components(pattern, directed=True, connection="strong")
    if count == 1:
        return _irreducible(matrix, start)
    edges = pattern.tocoo()
    leaving = labels[edges.row] != labels[edges.col]
    is_open = np.zeros(count, dtype=np.bool_)
    is_open[labels[edges.row[leaving]]] = True
    transient = np.flatnonzero(is_open[labels])
    arrived = np.where(is_open[labels], 0.0, start)
    if transient.size:
        within = _part(matrix, transient, transient)
        visits = _solve_left(within, start[transient])
        into = np.asarray(visits @ matrix[transient], dtype=np.float64)
        arrived += np.where(is_open[labels], 0.0, into)
    mass = np.bincount(labels, weights=arrived, minlength=count)
    sizes = np.bincount(labels, minlength=count)
    share = np.where(sizes[labels] == 1, arrived, 0.0)
    for label in np.flatnonzero((sizes > 1) & ~is_open & (mass > 0.0)):
        members = np.flatnonzero(labels == label)
        share[members] = mass[label] * _irreducible(
            _part(matrix, members, members), np.full(members.size, 1.0 / members.size)
        )
    return share


def _irreducible(matrix: Matrix, start: FloatArray) -> FloatArray:
    """Solve ``p @ M = p`` with the weight of one state fixed; a likely one, for accuracy."""
    if matrix.shape[0] == 1:
        return np.ones(1)
    guess = start
    for _ in range(_REFERENCE_STEPS):
        guess = 0.5 * (guess + np.asarray(guess @ matrix, dtype=np.float64))
    reference = int(np.argmax(guess))
    others = np.flatnonzero(np.arange(matrix.shape[0]) != reference)
    fixed = _part(matrix, np.array([reference]), others)
    row = fixed.toarray() if sparse.issparse(fixed) else fixed
    share = np.empty(matrix.shape[0])
    share[reference] = 1.0
    share[others] = _solve_left(_part(matrix, others, others), np.asarray(row).reshape(-1))
    return share / share.sum()


def _part(matrix: Matrix, rows: IntArray, columns: IntArray) -> Matrix:
    if isinstance(matrix, np.ndarray):
        return matrix[np.ix_(rows, columns)]
    return sparse.csr_array(matrix[rows][:, columns])


def _solve_left(within: Matrix, flow: FloatArray) -> FloatArray:
    """Solve ``x = x @ within + flow``. The exact ``x`` is >= 0; rounding below 0 is cut."""
    size = within.shape[0]
    if isinstance(within, np.ndarray):
        solution = np.linalg.solve(np.eye(size) - within.T, flow)
    else:
        from scipy.sparse.linalg import splu

        system = sparse.csc_array(sparse.eye_array(size) - within.T)
        solution = splu(system).solve(flow)
    return np.maximum(np.asarray(solution, dtype=np.float64), 0.0)
