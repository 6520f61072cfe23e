"""Draw an outcome with exactly the probabilities that a row of floats states.

A float is a whole number times a power of two, so a row of floats is, over one common
denominator, a row of whole numbers. Their running sums cut [0, 1) into one interval per outcome. A
uniform number is read digit by digit until it lies in one interval. So the draw has exactly the
probabilities that were checked, without rounding. Rounded running sums find the interval quickly;
where their error could matter, the whole numbers decide.

Two rows that differ in last bits give the same outcome for the same uniform number, except with
about the probability by which they differ.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.errors import InvalidParameter
from priste.randomness import WORD_BITS, BitSource, Seed, bit_source, checked_word, resolve_draw

_MANTISSA_BITS = 53


class ExactDistribution:
    """A distribution on ``0 .. n-1`` with probabilities proportional to the given floats, exactly.

    The floats must be finite and >= 0, and one of them > 0; they need not sum to 1. An outcome of
    weight 0 is never drawn, and leaving it out changes no draw: for a sparse row give the values
    that are stored, and the outcome is a place among them. Building costs a running sum, a draw
    a binary search.

    >>> coin = ExactDistribution([0.25, 0.0, 0.75])
    >>> coin.numerators, coin.total
    ((1, 0, 3), 4)
    >>> coin.draw(7) in (0, 2)
    True
    """

    def __init__(self, weights: ArrayLike) -> None:
        row = np.asarray(weights, dtype=np.float64)
        if row.ndim != 1 or row.size == 0:
            raise InvalidParameter(
                "must be one row with at least one entry",
                parameter="weights",
                owner="ExactDistribution",
                got=f"shape {row.shape}",
            )
        if not np.isfinite(row).all() or (row < 0).any() or not (row > 0).any():
            raise InvalidParameter(
                "must be finite and >= 0, and one of them > 0",
                parameter="weights",
                owner="ExactDistribution",
            )
        self._row: NDArray[np.float64] = np.array(row)

    @cached_property
    def numerators(self) -> tuple[int, ...]:
        """The weights over one common denominator, in lowest terms."""
        fractions, exponents = np.frexp(self._row)
        mantissas = np.ldexp(fractions, _MANTISSA_BITS).astype(np.int64)
        lowest = int(exponents[mantissas > 0].min())
        # A zero has exponent 0, which may lie below the lowest of the others.
        shifts = np.maximum(exponents - lowest, 0)
        wide = [m << s for m, s in zip(mantissas.tolist(), shifts.tolist(), strict=True)]
        spare = min((w & -w).bit_length() - 1 for w in wide if w)
        return tuple(w >> spare for w in wide)

    @cached_property
    def total(self) -> int:
        """The sum of the numerators."""
        return sum(self.numerators)

    def draw(self, rng: Seed | BitSource = None) -> int:
        """Draw one outcome; outcome ``k`` has probability ``numerators[k] / total`` exactly."""
        words = bit_source(rng).number()
        first = checked_word(next(words))
        found = self._found_at_sight(first)
        return self._decided(chain([first], words)) if found is None else found

    def _found_at_sight(self, word: int) -> int | None:
        """Return the outcome of all numbers that begin with a word, None if it is not plain.

        Each running sum is off by less than n roundings of the last, and so is the place of the
        number among them: twice that distance to both ends of a piece decides.
        """
        ends = self._rounded_ends
        last = float(ends[-1])
        place = word / 2**WORD_BITS * last
        doubt = (len(ends) + 4) * 2.0**-51 * last
        outcome = int(ends.searchsorted(place, side="right"))
        if outcome >= len(ends) or not place + doubt < ends[outcome]:
            return None
        if outcome > 0 and not ends[outcome - 1] < place - doubt:
            return None
        return outcome

    def _decided(self, words: chain[int]) -> int:
        ends = self._ends
        return resolve_draw(words, self.total, lambda place: bisect_right(ends, place))

    @cached_property
    def _rounded_ends(self) -> NDArray[np.float64]:
        # Scaled by a power of two, which rounds nothing here: the sums cannot overflow, and
        # what is lost of the smallest weights is far below the doubt.
        scale = np.frexp(self._row.max())[1]
        ends: NDArray[np.float64] = np.ldexp(self._row, -scale).cumsum()
        return ends

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(self.numerators))
