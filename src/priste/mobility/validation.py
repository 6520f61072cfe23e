"""What a matrix must be before it may describe movement; nothing is repaired here."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from priste.arguments import SUM_TOLERANCE, as_floats, check_array
from priste.errors import InvalidParameter

GIVEN_ROW_SUM_TOLERANCE = SUM_TOLERANCE
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


def check_row_sums(sums: FloatArray, parameter: str, owner: str) -> None:
    """Refuse rows that sum further than ``GIVEN_ROW_SUM_TOLERANCE`` from 1, naming the first."""
    off = np.abs(sums - 1.0) > GIVEN_ROW_SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise InvalidParameter(
            f"must have rows that sum to 1 within {GIVEN_ROW_SUM_TOLERANCE:g}; row {row} does not",
            parameter=parameter,
            owner=owner,
            value=float(sums[row]),
            hint="Rows are never rescaled for you: check the data, then divide each row by its sum "
            "if that is what is meant.",
        )


def row_sum_error_bound(sums: FloatArray, summands: IntArray) -> float:
    """Bound ``|exact row sum - 1|`` over all rows from rounded sums of nonnegative numbers.

    ``sums[i]`` was computed from ``summands[i]`` nonzero floats in any order, so it is
    within ``(summands[i] - 1)`` roundings of the exact sum.
    """
    roundings = np.maximum(summands - 1, 0) * (UNIT_ROUNDOFF * 1.01)
    return float(np.max(np.abs(sums - 1.0) + roundings * np.maximum(sums, 1.0)))


def dense_rows(values: object, parameter: str, owner: str) -> FloatArray:
    """Copy ``values`` into a read-only matrix whose rows are distributions, or refuse it."""
    array = np.array(check_array(values, parameter, owner), order="C")
    _check_matrix(array.shape, parameter, owner)
    check_row_sums(array.sum(axis=1), parameter, owner)
    return frozen(array)


def _check_matrix(shape: tuple[int, ...], parameter: str, owner: str) -> None:
    if len(shape) != 2 or 0 in shape:
        raise InvalidParameter(
            "must be a matrix", parameter=parameter, owner=owner, got=f"shape {shape}"
        )


def sparse_nonnegative(values: Any, parameter: str, owner: str) -> sparse.csr_array:
    """Copy ``values`` into canonical CSR (sorted, no stored zeros) with read-only parts."""
    is_sparse: bool = sparse.issparse(values)
    if not is_sparse or values.ndim != 2:
        raise InvalidParameter(
            "must be a scipy.sparse matrix with two axes",
            parameter=parameter,
            owner=owner,
            value=type(values),
        )
    as_floats(np.empty(0, values.dtype), parameter, owner)
    try:
        matrix: sparse.csr_array = sparse.csr_array(values, dtype=np.float64, copy=True)
        matrix.check_format(full_check=True)  # a bad index would be read by compiled code
        if (np.diff(matrix.indptr) < 0).any():  # not looked at where there are no numbers
            raise ValueError("its rows overlap")
    except ValueError as error:
        raise InvalidParameter(
            f"is not a valid sparse matrix: {error}", parameter=parameter, owner=owner
        ) from error
    check_array(matrix.data, f"{parameter}.data", owner)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def sparse_rows(values: Any, parameter: str, owner: str) -> sparse.csr_array:
    """Do what :func:`sparse_nonnegative` does, and refuse rows that are no distributions."""
    matrix = sparse_nonnegative(values, parameter, owner)
    _check_matrix(matrix.shape, parameter, owner)
    check_row_sums(row_sums(matrix), parameter, owner)
    return matrix


def row_sums(matrix: sparse.csr_array) -> FloatArray:
    """Sum each row of a CSR array."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).reshape(-1)
