"""Repeatable bits for streams of experiments: each user and each step has its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from priste.randomness import BitSource, bit_source


class SeededSteps(BitSource):
    """Repeatable bits in which every step has its own seed; only for experiments.

    So a stream that was stopped and resumed releases what it would have released anyway, and no
    bits are ever used for two steps.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.begin(0)

    def begin(self, step: int) -> None:
        """Go to the bits of a step."""
        self._bits = bit_source(np.random.default_rng([self._seed, step]))

    def number(self) -> Iterator[int]:
        """Begin the next uniform number of the step."""
        return self._bits.number()


def seed_of_user(seed: int, user: str | None) -> int:
    """Return the seed of one user's stream in a run with a seed; it does not depend on other users.

    >>> seed_of_user(1, "ada") == seed_of_user(1, "ada") != seed_of_user(1, None)
    True
    """
    return int.from_bytes(hashlib.sha256(f"{seed}:{user!r}".encode()).digest()[:8], "big")
