"""Who is drawn home: the stated mixture in every form, nights, and habits counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import (
    BlendedTransition,
    HomeHabits,
    MarkovModel,
    ModelOrigin,
    SeparableTransition,
    SparseTransition,
    home_habits_of,
    stay_or_go,
    usual_home,
    with_home,
)
from priste.mobility.home import MANY_CELLS, USUAL_BACK, USUAL_STAY
from priste.mobility.stay_or_go import FEWEST_MOVES

ROUNDED = 2e-9
"""The draw is rounded to nine digits."""

GRID = Grid(2, 3, 1.0)


def slow_rows(matrix: np.ndarray, home: set[int], stay: float, back: float) -> np.ndarray:
    """The stated mixture, in fractions."""
    size = len(matrix)
    found = np.zeros((size, size))
    for source in range(size):
        row = [Fraction(float(value)) for value in matrix[source]]
        there = sum(row[cell] for cell in home)
        wanted = Fraction(stay if source in home else back)
        drawn = (wanted - there) / (1 - there) if wanted > there else Fraction(0)
        for target in range(size):
            to_home = Fraction(int(target == source)) if source in home else Fraction(0)
            if source not in home and target in home:
                to_home = Fraction(1, len(home))
            found[source, target] = float((1 - drawn) * row[target] + drawn * to_home)
    return found


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    weights = draw(
        st.lists(
            st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any), min_size=6, max_size=6
        )
    )
    rows = np.array(weights, dtype=np.float64)
    return rows / rows.sum(axis=1, keepdims=True)


homes = st.sets(st.integers(0, 5), min_size=1, max_size=4)
chances = st.sampled_from([0.0, 0.01, 0.3, 0.5, 0.95, 0.999])


@examples(60)
@given(matrices(), homes, chances, chances)
def test_rows_are_those_of_the_formula(
    matrix: np.ndarray, home: set[int], stay: float, back: float
) -> None:
    """The mixture is the stated one, and nobody is home less often than wanted or before."""
    model = with_home(MarkovModel(GRID, matrix), home, HomeHabits(stay, back))
    found = model.transition(0).toarray()
    assert np.allclose(found, slow_rows(matrix, home, stay, back), rtol=0, atol=ROUNDED)
    assert np.allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    cells = sorted(home)
    wanted = np.where(np.isin(np.arange(6), cells), stay, back)
    there = np.maximum(matrix[:, cells].sum(axis=1), wanted)
    assert np.allclose(found[:, cells].sum(axis=1), there, rtol=0, atol=ROUNDED)


FACTORS = np.array([[0.7, 0.3], [0.4, 0.6]]), np.full((3, 3), 1 / 3)
FORMS: dict[str, Callable[[], object]] = {
    "sparse": lambda: SparseTransition(sparse.csr_array(np.kron(*FACTORS))),
    "separable": lambda: SeparableTransition(*FACTORS),
    "blended": lambda: BlendedTransition(
        np.full(6, 0.5), SeparableTransition(*FACTORS), sparse.csr_array(np.kron(*FACTORS) / 2)
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_drawn_alike(form: str) -> None:
    """A model of a large map comes home as the same one written out does, without an array."""
    habits, home = HomeHabits(0.9, 0.4), [1, 4]
    plain = FORMS[form]()
    drawn = with_home(MarkovModel(GRID, plain), home, habits).transition(0)
    assert isinstance(drawn, SparseTransition) == (form == "sparse")
    assert isinstance(drawn, BlendedTransition) == (form == "blended")
    dense = with_home(MarkovModel(GRID, np.kron(*FACTORS)), home, habits).transition(0)
    assert np.allclose(drawn.toarray(), dense.toarray(), rtol=1e-13)


def test_nights_differ_and_days_repeat() -> None:
    """At night the habits of the night hold; a cycle of hours is kept, and shared steps too."""
    walk = [np.full((6, 6), 1 / 6), np.eye(6) * 0.4 + 0.1]
    model = MarkovModel(GRID, walk, cycle=True)
    habits = HomeHabits(0.5, 0.2, stay_at_night=0.99, back_at_night=0.7)
    drawn = with_home(model, [2], habits, night=[True, False, False])
    assert drawn.period == 6
    for step in range(12):
        there = drawn.transition(step).toarray()[:, 2]
        assert there[0] == pytest.approx(0.7 if step % 3 == 0 else 0.2, abs=ROUNDED)
        assert drawn.transition(step) is drawn.transition(step + 6)
    assert len({id(drawn.transition(step)) for step in range(6)}) == 4
    same = with_home(MarkovModel(GRID, walk[0]), [2], HomeHabits(0.5, 0.2), night=[True, False])
    assert same.period == 2
    assert with_home(MarkovModel(GRID, walk[0]), [2], HomeHabits(0.5, 0.2)).period == 1


def test_a_model_of_some_steps_keeps_them() -> None:
    """What describes three moves describes three, with its origin."""
    origin = ModelOrigin(
        datetime(2026, 3, 2, tzinfo=UTC), timedelta(hours=1), "UTC", frozenset({"a"})
    )
    model = MarkovModel(GRID, [np.full((6, 6), 1 / 6)] * 3).with_origin(origin)
    drawn = with_home(model, [0], HomeHabits(0.9, 0.3), night=[False, True])
    assert (drawn.horizon, drawn.origin) == (3, origin)


def test_a_large_home_is_entered_by_the_nearest_cell() -> None:
    """Above so many cells one comes to the nearest, so that large maps stay sparse."""
    grid = Grid(8, 8, 1.0)
    home = [row * 8 + column for row in range(6) for column in range(6)]
    assert len(home) > MANY_CELLS
    plain = stay_or_go(grid, 0.8, 2.0).transition(0).toarray()
    found = with_home(MarkovModel(grid, plain), home, HomeHabits(0.9, 0.6)).transition(0)
    more = found.toarray() - plain * (found.toarray()[:, 63] / plain[:, 63])[:, None]
    assert int(np.argmax(more[7])) == 5
    assert int(np.argmax(more[63])) == 45


def test_forgetting_is_faster_with_a_home() -> None:
    """Two who began apart are harder to tell from each other later when both come home."""
    grid = Grid(4, 4, 1.0)
    model = stay_or_go(grid, 0.9, 2.0)
    home = with_home(model, [5], HomeHabits(0.9, 0.1))

    def told(moving: MarkovModel) -> float:
        both = np.eye(16)[[0, 15]]
        for step in range(20):
            both = moving.transition(step).push(both)
        return float(abs(both[0] - both[1]).sum() / 2)

    assert told(home) < told(model) / 2


def slow_home(walk: list[int | None], night: list[bool]) -> int | None:
    """The cell of most nights, each spent where it is known most often; else the commonest cell."""
    asleep = [c for step, c in enumerate(walk) if c is not None and night[step % len(night)]]
    nights = []
    for dark, steps in groupby(range(len(walk)), key=lambda step: night[step % len(night)]):
        cells = [walk[step] for step in steps if walk[step] is not None]
        if dark and cells:
            nights.append(min(set(cells), key=lambda c: (-cells.count(c), c)))
    if nights:
        return min(set(nights), key=lambda c: (-nights.count(c), -asleep.count(c), c))
    known = [c for c in walk if c is not None]
    return min(set(known), key=lambda c: (-known.count(c), c)) if known else None


@examples(60)
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=60),
    st.lists(st.booleans(), min_size=1, max_size=8),
)
def test_home_is_where_most_nights_are_spent(walk: list[int | None], night: list[bool]) -> None:
    """By hand: every night counts once, however much of it is known."""
    expected = slow_home(walk, night)
    assert usual_home(GRID, [walk], night) == ([] if expected is None else [expected])


def test_one_night_without_gaps_is_no_home() -> None:
    """A night of which every step is known counts no more than two with one known step each."""
    away = [3] * 8 + [None] * 8
    at_home = [None, 1] + [None] * 14
    night = [True] * 8 + [False] * 8
    assert usual_home(GRID, [away + at_home + at_home], night) == [1]
    assert usual_home(GRID, [away, at_home, at_home], night) == [1]
    assert usual_home(GRID, [away + at_home], night) == [3]


@examples(40)
@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=40), min_size=1, max_size=3
    ),
    st.lists(st.booleans(), min_size=1, max_size=4),
)
def test_habits_are_counts(walks: list[list[int | None]], night: list[bool]) -> None:
    """By hand: where nights are spent, how often one is still or again there a step later."""
    found = home_habits_of(GRID, [[walk] for walk in walks], night)
    counts: dict[tuple[bool, bool], list[int]] = {}
    for walk in walks:
        home = slow_home(walk, night)
        for step, (here, there) in enumerate(pairwise(walk)):
            if here is not None and there is not None:
                key = night[step % len(night)], here == home
                counts.setdefault(key, [0, 0])[there != home] += 1

    def share(keys: list[tuple[bool, bool]], otherwise: float) -> float:
        back = sum(counts.get(key, [0, 0])[0] for key in keys)
        every = sum(sum(counts.get(key, [0, 0])) for key in keys)
        if every < FEWEST_MOVES:
            return otherwise
        return min(max(round((back + 1) / (every + 2), 3), 0.001), 0.999)

    stay = share([(False, True)], share([(False, True), (True, True)], USUAL_STAY))
    back = share([(False, False)], share([(False, False), (True, False)], USUAL_BACK))
    assert (found.stay, found.back) == (stay, back)
    if any(night):
        assert found.stay_at_night == share([(True, True)], stay)
        assert found.back_at_night == share([(True, False)], back)


def test_habits_at_a_given_home() -> None:
    """Who says where home is need not have slept there."""
    walk = [0] * 20 + [3, 3] * 20
    given_home = home_habits_of(GRID, [[walk]], None, [[3, 4]])
    assert given_home.stay == pytest.approx(0.976, abs=1e-3)
    assert given_home.back == pytest.approx(2 / 22, abs=1e-3)


@pytest.mark.parametrize("home", [[], [-1], [6], [1.5], ["1"]])
def test_a_home_that_is_nowhere(home: list[int]) -> None:
    """Refused by both, without repeating where."""
    with pytest.raises(InvalidParameter, match="one cell of the map, whole numbers from 0 to 5"):
        with_home(MarkovModel(GRID, np.full((6, 6), 1 / 6)), home, HomeHabits(0.9, 0.1))
    with pytest.raises(InvalidParameter, match="one cell of the map"):
        home_habits_of(GRID, [[[0, 1]]], None, [home])


def test_as_many_homes_as_people() -> None:
    with pytest.raises(InvalidParameter, match="each of the 2 people"):
        home_habits_of(GRID, [[[0, 1]], [[1, 0]]], None, [[0]])


def test_no_nights_are_days() -> None:
    """A cycle without steps tells of no night."""
    assert home_habits_of(GRID, [[[0, 1] * 30]], []) == home_habits_of(GRID, [[[0, 1] * 30]])


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_chances_that_are_none(share: float) -> None:
    with pytest.raises(InvalidParameter, match="back_at_night"):
        HomeHabits(0.9, 0.1, back_at_night=share)


def test_second_order_models_are_refused() -> None:
    even = np.full((6, 6), 1 / 6)
    model = MarkovModel.second_order(GRID, even, np.full((6, 6, 6), 1 / 6))
    with pytest.raises(InvalidParameter, match="order 1"):
        with_home(model, [0], HomeHabits(0.9, 0.1))
