"""Stationary distributions of plain transition matrices, irreducible or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from priste.errors import PristeError
from priste.mobility.validation import FloatArray, IntArray

SOLVE_LIMIT = 2_500
"""Number of states up to which a linear system is solved; above, Arnoldi iteration."""

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
    """Tell whether every state is reached from the first."""
    reached = np.zeros(edges.shape[0], dtype=np.bool_)
    front: IntArray = np.zeros(1, dtype=np.int64)
    while front.size:
        reached[front] = True
        found = np.unique(edges[front].indices).astype(np.int64)
        front = found[~reached[found]]
    return bool(reached.all())


def stationary_by_arnoldi(push: Push, size: int) -> FloatArray:
    """Find the fixed distribution of a chain that is irreducible and not periodic.

    The exact answer is > 0; what rounding puts below 0 is cut.
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
    return np.maximum(scaled(np.real(vectors[:, 0])), 0.0)


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
