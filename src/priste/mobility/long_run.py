"""The share of time that a chain spends in each state in the long run.

Defined for every finite chain: the limit of the average of the first ``n`` distributions,
from a given start. If the chain is irreducible this is its only stationary distribution,
periodic or not, and the start does not matter. If it is reducible, each closed class
takes the mass that ends up in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
from scipy import sparse

from priste.errors import PristeError
from priste.mobility.structured import AnyTransition, BlendedTransition, SeparableTransition
from priste.mobility.transitions import DenseTransition, SparseTransition
from priste.mobility.validation import FloatArray, IntArray

STATIONARY_TOLERANCE = 1e-10
"""Largest ``sum(abs(p @ M - p))`` of an answer ``p``."""

SOLVE_LIMIT = 2_500
"""Number of states up to which a linear system is solved; above, Arnoldi iteration."""

MAX_POWER_STEPS = 20_000
"""Steps of power iteration before an answer is given up."""

_REFERENCE_STEPS = 50
_ARNOLDI_BASIS = 40
_ARNOLDI_RESTARTS = 500
_ARNOLDI_TOLERANCE = 1e-13

Matrix = FloatArray | sparse.csr_array
Push = Callable[[FloatArray], FloatArray]


def long_run_share(transitions: Sequence[AnyTransition], start: FloatArray) -> FloatArray:
    """Return the long-run share of each state, seen once per round of ``transitions``.

    ``start`` is the distribution of the first state. The answer is unchanged by a round up
    to ``STATIONARY_TOLERANCE``; if that is not reached, a :class:`PristeError` says so.
    """

    def push(share: FloatArray) -> FloatArray:
        for transition in transitions:
            share = transition.push(share)
        return share

    matrix = _as_matrix(transitions)
    if matrix is not None:
        share = _by_classes(matrix, start)
    elif all(_stays_and_connects(transition) for transition in transitions):
        product = _of_factors(transitions)
        share = _by_arnoldi(push, start.size) if product is None else product
    else:
        share = _by_iteration(push, start)
    share = scaled(share)
    moved = push(share)
    gap = float(np.abs(scaled(moved) - share).sum())
    if not gap <= STATIONARY_TOLERANCE:
        raise PristeError(
            f"The long-run distribution was found only within {gap:.3g} (wanted "
            f"{STATIONARY_TOLERANCE:g}): this chain mixes too slowly. Give the start of sample() "
            "or the prior yourself."
        )
    return share


def scaled(share: FloatArray) -> FloatArray:
    """Divide nonnegative numbers by their sum."""
    return np.asarray(share / share.sum(), dtype=np.float64)


def _as_matrix(transitions: Sequence[AnyTransition]) -> Matrix | None:
    """Return one round as a matrix where that is cheap."""
    if len(transitions) == 1 and isinstance(transitions[0], SparseTransition):
        return transitions[0].matrix
    if transitions[0].shape[0] > SOLVE_LIMIT:
        return None
    product: FloatArray | None = None
    for transition, alike in groupby(transitions, key=lambda each: each):
        power = _power(transition, sum(1 for _ in alike))
        product = power if product is None else product @ power
    return product


def _power(transition: AnyTransition, count: int) -> FloatArray:
    """Return ``count`` steps of one transition, by squaring: an hour may have sixty."""
    square, power = transition.toarray(), None
    while count:
        if count % 2:
            power = square if power is None else power @ square
        count //= 2
        if count:
            square = square @ square
    return np.asarray(power, dtype=np.float64)


def _stays_and_connects(transition: AnyTransition) -> bool:
    """Whether every state may stay and leads to every other: then so does any round of such.

    "False" may also mean that it would take an m by m array to know.
    """
    if isinstance(transition, BlendedTransition):
        weights, prior, _ = transition.parts
        return bool(np.all(weights > 0.0)) and _stays_and_connects(prior)
    if isinstance(transition, SeparableTransition):
        return all(_stays_and_connects(DenseTransition(part)) for part in transition.factors)
    matrix = transition.matrix
    return bool(np.all(matrix.diagonal() > 0.0)) and _classes(matrix)[0] == 1


def _of_factors(transitions: Sequence[AnyTransition]) -> FloatArray | None:
    """Return the share that follows from the rows and columns of separable moves, if they agree.

    With moves ``P`` and, in state i, ``1 - w[i]`` of staying besides, ``share * w`` is the share of
    ``P``. Steps that differ in how often one stays, but not in where one goes, have one share; that
    it is one is for the caller to see.
    """
    found: FloatArray | None = None
    for transition in dict.fromkeys(transitions):
        weights, moves = np.ones(transition.shape[0]), transition
        if isinstance(transition, BlendedTransition):
            weights, moves, rest = transition.parts
            if rest.nnz != np.count_nonzero(rest.diagonal()):
                return None
        if not isinstance(moves, SeparableTransition):
            return None
        rows, columns = (
            _by_classes(factor, np.full(len(factor), 1.0 / len(factor))) for factor in moves.factors
        )
        share = scaled(np.asarray(np.kron(rows, columns) / weights, dtype=np.float64))
        if found is not None and np.abs(share - found).sum() > STATIONARY_TOLERANCE / 4.0:
            return None
        found = share
    return found


def _classes(matrix: Matrix) -> tuple[int, IntArray]:
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(
        sparse.csr_array(matrix), directed=True, connection="strong"
    )
    return int(count), np.asarray(labels, dtype=np.int64)


def _by_iteration(push: Push, start: FloatArray) -> FloatArray:
    """Iterate the lazy chain (half the time it stays): same answer, and never periodic."""
    share = scaled(start)
    for _ in range(MAX_POWER_STEPS):
        moved = scaled(push(share))
        if float(np.abs(moved - share).sum()) <= STATIONARY_TOLERANCE / 4.0:
            break
        share = np.asarray(0.5 * (share + moved), dtype=np.float64)
    return share


def _by_arnoldi(push: Push, size: int) -> FloatArray:
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
            f"The long-run distribution of {size} states was not found: {error}. "
            "Give the start of sample() or the prior yourself."
        ) from error
    return np.maximum(scaled(np.real(vectors[:, 0])), 0.0)


def _by_classes(matrix: Matrix, start: FloatArray) -> FloatArray:
    count, labels = _classes(matrix)
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
        return _by_arnoldi(lambda share: staying * share + (1.0 - staying) * (share @ matrix), size)
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
