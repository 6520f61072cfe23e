"""Bits for the draws of many streams: each user and step has its own, whoever draws and how often.

Engines repeat work: a worker dies, a slow task is done twice, a run is taken up again. Because the
bits of a step follow from a key, the user and the step alone, every repetition draws the
same, and no step is ever drawn twice with different bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import numpy as np

from priste.randomness import BitSource, bit_source, keyed_bits

Key = bytes | int
"""A secret of at least 16 bytes; or a seed, for experiments: who knows it can undo the noise."""


class StepBits(BitSource):
    """Bits of which every step has its own; use :meth:`begin` before each."""

    def __init__(self, of_step: Callable[[int], BitSource]) -> None:
        self._of_step = of_step
        self.begin(0)

    def begin(self, step: int) -> None:
        """Go to the bits of a step."""
        self._bits = self._of_step(step)

    def number(self) -> Iterator[int]:
        """Begin the next uniform number of the step."""
        return self._bits.number()


def bits_of(key: Key, policy: str, user: str | None) -> StepBits:
    """Return the bits of one user's stream under a policy with this fingerprint.

    >>> one, other = (bits_of(bytes(32), "p", "ada") for _ in range(2))
    >>> one.begin(7), other.begin(7)
    (None, None)
    >>> one.below(1000) == other.below(1000)
    True
    """
    if isinstance(key, bytes):
        return StepBits(lambda step: keyed_bits(key, "step", policy, repr(user), step))
    digest = hashlib.sha256(f"{key}:{user!r}".encode()).digest()
    seed = int.from_bytes(digest[:8], "big")
    return StepBits(lambda step: bit_source(np.random.default_rng([seed, step])))


def point_bits(key: Key, policy: str, user: str | None) -> BitSource:
    """Return bits for the points at which one user's released cells are shown."""
    if isinstance(key, bytes):
        return keyed_bits(key, "points", policy, repr(user))
    return keyed_bits(hashlib.sha256(f"points:{key}".encode()).digest(), policy, repr(user))
