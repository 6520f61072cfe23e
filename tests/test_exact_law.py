"""ExactLaw draws with the very floats as weights."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priste.errors import InvalidParameter
from priste.exact_law import ExactLaw

WEIGHTS = st.lists(
    st.one_of(st.just(0.0), st.floats(min_value=5e-324, max_value=1.0)), min_size=1, max_size=12
).filter(any)


class Counting:
    """Hands out 0, 1, 2, ... in turn."""

    def __init__(self):
        self.next = -1

    def below(self, bound):
        self.next += 1
        return self.next


@given(WEIGHTS)
@settings(max_examples=200, deadline=None)
def test_numerators_are_the_floats_over_one_denominator(weights):
    """Numerators are in the exact proportions of the floats, down to subnormal numbers."""
    law = ExactLaw(weights)
    assert law.total == sum(law.numerators)
    total = sum(map(Fraction, weights))
    for weight, numerator in zip(weights, law.numerators, strict=True):
        assert Fraction(numerator, law.total) == Fraction(weight) / total


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8).filter(any))
@settings(max_examples=100, deadline=None)
def test_every_number_below_the_total_is_counted_once(counts):
    """Running through all numbers of the source gives every outcome exactly its numerator."""
    law = ExactLaw([c / 64 for c in counts])
    source = Counting()
    drawn = Counter(law.draw(source) for _ in range(law.total))
    assert [drawn[k] for k in range(len(counts))] == list(law.numerators)


def test_huge_spreads_are_exact():
    """A weight of 2**-1074 beside 1 is drawn by exactly one number of 2**1074 + 1."""
    law = ExactLaw([1.0, 2.0**-1074])
    assert law.numerators == (2**1074, 1)


@pytest.mark.parametrize(
    "weights", [[], [0.0], [-0.5, 1.0], [np.nan], [np.inf, 1.0], [[0.5, 0.5]], 1.0]
)
def test_weights_that_are_no_law_are_refused(weights):
    """Empty, zero, negative, infinite or two-dimensional weights raise InvalidParameter."""
    with pytest.raises(InvalidParameter, match="weights"):
        ExactLaw(weights)


def test_a_broken_source_of_bits_is_noticed():
    """A source that answers at or above its bound is an error, not a silent last outcome."""

    class TooHigh:
        def below(self, bound):
            return bound

    with pytest.raises(ValueError, match="at or above its bound"):
        ExactLaw([0.5, 0.5]).draw(TooHigh())
