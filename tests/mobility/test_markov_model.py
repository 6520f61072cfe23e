"""MarkovModel: schedules, sampling, likelihood, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.drawn_examples import examples
from tests.oracles.written_numbers import WrittenNumbers

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import DenseTransition, MarkovModel, SeparableTransition, SparseTransition

LINE = Grid(1, 2, 1.0)
SQUARE = Grid(2, 2, 1.0)
A = np.array([[0.5, 0.5], [0.25, 0.75]])
B = np.array([[1.0, 0.0], [0.5, 0.5]])
C = np.array([[0.0, 1.0], [1.0, 0.0]])
LOG_ERROR = 1e-12


def matrix_at(model: MarkovModel, step: int) -> list[list[float]]:
    return model.transition(step).toarray().tolist()


def test_one_matrix_serves_every_step() -> None:
    """One matrix, dense, nested lists or sparse, is the move of every step, for ever."""
    for matrix in (A, A.tolist(), sparse.csr_array(A), sparse.coo_matrix(A), DenseTransition(A)):
        model = MarkovModel(LINE, matrix)
        assert model.horizon is None
        assert model.period == 1
        assert model.order == 1
        assert matrix_at(model, 0) == matrix_at(model, 10**9) == A.tolist()


@pytest.mark.parametrize(
    "matrices",
    [
        [A, B, C],
        (A, B, C),
        np.stack([A, B, C]),
        [A.tolist(), B.tolist(), C.tolist()],
        [sparse.csr_array(A), B, SparseTransition(sparse.csr_array(C))],
        [DenseTransition(A), sparse.csr_array(B), C],
    ],
)
def test_a_sequence_serves_step_by_step(matrices: object) -> None:
    """A sequence of any mixture of forms is one move per step, and ends."""
    model = MarkovModel(LINE, matrices)
    assert model.horizon == 3
    assert model.period is None
    assert [matrix_at(model, step) for step in range(3)] == [A.tolist(), B.tolist(), C.tolist()]
    assert model.states(3) == 2
    with pytest.raises(InvalidParameter, match="describes 3 moves"):
        model.transition(3)
    with pytest.raises(InvalidParameter, match="describes 3 moves"):
        model.cell_of_state(4)


def test_a_cycle_repeats_and_can_be_turned() -> None:
    """With ``cycle=True`` matrices come round, and ``starting_at`` turns the wheel."""
    model = MarkovModel(LINE, [A, B, C], cycle=True)
    assert model.horizon is None
    assert model.period == 3
    turned = model.starting_at(5)
    for step in range(7):
        assert matrix_at(model, step) == [A, B, C][step % 3].tolist()
        assert matrix_at(turned, step) == [A, B, C][(step + 5) % 3].tolist()
    rest = MarkovModel(LINE, [A, B, C]).starting_at(1)
    assert rest.horizon == 2
    assert matrix_at(rest, 0) == B.tolist()
    alone = MarkovModel(LINE, A)
    assert alone.starting_at(12) is alone
    with pytest.raises(InvalidParameter, match="describes 3 moves"):
        MarkovModel(LINE, [A, B, C]).starting_at(3)


def test_the_same_matrix_at_many_steps_is_stored_once() -> None:
    """A sequence that repeats one object keeps one transition."""
    model = MarkovModel(LINE, [A] * 1000)
    assert len({id(model.transition(step)) for step in range(1000)}) == 1


def test_states_are_the_cells_in_order_and_fixed() -> None:
    """In a first-order model state and cell are one, at every step; the array is read-only."""
    model = MarkovModel(SQUARE, np.eye(4))
    assert model.cell_of_state(0).tolist() == model.cell_of_state(7).tolist() == [0, 1, 2, 3]
    assert model.pairs is None
    with pytest.raises(ValueError, match="read-only"):
        model.cell_of_state(0)[0] = 3
    with pytest.raises(AttributeError):
        model.grid = LINE


def test_row_sum_error_is_the_largest_of_all_steps() -> None:
    """The model's bound covers each of its transitions."""
    off = np.array([[0.5, 0.5], [0.5, 0.5 + 5e-10]])
    model = MarkovModel(LINE, [A, off, B])
    assert model.row_sum_error == model.transition(1).row_sum_error > 4.9e-10
    assert model.row_sum_error < 5.1e-10


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([], "one matrix at least"),
        (np.empty((0, 2, 2)), "one matrix at least"),
        (np.eye(3), r"shape \(2, 2\)"),
        (np.full((2, 3), 1 / 3), r"shape \(2, 2\)"),
        ([A, np.eye(3)], r"matrix\[1\]' of MarkovModel must have shape"),
        ([A, [[0.5, 0.4], [0, 1]]], r"matrix\[1\]'.*row 0 does not\. Got 0\.9"),
        ([A, None], r"matrix\[1\]"),
        (None, "real numbers"),
        ("model", "real numbers"),
        (np.eye(2, dtype=complex), "real numbers"),
        (np.eye(2, dtype=bool), "real numbers"),
        (np.array(["a", "b"]), "real numbers"),
        (np.ones((1, 1, 2, 2)), "must be a matrix"),
        (sparse.csr_array(np.eye(3)), r"shape \(2, 2\)"),
        (SeparableTransition([[1.0]], np.eye(3)), r"shape \(2, 2\)"),
        ([[0.5, 0.5], [0.5]], "differ in length"),
    ],
)
def test_wrong_matrices_are_refused(matrix: object, message: str) -> None:
    """Whatever is not one or several square stochastic matrices of the map is refused."""
    with pytest.raises(InvalidParameter, match=message):
        MarkovModel(LINE, matrix)


def test_wrong_cycle_step_and_grid_are_refused() -> None:
    """Arguments of the wrong type say what they should be."""
    with pytest.raises(InvalidParameter, match="'cycle'"):
        MarkovModel(LINE, [A, B], cycle=2)
    with pytest.raises(InvalidParameter, match="'grid'"):
        MarkovModel(None, A)
    for step in (-1, 0.5, True, None, "0"):
        with pytest.raises(InvalidParameter, match="'step'"):
            MarkovModel(LINE, A).transition(step)


# Sampling


def test_sampling_follows_the_rows_step_by_step() -> None:
    """The move out of step t is drawn from matrix t, at the exact ends of its probabilities."""
    model = MarkovModel(LINE, [A, B])
    below = 0.25 - 2.0**-54
    # A[1] is 1:3, so numbers below 1/4 mean cell 0; B[0] is certain and B[1] is 1:1.
    assert model.sample(3, rng=WrittenNumbers(below, 0.9), start=1).tolist() == [1, 0, 0]
    assert model.sample(3, rng=WrittenNumbers(0.25, 0.5), start=1).tolist() == [1, 1, 1]
    assert model.sample(3, rng=WrittenNumbers(0.5, 0.75, 0.49), start=None).tolist() == [1, 1, 0]
    assert model.sample(1, rng=WrittenNumbers(0.25), start=[0.25, 0.75]).tolist() == [1]
    assert model.sample(1, rng=WrittenNumbers(below), start=np.array([0.25, 0.75])).tolist() == [0]


@examples(40)
@given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from(["dense", "separable"]))
def test_samples_repeat_with_the_seed_and_only_make_possible_moves(
    seed: int, steps: int, form: str
) -> None:
    """A seed gives the same walk again; every move of it has positive probability."""
    grid = Grid(3, 4, 1.0)
    model = MarkovModel.gaussian(grid, 0.6, form=form)
    cells = model.sample(steps, rng=seed)
    assert cells.dtype == np.int64
    assert np.array_equal(cells, model.sample(steps, rng=seed))
    matrix = model.transition(0).toarray()
    assert np.all(matrix[cells[:-1], cells[1:]] > 0)


def test_sampled_frequencies_follow_the_distribution() -> None:
    """Over 20,000 moves each frequency is within five standard deviations of its probability."""
    cells = MarkovModel(LINE, A).sample(20_001, rng=11, start=0)
    for cell in (0, 1):
        out = cells[1:][cells[:-1] == cell]
        probability = A[cell, 1]
        deviation = math.sqrt(probability * (1 - probability) / out.size)
        assert abs((out == 1).mean() - probability) < 5 * deviation


def test_the_default_randomness_is_the_systems() -> None:
    """Without a seed two long walks differ."""
    model = MarkovModel.gaussian(Grid(10, 10, 1.0), 2.0)
    assert not np.array_equal(model.sample(100), model.sample(100))


@pytest.mark.parametrize("steps", [0, -1, 2.0, True, None])
def test_wrong_steps_are_refused(steps: object) -> None:
    """A sample has one step at least, a whole number of them."""
    with pytest.raises(InvalidParameter, match="'steps'"):
        MarkovModel(LINE, A).sample(steps)


def test_a_sample_ends_with_the_model() -> None:
    """A model of two moves gives three cells and no more."""
    model = MarkovModel(LINE, [A, B])
    assert len(model.sample(3, rng=1)) == 3
    with pytest.raises(InvalidParameter, match="at most 3"):
        model.sample(4, rng=1)


@pytest.mark.parametrize(
    "start", [-1, 2, True, 0.5, [1.0], [0.5, 0.6], [np.nan, 1.0], [-0.5, 1.5], "0", [[1.0, 0.0]]]
)
def test_a_wrong_start_is_refused(start: object) -> None:
    """The start is a cell of the map or a distribution over its cells."""
    with pytest.raises(InvalidParameter, match="'start'"):
        MarkovModel(LINE, A).sample(2, start=start)


# Likelihood


@st.composite
def models_and_sequences(draw: st.DrawFn) -> tuple[list[np.ndarray], bool, list[list[int | None]]]:
    matrices = draw(st.lists(st.sampled_from([A, B, C]), min_size=1, max_size=4))
    cyclic = draw(st.booleans())
    longest = 12 if cyclic else len(matrices) + 1
    cells = st.lists(st.sampled_from([0, 1, None]), max_size=longest)
    return matrices, cyclic, draw(st.lists(cells, max_size=4))


@examples(150)
@given(models_and_sequences(), st.data())
def test_likelihood_is_the_product_over_known_moves(
    case: tuple[list[np.ndarray], bool, list[list[int | None]]], data: st.DataObject
) -> None:
    """Against a product of fractions, move by move; a gap is no move; impossible is -inf."""
    matrices, cyclic, sequences = case
    model = MarkovModel(LINE, matrices, cycle=cyclic)
    offsets = [data.draw(st.integers(0, 9)) if cyclic else 0 for _ in sequences]
    product = Fraction(1)
    for cells, offset in zip(sequences, offsets, strict=True):
        for step, (here, there) in enumerate(pairwise(cells)):
            if here is not None and there is not None:
                matrix = matrices[(step + offset) % len(matrices)]
                product *= Fraction(float(matrix[here, there]))
    found = model.log_likelihood(sequences, offsets=offsets)
    if product == 0:
        assert found == -math.inf
    else:
        wanted = math.log(product)
        assert found == pytest.approx(wanted, rel=LOG_ERROR, abs=LOG_ERROR)


def test_likelihood_reads_every_form_alike() -> None:
    """Dense, sparse, separable and blended forms of one matrix give one likelihood."""
    grid = Grid(3, 3, 1.0)
    walk = MarkovModel.gaussian(grid, 1.0).sample(50, rng=3)
    dense = MarkovModel.gaussian(grid, 1.0, form="dense")
    whole = dense.transition(0).toarray()
    wanted = math.fsum(math.log(whole[a, b]) for a, b in pairwise(walk))
    forms = [
        dense,
        MarkovModel.gaussian(grid, 1.0, form="separable"),
        MarkovModel(grid, sparse.csr_array(whole)),
    ]
    for model in forms:
        assert model.log_likelihood([walk]) == pytest.approx(wanted, rel=LOG_ERROR)


def test_likelihood_beyond_the_model_is_refused() -> None:
    """Moves after the last matrix have no probability to look up."""
    with pytest.raises(InvalidParameter, match="describes 1 moves"):
        MarkovModel(LINE, [A]).log_likelihood([[0, 1, 1]])
    assert MarkovModel(LINE, [A]).log_likelihood([]) == 0.0


def test_repr_says_what_it_is() -> None:
    """A model prints its size and length, no arrays."""
    assert repr(MarkovModel(LINE, [A, B])) == (
        "<MarkovModel of order 1 on 2 cells, 2 moves, DenseTransition>"
    )
