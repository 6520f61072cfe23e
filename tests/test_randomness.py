"""Random numbers are exactly uniform, the same everywhere when seeded, cryptographic by default."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.oracles.written_numbers import WrittenNumbers

from priste import InvalidParameter
from priste.randomness import BitSource, GeneratorBits, SystemBits, bit_source, keyed_bits

FALSE_ALARM = 1e-6
SECRET = bytes(range(32))
WORDS = st.integers(0, 2**64 - 1)


def first_words(source: BitSource, count: int = 3) -> list[int]:
    """The first digits of the next number."""
    return list(itertools.islice(source.number(), count))


def test_none_is_the_cryptographic_generator() -> None:
    """Nobody gets a predictable stream without asking for one."""
    assert isinstance(bit_source(None), SystemBits)
    assert 0 <= bit_source(None).below(10) < 10
    assert first_words(bit_source(None)) != first_words(bit_source(None))


@given(st.integers(1, 2**200), WORDS, WORDS)
def test_an_integer_is_the_floor_of_the_number_times_the_bound(
    bound: int, first: int, second: int
) -> None:
    """below(b) of the number u is floor(u b): every integer owns an interval of length 1 / b."""
    number = Fraction(first * 2**64 + second, 2**128)
    assert WrittenNumbers(number).below(bound) == number * bound // 1


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 2**63, 2**64, 2**64 + 1, 10**30])
def test_a_number_is_read_no_further_than_needed(bound: int) -> None:
    """Small bounds take one word but for few numbers; larger ones as many as they have."""
    source = WrittenNumbers(Fraction(1, 7))
    source.below(bound)
    assert source.words_read == (1 if bound <= 2**64 else 2)


def test_the_ends_of_intervals_are_exact() -> None:
    """With bound 3 the numbers just below 1/3 give 0 and those just above give 1."""
    third, little = Fraction(1, 3), Fraction(1, 2**300)
    below = Fraction((third / little) // 1) * little
    assert WrittenNumbers(below).below(3) == 0
    assert WrittenNumbers(below + little).below(3) == 1


@given(st.integers(0, 2**32), st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_how_far_a_number_is_read_does_not_change_the_next(seed: int, reads: list[int]) -> None:
    """Number n of a seed, of a key and of a generator is the same whatever was read before."""
    for make in (
        lambda: bit_source(seed),
        lambda: keyed_bits(SECRET, seed),
        lambda: bit_source(np.random.default_rng(seed)),
    ):
        plain, read = make(), make()
        expected = [first_words(plain, 6) for _ in reads]
        assert [first_words(read, count) for count in reads] == [
            words[:count] for words, count in zip(expected, reads, strict=True)
        ]


def test_numbers_of_a_seed_are_those_written_here() -> None:
    """A seed means these digits on every machine, with every numpy, for ever."""
    source = bit_source(2019)
    assert first_words(source, 2) == [3966264223971608215, 168549945163728192]
    assert source.below(10**6) == 547333
    assert keyed_bits(SECRET, "ada", 7, b"x").below(10**6) == 256610


@pytest.mark.parametrize("bound", [3, 7, 257])
@pytest.mark.parametrize("make", [bit_source, lambda seed: bit_source(np.random.default_rng(seed))])
def test_long_run_frequencies_are_uniform(bound: int, make: object) -> None:
    """A chi-square test that cries wolf once in a million seeds does not reject."""
    source = make(20)  # type: ignore[operator]
    counts = np.bincount([source.below(bound) for _ in range(20_000)], minlength=bound)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_a_generator_is_used_as_it_is() -> None:
    """A numpy generator is advanced by 16 bytes a number: two draws differ from a restart."""
    generator = np.random.default_rng(1)
    source = bit_source(generator)
    assert isinstance(source, GeneratorBits)
    drawn = [source.below(2**64) for _ in range(3)]
    fresh = np.random.default_rng(1)
    assert drawn == [int.from_bytes(fresh.bytes(16)[:8], "little") for _ in range(3)]
    assert len(set(drawn)) == 3


DIFFERENT = [
    ("ab", 1),
    ("a", "b1"),
    ("a", "b", 1),
    (b"ab", 1),
    ("ab", "1"),
    ("ab", -1),
    ("ab",),
    ("ab", 1, ""),
    ("", "ab", 1),
    (),
]


def test_keyed_numbers_belong_to_secret_and_parts() -> None:
    """Parts are told apart by their types and ends, secrets by every byte; numpy integers are
    integers."""
    seen = [tuple(first_words(keyed_bits(SECRET, *parts))) for parts in DIFFERENT]
    seen.append(tuple(first_words(keyed_bits(SECRET + b"\0", "ab", 1))))
    seen.append(tuple(first_words(bit_source(1))))
    assert len(set(seen)) == len(seen)
    assert first_words(keyed_bits(SECRET, "ab", np.int64(1))) == list(seen[0])


@pytest.mark.parametrize("secret", [b"", bytes(15), "x" * 32, None, 7])
def test_weak_secrets_are_refused_without_showing_them(secret: object) -> None:
    """A secret has 16 bytes at least."""
    with pytest.raises(InvalidParameter, match="at least 16 bytes") as problem:
        keyed_bits(secret, "ada")  # type: ignore[arg-type]
    assert "xxx" not in str(problem.value)


@pytest.mark.parametrize("part", [1.5, True, None, ["a"]])
def test_other_parts_are_refused(part: object) -> None:
    """A part is a text, bytes or an integer."""
    with pytest.raises(InvalidParameter, match="'parts'"):
        keyed_bits(SECRET, part)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1, True, "seed", 1.5])
def test_other_seeds_are_refused(bad: object) -> None:
    """What is not a seed is an error that names the rule."""
    with pytest.raises(InvalidParameter, match="'rng'"):
        bit_source(bad)  # type: ignore[arg-type]


def test_an_empty_range_is_refused() -> None:
    """There is no integer in [0, 0)."""
    with pytest.raises(InvalidParameter, match="must be > 0"):
        bit_source(1).below(0)


@pytest.mark.parametrize("word", [-1, 2**64])
def test_a_broken_source_is_noticed(word: int) -> None:
    """A source whose words have not 64 bits is an error, not a silent last outcome."""

    class Broken(BitSource):
        def number(self) -> Iterator[int]:
            return itertools.repeat(word)

    with pytest.raises(ValueError, match="64 bits"):
        Broken().below(10)
