"""The measures of worth against a second implementation, closed forms and hand examples."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from priste.forecast import measures
from priste.maps import Grid

ROUNDING = 1e-12

GRID = Grid(rows=4, columns=5, cell_size=0.5)
paths = st.lists(
    st.lists(st.integers(0, GRID.size - 1), min_size=1, max_size=12).map(np.array),
    min_size=1,
    max_size=4,
)
counts = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)


@given(counts, counts)
def test_divergence_is_the_square_of_scipys_distance(one: list[int], other: list[int]) -> None:
    """SciPy's Jensen–Shannon distance, squared, is the divergence."""
    p, q = np.array(one, float), np.array(other, float)
    assert measures.jensen_shannon(p, q) == pytest.approx(float(jensenshannon(p, q)) ** 2, abs=1e-9)


@given(paths, paths)
def test_divergences_are_bounded_and_symmetric(one: list, other: list) -> None:
    """All divergences lie in [0, ln 2], are 0 for equal data and do not care about the order."""
    for measure in (
        measures.density_divergence,
        measures.transition_divergence,
        measures.trip_divergence,
        measures.length_divergence,
    ):
        value = measure(GRID, one, other)
        if math.isnan(value):  # nobody moves: there are no transitions
            continue
        assert 0.0 <= value <= math.log(2.0)
        assert value == pytest.approx(measure(GRID, other, one), abs=ROUNDING)
        assert measure(GRID, one, one) == pytest.approx(0.0, abs=ROUNDING)


@given(paths, paths)
def test_transitions_are_counted_as_pairs(one: list, other: list) -> None:
    """A plain count of pairs gives the same divergence as the numbered one."""
    tables = [Counter(p for path in data for p in pairwise(path)) for data in (one, other)]
    names = sorted(set(tables[0]) | set(tables[1]))
    vectors = [np.array([table[name] for name in names], float) for table in tables]
    expected = measures.jensen_shannon(*vectors)
    found = measures.transition_divergence(GRID, one, other)
    assert (math.isnan(expected) and math.isnan(found)) or found == pytest.approx(
        expected, abs=ROUNDING
    )


@given(paths, paths)
def test_query_error_equals_counting_square_by_square(one: list, other: list) -> None:
    """The windowed sums are what counting in each square gives: squares of 1 cell in 9."""
    side = 1  # round(sqrt(20 / 9))
    total = sum(len(path) for path in one)
    errors = []
    for row in range(GRID.rows - side + 1):
        for column in range(GRID.columns - side + 1):
            cells = {
                (row + i) * GRID.columns + column + j for i in range(side) for j in range(side)
            }
            here = [sum(int(c) in cells for path in data for c in path) for data in (one, other)]
            errors.append(abs(here[0] - here[1]) / max(here[0], 0.01 * total))
    assert measures.query_error(GRID, one, other) == pytest.approx(float(np.mean(errors)))


def test_query_error_on_larger_squares_by_hand() -> None:
    """On 6 by 6 cells a query asks about 2 by 2 cells; one visit moved away changes four counts."""
    grid = Grid(rows=6, columns=6, cell_size=1.0)
    here, there = grid.columns + 1, 4 * grid.columns + 4  # each in four squares of 25
    true, released = [np.array([here])], [np.array([there])]
    # Four squares lose their one visit (error 1); four gain one where 1 % of 1 was: error 100.
    assert measures.query_error(grid, true, released) == pytest.approx((4 * 1 + 4 * 100) / 25)


def test_hotspots_by_hand() -> None:
    """Two hotspots in the wrong order: gains 1/2 and 1, discounted by log2(2) and log2(3)."""
    true, released = [np.array([0, 0, 1])], [np.array([1, 1, 0])]
    gain = 0.5 / math.log2(2) + 1.0 / math.log2(3)
    best = 1.0 / math.log2(2) + 0.5 / math.log2(3)
    assert measures.hotspot_ndcg(GRID, true, released) == pytest.approx(gain / best)
    assert measures.hotspot_ndcg(GRID, true, true) == pytest.approx(1.0)
    assert measures.hotspot_ndcg(GRID, true, [np.array([7, 8, 9])]) == 0.0


def test_trip_lengths_by_hand() -> None:
    """A trip along a row is as long as its steps; staying is a trip of length 0."""
    assert measures.trip_lengths(GRID, [np.array([0, 1, 2]), np.array([3, 3])]).tolist() == [1, 0]


def test_lengths_in_other_classes_share_nothing() -> None:
    """All short against all long: ln 2."""
    short, long = [np.array([0, 0])], [np.array([0, 4])]
    assert measures.length_divergence(GRID, short, long) == pytest.approx(math.log(2))


def test_own_places_by_hand() -> None:
    """Home in the west, work in the east: a release agrees if it is on the right side."""
    grid = Grid(rows=1, columns=5, cell_size=1.0)
    true = np.array([0, 0, 0, 4, 4])
    assert measures.own_place_agreement(grid, true, np.array([0, 1, 3, 3, 4])) == pytest.approx(0.8)
    # In the middle both are as near: the place visited more counts.
    assert measures.own_place_agreement(grid, true, np.full(5, 2)) == pytest.approx(0.6)
