"""The stationary distribution of a model: the share of time that it spends in each state.

Defined for every finite chain: the limit of the average of the first ``n`` distributions,
from a given start. If the chain is irreducible this is its only stationary distribution,
periodic or not, and the start does not matter. If it is reducible, each closed class
takes the mass that ends up in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from priste.errors import PristeError
from priste.mobility.validation import FloatArray, IntArray

if TYPE_CHECKING:
    from priste.mobility.transitions import Transition

DIRECT_LIMIT = 400
"""Number of states up to which a linear system is always solved.

Above, Arnoldi's method is quicker: 3 ms in place of 0.4 s on 2,401 cells, and on a day of 24 hours
in place of 6 s. It needs a chain that leads everywhere and is not periodic."""

SOLVE_LIMIT = 2_500
"""Number of states up to which a linear system is solved for other chains; above, iteration."""

_REFERENCE_STEPS = 50
_ARNOLDI_BASIS = 40
_ARNOLDI_RESTARTS = 500
_ARNOLDI_TOLERANCE = 1e-13

Matrix = FloatArray | sparse.csr_array
Push = Callable[[FloatArray], FloatArray]


def scaled(share: FloatArray) -> FloatArray:
    """Divide nonnegative numbers by their sum."""
    return np.asarray(share / share.sum(), dtype=np.float64)


def strong_classes(matrix: Matrix) -> tuple[int, IntArray]:
    """Return the number of strongly connected classes and the class of each state."""
    edges = sparse.csr_array(matrix)
    if _reaches_all(edges) and _reaches_all(edges.T.tocsr()):
        return 1, np.zeros(edges.shape[0], dtype=np.int64)
    from scipy.sparse.csgraph import connected_components  # with scipy.linalg it takes 12 MB

    count, labels = connected_components(edges, directed=True, connection="strong")
    return int(count), np.asarray(labels, dtype=np.int64)


def _reaches_all(edges: sparse.csr_array) -> bool:
    """Return whether every state is reached from the first."""
    reached = np.zeros(edges.shape[0], dtype=np.bool_)
    front: IntArray = np.zeros(1, dtype=np.int64)
    while front.size:
        reached[front] = True
        found = np.unique(edges[front].indices).astype(np.int64)
        front = found[~reached[found]]
    return bool(reached.all())


def stationary_by_arnoldi(push: Push, size: int) -> FloatArray:
    """Find the fixed distribution of a chain that is irreducible and not periodic.

    The exact answer is > 0. What rounding puts below 0 is cut, and one more step makes small
    shares as accurate as large ones.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    operator = LinearOperator(
        (size, size), matvec=lambda share: push(np.reshape(share, -1)), dtype=np.float64
    )
    try:
        _, vectors = eigs(
            operator,
            k=1,
            which="LM",
            v0=np.full(size, 1.0 / size),
            ncv=min(size, _ARNOLDI_BASIS),
            tol=_ARNOLDI_TOLERANCE,
            maxiter=_ARNOLDI_RESTARTS,
        )
    except ArpackError as error:
        raise PristeError(
            f"The stationary distribution of {size} states was not found: {error}.",
            hint="Give the start of sample() or the prior yourself.",
        ) from error
    return scaled(push(np.maximum(scaled(np.real(vectors[:, 0])), 0.0)))


def stationary_of_matrix(matrix: Matrix, start: FloatArray) -> FloatArray:
    """Return the limit of the average of the distributions of many steps, from ``start``.

    Each closed class gets the mass that ends up in it.
    """
    count, labels = strong_classes(matrix)
    if count == 1:
        return _irreducible(matrix, start)
    edges = sparse.csr_array(matrix).tocoo()
    leaving = labels[edges.row] != labels[edges.col]
    is_open = np.zeros(count, dtype=np.bool_)
    is_open[labels[edges.row[leaving]]] = True
    transient = np.flatnonzero(is_open[labels])
    arrived = np.where(is_open[labels], 0.0, start)
    if transient.size:
        visits = _solve_left(_part(matrix, transient, transient), start[transient])
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
    size = matrix.shape[0]
    if size == 1:
        return np.ones(1)
    if size > SOLVE_LIMIT:
        # With half the time spent staying, a periodic chain is so no more.
        staying = 0.0 if np.all(matrix.diagonal() > 0.0) else 0.5
        return stationary_by_arnoldi(
            lambda share: staying * share + (1.0 - staying) * (share @ matrix), size
        )
    guess = start
    for _ in range(_REFERENCE_STEPS):
        guess = 0.5 * (guess + np.asarray(guess @ matrix, dtype=np.float64))
    reference = int(np.argmax(guess))
    others = np.flatnonzero(np.arange(size) != reference)
    fixed = _part(matrix, np.array([reference]), others)
    row = fixed if isinstance(fixed, np.ndarray) else fixed.toarray()
    share = np.empty(size)
    share[reference] = 1.0
    share[others] = _solve_left(_part(matrix, others, others), row.reshape(-1))
    return scaled(share)


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


STATIONARY_TOLERANCE = 1e-10
"""Largest ``sum(abs(p @ M - p))`` of an answer ``p``."""

MAX_POWER_STEPS = 20_000
"""Steps of power iteration before an answer is given up."""


def stationary_share(transitions: Sequence[Transition], start: FloatArray) -> FloatArray:
    """Return the stationary share of each state, seen once per round of ``transitions``.

    ``start`` is the distribution of the first state. The answer is unchanged by a round up
    to ``STATIONARY_TOLERANCE``; if that is not reached, a :class:`PristeError` says so.
    """

    def push(share: FloatArray) -> FloatArray:
        for transition in transitions:
            share = transition.push(share)
        return share

    stored = transitions[0].stored_csr if len(transitions) == 1 else None
    if start.size > DIRECT_LIMIT and all(
        each.is_primitive() for each in dict.fromkeys(transitions)
    ):
        share = stationary_by_arnoldi(push, start.size)
    elif stored is not None:
        share = stationary_of_matrix(stored, start)
    elif start.size <= SOLVE_LIMIT:
        share = stationary_of_matrix(_as_matrix(transitions), start)
    else:
        share = _by_iteration(push, start)
    share = scaled(share)
    moved = push(share)
    gap = float(np.abs(scaled(moved) - share).sum())
    if not gap <= STATIONARY_TOLERANCE:
        raise PristeError(
            f"The stationary distribution was found only within {gap:.3g} (wanted "
            f"{STATIONARY_TOLERANCE:g}): this chain mixes too slowly.",
            hint="Give the start of sample() or the prior yourself.",
        )
    return share


def _as_matrix(transitions: Sequence[Transition]) -> Matrix:
    """Return one round as a matrix; an hour may have sixty steps alike."""
    powers = (
        np.linalg.matrix_power(transition.toarray(), sum(1 for _ in alike))
        for transition, alike in groupby(transitions)
    )
    return reduce(np.matmul, powers)


def _by_iteration(push: Push, start: FloatArray) -> FloatArray:
    """Iterate the lazy chain (half the time it stays): same answer, and never periodic."""
    share = scaled(start)
    for _ in range(MAX_POWER_STEPS):
        moved = scaled(push(share))
        if float(np.abs(moved - share).sum()) <= STATIONARY_TOLERANCE / 4.0:
            break
        share = np.asarray(0.5 * (share + moved), dtype=np.float64)
    return share
