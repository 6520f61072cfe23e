"""Anybody's own table: what is taken, what is refused, and how budgets mix it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import EmissionTable, PlanarLaplace

PAIR = Grid(1, 2, 1.0)
ROUNDING = 1e-15


def test_a_table_that_sums_to_one_is_used_to_the_bit():
    """The floats given are the floats of emission(), and the input is copied."""
    given_table = PlanarLaplace(Grid(3, 3, 1.0), 0.7).emission()
    mine = np.array(given_table)
    mechanism = EmissionTable(Grid(3, 3, 1.0), mine)
    mine[...] = 0.0
    assert np.array_equal(mechanism.emission(), given_table)


def test_rows_slightly_off_are_scaled():
    """Rows that miss 1 by rounding in single precision are divided by their sum."""
    rows = np.array([[0.1, 0.9 + 5e-10], [0.5, 0.5]])
    table = EmissionTable(PAIR, rows).emission()
    np.testing.assert_allclose(table[0], rows[0] / rows[0].sum(), rtol=ROUNDING)
    assert np.array_equal(table[1], rows[1])


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ([[0.5, 0.5]], "one row for each"),
        ([[1.0], [1.0], [1.0]], "one row for each"),
        ([[], []], "at least one column"),
        ([0.5, 0.5], "one row for each"),
        ([[0.5, 0.5], [0.5, 0.4]], "sum to 1"),
        ([[0.5, 0.5], [1.5, -0.5]], "finite and >= 0"),
        ([[0.5, 0.5], [math.nan, 0.5]], "finite and >= 0"),
        ([[0.5, 0.5], [math.inf, 0.5]], "finite and >= 0"),
        ([[1e308, 1e308], [0.5, 0.5]], "probabilities"),
        ([[0.0, 0.0], [0.5, 0.5]], "sum to 1"),
        ([["a", "b"], ["c", "d"]], "real numbers"),
        ([[0.5, 0.5], [1.0]], "rows differ in length"),
        ([[0.5 + 0j, 0.5], [0.5, 0.5]], "real numbers"),
        ([[True, False], [False, True]], "real numbers"),
        (None, "real numbers"),
    ],
)
def test_tables_that_are_no_mechanism_are_refused(table, part):
    """Wrong shapes, negative or infinite entries and rows off 1 raise InvalidParameter."""
    with pytest.raises(InvalidParameter, match=part):
        EmissionTable(PAIR, table)


@pytest.mark.parametrize("cells", [[0], [0, 2], [-1, 0], [0.0, 1.0], [[0, 1]], ["0", "1"]])
def test_bad_meanings_are_refused(cells):
    """output_cells must name one cell of the map per output."""
    with pytest.raises(InvalidParameter, match="output_cells"):
        EmissionTable(PAIR, np.eye(2), output_cells=cells)


@pytest.mark.parametrize("background", [[1.0], [0.6, 0.6], [-0.5, 1.5], [math.nan, 1.0], "x"])
def test_bad_backgrounds_are_refused(background):
    """A background must be one distribution on the outputs."""
    with pytest.raises(InvalidParameter, match="background"):
        EmissionTable(PAIR, np.eye(2), background=background)


@pytest.mark.parametrize("budget", [-0.1, 1.1, math.nan, "1", None])
def test_bad_budgets_are_refused(budget):
    """The budget of a table is a share from 0 to 1."""
    with pytest.raises(InvalidParameter, match="share from 0 to 1"):
        EmissionTable(PAIR, np.eye(2), budget=budget)


def test_outputs_need_not_be_cells():
    """With another number of outputs than cells, outputs mean no cells unless told."""
    table = [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]
    assert EmissionTable(PAIR, table).output_cells() is None
    assert EmissionTable(PAIR, table, output_cells=[1, 0, 1]).output_cells().tolist() == [1, 0, 1]
    assert EmissionTable(PAIR, np.eye(2)).output_cells().tolist() == [0, 1]


def test_default_background_is_the_mean_row():
    """At budget 0 the outputs come as from a user who may be anywhere, and stay possible ones."""
    table = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]
    silent = EmissionTable(PAIR, table).with_budget(0.0)
    assert silent.row(0).tolist() == [0.75, 0.25, 0.0]


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.integers(0, 1000))
@examples(60)
def test_less_budget_is_further_processing_of_more(first, second, seed):
    """The table at a small budget is the table at a larger one, mixed once more."""
    low, high = sorted([first, second])
    table = np.random.default_rng(seed).dirichlet(np.ones(3), size=2)
    background = np.array([0.2, 0.3, 0.5])
    mechanism = EmissionTable(PAIR, table, background=background)
    more, less = mechanism.with_budget(high).emission(), mechanism.with_budget(low).emission()
    share = low / high if high else 0.0
    np.testing.assert_allclose(less, share * more + (1 - share) * background, atol=1e-14)
    assert mechanism.with_budget(high).with_budget(low).budget == low
