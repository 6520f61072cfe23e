"""The model of one person: shrunk counts of known moves, and nothing of the steps left out."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste import Grid, MarkovModel
from priste.errors import InvalidParameter
from priste.mobility import (
    HomeHabits,
    OwnStrength,
    choose_own_strength,
    day_windows,
    own_history,
    with_home,
)
from priste.mobility.own_history import STRENGTHS

GRID = Grid(2, 2, 1.0)
ROUNDINGS = 1e-13
"""A handful of roundings per entry."""

WINDOWS = (0, 0, 1)
DAY = MarkovModel(GRID, [np.full((4, 4), 0.25), np.eye(4) * 0.6 + 0.1], cycle=True)

cells = st.one_of(st.none(), st.integers(0, 3))
histories = st.lists(st.lists(cells, max_size=15), min_size=1, max_size=4)


def by_hand(
    histories: list[list[int | None]], step: int, strength: OwnStrength
) -> list[list[Fraction]]:
    """The stated formula, in fractions, from counting the slow way."""
    target = DAY.transition(step).toarray()
    every, here = np.zeros((4, 4), int), np.zeros((4, 4), int)
    for history in histories:
        for place in range(len(history) - 1):
            source, goal = history[place], history[place + 1]
            if source is not None and goal is not None:
                every[source, goal] += 1
                here[source, goal] += WINDOWS[place % 3] == WINDOWS[step % 3]
    a, b = Fraction(strength.population), Fraction(strength.window)
    rows = []
    for i in range(4):
        all_hours = [
            (int(every[i, j]) + a * Fraction(target[i, j])) / (int(every[i].sum()) + a)
            for j in range(4)
        ]
        total = int(here[i].sum()) + b
        rows.append([(int(here[i, j]) + b * all_hours[j]) / total for j in range(4)])
    return rows


@given(histories, st.sampled_from([OwnStrength(), OwnStrength(1.0, 20.0)]))
def test_each_step_is_the_stated_formula(
    found: list[list[int | None]], strength: OwnStrength
) -> None:
    """Windows lean on all hours and those on the population's transition of that very step."""
    model = own_history(DAY, found, WINDOWS, strength=strength)
    for step in range(6):
        wanted = np.array([[float(x) for x in row] for row in by_hand(found, step, strength)])
        assert np.allclose(model.transition(step).toarray(), wanted, rtol=ROUNDINGS, atol=0)


@given(
    st.lists(cells, min_size=12, max_size=12),
    st.lists(cells, min_size=12, max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_what_happened_in_steps_left_out_changes_nothing(
    one: list[int | None], other: list[int | None], hidden: list[bool]
) -> None:
    """Two histories that differ only where the mask is True give one model, to the bit."""
    changed = [b if mask else a for a, b, mask in zip(one, other, hidden, strict=True)]
    models = [
        own_history(DAY, [history], WINDOWS, leave_out=[hidden]) for history in (one, changed)
    ]
    assert models[0].fingerprint() == models[1].fingerprint()


def test_a_gap_is_missing_and_no_stay() -> None:
    """A day without fixes between two known cells leaves the population as it is."""
    apart = own_history(DAY, [[0, None, None, 0]], WINDOWS)
    nothing = own_history(DAY, [[]], WINDOWS)
    assert apart.fingerprint() == nothing.fingerprint()


def test_a_home_is_kept_where_the_history_says_nothing() -> None:
    """The target may be a model with a home, by day and at night."""
    home = with_home(DAY, [3], HomeHabits(0.9, 0.5, 0.99, 0.8), [True, False])
    model = own_history(home, [[0, 1]], WINDOWS)
    assert model.period == 6
    for step in range(6):
        found, wanted = model.transition(step).toarray(), home.transition(step).toarray()
        assert np.allclose(found[1:], wanted[1:], rtol=ROUNDINGS, atol=0)


def test_offsets_say_when_a_sequence_begins() -> None:
    """The same moves two steps later count for the window that holds there."""
    late = own_history(DAY, [[0, 1]], WINDOWS, offsets=[2])
    padded = own_history(DAY, [[None, None, 0, 1]], WINDOWS)
    assert late.fingerprint() == padded.fingerprint()


def test_strengths_follow_the_person() -> None:
    """Who always does the same is borrowed little for, who does anything a lot."""
    steady = choose_own_strength(DAY, [[0, 1, 2, 3] * 40])
    rng = np.random.default_rng(3)
    restless = choose_own_strength(DAY, [rng.integers(0, 4, 200).tolist()])
    assert steady.population < restless.population
    assert choose_own_strength(DAY, [[0, 1]]) == OwnStrength()


def test_the_strength_is_the_best_on_moves_left_out() -> None:
    """Fitting on four fifths and scoring the rest, the slow way, no pair of weights does better."""
    rng = np.random.default_rng(8)
    walk = np.minimum(rng.integers(0, 6, 121), 3).tolist()
    moves = list(pairwise(walk))
    cuts = np.array_split(np.arange(len(moves)), 5)

    def loss(strength: OwnStrength) -> float:
        lost = 0.0
        for cut in cuts:
            rest = [moves[n] if n not in cut else (None, None) for n in range(len(moves))]
            # Each known move as a sequence of its own, at the step where it happened.
            model = own_history(
                DAY, [list(pair) for pair in rest], WINDOWS, offsets=range(120), strength=strength
            )
            held = [walk[n : n + 2] for n in cut.tolist()]
            lost -= model.log_likelihood(held, offsets=cut.tolist())
        return lost

    chosen = choose_own_strength(DAY, [walk], WINDOWS)
    least = min(loss(OwnStrength(a, b)) for a in STRENGTHS for b in STRENGTHS)
    assert loss(chosen) == pytest.approx(least, abs=1e-4)


def test_windows_are_three_hours_of_the_clock() -> None:
    """Eight windows a day from any start; steps that do not divide the day have one."""
    found = day_windows(datetime(2026, 3, 2, 7, 30), timedelta(minutes=30))
    assert len(found) == 48
    assert found[0] == 2
    assert [found.count(window) for window in range(8)] == [6] * 8
    assert day_windows(datetime(2026, 3, 2), timedelta(minutes=7)) == (0,)


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"population": MarkovModel(GRID, [np.eye(4)] * 2)}, "population"),
        ({"windows": ()}, "windows"),
        ({"leave_out": [[True]]}, "leave_out"),
        ({"leave_out": []}, "leave_out"),
        ({"offsets": [1, 2]}, "offsets"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, object], parameter: str) -> None:
    """The error says which argument it is about, and no cell."""
    arguments = {"population": DAY, "sequences": [[2, 3]], **change}
    with pytest.raises(InvalidParameter) as refused:
        own_history(**arguments)  # type: ignore[arg-type]
    assert refused.value.parameter == parameter


@given(histories)
def test_counts_and_sequences_make_one_model(found: list[list[int | None]]) -> None:
    """``from_counts`` of the counted moves is ``fit`` of the sequences."""
    counts = np.zeros((4, 4))
    for history in found:
        for source, goal in pairwise(history):
            if source is not None and goal is not None:
                counts[source, goal] += 1
    if counts.any():
        fitted = MarkovModel.fit(GRID, found)
        assert MarkovModel.from_counts(GRID, counts).fingerprint() == fitted.fingerprint()


@pytest.mark.parametrize("counts", [[[1, 2]], np.ones((3, 3)), [[-1.0] * 4] * 4, "abc"])
def test_counts_that_fit_no_map_are_refused(counts: object) -> None:
    """Another shape and negative numbers are refused."""
    with pytest.raises(InvalidParameter, match="counts"):
        MarkovModel.from_counts(GRID, counts)
