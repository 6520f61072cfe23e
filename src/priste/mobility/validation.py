"""What a matrix must be before it may describe movement; nothing is repaired here."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from priste.errors import InvalidParameter

GIVEN_ROW_SUM_TOLERANCE = 1e-9
"""How far from 1 the sum of a row may lie. Rows within it are used as they are, never rescaled."""

UNIT_ROUNDOFF = 2.0**-53

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def frozen(array: npt.NDArray[np.float64]) -> FloatArray:
    """Make ``array`` read-only, in place, and hand it back."""
    array.flags.writeable = False
    return array


def frozen_ints(array: npt.NDArray[np.int64]) -> IntArray:
    """Make ``array`` read-only, in place, and hand it back."""
    array.flags.writeable = False
    return array


MAX_NUMBER = 1e12
"""Above this, a scale in km or a count of moves is taken for a mistake."""


def _numeric_kind(dtype: np.dtype[np.generic], *, name: str) -> None:
    if dtype.kind not in "fiu":
        raise InvalidParameter(
            f"The {name} must hold real numbers.", got=f"an array of type {dtype}"
        )


def probability_array(values: object, *, name: str) -> FloatArray:
    """Copy ``values`` into a new float64 array; refuses what is not finite and nonnegative."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidParameter(
            f"The {name} must be a rectangular array of numbers. Its rows differ in length."
        ) from error
    _numeric_kind(array.dtype, name=name)
    copy = np.array(array, dtype=np.float64, order="C")
    wrong = ~(np.isfinite(copy) & (copy >= 0.0))
    if wrong.any():
        where = tuple(int(axis) for axis in np.argwhere(wrong)[0])
        place = where[0] if len(where) == 1 else where
        raise InvalidParameter(
            f"The {name} must be finite and >= 0 everywhere.",
            got=f"{float(copy[where])!r} at {place}",
        )
    return copy


def check_row_sums(sums: FloatArray, *, name: str) -> None:
    """Refuse rows that sum further than ``GIVEN_ROW_SUM_TOLERANCE`` from 1, naming the first."""
    off = np.abs(sums - 1.0) > GIVEN_ROW_SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise InvalidParameter(
            f"Row {row} of the {name} must sum to 1 within {GIVEN_ROW_SUM_TOLERANCE:g}. "
            f"It sums to {float(sums[row])!r}. Rows are never rescaled for you: "
            "check the data, then divide each row by its sum if that is what is meant."
        )


def row_sum_error_bound(sums: FloatArray, summands: IntArray) -> float:
    """Bound ``|exact row sum - 1|`` over all rows from rounded sums of nonnegative numbers.

    ``sums[i]`` was computed from ``summands[i]`` nonzero floats in any order, so it is
    within ``(summands[i] - 1)`` roundings of the exact sum.
    """
    roundings = np.maximum(summands - 1, 0) * (UNIT_ROUNDOFF * 1.01)
    return float(np.max(np.abs(sums - 1.0) + roundings * np.maximum(sums, 1.0)))


def dense_rows(values: object, *, name: str) -> FloatArray:
    """Copy ``values`` into a read-only matrix whose rows are distributions, or refuse it."""
    array = probability_array(values, name=name)
    if array.ndim != 2 or array.size == 0:
        raise InvalidParameter(f"The {name} must be a matrix.", got=f"shape {array.shape}")
    check_row_sums(array.sum(axis=1), name=name)
    return frozen(array)


def sparse_nonnegative(values: Any, *, name: str) -> sparse.csr_array:
    """Copy ``values`` into canonical CSR (sorted, no stored zeros) with read-only parts."""
    is_sparse: bool = sparse.issparse(values)
    if not is_sparse or values.ndim != 2:
        raise InvalidParameter(f"The {name} must be a scipy.sparse matrix with two axes.")
    _numeric_kind(values.dtype, name=name)
    try:
        matrix: sparse.csr_array = sparse.csr_array(values, dtype=np.float64, copy=True)
        matrix.check_format(full_check=True)  # a bad index would be read by compiled code
        if (np.diff(matrix.indptr) < 0).any():  # not looked at where there are no numbers
            raise ValueError("its rows overlap")
    except ValueError as error:
        raise InvalidParameter(f"The {name} is not a valid sparse matrix: {error}.") from error
    wrong = ~(np.isfinite(matrix.data) & (matrix.data >= 0.0))
    if wrong.any():
        first = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, first, side="right")) - 1
        raise InvalidParameter(
            f"The {name} must be finite and >= 0 everywhere.",
            got=f"{float(matrix.data[first])!r} at {(row, int(matrix.indices[first]))}",
        )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def sparse_rows(values: Any, *, name: str) -> sparse.csr_array:
    """Do what :func:`sparse_nonnegative` does, and refuse rows that are no distributions."""
    matrix = sparse_nonnegative(values, name=name)
    if 0 in matrix.shape:
        raise InvalidParameter(f"The {name} must be a matrix.", got=f"shape {matrix.shape}")
    check_row_sums(row_sums(matrix), name=name)
    return matrix


def row_sums(matrix: sparse.csr_array) -> FloatArray:
    """Sum each row of a CSR array."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).reshape(-1)


def distribution(values: object, *, size: int, name: str) -> FloatArray:
    """Copy ``values`` into a read-only ``(size,)`` distribution, or refuse it."""
    array = probability_array(values, name=name)
    if array.shape != (size,):
        raise InvalidParameter(
            f"The {name} must have one probability per cell, shape ({size},).", value=array.shape
        )
    total = float(array.sum())
    if abs(total - 1.0) > GIVEN_ROW_SUM_TOLERANCE:
        raise InvalidParameter(
            f"The {name} must sum to 1 within {GIVEN_ROW_SUM_TOLERANCE:g}. It sums to {total!r}."
        )
    return frozen(array)
