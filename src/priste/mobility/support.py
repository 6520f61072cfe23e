"""Which moves are possible: maxima over paths in place of sums, for every form of transition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from priste.mobility.validation import FloatArray

Largest = Callable[[FloatArray], FloatArray]
"""From values of the states on one side of a move (last axis) to those on the other side."""


@dataclass(frozen=True)
class Support:
    """The possible moves of a transition, as two maps along the last axis of an array.

    ``forward`` gives each state after the move the largest value of the states before it from which
    it can be reached; ``backward`` gives each state before the largest value of those that it can
    reach. A state without any gets ``-inf``.
    """

    forward: Largest
    backward: Largest


def support_of_mask(possible: npt.NDArray[np.bool_]) -> Support:
    """Return the support of a mask ``[from, to]``."""
    return Support(_of_mask(possible), _of_mask(possible.T))


def support_of_nonzeros(matrix: sparse.csr_array) -> Support:
    """Return the support of the nonzeros of a sparse matrix ``[from, to]``."""
    return Support(_of_nonzeros(matrix.T), _of_nonzeros(matrix))


def support_of_product(rows: npt.NDArray[np.bool_], columns: npt.NDArray[np.bool_]) -> Support:
    """Return the support of a map whose rows and columns move independently."""
    return Support(_along_both(rows, columns), _along_both(rows.T, columns.T))


def support_of_sum(kept: npt.NDArray[np.bool_], one: Support, other: Support) -> Support:
    """Return the support of ``diag(kept) @ one + other``."""

    def forward(values: FloatArray) -> FloatArray:
        largest: FloatArray = np.maximum(
            one.forward(np.where(kept, values, -math.inf)), other.forward(values)
        )
        return largest

    def backward(values: FloatArray) -> FloatArray:
        largest: FloatArray = np.maximum(
            np.where(kept, one.backward(values), -math.inf), other.backward(values)
        )
        return largest

    return Support(forward, backward)


def _of_mask(possible: npt.NDArray[np.bool_]) -> Largest:
    if possible.all():
        after = possible.shape[1]
        return lambda values: np.repeat(values.max(axis=-1, keepdims=True), after, axis=-1)
    return _of_nonzeros(sparse.csr_array(possible.T))


def _of_nonzeros(matrix: sparse.csr_array | sparse.csc_array) -> Largest:
    """Return the largest of the values in the nonzero columns of each row."""
    rows = sparse.csr_array(matrix, copy=True)
    rows.eliminate_zeros()
    reached = np.diff(rows.indptr) > 0
    begins = rows.indptr[:-1][reached]

    def largest(values: FloatArray) -> FloatArray:
        found = np.full((*values.shape[:-1], len(reached)), -math.inf)
        found[..., reached] = np.maximum.reduceat(values[..., rows.indices], begins, axis=-1)
        return found

    return largest


def _along_both(rows: npt.NDArray[np.bool_], columns: npt.NDArray[np.bool_]) -> Largest:
    down, across = _of_mask(rows), _of_mask(columns)

    def largest(values: FloatArray) -> FloatArray:
        square = values.reshape(*values.shape[:-1], len(rows), len(columns))
        moved = np.swapaxes(down(np.swapaxes(across(square), -1, -2)), -1, -2)
        return moved.reshape(values.shape)

    return largest
