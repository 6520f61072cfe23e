"""Bits for the draws of many streams: each user and step has its own, the same at every repetition.

Engines repeat work: a worker dies, a slow task is done twice, a run is taken up again. Because the
bits of a step follow from a key, the user and the step only, every repetition draws the
same, and no step is ever drawn twice with different bits.
"""

from __future__ import annotations

from collections.abc import Iterator

from priste.randomness import BitSource, keyed_bits
from priste.release.seeded_steps import SeededSteps, seed_of_user

Key = bytes | int
"""A secret of at least 16 bytes, or a seed for experiments. One who knows it can undo the noise."""


class KeyedSteps(BitSource):
    """The bits that belong to a user and a step under a secret."""

    def __init__(self, secret: bytes, policy: str, user: str | None) -> None:
        self._of = secret, "step", policy, repr(user)
        self.begin(0)

    def begin(self, step: int) -> None:
        """Go to the bits of a step."""
        self._bits = keyed_bits(*self._of, step)

    def number(self) -> Iterator[int]:
        """Begin the next uniform number of the step."""
        return self._bits.number()


StepBits = KeyedSteps | SeededSteps
"""Bits of which every step of a stream has its own; ``begin`` goes to those of a step."""


def bits_of(key: Key, policy: str, user: str | None) -> StepBits:
    """Return the bits of one user's stream under a policy with this fingerprint.

    >>> one, other = (bits_of(bytes(32), "p", "ada") for _ in range(2))
    >>> one.begin(7), other.begin(7)
    (None, None)
    >>> one.below(1000) == other.below(1000)
    True
    """
    if isinstance(key, bytes):
        return KeyedSteps(key, policy, user)
    return SeededSteps(seed_of_user(key, user))
