"""The delta-location set: which cells it holds, who stands in for whom, and what is claimed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import EmissionTable, Identity, LocationSet, PlanarLaplace
from priste.mechanisms.plausible_cells import Surrogates, likely_cells

MEASURING_TOLERANCE = 1e-12
SUMMING_TOLERANCE = 1e-13

BELIEF_WEIGHTS = st.lists(st.integers(0, 5), min_size=6, max_size=6).filter(any)


@given(BELIEF_WEIGHTS, st.integers(0, 99))
@examples(150)
def test_the_set_is_the_smallest_that_holds_enough(weights, percent):
    """No smaller set reaches 1 - delta, and of equal ones the likeliest, then lowest, are taken."""
    belief = np.array(weights) / 64.0
    cells = likely_cells(belief, percent / 100)
    total, enough = sum(weights), 1 - Fraction(percent, 100)
    assert Fraction(sum(weights[c] for c in cells), total) >= enough
    for other in combinations(range(6), len(cells) - 1):
        assert Fraction(sum(weights[c] for c in other), total) < enough
    ranked = sorted(range(6), key=lambda c: (-weights[c], c))
    assert sorted(ranked[: len(cells)]) == list(cells)


def test_delta_is_the_decimal_that_was_written():
    """With ten equal cells, delta = 0.3 leaves out three, though the float is below 3/10."""
    assert likely_cells(np.full(10, 0.1), 0.3) == tuple(range(7))


@given(st.integers(1, 5), st.integers(1, 5), st.data())
@examples(100)
def test_surrogates_are_the_nearest_cells_and_ties_go_to_the_lowest(rows, columns, data):
    """Every cell is replaced by the first nearest cell of the set; its own cells stay."""
    grid = Grid(rows, columns, 0.3)
    cells = sorted(data.draw(st.sets(st.integers(0, grid.size - 1), min_size=1)))
    surrogates = Surrogates(grid, tuple(cells))
    for cell in range(grid.size):
        row, column = divmod(cell, columns)
        nearest = min(
            cells, key=lambda c: ((c // columns - row) ** 2 + (c % columns - column) ** 2, c)
        )
        assert cells[surrogates.nearest[cell]] == nearest


@given(st.integers(1, 4), st.integers(1, 5), st.floats(0.0, 0.9), st.integers(0, 10**6))
@examples(60)
def test_the_law_is_surrogate_then_base_then_nearest(rows, columns, delta, seed):
    """The table is the base's, with rows of surrogates and outputs moved to the nearest cell."""
    grid = Grid(rows, columns, 1.0)
    base = PlanarLaplace(grid, 0.8)
    belief = np.random.default_rng(seed).dirichlet(np.full(grid.size, 0.5))
    mechanism = LocationSet(base, delta, belief)
    stand_in = [
        min(mechanism.cells, key=lambda c: _distance_and_number(grid, c, cell))
        for cell in range(grid.size)
    ]
    expected = np.zeros((grid.size, grid.size))
    for cell in range(grid.size):
        for output in range(grid.size):
            expected[cell, stand_in[output]] += base.emission()[stand_in[cell], output]
    np.testing.assert_allclose(mechanism.emission(), expected, rtol=SUMMING_TOLERANCE, atol=0)
    assert mechanism.smallest_alpha() <= mechanism.claimed_alpha * (1 + MEASURING_TOLERANCE)


def _distance_and_number(grid, one, other):
    rows, columns = (
        one // grid.columns - other // grid.columns,
        one % grid.columns - other % grid.columns,
    )
    return rows**2 + columns**2, one


def test_inside_the_set_the_level_of_the_base_stays_whole():
    """Between cells of the set the ratios keep the base's alpha; no renormalisation adds to it."""
    grid = Grid(5, 5, 1.0)
    belief = np.zeros(25)
    cells = [6, 7, 8, 11, 13, 24]
    belief[cells] = 1 / 6
    mechanism = LocationSet(PlanarLaplace(grid, 0.7), 0.0, belief)
    logs = np.log(mechanism.emission()[np.ix_(cells, cells)])
    for one, other in combinations(range(6), 2):
        bound = 0.7 * grid.distances_from(cells[one])[cells[other]]
        assert np.abs(logs[one] - logs[other]).max() <= bound


def test_outside_the_set_the_claim_counts_the_stretch():
    """Neighbours with far surrogates make the claim larger, as the measured level is."""
    grid = Grid(1, 10, 1.0)
    belief = np.zeros(10)
    belief[[0, 9]] = 0.5
    mechanism = LocationSet(PlanarLaplace(grid, 1.0), 0.0, belief)
    assert mechanism.claimed_alpha == pytest.approx(9.0)
    assert 1.0 < mechanism.smallest_alpha() <= 9.0


def test_no_output_is_possible_from_some_cells_only():
    """Columns outside the set are zero for every cell, columns inside for none."""
    grid = Grid(4, 4, 1.0)
    belief = np.random.default_rng(1).dirichlet(np.full(16, 0.3))
    mechanism = LocationSet(PlanarLaplace(grid, 1.0), 0.2, belief)
    possible = mechanism.emission() > 0
    assert np.array_equal(np.flatnonzero(possible.all(axis=0)), mechanism.cells)
    assert np.array_equal(np.flatnonzero(possible.any(axis=0)), mechanism.cells)
    assert math.isfinite(mechanism.smallest_alpha())


def test_belief_moves_the_set_and_keeps_the_rest():
    """at_belief gives the set of the new belief; with_budget keeps the set."""
    grid = Grid(2, 2, 1.0)
    mechanism = LocationSet(PlanarLaplace(grid, 1.0), 0.1)
    assert mechanism.cells == (0, 1, 2, 3)
    moved = mechanism.at_belief([0.0, 0.5, 0.0, 0.5])
    assert moved.cells == (1, 3)
    assert moved.with_budget(0.25).cells == (1, 3)
    assert moved.with_budget(0.25).base.budget == 0.25
    assert moved.uses_belief


def test_large_maps_need_no_table():
    """On a map whose table would be too large, rows and columns of a small set are there."""
    grid = Grid(110, 110, 0.1)
    belief = np.zeros(grid.size)
    belief[5000:5040] = 1 / 40
    mechanism = LocationSet(PlanarLaplace(grid, 1.0), 0.0, belief)
    row = mechanism.row(0)
    assert np.array_equal(np.flatnonzero(row), mechanism.cells)
    assert mechanism.likelihood(5003)[0] == row[5003]
    with pytest.raises(InvalidParameter, match="GiB"):
        mechanism.emission()


@pytest.mark.parametrize(
    "belief",
    [
        [0.5, 0.5],
        [0.5, 0.5, 0.5, 0.5],
        [1.5, -0.5, 0.0, 0.0],
        [math.nan, 1.0, 0.0, 0.0],
        [[0.25, 0.25], [0.25, 0.25]],
        ["a", "b", "c", "d"],
        [0.0, 0.0, 0.0, 0.0],
    ],
)
def test_beliefs_that_are_no_distribution_are_refused(belief):
    """A belief must be one probability for each cell."""
    base = PlanarLaplace(Grid(2, 2, 1.0), 1.0)
    with pytest.raises(InvalidParameter, match="'belief' of LocationSet"):
        LocationSet(base, 0.1, belief)
    with pytest.raises(InvalidParameter, match="'belief' of LocationSet"):
        LocationSet(base, 0.1).at_belief(belief)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan, "0.1", None, True])
def test_bad_deltas_are_refused(delta):
    """delta must be in [0, 1)."""
    with pytest.raises(InvalidParameter, match="'delta' of LocationSet"):
        LocationSet(PlanarLaplace(Grid(2, 2, 1.0), 1.0), delta)


def test_bases_that_do_not_fit_are_refused():
    """A base must be a mechanism, release cells, and not use a belief itself."""
    grid = Grid(1, 2, 1.0)
    with pytest.raises(InvalidParameter, match="must be a mechanism"):
        LocationSet(grid, 0.1)
    with pytest.raises(InvalidParameter, match="outputs are not cells"):
        LocationSet(EmissionTable(grid, [[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]]), 0.1)
    with pytest.raises(InvalidParameter, match="not use a belief"):
        LocationSet(LocationSet(Identity(grid), 0.1), 0.1)


def test_belief_is_copied():
    """Changing the array that was given changes nothing."""
    belief = np.array([0.5, 0.5])
    mechanism = LocationSet(Identity(Grid(1, 2, 1.0)), 0.0, belief)
    belief[:] = [1.0, 0.0]
    assert mechanism.at_belief(belief).cells == (0,)
    assert mechanism.describe() != mechanism.at_belief(belief).describe()


@given(st.integers(2, 6), st.floats(0.3, 3.0), st.integers(1, 60), st.integers(0, 2**32))
@examples(60)
def test_the_set_does_not_hang_on_last_bits(side, sigma, percent, seed):
    """On a regular map many cells are equally likely: rounding otherwise changes no set."""
    grid = Grid(side, side, 1.0)
    belief = np.exp(-((grid.distances_from(side // 2) / sigma) ** 2) / 2)
    belief /= belief.sum()
    rounded = belief * (1.0 + np.random.default_rng(seed).integers(-8, 9, grid.size) * 2.0**-53)
    cells = likely_cells(belief, percent / 100)
    assert likely_cells(rounded, percent / 100) == cells
    assert belief[list(cells)].sum() >= 1 - percent / 100 - 1e-7
