"""Ties that break alike on every machine.

On a regular map many cells are equally likely and many guesses equally good, up to the last bit,
which differs between processors. Before one of them is chosen, equal numbers are set apart by a
fixed public amount that is far above any rounding and far below anything that matters.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

APART = 1e-9
"""By how much numbers are set apart at most, relatively."""

GOLDEN = 0.6180339887498949


@lru_cache(maxsize=8)
def fixed_offsets(count: int) -> Floats:
    """Return (count,) numbers in [0, 1), all different: multiples of the golden ratio; read-only.

    >>> fixed_offsets(3).round(3).tolist()
    [0.618, 0.236, 0.854]
    """
    apart: Floats = np.asarray((np.arange(1, count + 1) * GOLDEN) % 1.0, dtype=np.float64)
    apart.flags.writeable = False
    return apart


def separated(values: Floats) -> Floats:
    """Return the numbers with those that are equal along the last axis set apart.

    >>> separated(np.array([0.5, 0.5, 1.0])).argsort().tolist()
    [1, 0, 2]
    """
    return np.asarray(values * (1.0 + APART * fixed_offsets(values.shape[-1])))


def first_of_largest(values: Floats) -> int:
    """Return the place of the largest of numbers >= 0, the first where several are alike.

    >>> first_of_largest(np.array([0.1, 0.3, 0.1 + 0.2]))
    1
    """
    return int(np.argmax(values >= (1.0 - APART) * values.max()))
