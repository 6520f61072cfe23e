"""The planar Laplace table against mpmath, its claim, its extremes, and its refusals."""

from __future__ import annotations

import math
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.mechanisms.laplace_oracle import cell_distribution, rectangle_mass

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import ROW_SUM_TOLERANCE, Identity, PlanarLaplace, Uniform, laplace_integrals
from priste.mechanisms.laplace_integrals import RELATIVE_ERROR
from priste.mechanisms.mechanism import FLOOR, MAX_TABLE_BYTES

MEASURING_TOLERANCE = 1e-12
SUM_OF_PARTS_TOLERANCE = 1e-18


def test_oracle_knows_a_closed_form():
    """The mpmath oracle gives a half plane 1/2, and a disc's worth of cells sums to 1."""
    half = rectangle_mass(1.3, (0, mp.inf), (-mp.inf, mp.inf))
    assert abs(half - mp.mpf(1) / 2) < SUM_OF_PARTS_TOLERANCE
    parts = [cell_distribution(3, 2, 0.7, 1.1, 2, target) for target in range(6)]
    assert abs(sum(parts) - 1) < SUM_OF_PARTS_TOLERANCE


@pytest.mark.parametrize(
    ("rows", "columns", "cell_size", "alpha", "pairs"),
    [
        (4, 5, 1.0, 0.7, [(7, 7), (7, 8), (7, 0), (7, 19), (0, 0), (0, 12), (19, 4), (2, 17)]),
        (3, 3, 0.25, 0.001, [(4, 4), (4, 0), (0, 4), (0, 8), (8, 8)]),
        (1, 6, 2.0, 1.5, [(0, 0), (0, 5), (3, 2), (5, 1)]),
        (5, 1, 1.0, 3.0, [(0, 0), (0, 4), (2, 3)]),
        (20, 20, 1.0, 2.0, [(0, 399), (0, 378), (21, 399), (0, 20), (210, 210), (21, 18)]),
        (3, 4, 1.0, 25.0, [(5, 5), (5, 6), (0, 11), (4, 6), (5, 0)]),
        (30, 30, 1.0, 8.0, [(31, 838), (0, 899), (31, 58)]),
        (2, 2, 1e-6, 1e-3, [(0, 0), (0, 3)]),
    ],
)
def test_entries_equal_the_integral(rows, columns, cell_size, alpha, pairs):
    """Entries agree with mpmath to the stated relative error, from 1/4 down to 1e-145."""
    mechanism = PlanarLaplace(Grid(rows, columns, cell_size), alpha)
    for cell, target in pairs:
        exact = cell_distribution(rows, columns, cell_size, alpha, cell, target)
        found = mp.mpf(float(mechanism.row(cell)[target]))
        assert abs(found - exact) <= RELATIVE_ERROR * exact + 2 * mp.mpf(FLOOR)


def test_deep_tails_were_really_deep():
    """The parameters of the comparison reach entries below 1e-100."""
    assert PlanarLaplace(Grid(30, 30, 1.0), 8.0).row(0)[899] < 1e-100


GRIDS = st.builds(
    Grid,
    rows=st.integers(1, 6),
    columns=st.integers(1, 6),
    cell_size=st.sampled_from([0.01, 0.3, 1.0, 7.0]),
)
CELL_ALPHAS = st.floats(-12, 5).map(lambda exponent: 10.0**exponent)


@given(GRIDS, CELL_ALPHAS)
@examples(60)
def test_rows_are_geo_indistinguishable(grid, cell_alpha):
    """Whatever the map and alpha: rows are tables, entries positive, alpha kept by every ratio."""
    mechanism = PlanarLaplace(grid, cell_alpha / grid.cell_size)
    table = mechanism.emission()
    assert (table > 0).all()
    for row in table[:: max(1, grid.size // 4)].tolist():
        assert abs(sum(map(Fraction, row)) - 1) <= ROW_SUM_TOLERANCE
    logs = np.log(table)
    for cell in range(grid.size):
        bound = mechanism.claimed_alpha * grid.distances_from(cell)
        apart = np.abs(logs - logs[cell]).max(axis=1)
        assert (apart <= bound * (1 + MEASURING_TOLERANCE) + MEASURING_TOLERANCE).all()


def test_claim_is_alpha_up_to_rounding():
    """The claim exceeds alpha by 1e-11 over the cell size alone, and the table nearly uses it."""
    mechanism = PlanarLaplace(Grid(12, 12, 0.5), alpha=0.8)
    assert mechanism.claimed_alpha == 0.8 + 1e-11 / 0.5
    assert 0.999 * 0.8 < mechanism.smallest_alpha() <= 0.8


def test_the_shortcut_is_another_mechanism():
    """Normalising exp(-alpha d) row by row, a usual shortcut, exceeds alpha; this does not."""
    grid = Grid(1, 9, 1.0)
    kernel = np.exp(-grid.distances())
    shortcut = np.log(kernel / kernel.sum(axis=1, keepdims=True))
    assert np.abs(shortcut[0] - shortcut[1]).max() > 1.2
    logs = np.log(PlanarLaplace(grid, 1.0).emission())
    assert np.abs(logs[0] - logs[1]).max() <= 1.0


@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e-30, 1e30, 1.7e308])
def test_extreme_alphas_give_distributions(alpha):
    """Alphas at the ends of floating point give rows that sum to 1, near corners or the truth."""
    grid = Grid(3, 4, 1.0)
    mechanism = PlanarLaplace(grid, alpha)
    table = mechanism.emission()
    assert np.abs(table.sum(axis=1) - 1).max() <= 1e-15
    if alpha < 1:
        np.testing.assert_allclose(table[:, [0, 3, 8, 11]], 0.25, rtol=1e-12)
    else:
        assert (np.diag(table) == 1.0).all()
    assert mechanism.smallest_alpha() <= mechanism.claimed_alpha


def test_symmetries_of_the_map_are_symmetries_of_the_table():
    """Turning the map by half a turn or mirroring it leaves the table unchanged to the bit."""
    grid = Grid(4, 6, 1.0)
    table = PlanarLaplace(grid, 0.6).emission().reshape(4, 6, 4, 6)
    assert np.array_equal(table, table[::-1, :, ::-1, :])
    assert np.array_equal(table, table[:, ::-1, :, ::-1])


def test_large_maps_need_no_table():
    """At 40,000 cells rows and columns are there, agree with each other, and emission() refuses."""
    grid = Grid(200, 200, 0.1)
    mechanism = PlanarLaplace(grid, 2.0)
    assert 8 * grid.size**2 > MAX_TABLE_BYTES
    row, column = mechanism.row(12345), mechanism.likelihood(777)
    assert row[777] == column[12345]
    assert abs(math.fsum(row.tolist()) - 1) <= ROW_SUM_TOLERANCE
    assert 0 <= mechanism.sample(12345, 3) < grid.size
    with pytest.raises(InvalidParameter, match=r"11\.9 GiB.*row\(\) and likelihood\(\)"):
        mechanism.emission()


def test_budget_walks_from_identity_to_uniform():
    """Identity, planar Laplace and Uniform are one family in the budget."""
    grid = Grid(3, 3, 1.0)
    assert isinstance(Identity(grid).with_budget(0.5), PlanarLaplace)
    assert Identity(grid).with_budget(0.5).budget == 0.5
    assert isinstance(Identity(grid).with_budget(0.0), Uniform)
    assert isinstance(PlanarLaplace(grid, 1.0).with_budget(0.0), Uniform)
    assert Identity(grid).with_budget(math.inf).smallest_alpha() == math.inf


@pytest.mark.parametrize("alpha", [0, -1, math.inf, math.nan, "1", None, True, 1j, [1.0]])
def test_bad_alphas_are_refused(alpha):
    """Alphas that are not finite and > 0 raise InvalidParameter with advice."""
    with pytest.raises(InvalidParameter, match=r"'alpha' of PlanarLaplace.*identity"):
        PlanarLaplace(Grid(2, 2, 1.0), alpha)


def test_an_endless_alpha_is_refused_in_few_words():
    """An integer too long for Python to write out still gets the message."""
    with pytest.raises(InvalidParameter, match="more than 40 digits"):
        PlanarLaplace(Grid(2, 2, 1.0), 10**5000)


def test_a_family_makes_each_table_of_integrals_once(monkeypatch):
    """Members of a family share tables; another family and a pickled copy have their own."""
    made = []

    class Counted(laplace_integrals.LaplaceTable):
        def __init__(self, *arguments):
            made.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(laplace_integrals, "LaplaceTable", Counted)
    grid = Grid(rows=3, columns=4, cell_size=1.0)
    full = PlanarLaplace(grid, alpha=1.0)
    for _ in range(3):
        full.with_budget(0.5).with_budget(0.25).row(0)
        full.with_budget(0.25).likelihoods([1, 2])
        full.with_budget(0.5).emission()
    assert made == [(3, 4, 0.25), (3, 4, 0.5)]
    PlanarLaplace(grid, alpha=0.5).row(0)
    pickle.loads(pickle.dumps(full)).with_budget(0.5).row(0)
    assert made[2:] == [(3, 4, 0.5), (3, 4, 0.5)]


def test_kept_tables_are_the_latest_within_a_limit_of_memory(monkeypatch):
    """Three tables have room: the one that was not asked for longest goes first."""
    monkeypatch.setattr(laplace_integrals, "MOST_TABLE_BYTES", 3 * 8 * 5 * 7)
    tables = laplace_integrals.LaplaceTables(2, 3)
    first, second = tables.at(0.1), tables.at(0.2)
    tables.at(0.3)
    assert tables.at(0.1) is first
    tables.at(0.4)
    assert tables.at(0.1) is first
    assert tables.at(0.2) is not second


def test_threads_share_the_tables_of_a_family(monkeypatch):
    """Threads that ask for one budget at the same time get one table, made once."""
    made = []

    class Slow(laplace_integrals.LaplaceTable):
        def __init__(self, *arguments):
            made.append(arguments)
            time.sleep(0.02)  # long enough for every other thread to ask, too
            super().__init__(*arguments)

    monkeypatch.setattr(laplace_integrals, "LaplaceTable", Slow)
    full = PlanarLaplace(Grid(rows=2, columns=2, cell_size=1.0), alpha=1.0)
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda _: full.with_budget(0.5).row(1), range(8)))
    assert made == [(2, 2, 0.5)]
    assert all(np.array_equal(row, rows[0]) for row in rows)
