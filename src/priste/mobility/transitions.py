"""One step of movement: what a transition can do, and its dense and sparse forms.

All sums are sums of products of nonnegative floats, so every entry of ``push`` and
``pull`` keeps full relative accuracy: with ``n = nonzeros_per_row`` and ``u = 2**-53`` the
computed entry is the exact one times ``1 + d`` with ``|d| <= n*u / (1 - n*u)`` (underflow
aside), where "exact" is arithmetic without rounding on the very floats that are stored.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from priste.errors import InvalidParameter
from priste.exact_law import ExactLaw
from priste.mobility.validation import (
    FloatArray,
    IntArray,
    dense_rows,
    row_sum_error_bound,
    row_sums,
    sparse_rows,
)
from priste.randomness import BitSource


@runtime_checkable
class Transition(Protocol):
    """One step of movement from ``shape[0]`` states to ``shape[1]``; rows sum to 1."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of states before and after the step."""
        ...

    @property
    def nonzeros_per_row(self) -> int:
        """Roundings behind an entry of ``push`` or ``pull``: the ``n`` of the error bound.

        For dense and sparse matrices it is the largest number of nonzeros in a row or a
        column; structured forms do fewer roundings than they have nonzeros, and say so.
        """
        ...

    @property
    def cost(self) -> float:
        """Multiply-adds of ``push`` of one row; for comparing ways to compute."""
        ...

    @property
    def row_sum_error(self) -> float:
        """Never below ``|s - 1|`` for the exact sum ``s`` of any row; at most a little above.

        The model that is meant is each row divided by its exact sum (that is what ``draw``
        draws from), while ``push`` and ``pull`` use the stored floats. So each entry is off
        by a factor within ``1 +- row_sum_error`` (to first order), on top of the roundings.
        """
        ...

    def push(self, rows: FloatArray) -> FloatArray:
        """Move distributions forward: ``rows @ M``, for shape ``(k, n_from)`` or ``(n_from,)``."""
        ...

    def pull(self, columns: FloatArray) -> FloatArray:
        """Move values backward: ``M @ columns``, for shape ``(n_to, k)`` or ``(n_to,)``."""
        ...

    def toarray(self) -> FloatArray:
        """Return the whole matrix as a new array. Takes ``n_from * n_to`` floats."""
        ...

    def entries(self, sources: IntArray, targets: IntArray) -> FloatArray:
        """Return ``M[sources[k], targets[k]]`` for each ``k``; state numbers must be valid."""
        ...

    def draw(self, state: int, source: BitSource) -> int:
        """Draw the next state from the row of ``state``, exactly (see ``row_sum_error``)."""
        ...


def checked_rows(rows: FloatArray, size: int) -> FloatArray:
    """Refuse what ``push`` cannot multiply; a mistaken shape must not broadcast."""
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise InvalidParameter(
            f"The 'rows' of push must have shape ({size},) or (k, {size}). Got {array.shape}."
        )
    return array


def checked_columns(columns: FloatArray, size: int) -> FloatArray:
    """Refuse what ``pull`` cannot multiply; a mistaken shape must not broadcast."""
    array = np.asarray(columns, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[0] != size:
        raise InvalidParameter(
            f"The 'columns' of pull must have shape ({size},) or ({size}, k). Got {array.shape}."
        )
    return array


class Measured:
    """The numbers that every form of transition works out once, read-only."""

    __slots__ = ("_nonzeros_per_row", "_row_sum_error", "_shape")

    def __init__(self, shape: tuple[int, int], nonzeros_per_row: int, row_sum_error: float) -> None:
        self._shape = shape
        self._nonzeros_per_row = nonzeros_per_row
        self._row_sum_error = row_sum_error

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def nonzeros_per_row(self) -> int:
        return self._nonzeros_per_row

    @property
    def row_sum_error(self) -> float:
        return self._row_sum_error


class DenseTransition(Measured):
    """A transition stored as a full matrix: the fastest below a few thousand states.

    >>> step = DenseTransition([[0.5, 0.5], [0.0, 1.0]])
    >>> step.push(np.array([1.0, 0.0])), step.pull(np.array([0.0, 1.0]))
    (array([0.5, 0.5]), array([0.5, 1. ]))
    """

    __slots__ = ("_matrix",)

    def __init__(self, matrix: object, *, name: str = "'matrix' of DenseTransition") -> None:
        self._matrix = dense_rows(matrix, name=name)
        per_row = np.count_nonzero(self._matrix, axis=1)
        per_column = np.count_nonzero(self._matrix, axis=0)
        super().__init__(
            (self._matrix.shape[0], self._matrix.shape[1]),
            int(max(per_row.max(), per_column.max())),
            row_sum_error_bound(self._matrix.sum(axis=1), per_row),
        )

    @property
    def matrix(self) -> FloatArray:
        """The stored matrix, read-only."""
        return self._matrix

    @property
    def cost(self) -> float:
        return float(self.shape[0] * self.shape[1])

    def push(self, rows: FloatArray) -> FloatArray:
        return checked_rows(rows, self.shape[0]) @ self._matrix

    def pull(self, columns: FloatArray) -> FloatArray:
        return self._matrix @ checked_columns(columns, self.shape[1])

    def toarray(self) -> FloatArray:
        return self._matrix.copy()

    def entries(self, sources: IntArray, targets: IntArray) -> FloatArray:
        return self._matrix[sources, targets]

    def draw(self, state: int, source: BitSource) -> int:
        return ExactLaw(self._matrix[state]).draw(source)


class SparseTransition(Measured):
    """A transition stored by its nonzeros (CSR): for local movement on large maps.

    >>> step = SparseTransition(sparse.csr_array([[0.5, 0.5], [0.0, 1.0]]))
    >>> step.nonzeros_per_row, step.cost
    (2, 3.0)
    """

    __slots__ = ("_matrix", "_transposed")

    def __init__(self, matrix: object, *, name: str = "'matrix' of SparseTransition") -> None:
        self._matrix = sparse_rows(matrix, name=name)
        # Kept beside the matrix so that push() streams along rows too.
        self._transposed = self._matrix.T.tocsr()
        per_row = np.diff(self._matrix.indptr).astype(np.int64)
        per_column = np.diff(self._transposed.indptr)
        super().__init__(
            (self._matrix.shape[0], self._matrix.shape[1]),
            int(max(per_row.max(), per_column.max())),
            row_sum_error_bound(row_sums(self._matrix), per_row),
        )

    @property
    def matrix(self) -> sparse.csr_array:
        """The stored matrix; its parts are read-only."""
        return self._matrix

    @property
    def cost(self) -> float:
        return float(self._matrix.nnz)

    def push(self, rows: FloatArray) -> FloatArray:
        array = checked_rows(rows, self.shape[0])
        return np.asarray((self._transposed @ array.T).T, dtype=np.float64)

    def pull(self, columns: FloatArray) -> FloatArray:
        return np.asarray(self._matrix @ checked_columns(columns, self.shape[1]), dtype=np.float64)

    def toarray(self) -> FloatArray:
        return self._matrix.toarray()

    def entries(self, sources: IntArray, targets: IntArray) -> FloatArray:
        return sparse_entries(self._matrix, sources, targets)

    def draw(self, state: int, source: BitSource) -> int:
        begin, end = self._matrix.indptr[state], self._matrix.indptr[state + 1]
        moved = ExactLaw(self._matrix.data[begin:end]).draw(source)
        return int(self._matrix.indices[begin + moved])


def sparse_entries(matrix: sparse.csr_array, sources: IntArray, targets: IntArray) -> FloatArray:
    """Look up entries of a canonical CSR array without scanning whole rows.

    Codes ``row * columns + column`` of the stored entries are sorted, so one binary search
    per question is enough.
    """
    columns = matrix.shape[1]
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    codes = rows * columns + matrix.indices
    wanted = np.asarray(sources, dtype=np.int64) * columns + np.asarray(targets, dtype=np.int64)
    if not codes.size:
        return np.zeros(wanted.shape)
    places = np.minimum(np.searchsorted(codes, wanted), codes.size - 1)
    return np.where(codes[places] == wanted, matrix.data[places], 0.0)
