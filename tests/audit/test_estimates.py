"""Intervals hold at the stated confidence, checked by exact sums and not by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.drawn_examples import examples

from priste import InvalidParameter
from priste.audit.estimates import (
    area_under_curve,
    clopper_pearson_high,
    clopper_pearson_low,
    mean,
    proportion,
)

ROUNDING = 1e-12


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("error", [0.05, 0.001])
def test_clopper_pearson_is_wrong_no_more_often_than_stated(trials, error) -> None:
    """For every probability on a fine mesh, the chance that a bound fails is at most the error."""
    low = np.array([clopper_pearson_low(k, trials, error) for k in range(trials + 1)])
    high = np.array([clopper_pearson_high(k, trials, error) for k in range(trials + 1)])
    for p in np.linspace(0.001, 0.999, 333):
        chances = stats.binom.pmf(np.arange(trials + 1), trials, p)
        assert chances[low > p].sum() <= error + ROUNDING
        assert chances[high < p].sum() <= error + ROUNDING


def test_bounds_at_the_ends() -> None:
    """Without successes the lower bound is 0, without failures the upper one is 1."""
    assert clopper_pearson_low(0, 5, 0.05) == 0.0
    assert clopper_pearson_high(5, 5, 0.05) == 1.0
    assert clopper_pearson_low(5, 5, 0.05) == pytest.approx(0.05 ** (1 / 5))


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=8),
    st.lists(st.integers(0, 4), min_size=2, max_size=8),
)
@examples(100)
def test_area_counts_pairs(positive, negative) -> None:
    """The area is the share of pairs in the right order, ties counting half."""
    pairs = [1.0 if x > y else 0.5 * (x == y) for x in positive for y in negative]
    found = area_under_curve(positive, negative)
    assert found.value == pytest.approx(sum(pairs) / len(pairs))
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


def test_area_without_one_side_is_unknown() -> None:
    """An area needs both kinds of cases."""
    found = area_under_curve([], [1.0])
    assert math.isnan(found.value)
    assert (found.low, found.high) == (0.0, 1.0)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30), st.sampled_from([0.9, 0.95]))
def test_the_interval_is_students(values, confidence) -> None:
    """The interval equals scipy's own interval of Student's t around the mean."""
    found = mean(values, confidence)
    error = stats.sem(values)
    assert found.value == pytest.approx(np.mean(values), abs=ROUNDING)
    if error > 0:
        low, high = stats.t.interval(confidence, len(values) - 1, loc=np.mean(values), scale=error)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)
    else:
        assert found.low == found.value == found.high


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Over 2,000 samples of ten, the true mean lies inside about 95 times in 100."""
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        found = mean(rng.normal(3.0, 2.0, size=10))
        inside += found.low <= 3.0 <= found.high
    # Four standard deviations of a binomial with 2,000 draws of 0.95.
    assert abs(inside - 1900) < 4 * (2000 * 0.95 * 0.05) ** 0.5


@pytest.mark.parametrize("values", [[], [1.0], [1.0, float("nan")], [[1.0, 2.0]]])
def test_intervals_that_mean_nothing_are_refused(values: list[float]) -> None:
    """One value, none, or one that is no number has no interval."""
    with pytest.raises(InvalidParameter, match="two or more finite"):
        mean(values)


def test_hostile_counts() -> None:
    """Impossible counts and errors are refused."""
    with pytest.raises(InvalidParameter, match="successes"):
        proportion(5, 4)
    with pytest.raises(InvalidParameter, match="error"):
        clopper_pearson_low(1, 4, 0.0)
