"""Maps of 10,000 and 40,000 cells in memory that does not grow with the square of the cells."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from priste import Grid, InvalidParameter, MarkovModel, Quantifier, StartsIn
from priste.events import presence
from priste.quantify import lifted, model_stream

ROUNDING = 1e-11

MEGABYTE = 2**20


def square(side: int) -> Grid:
    return Grid(rows=side, columns=side, cell_size=1.0)


def laplace_column(grid: Grid, cell: int, alpha: float) -> np.ndarray:
    return np.exp(-alpha * grid.distances_from(cell))


def quantified(side: int, model: MarkovModel) -> Quantifier:
    grid = model.grid
    event = presence(range(2 * side, 2 * side + 5), range(3, 6))
    q = Quantifier(model, event)
    for step in range(8):
        q.observe(laplace_column(grid, (3 + step) * side + 4, 0.5))
    return q


def peak_of_a_stream(side: int) -> float:
    """Peak of what eight releases and their joint probabilities allocate, beyond the model."""
    model = MarkovModel.gaussian(square(side), sigma=1.0, reach=3.0)
    tracemalloc.start()
    quantified(side, model).joint_probabilities()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / MEGABYTE


def test_memory_grows_with_the_cells_and_not_with_their_square():
    """Four times the cells take about four times the memory; a square would take 16 times."""
    quarter, whole = peak_of_a_stream(50), peak_of_a_stream(100)
    assert whole < 8 * quarter
    # one m x m array alone would be 763 MB
    assert whole < 60


@pytest.mark.parametrize("form", ["sparse", "separable"])
def test_forty_thousand_cells(form):
    """A map of 40,000 cells: the joint probabilities of all first cells add up to Pr(releases)."""
    side = 200
    model = MarkovModel.gaussian(
        square(side), sigma=2.0, **({"reach": 4.0} if form == "sparse" else {})
    )
    q = quantified(side, model)
    joint = q.joint_probabilities()
    assert joint.rows == side * side
    # The same likelihood of everything, by one row forward from a few starts.
    starts = [0, 5 * side + 5, side * side - 1]
    known = Quantifier(model, presence([2 * side], [3]), StartsIn(starts), method="forward")
    for step in range(8):
        known.observe(laplace_column(model.grid, (3 + step) * side + 4, 0.5))
    few = known.joint_probabilities()
    for row, start in enumerate(starts):
        together = math.log(few.event[row] + few.complement[row])
        together += few.exponent[row] * math.log(2.0)
        apart = math.log(joint.event[start] + joint.complement[start])
        apart += joint.exponent[start] * math.log(2.0)
        assert together == pytest.approx(apart, rel=ROUNDING)


def test_auto_never_builds_an_operator_beyond_its_memory(monkeypatch):
    """Above the memory limit "auto" replays, however many candidates there are."""
    monkeypatch.setattr(model_stream, "OPERATOR_BYTES", 1000)
    model = MarkovModel.gaussian(square(4), sigma=1.0)
    q = Quantifier(model, presence([0], [1, 2]))
    for _ in range(5):
        q.observe(laplace_column(model.grid, 3, 0.5))
        q.candidate_joint(np.ones((16, 30)))
        q.joint_probabilities()
    assert q._streams[0]._operator is None


def test_auto_turns_to_the_operator_when_replays_have_cost_as_much():
    """Asked after every step, "auto" replays a short stream and holds an operator later."""
    model = MarkovModel.gaussian(square(4), sigma=1.0)
    q = Quantifier(model, presence([0], [1, 2]))
    used = []
    for _ in range(120):
        q.observe(laplace_column(model.grid, 3, 0.5))
        q.joint_probabilities()
        used.append(q._streams[0]._operator is not None)
    assert not any(used[1:5])
    assert used[-1]


@pytest.mark.parametrize("method", ["forward", "replay"])
def test_backward_vectors_recomputed_from_checkpoints_are_the_same(monkeypatch, method):
    """When memory is short, vectors computed again from checkpoints equal the kept ones."""
    model = MarkovModel.gaussian(square(3), sigma=1.0)
    event = presence([0, 4], [2, 5, 11, 23])

    def stream() -> list[list[float]]:
        q = Quantifier(model, event, method=method)
        answers = []
        for step in range(26):
            answers.append(q.candidate_joint(np.eye(9)).event.tolist())
            q.observe(laplace_column(model.grid, step % 9, 0.5))
            answers.append(q.joint_probabilities().event.tolist())
        return answers

    kept = stream()
    with monkeypatch.context() as short:
        short.setattr(lifted, "BACKWARD_BYTES", 100)
        assert stream() == kept
    monkeypatch.setattr(lifted, "SPARED_BYTES", 100)
    monkeypatch.setenv("PRISTE_SPARE_MEMORY", "1")
    assert lifted.BackwardVectors(lifted.LiftedChain(model, event))._stride > 1
    assert stream() == kept


def test_checkpoints_keep_the_root_of_the_steps(monkeypatch):
    """With checkpoints about 2 * sqrt(steps) vectors are alive at a time."""
    monkeypatch.setattr(lifted, "BACKWARD_BYTES", 100)
    model = MarkovModel.gaussian(square(2), sigma=1.0)
    chain = lifted.LiftedChain(model, presence([0], [400]))
    backward = lifted.BackwardVectors(chain)
    for step in range(400):
        assert backward.at(step).shape == (2, 1, 4)
        assert len(backward._kept) + len(backward._stretch) <= 42


def test_an_event_beyond_the_models_steps_is_refused():
    """An event that ends after the last matrix of a sequence is an error at once."""
    grid = square(2)
    model = MarkovModel(grid, [np.eye(4)] * 3)
    Quantifier(model, presence([0], [3]))
    with pytest.raises(InvalidParameter, match="must end within the model's steps 0 to 3"):
        Quantifier(model, presence([0], [4]))
