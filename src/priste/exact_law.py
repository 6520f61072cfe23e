"""Draw an outcome with exactly the probabilities that a row of floats states.

A float is a whole number times a power of two, so a row of floats is, over one common
denominator, a row of whole numbers. Drawing a uniform whole number below their sum and looking
where it falls has exactly that law: no rounding stands between the numbers that were checked and
the noise that was drawn.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from priste.errors import InvalidParameter
from priste.randomness import BitSource, Seed, bit_source

_MANTISSA_BITS = 53


class ExactLaw:
    """A law on ``0 .. n-1`` whose probabilities are proportional to the very floats given.

    The floats must be finite and >= 0, and one of them > 0; they need not sum to 1. An outcome of
    weight 0 is never drawn. Building costs one pass over the row, a draw a binary search.

    >>> law = ExactLaw([0.25, 0.0, 0.75])
    >>> law.numerators, law.total
    ((1, 0, 3), 4)
    >>> law.draw(7) in (0, 2)
    True
    """

    __slots__ = ("_cumulated", "numerators", "total")

    def __init__(self, weights: ArrayLike) -> None:
        row = np.asarray(weights, dtype=np.float64)
        if row.ndim != 1 or row.size == 0:
            raise InvalidParameter(
                "The 'weights' of ExactLaw must be one row with at least one entry. "
                f"Got shape {row.shape}."
            )
        if not np.isfinite(row).all() or (row < 0).any() or not (row > 0).any():
            raise InvalidParameter(
                "The 'weights' of ExactLaw must be finite and >= 0, and one of them > 0."
            )
        fractions, exponents = np.frexp(row)
        mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
        lowest = int(exponents[mantissas > 0].min())
        # A zero has exponent 0, which may lie below the lowest of the others.
        shifts = np.maximum(exponents - lowest, 0)
        wide = [m << s for m, s in zip(mantissas.tolist(), shifts.tolist(), strict=True)]
        spare = min((w & -w).bit_length() - 1 for w in wide if w)
        self.numerators: tuple[int, ...] = tuple(w >> spare for w in wide)
        self._cumulated = list(accumulate(self.numerators))
        self.total: int = self._cumulated[-1]

    def draw(self, rng: Seed | BitSource = None) -> int:
        """Draw one outcome; outcome ``k`` has probability ``numerators[k] / total`` exactly."""
        drawn = bit_source(rng).below(self.total)
        if not 0 <= drawn < self.total:
            raise ValueError("The source of bits returned a number at or above its bound.")
        return bisect_right(self._cumulated, drawn)
