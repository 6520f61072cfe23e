"""One step of movement: what every transition can do, and its dense and sparse forms.

All sums are sums of products of nonnegative floats, so every entry of ``push`` and
``pull`` keeps full relative accuracy: with ``n = nonzeros_per_row`` and ``u = 2**-53`` the
computed entry is the exact one times ``1 + d`` with ``|d| <= n*u / (1 - n*u)`` (underflow
aside), where "exact" is arithmetic without rounding on the very floats that are stored.

A form of transition is one subclass of :class:`Transition` with a ``kind`` of its own. Nothing
outside the class asks which form a transition has.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from priste.errors import InvalidParameter
from priste.mobility.stationary import strong_classes
from priste.mobility.support import Support, support_of_mask, support_of_nonzeros
from priste.mobility.validation import (
    FloatArray,
    IntArray,
    dense_rows,
    frozen_ints,
    row_sum_error_bound,
    row_sums,
    sparse_rows,
)
from priste.randomness import BitSource, ExactDistribution

Arrays = dict[str, npt.NDArray[Any]]

DENSE_LIMIT = 400
"""Number of states up to which a sum of a structured and a sparse part is stored as a full matrix.

Measured: at 400 the separable form moves 400 rows as fast as the dense one, and one row five
times faster; at 1,600 it is more than twenty times faster at both.
"""

_LEAST_EXPONENT = -1074
"""Of the least positive float."""


class Stage(Protocol):
    """A nonnegative matrix that multiplies each number by one float; see ``Transition.terms``."""

    def push(self, rows: FloatArray, /) -> FloatArray:
        """Return ``rows @ S``."""
        ...

    def pull(self, columns: FloatArray, /) -> FloatArray:
        """Return ``S @ columns``."""
        ...


class Transition(ABC):
    """One step of movement from ``shape[0]`` states to ``shape[1]``; rows sum to 1; immutable.

    ``nonzeros_per_row`` counts the roundings behind an entry of ``push`` or ``pull``: the ``n`` of
    the error bound above. For dense and sparse matrices it is the largest number of nonzeros in a
    row or a column; structured forms make fewer roundings than they have nonzeros.

    ``row_sum_error`` is never below ``|s - 1|`` for the exact sum ``s`` of any row. The model that
    is meant is each row divided by its exact sum (that is what ``draw`` draws from), while ``push``
    and ``pull`` use the stored floats. So each entry is off by a factor within
    ``1 +- row_sum_error`` (to first order), on top of the roundings.
    """

    kind: ClassVar[str]
    """The name of the form in model files."""

    def __init__(self, shape: tuple[int, int], nonzeros_per_row: int, row_sum_error: float) -> None:
        self._shape = shape
        self._nonzeros_per_row = nonzeros_per_row
        self._row_sum_error = row_sum_error

    @property
    def shape(self) -> tuple[int, int]:
        """Number of states before and after the step."""
        return self._shape

    @property
    def nonzeros_per_row(self) -> int:
        """Roundings behind an entry of ``push`` or ``pull``."""
        return self._nonzeros_per_row

    @property
    def row_sum_error(self) -> float:
        """A bound on how far the exact sum of a row is from 1."""
        return self._row_sum_error

    # Computing

    @property
    @abstractmethod
    def cost(self) -> float:
        """Multiply-adds of ``push`` of one row; for comparing ways to compute."""

    @abstractmethod
    def push(self, rows: FloatArray) -> FloatArray:
        """Move distributions forward: ``rows @ M``, for shape ``(k, n_from)`` or ``(n_from,)``."""

    @abstractmethod
    def pull(self, columns: FloatArray) -> FloatArray:
        """Move values backward: ``M @ columns``, for shape ``(n_to, k)`` or ``(n_to,)``."""

    @abstractmethod
    def toarray(self) -> FloatArray:
        """Return the whole matrix as a new array. Takes ``n_from * n_to`` floats."""

    @abstractmethod
    def entries(self, sources: IntArray, targets: IntArray) -> FloatArray:
        """Return ``M[sources[k], targets[k]]`` for each ``k``; state numbers must be valid."""

    @abstractmethod
    def draw(self, state: int, source: BitSource) -> int:
        """Draw the next state from the row of ``state``, exactly (see ``row_sum_error``)."""

    @cached_property
    @abstractmethod
    def support(self) -> Support:
        """Which moves are possible, for maxima over paths in place of sums."""

    # Underflow

    @property
    def terms(self) -> tuple[tuple[Stage, ...], ...]:
        """The matrix as a sum of products of stages, each of which multiplies by one float.

        Moving numbers stage by stage, and scaling them in between, loses no product to underflow.
        """
        return ((self,),)

    @cached_property
    def may_underflow(self) -> bool:
        """Whether the factors of a product in ``push`` may multiply to less than the least float.

        Never for one factor; structured forms multiply by several.
        """
        return False

    @cached_property
    def least_factor(self) -> float:
        """A lower bound on what a number is multiplied by in ``push``; 0.0 where none is known."""
        return 0.0

    # Other forms

    @property
    def stored_csr(self) -> sparse.csr_array | None:
        """The matrix, where it is stored by its nonzeros; else None."""
        return None

    @abstractmethod
    def blended(self, kept: FloatArray, added: sparse.csr_array) -> Transition:
        """Return ``diag(kept) @ M + added``, whose rows must sum to 1, in a form that suits it."""

    def is_primitive(self) -> bool:
        """Return whether every state may stay and leads to every other; products of such do too.

        "False" may also mean that it would take an m by m array to know.
        """
        return False

    # Files

    @abstractmethod
    def to_arrays(self) -> Arrays:
        """Return arrays from which :meth:`from_arrays` makes an equal transition."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Arrays, pairs: int) -> Transition:
        """Make a transition of arrays from a file; its model has ``pairs`` pairs of cells, or 0."""


def checked_rows(rows: FloatArray, size: int) -> FloatArray:
    """Refuse what ``push`` cannot multiply; a mistaken shape must not broadcast."""
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise InvalidParameter(
            f"must have shape ({size},) or (k, {size})",
            parameter="rows",
            owner="push",
            value=array.shape,
        )
    return array


def checked_columns(columns: FloatArray, size: int) -> FloatArray:
    """Refuse what ``pull`` cannot multiply; a mistaken shape must not broadcast."""
    array = np.asarray(columns, dtype=np.float64)
    if array.ndim not in (1, 2) or array.shape[0] != size:
        raise InvalidParameter(
            f"must have shape ({size},) or ({size}, k)",
            parameter="columns",
            owner="pull",
            value=array.shape,
        )
    return array


def least_positive(values: FloatArray) -> float:
    """Return the least positive number, 1.0 if there is none below."""
    return float(np.min(values, where=values > 0.0, initial=1.0))


def products_may_underflow(*factors: FloatArray) -> bool:
    """Return whether one positive number of each array can multiply to less than a float."""
    exponents = (math.frexp(least_positive(factor))[1] - 1 for factor in factors)
    return sum(exponents) < _LEAST_EXPONENT


class DenseTransition(Transition):
    """A transition stored as a full matrix: the fastest below a few hundred states.

    >>> step = DenseTransition([[0.5, 0.5], [0.0, 1.0]])
    >>> step.push(np.array([1.0, 0.0])), step.pull(np.array([0.0, 1.0]))
    (array([0.5, 0.5]), array([0.5, 1. ]))
    """

    kind = "dense"

    def __init__(
        self, matrix: object, parameter: str = "matrix", owner: str = "DenseTransition"
    ) -> None:
        self._matrix = dense_rows(matrix, parameter, owner)
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
        return ExactDistribution(self._matrix[state]).draw(source)

    @cached_property
    def support(self) -> Support:
        return support_of_mask(self._matrix > 0.0)

    @cached_property
    def least_factor(self) -> float:
        return least_positive(self._matrix)

    def blended(self, kept: FloatArray, added: sparse.csr_array) -> Transition:
        return DenseTransition(kept[:, None] * self._matrix + added.toarray())

    def is_primitive(self) -> bool:
        return bool(np.all(self._matrix.diagonal() > 0.0)) and strong_classes(self._matrix)[0] == 1

    def to_arrays(self) -> Arrays:
        return {"matrix": self._matrix}

    @classmethod
    def from_arrays(cls, arrays: Arrays, pairs: int) -> DenseTransition:
        return cls(arrays["matrix"])


class SparseTransition(Transition):
    """A transition stored by its nonzeros (CSR): for local movement on large maps.

    >>> step = SparseTransition(sparse.csr_array([[0.5, 0.5], [0.0, 1.0]]))
    >>> step.nonzeros_per_row, step.cost
    (2, 3.0)
    """

    kind = "sparse"

    def __init__(
        self, matrix: object, parameter: str = "matrix", owner: str = "SparseTransition"
    ) -> None:
        self._matrix = sparse_rows(matrix, parameter, owner)
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
    def stored_csr(self) -> sparse.csr_array:
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
        moved = ExactDistribution(self._matrix.data[begin:end]).draw(source)
        return int(self._matrix.indices[begin + moved])

    @cached_property
    def support(self) -> Support:
        return support_of_nonzeros(self._matrix)

    @cached_property
    def least_factor(self) -> float:
        return least_positive(self._matrix.data)

    def blended(self, kept: FloatArray, added: sparse.csr_array) -> Transition:
        return SparseTransition(sparse.csr_array(scaled_rows(self._matrix, kept) + added))

    def is_primitive(self) -> bool:
        return bool(np.all(self._matrix.diagonal() > 0.0)) and strong_classes(self._matrix)[0] == 1

    def to_arrays(self) -> Arrays:
        return csr_to_arrays(self._matrix)

    @classmethod
    def from_arrays(cls, arrays: Arrays, pairs: int) -> SparseTransition:
        return cls(csr_from_arrays(arrays, pairs))


def scaled_rows(matrix: sparse.csr_array, factors: FloatArray) -> sparse.csr_array:
    """Return ``diag(factors) @ matrix``."""
    scaled = sparse.csr_array(matrix, copy=True)
    scaled.data = scaled.data * np.repeat(factors, np.diff(scaled.indptr))
    return scaled


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


def csr_to_arrays(matrix: sparse.csr_array) -> Arrays:
    """Return the parts of a CSR array for a file."""
    return {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int64),
        "indptr": matrix.indptr.astype(np.int64),
        "shape": np.array(matrix.shape, dtype=np.int64),
    }


def csr_from_arrays(arrays: Arrays, pairs: int) -> sparse.csr_array:
    """Undo :func:`csr_to_arrays`; ValueError for a shape that fits no model."""
    rows, columns = (int(length) for length in arrays["shape"])
    # Both are bounded by what the file holds: a stated shape must not reserve memory by itself.
    if rows != len(arrays["indptr"]) - 1 or columns not in (rows, pairs):
        raise ValueError("a matrix has another shape than its model")
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    return sparse.csr_array(parts, shape=(rows, columns))


@dataclass(frozen=True, eq=False)
class Schedule:
    """Transitions by step: first ``opening``, then ``repeating`` once, or for ever if ``cyclic``.

    ``pairs`` is ``None`` for a first-order model. For a second-order one it is the
    ``(n, 2)`` array of states (previous cell, current cell) from step 1 on, sorted, and
    ``opening`` holds the one rectangular transition from cells to pairs. ``truncated_mass`` is
    the largest mass that was cut from a row.
    """

    opening: tuple[Transition, ...]
    repeating: tuple[Transition, ...]
    cyclic: bool
    pairs: IntArray | None = None
    truncated_mass: float = 0.0

    @cached_property
    def horizon(self) -> int | None:
        """Number of steps with a transition; ``None`` for ever."""
        return None if self.cyclic else len(self.opening) + len(self.repeating)

    @cached_property
    def _cells_in_order(self) -> IntArray:
        return frozen_ints(np.arange(self.transitions()[0].shape[0], dtype=np.int64))

    @cached_property
    def _cells_of_pairs(self) -> IntArray:
        return self._cells_in_order if self.pairs is None else frozen_ints(self.pairs[:, 1].copy())

    def cells(self, step: int) -> IntArray:
        """Return the cell of each state at ``step`` (>= 0), read-only."""
        if self.horizon is not None and step > self.horizon:
            self.at(step)
        return self._cells_of_pairs if step else self._cells_in_order

    def states(self, step: int) -> int:
        """Return the number of states at ``step`` (>= 0)."""
        return len(self.cells(step))

    def at(self, step: int) -> Transition:
        """Return the transition from ``step`` (>= 0) to ``step + 1``."""
        later = step - len(self.opening)
        if later < 0:
            return self.opening[step]
        if self.cyclic:
            return self.repeating[later % len(self.repeating)]
        if later >= len(self.repeating):
            raise InvalidParameter(
                f"This MarkovModel describes {self.horizon} moves (steps 0 to {self.horizon}).",
                got=f"a question about the move that leaves step {step}",
                hint="Give one matrix per step, or let them repeat (cycle).",
            )
        return self.repeating[later]

    def transitions(self) -> tuple[Transition, ...]:
        """Return all that are stored, in order; the same object may occur many times."""
        return self.opening + self.repeating
