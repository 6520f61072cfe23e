"""ExactDistribution draws with the very floats as weights, and nearly equal floats draw alike."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.written_numbers import WrittenNumbers

from priste.errors import InvalidParameter
from priste.randomness import BitSource, ExactDistribution, bit_source

WEIGHTS = st.lists(
    st.one_of(st.just(0.0), st.floats(min_value=5e-324, max_value=1.0)), min_size=1, max_size=12
).filter(any)
NUMBERS = st.integers(0, 2**192 - 1).map(lambda digits: Fraction(digits, 2**192))


def outcome(weights: list[float], number: Fraction) -> int:
    """Where a number lies among the running sums, in fractions: the obviously right draw."""
    exact = [Fraction(weight) for weight in weights]
    ends = itertools.accumulate(weight / sum(exact) for weight in exact)
    return next(place for place, end in enumerate(ends) if number < end)


@given(WEIGHTS)
@examples(200)
def test_numerators_are_the_floats_over_one_denominator(weights: list[float]) -> None:
    """Numerators are in the exact proportions of the floats, down to subnormal numbers."""
    distribution = ExactDistribution(weights)
    assert distribution.total == sum(distribution.numerators)
    total = sum(map(Fraction, weights))
    for weight, numerator in zip(weights, distribution.numerators, strict=True):
        assert Fraction(numerator, distribution.total) == Fraction(weight) / total


@given(WEIGHTS, NUMBERS)
@examples(300)
def test_a_draw_is_the_piece_in_which_the_number_lies(
    weights: list[float], number: Fraction
) -> None:
    """For every number the outcome is that of the exact running sums."""
    assert ExactDistribution(weights).draw(WrittenNumbers(number)) == outcome(weights, number)


@given(WEIGHTS)
@example([1 / 3] * 3)
@example([1e308] * 5)
@example([5e-324, 1.0, 5e-324])
@examples(200)
def test_pieces_end_exactly_where_their_shares_end(weights: list[float]) -> None:
    """The first and the last number of 2**2300 in each piece are drawn as its outcome.

    Draws rise with the number, so this is the whole table: each outcome has exactly its share.
    """
    finest = 2**2300
    distribution, passed = ExactDistribution(weights), 0
    for place, numerator in enumerate(distribution.numerators):
        if numerator:
            first = -(-passed * finest // distribution.total)
            last = -(-(passed + numerator) * finest // distribution.total) - 1
            for digits in (first, last):
                assert distribution.draw(WrittenNumbers(Fraction(digits, finest))) == place
        passed += numerator


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8).filter(any))
@examples(100)
def test_equally_spaced_numbers_are_shared_out_in_proportion(counts: list[int]) -> None:
    """Running through the numbers k / total gives every outcome exactly its numerator."""
    distribution = ExactDistribution([count / 64 for count in counts])
    slip = Fraction(1, 2**200)  # k / total itself has endless digits
    numbers = (Fraction(k, distribution.total) + slip for k in range(distribution.total))
    drawn = Counter(distribution.draw(WrittenNumbers(number)) for number in numbers)
    assert [drawn[k] for k in range(len(counts))] == list(distribution.numerators)


def test_huge_spreads_are_exact() -> None:
    """A weight of 2**-1074 beside 1 owns the last of 2**1074 + 1 parts, and is drawn there."""
    distribution = ExactDistribution([1.0, 2.0**-1074])
    assert distribution.numerators == (2**1074, 1)
    assert distribution.draw(WrittenNumbers(1 - Fraction(1, 2**1075))) == 1
    assert distribution.draw(WrittenNumbers(1 - Fraction(1, 2**1073))) == 0


@given(st.integers(0, 10**6), st.integers(2, 400))
@examples(60)
def test_last_bits_change_no_draw(seed: int, size: int) -> None:
    """Rows that differ by last bits in every entry draw the same from the same source.

    A thousand draws differ with a probability below 1000 · size² · 2**-52, 4e-8 at most.
    """
    generator = np.random.default_rng(seed)
    row = generator.dirichlet(np.full(size, 0.3))
    moved = np.nextafter(row, np.where(generator.random(size) < 0.5, -np.inf, np.inf)).clip(min=0.0)
    one, other = bit_source(seed), bit_source(seed)
    distribution, twin = ExactDistribution(row), ExactDistribution(moved)
    for _ in range(1000 if seed % 10 == 0 else 50):
        assert distribution.draw(one) == twin.draw(other)


def test_a_flipped_draw_does_not_shift_the_draws_after_it() -> None:
    """Where last bits do change an outcome, and where digits run out, later draws stay."""
    half = WrittenNumbers(Fraction(1, 2) - Fraction(1, 2**70), 0.3, 0.9)
    distribution = ExactDistribution([0.5, 0.5])
    flipped = ExactDistribution([math.nextafter(0.5, 0.0), 0.5])
    assert [distribution.draw(half) for _ in range(3)] == [0, 0, 1]
    half.begun = 0
    assert [flipped.draw(half) for _ in range(3)] == [1, 0, 1]


@given(st.integers(0, 2**32), st.integers(1, 50), st.data())
@examples(100)
def test_a_draw_begins_one_number_and_zeros_do_not_count(
    seed: int, size: int, data: st.DataObject
) -> None:
    """Drawing among the stored values of a sparse row is drawing from the row with its zeros."""
    values = np.random.default_rng(seed).random(size) + 2.0**-60
    where = sorted(data.draw(st.sets(st.integers(0, 80), min_size=size, max_size=size)))
    row = np.zeros(81)
    row[where] = values
    dense, sparse = bit_source(seed), bit_source(seed)
    for _ in range(20):
        assert ExactDistribution(row).draw(dense) == where[ExactDistribution(values).draw(sparse)]
    source = WrittenNumbers(*([Fraction(1, 3)] * 5))
    ExactDistribution(row).draw(source)
    assert source.begun == 1


@pytest.mark.parametrize(
    "weights", [[], [0.0], [-0.5, 1.0], [np.nan], [np.inf, 1.0], [[0.5, 0.5]], 1.0]
)
def test_weights_that_are_no_distribution_are_refused(weights: object) -> None:
    """Empty, zero, negative, infinite or two-dimensional weights raise InvalidParameter."""
    with pytest.raises(InvalidParameter, match="weights"):
        ExactDistribution(weights)  # type: ignore[arg-type]


def test_a_distribution_keeps_the_weights_it_was_given() -> None:
    """Changing the array afterwards changes no draw."""
    weights = np.array([1.0, 0.0])
    distribution = ExactDistribution(weights)
    weights[:] = [0.0, 1.0]
    assert distribution.draw(1) == 0
    assert distribution.numerators == (1, 0)


@pytest.mark.parametrize("word", [-1, 2**64])
def test_a_broken_source_of_bits_is_noticed(word: int) -> None:
    """A source that answers out of range is an error, not a silent first or last outcome."""

    class Broken(BitSource):
        def number(self) -> Iterator[int]:
            return itertools.repeat(word)

    with pytest.raises(ValueError, match="64 bits"):
        ExactDistribution([0.5, 0.5]).draw(Broken())
