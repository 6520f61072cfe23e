"""A source of bits whose uniform numbers are written down, to walk through a table by hand."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from priste.randomness import BitSource


class WrittenNumbers(BitSource):
    """Hands out the given numbers of [0, 1) in turn, digit for digit, and counts them."""

    def __init__(self, *numbers: Fraction | float | int) -> None:
        self.numbers = [Fraction(number) for number in numbers]
        self.begun = 0
        self.words_read = 0

    def number(self) -> Iterator[int]:
        rest = self.numbers[self.begun]
        self.begun += 1
        return self._digits(rest)

    def _digits(self, rest: Fraction) -> Iterator[int]:
        while True:
            word, rest = divmod(rest * 2**64, 1)
            self.words_read += 1
            yield int(word)
