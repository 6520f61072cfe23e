"""Movement that remembers one step more, as a first-order chain over pairs of cells.

The state at step 0 is the cell; from step 1 on it is the pair (previous cell, current
cell). Only pairs that can occur become states, in increasing order of
``previous * m + current``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from priste.arguments import check_array
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.gaussian import MAX_NONZEROS
from priste.mobility.sequences import GAP, Moves, counts_of
from priste.mobility.smoothed_counts import smoothed_rows
from priste.mobility.transitions import Schedule, SparseTransition, Transition
from priste.mobility.validation import (
    FloatArray,
    IntArray,
    frozen_ints,
    sparse_nonnegative,
)

_OWNER = "MarkovModel.second_order"

MAX_PAIRS = 1_000_000
"""Number of pairs of cells above which a second-order model is refused."""

_ADVICE = (
    "Make the first-order part local: smoothing=AddNearby(...) or GaussianPrior(reach=...), "
    "or use a coarser map."
)


def _as_csr(first: Transition) -> sparse.csr_array:
    if first.stored_csr is not None:
        return first.stored_csr
    if first.shape[0] ** 2 > MAX_NONZEROS:
        raise InvalidParameter(
            f"A second-order model of {first.shape[0]} cells needs a sparse first-order part; with "
            f"every pair of cells possible it would have {first.shape[0] ** 2} states.",
            hint=_ADVICE,
        )
    return sparse.csr_array(first.toarray())


def _codes(matrix: sparse.csr_array) -> IntArray:
    """Return ``row * columns + column`` of the stored entries, increasing."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices


def _check_size(pairs: int, nonzeros: int) -> None:
    if pairs > MAX_PAIRS or nonzeros > MAX_NONZEROS:
        raise InvalidParameter(
            f"A second-order model may have at most {MAX_PAIRS} pairs of cells and "
            f"{MAX_NONZEROS} moves between them. This one would have {pairs} and {nonzeros}.",
            owner=_OWNER,
            hint=_ADVICE,
        )


def fitted_pairs(grid: Grid, first: Transition, moves: Moves, backoff: float) -> Schedule:
    """Fit the lifted chain: observed triples, and ``backoff`` moves of the first-order row.

    The probability of ``k`` after the pair ``(i, j)`` is
    ``(count(i, j, k) + backoff * first[j, k]) / (count(i, j, .) + backoff)``, so a pair that
    was never continued moves like the first-order model. ``backoff`` is > 0.
    """
    matrix = _as_csr(first)
    size = grid.size
    into = np.bincount(matrix.indices, minlength=size)
    _check_size(matrix.nnz, int(into @ np.diff(matrix.indptr)))
    codes = _codes(matrix)
    known = moves.before != GAP
    triples = np.searchsorted(codes, moves.before[known] * size + moves.sources[known])
    counts = counts_of(triples, moves.targets[known], (codes.size, size))
    prior = sparse.csr_array(matrix[codes % size])
    table = smoothed_rows(counts, prior, np.full(codes.size, backoff))
    return _lifted(grid, matrix, codes, table)


def given_pairs(grid: Grid, first: Transition, table: object) -> Schedule:
    """Build the lifted chain from a table of conditional probabilities; see ``second_order``."""
    matrix = _as_csr(first)
    codes, rows = _read_table(grid.size, table)
    return _lifted(grid, matrix, codes, rows)


def _read_table(size: int, table: object) -> tuple[IntArray, sparse.csr_array]:
    if not sparse.issparse(table):
        array = check_array(table, "table", _OWNER, (size, size, size))
        table = sparse.csr_array(array.reshape(-1, size))
    matrix = sparse_nonnegative(table, "table", _OWNER)
    if matrix.shape != (size * size, size):
        raise InvalidParameter(
            f"must have shape ({size * size}, {size}) if it is scipy.sparse",
            parameter="table",
            owner=_OWNER,
            value=matrix.shape,
        )
    stated = np.flatnonzero(np.diff(matrix.indptr))  # an empty row: this pair is not described
    return stated.astype(np.int64), sparse.csr_array(matrix[stated])


def _lifted(
    grid: Grid, first: sparse.csr_array, codes: IntArray, table: sparse.csr_array
) -> Schedule:
    size = grid.size
    opening_codes = _codes(first)
    reached = _reachable(size, opening_codes, codes, table)
    states, kept = codes[reached], sparse.csr_array(table[reached])
    _check_size(states.size, kept.nnz)
    opening = sparse.csr_array(
        (first.data, np.searchsorted(states, opening_codes), first.indptr),
        shape=(size, states.size),
    )
    next_codes = np.repeat(states % size, np.diff(kept.indptr)) * size + kept.indices
    lifted = sparse.csr_array(
        (kept.data, np.searchsorted(states, next_codes), kept.indptr),
        shape=(states.size, states.size),
    )
    pairs = frozen_ints(np.stack(np.divmod(states, size), axis=1))
    return Schedule(
        opening=(SparseTransition(opening),),
        repeating=(SparseTransition(lifted, "table", _OWNER),),
        cyclic=True,
        pairs=pairs,
    )


def _reachable(size: int, opening: IntArray, codes: IntArray, table: sparse.csr_array) -> IntArray:
    """Return the rows of ``table`` that can occur; each pair that can must have one."""
    reached = np.zeros(codes.size, dtype=np.bool_)
    frontier = _places(size, np.unique(opening), codes)
    while frontier.size:
        reached[frontier] = True
        rows = sparse.csr_array(table[frontier])
        current = np.repeat(codes[frontier] % size, np.diff(rows.indptr))
        following = _places(size, np.unique(current * size + rows.indices), codes)
        frontier = following[~reached[following]]
    return np.flatnonzero(reached).astype(np.int64)


def _places(size: int, wanted: IntArray, codes: IntArray) -> IntArray:
    places, exists = _states_of(codes, wanted)
    if not exists.all():
        pair = divmod(int(wanted[np.argmin(exists)]), size)
        raise InvalidParameter(
            "must have a row for every pair that can occur",
            parameter="table",
            owner=_OWNER,
            got=f"none for the pair {pair}",
        )
    return places


def triple_probabilities(schedule: Schedule, pairs: IntArray, moves: Moves) -> FloatArray:
    """Return the probability of each move; 0.0 where it or the pair before it cannot occur.

    A move whose source has no known predecessor is judged by the opening transition.
    """
    opening, lifted = schedule.opening[0], schedule.repeating[0]
    size = opening.shape[0]
    codes = pairs[:, 0] * size + pairs[:, 1]
    into, into_exists = _states_of(codes, moves.before * size + moves.sources)
    after, after_exists = _states_of(codes, moves.sources * size + moves.targets)
    first = opening.entries(moves.sources, after)
    later = np.where(into_exists, lifted.entries(into, after), 0.0)
    return np.where(after_exists, np.where(moves.before == GAP, first, later), 0.0)


def _states_of(codes: IntArray, wanted: IntArray) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """Return the states of pairs given by code, and whether each exists (else any state)."""
    places = np.minimum(np.searchsorted(codes, wanted), codes.size - 1)
    return places, codes[places] == wanted
