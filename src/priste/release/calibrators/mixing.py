"""Make any law private by mixing it with something that says nothing, as little as needed.

For a fixed bound the columns that pass form a convex cone: the condition of each prior is linear
in the column. The constant column lies in it as long as the bound is not used up. So every
column can be brought in by adding a constant, and what was added is a release that
does not depend on the cell: ``(T + 1 μᵀ) / (1 + Σμ)`` is "T with probability 1 / (1 + Σμ), else a
public draw from μ / Σμ". Nothing here relies on that for safety: the table that is returned has
been checked as it is, float by float.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from priste.mechanisms.rows import settle_rows

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Check = Callable[[Floats], Booleans]
"""Columns (m, k) to verdicts (k,); True is a guarantee."""

SMALLEST_ADDITION = 2.0**-40
"""Relative to the largest entry of a column: less than this is never added."""

LARGEST_ADDITION = 2.0**24
"""Relative to the largest entry of a column: a column that needs more is given up."""

PRECISION = 1.02
"""What is added is at most this factor above what is needed."""

TRIES = 8
"""How often a mixture that rounding took over the edge is given a little more."""


def least_private_mixture(table: Floats, allowed: Check) -> Floats | None:
    """Return the table mixed with a public draw, so that every column passes the check.

    ``table`` (m, outputs) is a law: rows >= 0 that sum to 1. The result sums to 1 within
    ROW_SUM_TOLERANCE and every column that can be released has passed ``allowed`` as it is.
    Columns of zeros stay zero. None if no mixture was found, as when the bound is used up.

    >>> table = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> mixed = least_private_mixture(table, lambda c: c.max(axis=0) <= 2.0 * c.min(axis=0))
    >>> [[round(float(x), 2) for x in row] for row in mixed]
    [[0.67, 0.33], [0.33, 0.67]]
    """
    used = np.flatnonzero(table.any(axis=0))
    columns = np.ascontiguousarray(table[:, used])
    extra = additions(columns, allowed)
    if extra is None:
        return None
    scale = columns.max(axis=0)
    for attempt in range(TRIES):
        mixture = settle_rows((columns + extra) / (1.0 + extra.sum()))
        failed = ~allowed(mixture)
        if not failed.any():
            whole = np.zeros_like(table)
            whole[:, used] = mixture
            return whole
        little = np.maximum(1e-3 * extra, SMALLEST_ADDITION * scale) * 4.0**attempt
        extra = np.where(failed, extra + little, extra)
    return None


def additions(columns: Floats, allowed: Check) -> Floats | None:
    """Return (k,) what to add to each column so that it passes; 0 where nothing is needed.

    None if a column needs more than ``LARGEST_ADDITION`` times its largest entry.
    """
    needed = np.zeros(columns.shape[1])
    used = np.flatnonzero(columns.any(axis=0))
    failing = used[~allowed(columns[:, used])]
    if not failing.size:
        return needed
    scale = columns[:, failing].max(axis=0)
    low = np.full(len(failing), SMALLEST_ADDITION)
    high = np.ones(len(failing))
    passed = np.zeros(len(failing), dtype=bool)
    while not passed.all():
        if high.max() > LARGEST_ADDITION:
            return None
        left = np.flatnonzero(~passed)
        passed[left] = allowed(columns[:, failing[left]] + high[left] * scale[left])
        low[~passed] = high[~passed]
        high[~passed] *= 16.0
    while True:
        left = np.flatnonzero(high > PRECISION * low)
        if not left.size:
            break
        middle = np.sqrt(low[left] * high[left])
        verdict = allowed(columns[:, failing[left]] + middle * scale[left])
        high[left[verdict]] = middle[verdict]
        low[left[~verdict]] = middle[~verdict]
    needed[failing] = high * scale
    return needed
