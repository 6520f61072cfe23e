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

from priste.mechanisms.mechanism import normalise_rows
from priste.release.accountant import CheckResult
from priste.release.release_tables import CheckedTable

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Passes = Callable[[Floats], Booleans]
"""Columns (m, k) to verdicts (k,)."""

Check = Callable[[Floats], CheckResult]
"""Likelihoods (m, k) to the result of the accountant's check."""

SMALLEST_ADDITION = 2.0**-40
"""Relative to the largest entry of a column: less than this is never added."""

LARGEST_ADDITION = 2.0**24
"""Relative to the largest entry of a column: a column that needs more is given up."""

PRECISION = 1.02
"""What is added is at most this factor above what is needed."""

TRIES = 8
"""How often a mixture that rounding took over the edge is given a little more."""


def mixed_until_checked(likelihoods: Floats, passes: Passes, check: Check) -> CheckedTable | None:
    """Return the table mixed with as little of a constant draw as the check needs.

    ``likelihoods`` (m, k) are nonnegative rows that sum to 1, without columns of zeros.
    ``passes`` tells which columns pass, for searching; ``check`` checks the mixture as it is, and
    what it returns is returned. None if no mixture passes, as when the bound is used up.
    """
    extra = additions(likelihoods, passes)
    if extra is None:
        return None
    scale = likelihoods.max(axis=0)
    for attempt in range(TRIES):
        result = check(normalise_rows((likelihoods + extra) / (1.0 + extra.sum())))
        if result.table is not None:
            return result.table
        little = np.maximum(1e-3 * extra, SMALLEST_ADDITION * scale) * 4.0**attempt
        extra = np.where(result.passed, extra, extra + little)
    return None


def additions(columns: Floats, passes: Passes) -> Floats | None:
    """Return (k,) what to add to each column so that it passes; 0 where nothing is needed.

    None if a column needs more than ``LARGEST_ADDITION`` times its largest entry.
    """
    needed = np.zeros(columns.shape[1])
    used = np.flatnonzero(columns.any(axis=0))
    failing = used[~passes(columns[:, used])]
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
        passed[left] = passes(columns[:, failing[left]] + high[left] * scale[left])
        low[~passed] = high[~passed]
        high[~passed] *= 16.0
    while True:
        left = np.flatnonzero(high > PRECISION * low)
        if not left.size:
            break
        middle = np.sqrt(low[left] * high[left])
        verdict = passes(columns[:, failing[left]] + middle * scale[left])
        high[left[verdict]] = middle[verdict]
        low[left[~verdict]] = middle[~verdict]
    needed[failing] = high * scale
    return needed
