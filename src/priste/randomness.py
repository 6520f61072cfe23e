"""Sources of random bits: the system's generator, a secret key, or a seed for experiments.

Every draw in priste starts a uniform number in [0, 1) and reads as many of its binary digits as it
needs. Draws are exact: with floating-point noise the sampled distribution would differ from the one
that was checked. How far a number is read never changes the numbers after it, and they depend
neither on the processor nor on the version of a library. So a seeded experiment gives the same
sample everywhere. Where two machines disagree about the last bit of a probability, a draw differs
with about the probability of that bit, and later draws do not shift.
"""

from __future__ import annotations

import hashlib
import secrets
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate, chain

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.errors import InvalidParameter, NoValue

WORD_BITS = 64
"""How many binary digits of a number are read at a time."""

SHORTEST_SECRET = 16
"""Bytes that a secret of :func:`keyed_bits` has at least."""

Part = str | bytes | int


class BitSource(ABC):
    """A source of independent uniform numbers; a subclass implements :meth:`number`."""

    @abstractmethod
    def number(self) -> Iterator[int]:
        """Begin the next uniform number in [0, 1): its binary digits, 64 at a time, without end.

        Numbers are independent of each other, and how far one is read does not change the next.
        """

    def below(self, bound: int) -> int:
        """Return a uniform integer in ``[0, bound)``; ``bound`` may be any size > 0."""
        if bound <= 0:
            raise InvalidParameter("must be > 0", parameter="bound", owner="a draw", value=bound)
        return resolve_draw(self.number(), bound, lambda place: place)


def resolve_draw(words: Iterator[int], total: int, outcome: Callable[[int], int]) -> int:
    """Return ``outcome(floor(u * total))`` of the number u, reading it as far as is needed.

    ``outcome`` never falls as its argument grows. Exact: the digits that were read leave an
    interval of possible numbers, and more are read until all of it has one outcome.

    >>> resolve_draw(iter([2**63]), 10, lambda place: place)  # a half
    5
    """
    read, digits = 0, 0
    while True:
        read, digits = read << WORD_BITS | checked_word(next(words)), digits + WORD_BITS
        first = outcome(read * total >> digits)
        if first == outcome(((read + 1) * total - 1) >> digits):
            return first


def checked_word(word: int) -> int:
    """Return 64 binary digits as they are; ValueError if a broken source gave something else."""
    if not 0 <= word < 1 << WORD_BITS:
        raise ValueError(f"The source of bits returned a number that has not {WORD_BITS} bits.")
    return word


class SystemBits(BitSource):
    """The operating system's cryptographic generator: the default."""

    def number(self) -> Iterator[int]:
        while True:
            yield secrets.randbits(WORD_BITS)


class KeyedBits(BitSource):
    """Numbers that a key determines: number n is SHAKE-256 of the key and n.

    Without the key they cannot be distinguished from random ones; with it they are the same on
    every machine. Made by :func:`keyed_bits` and, for a seed, by :func:`bit_source`.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._begun = 0

    def number(self) -> Iterator[int]:
        start = self._key + self._begun.to_bytes(8, "little")
        self._begun += 1
        return _expanded(start)


class GeneratorBits(BitSource):
    """A numpy generator, for experiments: its state is enough to undo the noise.

    Every number takes 16 bytes of the generator; digits beyond those are SHAKE-256 of them.
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def number(self) -> Iterator[int]:
        start = self._generator.bytes(16)
        return (word for part in (_words(start), _expanded(start)) for word in part)


def _words(data: bytes) -> Iterator[int]:
    size = WORD_BITS // 8
    return (
        int.from_bytes(data[at : at + size], "little")
        for at in range(0, len(data) - size + 1, size)
    )


def _expanded(start: bytes) -> Iterator[int]:
    stream, done, size = hashlib.shake_256(start), 0, WORD_BITS // 8
    while True:  # a longer digest begins with the shorter one
        yield from _words(stream.digest(size)[done:])
        done, size = size, 8 * size


def keyed_bits(secret: bytes, *parts: Part) -> KeyedBits:
    """Return the numbers that belong to some parts (a stream, a user, a step) under a secret.

    The same secret and parts give the same numbers in every process and on every machine; others
    give independent ones, and ``("ab", 1)`` is not ``("a", "b1")``. For engines that must not draw
    twice for one step. Two distributions that are drawn from with the same parts are drawn from
    together: what distinguishes them (the stream, the policy) belongs into the parts. With the
    secret the noise can be undone: at least 16 bytes, best ``secrets.token_bytes(32)``, kept safe.

    >>> secret = bytes(range(32))
    >>> keyed_bits(secret, "ada", 7).below(100) == keyed_bits(secret, "ada", 7).below(100)
    True
    """
    if not isinstance(secret, bytes) or len(secret) < SHORTEST_SECRET:
        # The value stays out of the message: it is a secret.
        raise InvalidParameter(
            f"must be at least {SHORTEST_SECRET} bytes",
            parameter="secret",
            owner="keyed_bits",
            value=NoValue.SECRET,
            hint="secrets.token_bytes(32) makes one.",
        )
    return KeyedBits(_key(b"keyed", secret, *parts))


def _key(kind: bytes, *parts: Part) -> bytes:
    """Return 32 bytes that depend on every part, its type and where it ends."""
    hashed = hashlib.shake_256(b"priste draws 1:" + kind)
    for part in parts:
        match part:
            case bytes():
                tag, content = b"b", part
            case str():
                tag, content = b"s", part.encode("utf-8", "surrogatepass")
            case int() | np.integer() if not isinstance(part, bool):
                tag, content = b"i", format(int(part), "x").encode("ascii")
            case _:
                raise InvalidParameter(
                    "must be texts, bytes or integers",
                    parameter="parts",
                    owner="keyed_bits",
                    value=type(part),
                )
        hashed.update(tag + len(content).to_bytes(8, "little") + content)
    return hashed.digest(32)


Seed = int | np.random.Generator | None


def bit_source(rng: Seed | BitSource) -> BitSource:
    """Turn ``None`` (cryptographic), a seed or a numpy generator into a source of bits.

    A seed gives the same numbers on every machine and with every version of numpy.

    >>> [bit_source(7).below(10) for _ in range(2)]
    [6, 6]
    """
    if rng is None:
        return SystemBits()
    if isinstance(rng, bool):
        raise InvalidParameter(
            "must be None, an integer seed or a generator", parameter="rng", value=rng
        )
    if isinstance(rng, int | np.integer):
        if rng < 0:
            raise InvalidParameter("must be >= 0 as a seed", parameter="rng", value=rng)
        return KeyedBits(_key(b"seed", int(rng)))
    if isinstance(rng, np.random.Generator):
        return GeneratorBits(rng)
    if isinstance(rng, BitSource):
        return rng
    raise InvalidParameter(
        "must be None, an integer seed, a numpy Generator or a BitSource",
        parameter="rng",
        value=type(rng),
    )


_MANTISSA_BITS = 53


class ExactDistribution:
    """A distribution on ``0 .. n-1`` with probabilities proportional to the given floats, exactly.

    A float is a whole number times a power of two, so a row of floats is, over one common
    denominator, a row of whole numbers. Their running sums cut [0, 1) into one interval per
    outcome. A uniform number is read digit by digit until it lies in one interval. Rounded running
    sums find the interval quickly; where their error could matter, the whole numbers decide. Two
    rows that differ in last bits give the same outcome for the same uniform number, except with
    about the probability by which they differ.

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
