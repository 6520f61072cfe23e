"""Intervals and verdicts on claims."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from priste.errors import InvalidParameter
from priste.reproduce.statistics import Comparison, all_of, interval, some_of

TOLERANCE = 1e-9

samples = st.lists(st.floats(-100, 100), min_size=2, max_size=30)


@given(samples)
def test_the_interval_is_students(values: list[float]) -> None:
    """The interval equals scipy's own interval of Student's t around the mean."""
    found = interval(values)
    error = stats.sem(values)
    assert found.mean == pytest.approx(np.mean(values), abs=TOLERANCE)
    if error > 0:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=np.mean(values), scale=error)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)
    else:
        assert found.low == found.mean == found.high


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Over 2,000 samples of ten, the true mean lies inside about 95 times in 100."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        found = interval(rng.normal(3.0, 2.0, size=10))
        inside += found.low <= 3.0 <= found.high
    # Four standard deviations of a binomial with 2,000 draws of 0.95.
    assert abs(inside - 1900) < 4 * (2000 * 0.95 * 0.05) ** 0.5


@pytest.mark.parametrize("values", [[], [1.0], [1.0, float("nan")], [[1.0, 2.0]]])
def test_intervals_that_mean_nothing_are_refused(values: list[float]) -> None:
    """One value, none, or one that is no number has no interval."""
    with pytest.raises(InvalidParameter, match="two or more finite"):
        interval(values)


def test_pairs_must_be_pairs() -> None:
    """Runs are compared one by one, so both sides have as many."""
    with pytest.raises(InvalidParameter, match="as many on both sides"):
        Comparison.of("x", [1.0, 2.0, 3.0], [1.0, 2.0])


LARGER = Comparison.of("larger", [3.0, 3.1, 2.9], [1.0, 1.1, 1.0])
SMALLER = Comparison.of("smaller", [1.0, 1.1, 1.0], [3.0, 3.1, 2.9])
OPEN = Comparison.of("open", [1.0, 3.0, 2.0], [2.0, 2.0, 2.1])
EQUAL = Comparison.of("equal", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


def test_a_comparison_has_three_verdicts() -> None:
    """Above 0, below 0, and undecided; no difference at all speaks neither for nor against."""
    assert LARGER.verdict == "reproduced"
    assert SMALLER.verdict == "not reproduced"
    assert OPEN.verdict == EQUAL.verdict == "not decidable"


def test_rounding_is_no_difference() -> None:
    """Values that differ in their last digits alone are equal."""
    nearly = Comparison.of("nearly", [0.2 + 3e-17, 0.2 + 6e-17, 0.1 + 0.2], [0.2, 0.2, 0.3])
    assert nearly.difference.low == nearly.difference.high == 0.0


def test_a_claim_about_all_needs_all() -> None:
    """One clear exception refutes, one open case leaves open, none at all decides nothing."""
    assert all_of("c", [LARGER, LARGER]).verdict == "reproduced"
    assert all_of("c", [LARGER, OPEN]).verdict == "not decidable"
    assert all_of("c", [LARGER, OPEN, SMALLER]).verdict == "not reproduced"
    assert all_of("c", []).verdict == "not decidable"


def test_a_claim_about_some_needs_one_beyond_chance() -> None:
    """The best of many must still be clear when it is known to be the best of many."""
    assert some_of("c", [SMALLER, LARGER]).verdict == "reproduced"
    assert some_of("c", [SMALLER, SMALLER]).verdict == "not reproduced"
    assert some_of("c", [SMALLER, OPEN]).verdict == "not decidable"
    assert some_of("c", []).verdict == "not decidable"
    faint = Comparison.of("faint", [1.2, 1.4, 1.3], [0.9, 0.9, 0.9])
    assert faint.verdict == "reproduced"
    assert some_of("c", [faint] + [OPEN] * 20).verdict == "not decidable"
