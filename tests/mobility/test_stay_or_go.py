"""Movement in two numbers: the formula, phases, large maps, and numbers taken from a walk."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import Habits, habits_of, stay_or_go
from priste.mobility.structured import BlendedTransition
from priste.mobility.transitions import DENSE_LIMIT

FORMULA_ERROR = 1e-13


def slow_row(grid: Grid, cell: int, stay: float, decay: int) -> list[float]:
    """One row of the stated distribution, in fractions."""
    weights = []
    for other in range(grid.size):
        down = max(abs(cell // grid.columns - other // grid.columns), 1)
        along = max(abs(cell % grid.columns - other % grid.columns), 1)
        weights.append(Fraction(0) if other == cell else Fraction(1, (down * along) ** decay))
    left = 1 - Fraction(stay)
    row = [float(left * weight / sum(weights)) for weight in weights]
    row[cell] = stay
    return row


@examples(30)
@given(st.integers(1, 5), st.integers(2, 5), st.floats(0, 0.99), st.integers(1, 3))
def test_rows_are_those_of_the_formula(rows: int, columns: int, stay: float, decay: int) -> None:
    """Staying has the given chance, and every other cell its share by distance."""
    grid = Grid(rows, columns, 0.7)
    matrix = stay_or_go(grid, stay, decay).transition(0).toarray()
    for cell in range(grid.size):
        assert np.allclose(matrix[cell], slow_row(grid, cell, stay, decay), rtol=FORMULA_ERROR)


def test_half_decays_lie_between() -> None:
    """A decay of 1.5 weighs a move of four cells an eighth."""
    row = stay_or_go(Grid(1, 5, 1.0), 0.0, 1.5).transition(0).toarray()[0]
    assert row[4] / row[1] == pytest.approx(1 / 8, rel=FORMULA_ERROR)


def test_large_maps_need_no_square_array() -> None:
    """Above the dense limit the table is the same wherever staying is likelier than the product."""
    side = math.isqrt(DENSE_LIMIT) + 1
    grid = Grid(side, side, 1.0)
    step = stay_or_go(grid, 0.6, 2.0).transition(0)
    assert isinstance(step, BlendedTransition)
    every = np.arange(grid.size)
    for cell in (0, 7, side * side // 2):
        found = step.entries(np.full(grid.size, cell), every)
        assert np.allclose(found, slow_row(grid, cell, 0.6, 2), rtol=1e-12, atol=0)


def test_phases_follow_each_other() -> None:
    """With a cycle each step has its own chance to stay; equal ones share a matrix."""
    model = stay_or_go(Grid(1, 3, 1.0), [0.2, 0.9, 0.9], 2.0, cycle=True)
    assert model.period == 3
    assert model.transition(1) is model.transition(2)
    assert model.transition(3).toarray()[1, 1] == 0.2
    borders = stay_or_go(Grid(1, 3, 1.0), [0.9, 0.1, 0.9], 2.0).transition(0).toarray()
    assert np.diagonal(borders).tolist() == [0.9, 0.1, 0.9]


@pytest.mark.parametrize("decay", [1.0, 2.0, 3.0])
def test_habits_are_found_in_a_walk(decay: float) -> None:
    """What a walk was drawn with is what is read from it, night by night."""
    grid = Grid(9, 9, 0.5)
    night = [True] * 4 + [False] * 8
    model = stay_or_go(grid, [0.95 if dark else 0.6 for dark in night], decay, cycle=True)
    found = habits_of(grid, [model.sample(6000, rng=3)], night)
    assert found.stay == pytest.approx(0.6, abs=0.04)
    assert found.stay_at_night == pytest.approx(0.95, abs=0.03)
    assert found.decay == decay


def test_little_is_said_of_little() -> None:
    """Nothing to learn from gives middling numbers, never certainty."""
    grid = Grid(4, 4, 1.0)
    assert habits_of(grid, [[0, 1]]) == Habits(0.8, None, 2.0)
    assert habits_of(grid, [[5] * 500]) == Habits(0.99, None, 2.0)


def test_what_is_no_distribution_is_refused() -> None:
    """Certain staying, odd decays, no phases."""
    grid = Grid(2, 2, 1.0)
    for stay, decay, cycle in (
        (1.0, 2.0, False),
        (0.5, 0.7, False),
        (0.5, 9.0, False),
        ([], 2, True),
    ):
        with pytest.raises(InvalidParameter):
            stay_or_go(grid, stay, decay, cycle=cycle)
    assert stay_or_go(Grid(1, 1, 1.0), 0.5, 2.0).transition(0).toarray().tolist() == [[1.0]]


@pytest.mark.parametrize("share", [0.01, 0.2, 1.0])
def test_moves_to_the_border_are_rarer_by_one_factor(share: float) -> None:
    """Moves within the map and to each side keep their proportions; the border has its share."""
    grid = Grid(rows=6, columns=7, cell_size=1.0)
    border = sorted(grid.border)
    inner = sorted(set(range(grid.size)) - grid.border)
    stay = np.full(grid.size, 0.5)
    stay[border] = 0.9
    plain = stay_or_go(grid, stay, decay=2.0)
    made = stay_or_go(grid, stay, decay=2.0, off_map=share)
    found = made.stationary()[border].sum()
    assert found <= share
    before, after = (model.transition(0).toarray() for model in (plain, made))
    if share == 1.0:
        np.testing.assert_array_equal(before, after)
        return
    assert found >= 0.9 * share  # two digits of the factor
    rarer = after / before
    for cell in inner:
        kept = [other for other in inner if other != cell]
        np.testing.assert_allclose(rarer[cell, kept], rarer[cell, kept[0]], rtol=1e-12)
        assert rarer[cell, 1] < rarer[cell, kept[0]]


@pytest.mark.parametrize("share", [0.0, 1.5, float("nan"), True])
def test_a_share_off_the_map_is_a_share(share: object) -> None:
    """Anything but a number in (0, 1] is refused by name."""
    with pytest.raises(InvalidParameter, match="'off_map' of stay_or_go"):
        stay_or_go(Grid(rows=3, columns=3, cell_size=1.0), 0.5, 2.0, off_map=share)  # type: ignore[arg-type]
