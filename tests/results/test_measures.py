"""The measures of worth against a second implementation, closed forms and hand examples."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from priste.maps import Grid
from priste.results import measures

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


@given(paths, paths)
def test_density_and_trips_are_plain_counts(one: list, other: list) -> None:
    """SciPy's divergence of counted cells, and of counted (first, last) cells."""

    def divergence(counts: list[Counter]) -> float:
        names = sorted(set(counts[0]) | set(counts[1]))
        return float(jensenshannon(*[[c[name] for name in names] for c in counts])) ** 2

    cells = [Counter(int(c) for path in data for c in path) for data in (one, other)]
    ends = [Counter((int(path[0]), int(path[-1])) for path in data) for data in (one, other)]
    assert measures.density_divergence(GRID, one, other) == pytest.approx(
        divergence(cells), abs=1e-9
    )
    assert measures.trip_divergence(GRID, one, other) == pytest.approx(divergence(ends), abs=1e-9)


@given(paths, paths)
def test_lengths_are_classed_one_by_one(one: list, other: list) -> None:
    """Each trip is walked step by step and put into its class by division."""

    def walked(path: np.ndarray) -> float:
        return sum(math.dist(GRID.centers[a], GRID.centers[b]) for a, b in pairwise(path))

    lengths = [[walked(path) for path in data] for data in (one, other)]
    longest = max(*lengths[0], *lengths[1], 0.0) or 1.0
    # A length on the edge of two classes may fall into either by its last bit.
    shares = [20 * length / longest for each in lengths for length in each]
    assume(all(abs(s - round(s)) > 1e-6 or s in (0.0, 20.0) for s in shares))
    counts = [
        np.bincount([min(19, int(20 * x / longest)) for x in each], minlength=20)
        for each in lengths
    ]
    assert measures.length_divergence(GRID, one, other) == pytest.approx(
        float(jensenshannon(*counts)) ** 2, abs=1e-9
    )


@given(paths, paths)
def test_hotspots_cell_by_cell(one: list, other: list) -> None:
    """Ranks by repeatedly taking the most visited cell, gains added one at a time."""

    def ranked(data: list) -> list[int]:
        counts = Counter(int(c) for path in data for c in path)
        found = []
        while counts and len(found) < 10:
            best = min(counts, key=lambda cell: (-counts[cell], cell))
            found.append(best)
            del counts[best]
        return found

    true, told = ranked(one), ranked(other)
    gain = sum(
        1 / (true.index(cell) + 1) / math.log2(place + 2)
        for place, cell in enumerate(told)
        if cell in true
    )
    best = sum(1 / (place + 1) / math.log2(place + 2) for place in range(len(true)))
    assert measures.hotspot_ndcg(GRID, one, other) == pytest.approx(gain / best)


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), min_size=1, max_size=15))
def test_own_places_one_step_at_a_time(both: list[tuple[int, int]]) -> None:
    """The nearest own place of each step, by comparing every place, more visited ones first."""
    true, told = [t for t, _ in both], [r for _, r in both]
    counts = Counter(true)
    own = sorted(counts, key=lambda cell: (-counts[cell], cell))[:5]

    def nearest(cell: int) -> int:
        return min(own, key=lambda place: math.dist(GRID.centers[cell], GRID.centers[place]))

    expected = np.mean([nearest(t) == nearest(r) for t, r in both])
    found = measures.own_place_agreement(GRID, np.array(true), np.array(told))
    assert found == pytest.approx(expected)
