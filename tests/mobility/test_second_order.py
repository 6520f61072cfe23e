"""Second-order models as chains over pairs, against enumeration of paths in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import (
    AddEverywhere,
    AddNearby,
    GaussianPrior,
    MarkovModel,
    MaximumLikelihood,
    SparseTransition,
)
from priste.mobility import second_order as module
from priste.mobility.sequences import moves_of
from priste.mobility.transitions import Schedule

GRID = Grid(1, 3, 1.0)
M = GRID.size
PATH_ERROR = 1e-12


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """A first move and a full (m, m, m) table, both with zeros."""
    weights = st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.3])

    def row() -> list[float]:
        numbers = [draw(weights) for _ in range(M)]
        if not any(numbers):
            numbers[draw(st.integers(0, M - 1))] = 1.0
        return [number / sum(numbers) for number in numbers]

    first = np.array([row() for _ in range(M)])
    return first, np.array([[row() for _ in range(M)] for _ in range(M)])


def forms(table: np.ndarray) -> list[object]:
    """The same table in each form that is accepted."""
    size = len(table)
    return [
        table,
        table.tolist(),
        sparse.csr_array(table.reshape(-1, size)),
        sparse.coo_matrix(table.reshape(-1, size)),
    ]


@examples(50)
@given(tables())
def test_every_path_has_its_probability(case: tuple[np.ndarray, np.ndarray]) -> None:
    """Pushing the lifted chain along each path of four steps gives the product of fractions."""
    first, table = case
    model = MarkovModel.second_order(GRID, first, table)
    assert model.order == 2
    assert model.horizon is None
    assert model.transition(0).shape == (M, model.states(1))
    for path in itertools.product(range(M), repeat=4):
        wanted = Fraction(float(first[path[0], path[1]]))
        for i, j, k in zip(path, path[1:], path[2:], strict=False):
            wanted *= Fraction(float(table[i, j, k]))
        state = np.zeros(M)
        state[path[0]] = 1.0
        for step, cell in enumerate(path[1:]):
            state = model.transition(step).push(state)
            state = state * (model.cell_of_state(step + 1) == cell)
        assert state.sum() == pytest.approx(float(wanted), rel=PATH_ERROR)
        found = model.log_likelihood([path])
        assert found == (pytest.approx(math.log(wanted)) if wanted else -math.inf)


@examples(50)
@given(tables())
def test_every_form_of_the_table_is_one_model(case: tuple[np.ndarray, np.ndarray]) -> None:
    """Array, nested lists and sparse matrices of one table give one fingerprint."""
    first, table = case
    prints = {MarkovModel.second_order(GRID, first, form).fingerprint() for form in forms(table)}
    compressed = MarkovModel.second_order(GRID, sparse.csr_array(first), table)
    assert prints == {compressed.fingerprint()}


@examples(50)
@given(tables())
def test_states_are_exactly_the_pairs_that_can_occur(case: tuple[np.ndarray, np.ndarray]) -> None:
    """A pair is a state if and only if some path reaches it; states come in order."""
    first, table = case
    model = MarkovModel.second_order(GRID, first, table)
    reached = {(i, j) for i in range(M) for j in range(M) if first[i, j] > 0}
    while True:
        more = {(j, k) for i, j in reached for k in range(M) if table[i, j, k] > 0} - reached
        if not more:
            break
        reached |= more
    assert model.pairs is not None
    assert [tuple(pair) for pair in model.pairs.tolist()] == sorted(reached)
    assert model.cell_of_state(0).tolist() == list(range(M))
    assert model.cell_of_state(5).tolist() == [j for _, j in sorted(reached)]
    assert isinstance(model.transition(1), SparseTransition)


def test_a_first_order_table_is_the_first_order_model() -> None:
    """When the table ignores the earlier cell, cells are distributed as in the plain model."""
    grid = Grid(3, 3, 1.0)
    plain = MarkovModel.gaussian(grid, 0.8)
    matrix = plain.transition(0).toarray()
    lifted = MarkovModel.second_order(grid, matrix, np.broadcast_to(matrix, (9, 9, 9)))
    belief = np.arange(1.0, 10.0) / 45
    state = belief
    for step in range(6):
        belief = plain.transition(step).push(belief)
        state = lifted.transition(step).push(state)
        cells = np.bincount(lifted.cell_of_state(step + 1), weights=state, minlength=9)
        assert np.allclose(cells, belief, rtol=PATH_ERROR, atol=0)
    assert np.allclose(lifted.stationary(), plain.stationary(), rtol=1e-9, atol=0)


@examples(40)
@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, M - 1)), max_size=12), min_size=1, max_size=3
    ),
    st.sampled_from([0.5, 2.0]),
)
def test_a_fit_is_triples_leaning_on_pairs(
    sequences: list[list[int | None]], backoff: float
) -> None:
    """Each conditional is the stated fraction of triple counts and the first-order row."""
    if not any(
        a is not None and b is not None for cells in sequences for a, b in itertools.pairwise(cells)
    ):
        return
    smoothing = AddEverywhere(0.5)
    plain = MarkovModel.fit(GRID, sequences, smoothing).transition(0).toarray()
    model = MarkovModel.fit(GRID, sequences, smoothing, order=2, backoff=backoff)
    triples = np.zeros((M, M, M))
    for cells in sequences:
        for i, j, k in zip(cells, cells[1:], cells[2:], strict=False):
            if i is not None and j is not None and k is not None:
                triples[i, j, k] += 1
    totals = triples.sum(axis=2, keepdims=True)
    wanted = (triples + backoff * plain) / (totals + backoff)
    assert model.pairs is not None
    for state, (i, j) in enumerate(model.pairs.tolist()):
        row = model.transition(1).push(np.eye(len(model.pairs))[state])
        found = np.zeros(M)
        for target, (previous, k) in enumerate(model.pairs.tolist()):
            if row[target]:
                assert previous == j
                found[k] = row[target]
        assert np.allclose(found, wanted[i, j], rtol=1e-12, atol=0)
    opening = model.transition(0).toarray()
    for state, (i, j) in enumerate(model.pairs.tolist()):
        assert opening[i, state] == plain[i, j]


def test_memory_pays_off() -> None:
    """People who walk on and turn only at the ends are far likelier with memory."""
    line = Grid(1, 6, 1.0)
    walk = ([0, 1, 2, 3, 4, 5, 4, 3, 2, 1] * 6) + [0]
    plain = MarkovModel.fit(line, [walk], AddNearby(0.1))
    memory = MarkovModel.fit(line, [walk], AddNearby(0.1), order=2, backoff=0.1)
    assert memory.log_likelihood([walk]) > plain.log_likelihood([walk]) + 20
    steps = np.abs(np.diff(memory.sample(200, rng=2)))
    assert steps.max() <= 1


def test_likelihood_after_a_gap_starts_anew() -> None:
    """After a gap the first move is judged by the first-order part, the next by the table."""
    first = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.0, 0.75]])
    table = np.zeros((3, 3, 3))
    table[..., 2] = 0.25
    table[..., 0] = 0.75
    model = MarkovModel.second_order(GRID, first, table)
    found = model.log_likelihood([[0, 1, 2, None, 2, 2, 0], [1], [None, None]])
    assert found == pytest.approx(math.log(0.5 * 0.25 * 0.75 * 0.75))
    assert model.log_likelihood([[0, 2]]) == -math.inf  # the pair can occur, not at the start
    assert model.log_likelihood([[0, 1, 1]]) == -math.inf


def test_a_move_after_an_impossible_pair_is_impossible_too() -> None:
    """Each move is judged by itself: after a pair that is no state it has probability 0."""
    model = MarkovModel.second_order(GRID, np.eye(3), staying([(i, i) for i in range(3)]))
    assert model.pairs is not None
    moves = moves_of([np.array([0, 1, 1, 1])], [0])
    schedule = Schedule(
        (model.transition(0),), (model.transition(1),), cyclic=True, pairs=model.pairs
    )
    assert module.triple_probabilities(schedule, model.pairs, moves).tolist() == [0.0, 0.0, 1.0]


def test_large_local_models_stay_small() -> None:
    """On 10,000 cells with eight neighbours the lifted chain has about nine pairs per cell."""
    grid = Grid(100, 100, 1.0)
    walk = MarkovModel.gaussian(grid, 0.7).sample(500, rng=1)
    model = MarkovModel.fit(grid, [walk], AddNearby(), order=2)
    assert model.states(1) < 9.1 * grid.size
    assert model.transition(1).cost < 82 * grid.size
    assert math.isfinite(model.log_likelihood([walk]))
    share = model.transition(1).push(model.transition(0).push(np.full(grid.size, 1 / grid.size)))
    assert share.sum() == pytest.approx(1.0, abs=1e-12)


# Hostile input

FIRST = np.full((3, 3), 1 / 3)
TABLE = np.full((3, 3, 3), 1 / 3)


def staying(pairs: list[tuple[int, int]]) -> sparse.csr_array:
    """A table that stays where it is, for some pairs only."""
    codes, cells = [M * i + j for i, j in pairs], [j for _, j in pairs]
    return sparse.csr_array((np.ones(len(pairs)), (codes, cells)), shape=(M * M, M))


def changed(index: tuple[int, ...], value: float) -> np.ndarray:
    table = TABLE.copy()
    table[index] = value
    return table


@pytest.mark.parametrize(
    ("first", "table", "message"),
    [
        (np.eye(2), TABLE, r"'first' .* shape \(3, 3\)"),
        (FIRST * 0.9, TABLE, "'first' .* row 0 does not"),
        (FIRST, TABLE[:2], "must have shape"),
        (FIRST, FIRST, "must have shape"),
        (FIRST, sparse.csr_array(FIRST), r"\(9, 3\)"),
        (FIRST, changed((1, 2, 0), 0.5), "'table' .* row 5 does not"),
        (FIRST, changed((1, 2, 0), np.nan), "finite and >= 0"),
        (FIRST, changed((1, 2, 0), -1.0), "finite and >= 0"),
        (FIRST, sparse.csr_array(([1.0], ([0], [0])), shape=(9, 3)), r"none for the pair \(0, 1\)"),
        (FIRST, {(0, 0): {0: 1.0}}, "real numbers"),
        (FIRST, None, "real numbers"),
        (None, TABLE, "real numbers"),
    ],
)
def test_wrong_tables_are_refused(first: object, table: object, message: str) -> None:
    """Whatever does not describe every pair that can occur is refused, naming the pair."""
    with pytest.raises(InvalidParameter, match=message):
        MarkovModel.second_order(GRID, first, table)


def test_a_pair_that_cannot_occur_needs_no_row() -> None:
    """A table with rows for the reachable pairs alone is enough; unreachable rows are dropped."""
    stay = np.eye(3)
    model = MarkovModel.second_order(GRID, stay, staying([(i, i) for i in range(3)]))
    assert model.pairs is not None
    assert model.pairs.tolist() == [[0, 0], [1, 1], [2, 2]]
    more = staying(list(itertools.product(range(3), repeat=2)))
    assert MarkovModel.second_order(GRID, stay, more).fingerprint() == model.fingerprint()


def test_size_is_bounded_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many pairs are refused before they are built, and the message says what to do."""
    walk = [[0, 1, 2]]
    large = Grid(90, 90, 1.0)
    with pytest.raises(InvalidParameter, match=r"65610000 states.*smoothing=AddNearby"):
        MarkovModel.fit(large, walk, order=2)
    with pytest.raises(InvalidParameter, match=r"160000 and 64000000.*AddNearby"):
        MarkovModel.fit(Grid(20, 20, 1.0), walk, GaussianPrior(sigma=5.0), order=2)
    monkeypatch.setattr(module, "MAX_PAIRS", 8)
    with pytest.raises(InvalidParameter, match="at most 8 pairs"):
        MarkovModel.second_order(GRID, FIRST, TABLE)


def test_maximum_likelihood_of_second_order_needs_every_cell() -> None:
    """Without smoothing an unvisited cell still needs an answer, which 'stay' gives."""
    with pytest.raises(InvalidParameter, match="never left"):
        MarkovModel.fit(GRID, [[0, 1]], 0, order=2)
    model = MarkovModel.fit(GRID, [[0, 1]], MaximumLikelihood("stay"), order=2)
    assert model.sample(5, start=0, rng=1).tolist() == [0, 1, 1, 1, 1]
