"""Exact draws: the law is the very floats, read as rationals, divided by their exact sum."""

from __future__ import annotations

import numpy as np

from priste.mobility.validation import FloatArray
from priste.randomness import BitSource

_MANTISSA_BITS = 53


def integer_weights(weights: FloatArray) -> list[int]:
    """Return whole numbers in exactly the proportions of the nonnegative ``weights``.

    >>> integer_weights(np.array([0.5, 0.25, 0.0]))
    [2, 1, 0]
    """
    mantissas, exponents = np.frexp(weights)
    whole = np.ldexp(mantissas, _MANTISSA_BITS).astype(np.int64)  # exact: 53 bits each
    positive = whole > 0
    if not positive.any():
        return [0] * len(weights)
    # Strip common factors of two so that the integers stay short.
    trailing = np.bitwise_count((whole & -whole) - 1).astype(np.int64)
    exponents = exponents.astype(np.int64) + trailing
    whole >>= np.where(positive, trailing, 0)
    shifts = np.where(positive, exponents - exponents[positive].min(), 0)
    return [number << shift for number, shift in zip(whole.tolist(), shifts.tolist(), strict=True)]


def draw_index(weights: FloatArray, source: BitSource) -> int:
    """Draw an index with probability exactly ``weights[i] / sum(weights)``.

    The weights are nonnegative floats of which one at least is > 0; they are read as the
    rationals that they are, and the sum is exact. An index of weight 0 is never drawn.
    """
    whole = integer_weights(weights)
    left = source.below(sum(whole))
    for index, weight in enumerate(whole):
        if left < weight:
            return index
        left -= weight
    raise ValueError("The source of bits returned a number at or above its bound.")
