"""Population models: the stated formula, phases that borrow, and a choice judged on others."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import MarkovModel, Shrinkage, fit_population, memories_of
from priste.mobility.held_out import folds_of
from priste.mobility.memory import MEMORIES, NONE, PLAIN
from priste.mobility.population import (
    POPULARITY_LIMIT,
    population_transitions,
    shifted_stays,
    tally_of,
)
from priste.mobility.sequences import moves_of
from priste.mobility.structured import BlendedTransition

FORMULA_ERROR = 1e-12
"""Some dozens of roundings per entry."""

BISECTION_ERROR = 1e-9
GRID = Grid(3, 4, 1.0)
TWO_PHASES = np.array([0, 0, 1], dtype=np.int64)
cells = st.one_of(st.none(), st.integers(0, GRID.size - 1))
people = st.lists(st.lists(cells, min_size=2, max_size=25), min_size=1, max_size=4)
strengths = st.sampled_from([0.5, 3.0, 40.0])
phase_strengths = st.sampled_from([2.0, 50.0, math.inf])


def as_moves(sequences):
    return moves_of(
        [np.array([-1 if c is None else c for c in cells], dtype=np.int64) for cells in sequences],
        [0] * len(sequences),
    )


def slow_reach(grid: Grid, arrivals: list[int], decay: int, lean: int) -> list[list[Fraction]]:
    """Where those go who leave, in fractions."""
    mean = max(Fraction(sum(arrivals), grid.size), Fraction(1, grid.size))
    rows = []
    for i in range(grid.size):
        row = []
        for j in range(grid.size):
            down = max(abs(i // grid.columns - j // grid.columns), 1)
            along = max(abs(i % grid.columns - j % grid.columns), 1)
            popular = (1 + arrivals[j] / mean) ** lean
            row.append(popular / Fraction(down * along) ** decay if i != j else Fraction(0))
        rows.append([entry / sum(row) for entry in row])
    return rows


def slow_transitions(grid, moves, clock, shrinkage, shifted):
    """The formula of the module, cell by cell."""
    phase_of = [int(clock[s % len(clock)]) for s in moves.steps.tolist()]
    triples = list(zip(phase_of, moves.sources.tolist(), moves.targets.tolist(), strict=True))
    by_phase, whole = Counter(triples), Counter((i, j) for _, i, j in triples)
    arrivals = [sum(n for (i, j), n in whole.items() if j == c != i) for c in range(grid.size)]
    reach = slow_reach(grid, arrivals, int(shrinkage.decay), int(shrinkage.lean))
    matrices = []
    for p in range(int(clock.max()) + 1):
        matrix = np.zeros((grid.size, grid.size))
        for i in range(grid.size):
            own, all_own = by_phase[p, i, i], sum(by_phase[p, i, j] for j in range(grid.size))
            stay = Fraction(float(shifted[p, i]))
            if math.isfinite(shrinkage.stay_by_phase) and int(clock.max()):
                c = Fraction(shrinkage.stay_by_phase)
                stay = (own + c * stay) / (all_own + c)
            left = sum(whole[i, j] for j in range(grid.size) if j != i)
            b = Fraction(shrinkage.go)
            for j in range(grid.size):
                go = (whole[i, j] + b * reach[i][j]) / (left + b)
                if math.isfinite(shrinkage.go_by_phase) and int(clock.max()):
                    d = Fraction(shrinkage.go_by_phase)
                    go = (by_phase[p, i, j] + d * go) / (all_own - own + d)
                matrix[i, j] = float(stay if i == j else (1 - stay) * go)
        matrices.append(matrix)
    return matrices


@examples(40)
@given(people, strengths, strengths, phase_strengths, phase_strengths,
       st.sampled_from([1.0, 2.0]), st.sampled_from([0.0, 1.0]), st.booleans())  # fmt: skip
def test_transitions_follow_the_stated_formula(
    sequences, a: float, b: float, c: float, d: float, decay: float, lean: float, phases: bool
) -> None:
    """Every entry of every phase is the formula's, worked out in fractions."""
    clock = TWO_PHASES if phases else np.zeros(1, dtype=np.int64)
    moves = as_moves(sequences)
    tally = tally_of(GRID, moves, clock)
    shrinkage = Shrinkage(a, b, c, d, decay, lean)
    found = population_transitions(GRID, tally, shrinkage)
    shifted = shifted_stays(tally, a)
    wanted = slow_transitions(GRID, moves, clock, shrinkage, shifted)
    for transition, matrix in zip(found, wanted, strict=True):
        assert np.allclose(transition.toarray(), matrix, rtol=FORMULA_ERROR, atol=0)
        assert transition.toarray().min() > 0


@examples(40)
@given(people, strengths)
def test_a_phase_has_as_many_stays_as_were_counted(sequences, strength: float) -> None:
    """The factor of a phase makes the expected stays those counted, one more of each added."""
    tally = tally_of(GRID, as_moves(sequences), TWO_PHASES)
    pooled = tally.pooled()
    stays, leaves = pooled.stays[0], pooled.leaves[0]
    everywhere = (stays.sum() + 1) / (stays.sum() + leaves.sum() + 2)
    share = (stays + strength * everywhere) / (stays + leaves + strength)
    odds = share / (1 - share)
    for number, row in enumerate(shifted_stays(tally, strength)):
        counted = tally.stays[number] + tally.leaves[number]
        factors = row / (1 - row) / odds
        assert np.allclose(factors, factors[0], rtol=BISECTION_ERROR)
        if not counted.sum():
            assert np.allclose(row, share, rtol=BISECTION_ERROR)
            continue
        mean = factors[0] * (counted @ odds) / counted.sum()
        expected = counted @ row + 2 * mean / (1 + mean)
        assert expected == pytest.approx(tally.stays[number].sum() + 1, rel=1e-6)


def test_large_maps_have_the_same_law_without_a_square_array() -> None:
    """Above the limit the blended form equals the formula without a lean."""
    side = math.isqrt(POPULARITY_LIMIT) + 1
    grid = Grid(side, side, 1.0)
    walk = MarkovModel.gaussian(grid, 1.5).sample(200, rng=3).repeat(4).tolist()
    moves = as_moves([walk])
    tally = tally_of(grid, moves, TWO_PHASES)
    shrinkage = Shrinkage(3.0, 5.0, 20.0, 10.0, 2.0, lean=1.0)
    found = population_transitions(grid, tally, shrinkage)[1]
    assert isinstance(found, BlendedTransition)
    visited = np.unique(walk)[:40]
    shifted = shifted_stays(tally, 3.0)[1]
    stay = (tally.stays[1] + 20 * shifted) / (tally.stays[1] + tally.leaves[1] + 20)
    assert np.allclose(found.entries(visited, visited), stay[visited], rtol=FORMULA_ERROR)
    rows = np.eye(grid.size)[visited]
    assert np.allclose(found.push(rows).sum(axis=1), 1.0, rtol=FORMULA_ERROR)
    apart = np.maximum(np.abs(np.subtract.outer(np.arange(side), np.arange(side))), 1.0) ** -2.0
    weights = np.kron(apart, apart)
    np.fill_diagonal(weights, 0.0)
    pooled = tally.pooled()
    for cell in visited.tolist():
        go = pooled.moves[0].toarray()[cell] + 5 * weights[cell] / weights[cell].sum()
        go /= pooled.leaves[0][cell] + 5
        go = (tally.moves[1].toarray()[cell] + 10 * go) / (tally.leaves[1][cell] + 10)
        row = (1 - stay[cell]) * go
        row[cell] = stay[cell]
        every = np.arange(grid.size)
        assert np.allclose(found.entries(np.full(grid.size, cell), every), row, rtol=1e-9, atol=0)


@examples(40)
@given(people)
def test_each_move_is_left_out_once(sequences) -> None:
    """Counted and left out make up everything, and each move is left out in one fold."""
    moves = [as_moves([each]) for each in sequences]
    everything = Counter(
        (s, t, k) for each in moves for s, t, k in
        zip(each.sources.tolist(), each.targets.tolist(), each.steps.tolist(), strict=True)
    )  # fmt: skip
    left_out: Counter[tuple[int, int, int]] = Counter()
    for known, held in folds_of(moves):
        both = Counter()
        for part in (known, held):
            both.update(zip(part.sources.tolist(), part.targets.tolist(), part.steps.tolist(),
                            strict=True))  # fmt: skip
        assert both == everything
        left_out.update(zip(held.sources.tolist(), held.targets.tolist(), held.steps.tolist(),
                            strict=True))  # fmt: skip
    assert left_out in (everything, Counter())


def commuters(count: int, days: int, seed: int, *, regular: bool) -> list[list[list[int]]]:
    """People with homes and two offices; regular ones go at eight and come back at six."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        home, office = int(rng.integers(0, 36)), int(rng.choice([14, 21]))
        walk: list[int] = []
        for _ in range(days):
            for hour in range(24):
                inside = 8 <= hour < 18 if regular else rng.random() < 0.4
                away = rng.random() < 0.05
                walk.append(int(rng.integers(0, 36)) if away else office if inside else home)
        found.append([walk])
    return found


CITY = Grid(6, 6, 1.0)
CLOCK = memories_of(datetime(2026, 3, 2), timedelta(hours=1))


@pytest.fixture(scope="module")
def regular_fit():
    return fit_population(CITY, commuters(12, 6, 1, regular=True), CLOCK)


def test_a_rhythm_is_found_and_helps_with_strangers(regular_fit) -> None:
    """Where people keep hours the choice knows them, and predicts new people better than plain."""
    assert regular_fit.choice.memory in ("parts", "hours")
    strangers = [walk for person in commuters(10, 6, 2, regular=True) for walk in person]
    plain = MarkovModel.fit(CITY, [w for p in commuters(12, 6, 1, regular=True) for w in p])
    assert regular_fit.model.log_likelihood(strangers) > plain.log_likelihood(strangers) + 50


def test_no_rhythm_no_loss() -> None:
    """Where people keep no hours, strangers are still predicted at least as the plain fit does."""
    fit = fit_population(CITY, commuters(10, 6, 3, regular=False), CLOCK)
    strangers = [walk for person in commuters(10, 6, 4, regular=False) for walk in person]
    plain = MarkovModel.fit(CITY, [w for p in commuters(10, 6, 3, regular=False) for w in p])
    assert fit.model.log_likelihood(strangers) >= plain.log_likelihood(strangers)


def test_the_scores_are_those_of_models_fitted_without_the_left_out(regular_fit) -> None:
    """A score is the log-likelihood of each fold under the model fitted on the rest."""
    persons = commuters(12, 6, 1, regular=True)
    clock = np.array(CLOCK[regular_fit.choice.memory])
    total, moves = 0.0, 0
    for group in range(5):
        known = [walk for n, p in enumerate(persons) for walk in p if n % 5 != group]
        held = [walk for n, p in enumerate(persons) for walk in p if n % 5 == group]
        found = population_transitions(
            CITY, tally_of(CITY, as_moves(known), clock), regular_fit.choice.shrinkage
        )
        model = MarkovModel(CITY, [found[phase] for phase in clock], cycle=True)
        total += model.log_likelihood(held)
        moves += sum(len(walk) - 1 for walk in held)
    assert regular_fit.choice.moves == moves
    assert regular_fit.choice.nats_per_move == pytest.approx(-total / moves, abs=1e-5)
    scores = {score.memory: score.nats_per_move for score in regular_fit.choice.scores}
    assert list(scores) == [PLAIN, *MEMORIES]
    assert min(scores.values()) == scores[regular_fit.choice.memory]


def test_little_data_is_fitted_and_said() -> None:
    """One move gives a model, no score; one person is judged by stretches of their time."""
    one = fit_population(GRID, [[[0, 1]]], CLOCK)
    choice = one.choice
    assert (choice.memory, choice.scores, choice.nats_per_move, choice.moves) == (NONE, (), None, 0)
    assert one.model.transition(0).toarray().min() > 0
    alone = fit_population(GRID, [[[0, 0, 1, 1, 2, 6, 6, 6, 5, 5] * 6]])
    assert alone.choice.moves == 59
    assert alone.choice.nats_per_move is not None
    assert fit_population(Grid(1, 1, 1.0), [[[0, 0, 0]], [[0, 0]]]).choice.memory == NONE


def test_what_cannot_be_fitted_is_refused() -> None:
    """No moves, no memories, holes among the phases, the name of the comparison."""
    with pytest.raises(InvalidParameter, match="nothing to fit"):
        fit_population(GRID, [[[0, None, 1]], []])
    with pytest.raises(InvalidParameter, match="one at least"):
        fit_population(GRID, [[[0, 1]]], {})
    with pytest.raises(InvalidParameter, match="without holes"):
        fit_population(GRID, [[[0, 1]]], {"odd": [0, 2]})
    with pytest.raises(InvalidParameter, match="compared to"):
        fit_population(GRID, [[[0, 1]]], {PLAIN: [0]})
    with pytest.raises(InvalidParameter, match="list of phase numbers"):
        fit_population(GRID, [[[0, 1]]], {"odd": [0.5]})
    with pytest.raises(InvalidParameter, match="position 1") as told:
        fit_population(GRID, [[[0, 99]]])
    assert "99" not in str(told.value)


def test_memories_follow_the_clock() -> None:
    """Phases begin where clocks say, weeks on the day that they start on."""
    from_eight = memories_of(datetime(2026, 3, 6, 8), timedelta(hours=2))
    assert from_eight["parts"] == (1, 2, 2, 2, 3, 3, 4, 4, 0, 0, 0, 1)
    week = from_eight["week"]
    assert len(week) == 84
    friday, saturday = set(week[:8]), set(week[8:20])
    assert friday.isdisjoint(saturday)
    assert list(memories_of(datetime(2026, 3, 2), timedelta(minutes=7))) == [NONE]
    assert list(memories_of(datetime(2026, 3, 2), timedelta(days=1))) == [NONE, "week"]
