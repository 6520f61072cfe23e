"""Transitions of large maps that touch every cell without an m by m array."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
from scipy import sparse

from priste.arguments import check_array
from priste.errors import InvalidParameter
from priste.mobility.support import (
    Support,
    support_of_nonzeros,
    support_of_product,
    support_of_sum,
)
from priste.mobility.transitions import (
    DENSE_LIMIT,
    Arrays,
    DenseTransition,
    SparseTransition,
    Stage,
    Transition,
    checked_columns,
    checked_rows,
    csr_from_arrays,
    csr_to_arrays,
    least_positive,
    products_may_underflow,
    scaled_rows,
    sparse_entries,
)
from priste.mobility.validation import (
    FloatArray,
    IntArray,
    check_row_sums,
    frozen,
    row_sum_error_bound,
    row_sums,
    sparse_nonnegative,
)
from priste.randomness import BitSource, ExactDistribution, resolve_draw


class SeparableTransition(Transition):
    """Rows and columns of a rectangular map move independently: ``M = K_rows (x) K_columns``.

    State ``row * columns + column`` goes to ``row' * columns + column'`` with probability
    ``K_rows[row, row'] * K_columns[column, column']``, the product meant without rounding.
    Two small matrix products do what the large one would, with fewer roundings.

    >>> stay_or_swap = [[0.75, 0.25], [0.25, 0.75]]
    >>> step = SeparableTransition(stay_or_swap, [[1.0]])
    >>> step.push(np.array([1.0, 0.0]))
    array([0.75, 0.25])
    """

    kind = "separable"

    def __init__(self, row_factor: object, column_factor: object) -> None:
        rows = DenseTransition(row_factor, "row_factor", "SeparableTransition")
        columns = DenseTransition(column_factor, "column_factor", "SeparableTransition")
        for factor in (rows, columns):
            if factor.shape[0] != factor.shape[1]:
                raise InvalidParameter(
                    "must be square matrices",
                    parameter="factors",
                    owner="SeparableTransition",
                    value=factor.shape,
                )
        self._rows, self._columns = rows.matrix, columns.matrix
        size = rows.shape[0] * columns.shape[0]
        # (1 + e)(1 + f) - 1, rounded up
        both = rows.row_sum_error + columns.row_sum_error
        super().__init__(
            (size, size),
            rows.nonzeros_per_row + columns.nonzeros_per_row,
            (both + rows.row_sum_error * columns.row_sum_error) * (1 + 1e-15),
        )

    @property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        """The row factor and the column factor, read-only."""
        return self._rows, self._columns

    @property
    def cost(self) -> float:
        return float(self.shape[0] * (len(self._rows) + len(self._columns)))

    def push(self, rows: FloatArray) -> FloatArray:
        return push_separately(checked_rows(rows, self.shape[0]), self._rows, self._columns)

    def pull(self, columns: FloatArray) -> FloatArray:
        array = checked_columns(columns, self.shape[1])
        r, c = len(self._rows), len(self._columns)
        along = (self._rows @ array.reshape(r, -1)).reshape(r, c, -1)
        moved: FloatArray = np.matmul(self._columns, along)
        return moved.reshape(array.shape)

    def toarray(self) -> FloatArray:
        return np.asarray(np.kron(self._rows, self._columns), dtype=np.float64)

    def entries(self, sources: IntArray, targets: IntArray) -> FloatArray:
        from_row, from_column = np.divmod(sources, len(self._columns))
        to_row, to_column = np.divmod(targets, len(self._columns))
        return self._rows[from_row, to_row] * self._columns[from_column, to_column]

    def draw(self, state: int, source: BitSource) -> int:
        # One uniform number cuts the products in row-major order, so that a seed draws the same
        # states as from the full matrix (but for its roundings).
        row, column = divmod(state, len(self._columns))
        down, across = ExactDistribution(self._rows[row]), ExactDistribution(self._columns[column])
        ends = [0, *accumulate(down.numerators)]
        column_ends = list(accumulate(across.numerators))

        def outcome(place: int) -> int:
            to_row = bisect_right(ends, place // across.total) - 1
            rest = (place - ends[to_row] * across.total) // down.numerators[to_row]
            return to_row * len(self._columns) + bisect_right(column_ends, rest)

        return resolve_draw(source.number(), down.total * across.total, outcome)

    def exact_row_sum(self, state: int) -> Fraction:
        """Return the sum of a row without any rounding."""
        row, column = divmod(state, len(self._columns))
        return exact_sum(self._rows[row]) * exact_sum(self._columns[column])

    @cached_property
    def support(self) -> Support:
        return support_of_product(self._rows > 0.0, self._columns > 0.0)

    @cached_property
    def terms(self) -> tuple[tuple[Stage, ...], ...]:
        rows, columns = np.eye(len(self._rows)), np.eye(len(self._columns))
        stages = SeparableTransition(rows, self._columns), SeparableTransition(self._rows, columns)
        return (stages,)

    @cached_property
    def may_underflow(self) -> bool:
        return products_may_underflow(self._rows, self._columns)

    @cached_property
    def least_factor(self) -> float:
        return least_positive(self._rows) * least_positive(self._columns)

    def blended(self, kept: FloatArray, added: sparse.csr_array) -> Transition:
        if self.shape[0] <= DENSE_LIMIT:
            return DenseTransition(kept[:, None] * self.toarray() + added.toarray())
        return BlendedTransition(kept, self, added)

    def is_primitive(self) -> bool:
        return all(DenseTransition(factor).is_primitive() for factor in self.factors)

    def to_arrays(self) -> Arrays:
        return {"rows": self._rows, "columns": self._columns}

    @classmethod
    def from_arrays(cls, arrays: Arrays, pairs: int) -> SeparableTransition:
        return cls(arrays["rows"], arrays["columns"])


class BlendedTransition(Transition):
    """What was seen (sparse) blended with a full separable prior: ``diag(w) @ P + S``.

    ``w`` holds the weight of the prior in each row and ``S`` the rest, so row ``i`` of ``S``
    sums to ``1 - w[i]``. Fitted models of large maps have this form: every move of the
    prior keeps a positive probability and no m by m array exists.

    >>> uniform = SeparableTransition([[1.0]], np.full((2, 2), 0.5))
    >>> seen = sparse.csr_array([[0.5, 0.0], [0.0, 0.0]])
    >>> BlendedTransition([0.5, 1.0], uniform, seen).toarray()
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """

    kind = "blended"

    def __init__(self, prior_weights: object, prior: SeparableTransition, seen: object) -> None:
        owner = "BlendedTransition"
        self._weights = frozen(np.array(check_array(prior_weights, "prior_weights", owner)))
        self._prior = prior
        self._seen = sparse_nonnegative(seen, "seen", owner)
        if self._seen.shape != prior.shape or self._weights.shape != (prior.shape[0],):
            raise InvalidParameter(
                "must fit each other",
                parameter="parts",
                owner=owner,
                got=f"prior {prior.shape}, seen {self._seen.shape}, prior_weights "
                f"{self._weights.shape}",
            )
        sums = self._weights + row_sums(self._seen)
        check_row_sums(sums, "parts", owner)
        self._seen_transposed = self._seen.T.tocsr()
        per_row = np.diff(self._seen.indptr).astype(np.int64)
        per_column = np.diff(self._seen_transposed.indptr)
        most = int(max(per_row.max(), per_column.max()))
        inherited = float(self._weights.max()) * prior.row_sum_error
        super().__init__(
            prior.shape,
            # One rounding for the weight, one for adding the two parts.
            max(prior.nonzeros_per_row + 2, most + 1),
            (row_sum_error_bound(sums, per_row + 1) + inherited) * (1 + 1e-15),
        )

    @property
    def parts(self) -> tuple[FloatArray, SeparableTransition, sparse.csr_array]:
        """Weights of the prior, the prior, and the sparse rest."""
        return self._weights, self._prior, self._seen

    @property
    def cost(self) -> float:
        return self._prior.cost + float(self._seen.nnz) + 2.0 * self.shape[0]

    def push(self, rows: FloatArray) -> FloatArray:
        array = checked_rows(rows, self.shape[0])
        seen = np.asarray((self._seen_transposed @ array.T).T, dtype=np.float64)
        moved: FloatArray = self._prior.push(array * self._weights) + seen
        return moved

    def pull(self, columns: FloatArray) -> FloatArray:
        array = checked_columns(columns, self.shape[1])
        weights = self._weights if array.ndim == 1 else self._weights[:, None]
        moved: FloatArray = weights * self._prior.pull(array) + self._seen @ array
        return moved

    def toarray(self) -> FloatArray:
        whole: FloatArray = self._weights[:, None] * self._prior.toarray() + self._seen.toarray()
        return whole

    def entries(self, sources: IntArray, targets: IntArray) -> FloatArray:
        prior = self._weights[sources] * self._prior.entries(sources, targets)
        found: FloatArray = prior + sparse_entries(self._seen, sources, targets)
        return found

    def draw(self, state: int, source: BitSource) -> int:
        begin, end = self._seen.indptr[state], self._seen.indptr[state + 1]
        seen = self._seen.data[begin:end]
        prior_mass = Fraction(float(self._weights[state])) * self._prior.exact_row_sum(state)
        seen_mass = exact_sum(seen)
        total = prior_mass + seen_mass
        share = prior_mass / total
        if source.below(share.denominator) < share.numerator:
            return self._prior.draw(state, source)
        return int(self._seen.indices[begin + ExactDistribution(seen).draw(source)])

    @cached_property
    def support(self) -> Support:
        kept = self._weights > 0.0
        return support_of_sum(kept, self._prior.support, support_of_nonzeros(self._seen))

    @cached_property
    def terms(self) -> tuple[tuple[Stage, ...], ...]:
        (stages,) = self._prior.terms
        return (_Weights(self._weights), *stages), (_SparseStage(self._seen),)

    @cached_property
    def may_underflow(self) -> bool:
        return products_may_underflow(self._weights, *self._prior.factors)

    def blended(self, kept: FloatArray, added: sparse.csr_array) -> Transition:
        seen = sparse.csr_array(scaled_rows(self._seen, kept) + added)
        return BlendedTransition(kept * self._weights, self._prior, seen)

    def is_primitive(self) -> bool:
        return bool(np.all(self._weights > 0.0)) and self._prior.is_primitive()

    def to_arrays(self) -> Arrays:
        return {
            "weights": self._weights,
            **self._prior.to_arrays(),
            **csr_to_arrays(self._seen),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, pairs: int) -> BlendedTransition:
        prior = SeparableTransition.from_arrays(arrays, pairs)
        return cls(arrays["weights"], prior, csr_from_arrays(arrays, pairs))


class _Weights:
    """The stage ``diag(w)``."""

    def __init__(self, weights: FloatArray) -> None:
        self._weights = weights

    def push(self, rows: FloatArray, /) -> FloatArray:
        return rows * self._weights

    def pull(self, columns: FloatArray, /) -> FloatArray:
        return (columns.T * self._weights).T


class _SparseStage:
    """The stage of a sparse matrix."""

    def __init__(self, matrix: sparse.csr_array) -> None:
        self._matrix, self._transposed = matrix, matrix.T.tocsr()

    def push(self, rows: FloatArray, /) -> FloatArray:
        return np.asarray((self._transposed @ rows.T).T, dtype=np.float64)

    def pull(self, columns: FloatArray, /) -> FloatArray:
        return np.asarray(self._matrix @ columns, dtype=np.float64)


def push_separately(array: FloatArray, down: FloatArray, across: FloatArray) -> FloatArray:
    """Return ``array @ (down (x) across)`` along the last axis, in two small products."""
    rows, columns = len(down), len(across)
    moved = (array.reshape(-1, columns) @ across).reshape(-1, rows, columns)
    pushed: FloatArray = np.matmul(down.T, moved)
    return pushed.reshape(array.shape)


def exact_sum(values: FloatArray) -> Fraction:
    """Add nonnegative floats without rounding."""
    positive = values[values > 0.0]
    if not positive.size:
        return Fraction(0)
    whole = ExactDistribution(positive).numerators
    return Fraction(float(positive[0])) * sum(whole) / whole[0]


FORMS: dict[str, type[Transition]] = {
    form.kind: form
    for form in (DenseTransition, SparseTransition, SeparableTransition, BlendedTransition)
}
"""The forms that a model file can hold, by their kind."""


def as_transition(matrix: object, parameter: str, owner: str) -> Transition:
    """Validate ``matrix`` (array-like, ``scipy.sparse`` or a transition) into a transition."""
    if isinstance(matrix, Transition):
        return matrix
    if sparse.issparse(matrix):
        return SparseTransition(matrix, parameter, owner)
    return DenseTransition(matrix, parameter, owner)
