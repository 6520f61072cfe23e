"""Where random bits come from: the system's generator, or a seed for experiments.

Every draw in priste is an exact uniform integer below a bound. Floating-point
noise would make the sampled law differ from the law that was checked.
"""

from __future__ import annotations

import secrets
from typing import Protocol

import numpy as np

from priste.errors import InvalidParameter

Seed = int | np.random.Generator | None


class BitSource(Protocol):
    """A source of exact uniform integers."""

    def below(self, bound: int) -> int:
        """Return a uniform integer in ``[0, bound)``; ``bound`` may be any size > 0."""
        ...


class SystemBits:
    """The operating system's cryptographic generator: the default."""

    def below(self, bound: int) -> int:
        return secrets.randbelow(bound)


class SeededBits:
    """A repeatable source. Whoever knows the seed can undo the noise: never for real data."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def below(self, bound: int) -> int:
        if bound <= 0:
            raise InvalidParameter(f"The 'bound' of a draw must be > 0. Got {bound!r}.")
        bits = (bound - 1).bit_length()
        size = (bits + 7) // 8
        while True:  # rejection keeps the draw exactly uniform; a try succeeds with chance > 1/2
            value = int.from_bytes(self._generator.bytes(size), "little") >> (8 * size - bits)
            if value < bound:
                return value


def bit_source(rng: Seed | BitSource) -> BitSource:
    """Turn ``None`` (cryptographic), a seed or a numpy generator into a source of bits.

    >>> bit_source(7).below(10) == bit_source(7).below(10)
    True
    """
    if rng is None:
        return SystemBits()
    if isinstance(rng, bool):
        raise InvalidParameter(
            f"The 'rng' must be None, an integer seed or a generator. Got {rng!r}."
        )
    if isinstance(rng, int | np.integer):
        if rng < 0:
            raise InvalidParameter(f"The 'rng' seed must be >= 0. Got {rng!r}.")
        return SeededBits(np.random.default_rng(int(rng)))
    if isinstance(rng, np.random.Generator):
        return SeededBits(rng)
    if hasattr(rng, "below"):
        return rng
    raise InvalidParameter(
        f"The 'rng' must be None, an integer seed or a numpy Generator. Got {type(rng).__name__}."
    )
