"""A quantifier that forgets what its operator has absorbed, and rows taken block by block."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste import Grid, InvalidParameter, MarkovModel, Quantifier, StartsIn
from priste.events import presence
from priste.quantify import lifted, scaling
from priste.quantify.scaling import ScaledRows

GRID = Grid(rows=4, columns=5, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
EVENT = presence([0, 1, 7], [2, 3, 6])

ROW_OF_THE_MAP = 8 * 400
"""What one kept observation would take on a map of 400 cells, in bytes."""


@examples(40)
@given(
    st.lists(st.sampled_from(["release", "silence", "ask", "candidates", "copy"]), max_size=14),
    st.integers(0, 2**32),
)
def test_forgetting_changes_no_number(actions, seed):
    """Whatever is asked between observations, all answers are those with a history, to the bit."""
    rng = np.random.default_rng(seed)
    kept = Quantifier(MODEL, EVENT, method="forward")
    forgetful = Quantifier(MODEL, EVENT, method="forward", history=False)
    for action in [*actions, "ask", "candidates"]:
        column = None if action == "silence" else rng.random(20)
        if action == "copy":
            forgetful, left_behind = forgetful.copy(), forgetful
            left_behind.observe(rng.random(20))
        elif action in ("release", "silence"):
            kept.observe(column)
            forgetful.observe(column)
        elif action == "ask":
            assert forgetful.leakage() == kept.leakage()
            np.testing.assert_array_equal(
                forgetful.joint_probabilities().event, kept.joint_probabilities().event
            )
        else:
            columns = rng.random((20, 3))
            np.testing.assert_array_equal(forgetful.leakage_if(columns), kept.leakage_if(columns))
        assert forgetful.step == kept.step
    assert (
        forgetful.joint_probabilities().relative_error == kept.joint_probabilities().relative_error
    )


@pytest.mark.parametrize("asking", [True, False])
def test_memory_does_not_grow_with_the_steps(asking):
    """Sixty more observations take less than ten of them would, asked in between or not."""
    grid = Grid(rows=20, columns=20, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    rng = np.random.default_rng(2)
    columns = rng.random((5, 400))

    def growth(quantifier: Quantifier) -> int:
        for step in range(10):
            quantifier.observe(columns[step % 5])
        quantifier.joint_probabilities()
        before = tracemalloc.get_traced_memory()[0]
        for step in range(60):
            quantifier.observe(columns[step % 5])
            if asking:
                quantifier.joint_probabilities()
        quantifier.joint_probabilities()
        return tracemalloc.get_traced_memory()[0] - before

    event, starts = presence([0], [2]), [0, 1, 2]
    tracemalloc.start()
    try:
        forgetful = Quantifier(model, event, StartsIn(starts), method="forward", history=False)
        assert growth(forgetful) < 10 * ROW_OF_THE_MAP
        assert growth(Quantifier(model, event, StartsIn(starts), method="forward")) > (
            55 * ROW_OF_THE_MAP
        )
    finally:
        tracemalloc.stop()


def test_the_past_is_refused_clearly():
    """Smoothing needs the observations, and other methods than forward cannot forget them."""
    forgetful = Quantifier(MODEL, EVENT, method="forward", history=False)
    forgetful.observe(np.full(20, 0.5))
    with pytest.raises(InvalidParameter, match="history=True"):
        forgetful.location_posterior(np.full(20, 0.05), step=0)
    for method in ("auto", "replay"):
        with pytest.raises(InvalidParameter, match="must be True unless method is 'forward'"):
            Quantifier(MODEL, EVENT, method=method, history=False)


@examples(60)
@given(st.integers(0, 2**32), st.sampled_from([0, 300, 1000]), st.booleans())
def test_blocks_give_the_numbers_of_the_whole(seed, span, rescale):
    """Rows mapped a few at a time are the same to the bit, though blocks differ in their bands."""
    rng = np.random.default_rng(seed)
    values = rng.random((23, 2, 7))
    values[rng.random(values.shape) < 0.2] = 0.0
    steep = np.ldexp(1.0, -rng.integers(0, span + 1, size=7))
    rows = ScaledRows.of(values)
    flat = rng.random(23) < 0.5

    def both(by_blocks: bool) -> ScaledRows:
        after = rows
        for _ in range(3):
            after = after.through(lambda v: v * steep, rescale=rescale, by_blocks=by_blocks)
        return after.through(lambda v: v[:, :1] + v[:, 1:], by_blocks=by_blocks)

    # Rows without entries in the steep places stay in one band.
    rows = ScaledRows.of(np.where(flat[:, None, None] & (steep < 0.5), 0.0, values))
    whole = both(False).entries()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scaling, "BLOCK_ENTRIES", 40)
        patch.setattr(scaling, "BLOCK_ROWS", 1)
        blocks = both(True).entries()
    np.testing.assert_array_equal(blocks[0], whole[0])
    np.testing.assert_array_equal(blocks[1], whole[1])


def test_what_a_large_operator_forgets_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another stream at the same place, asked after the first went on, hears the same numbers."""
    monkeypatch.setattr(lifted, "LARGE_BYTES", 0)
    model = MarkovModel.gaussian(Grid(rows=3, columns=3, cell_size=1.0), sigma=1.0)
    quantifier = Quantifier(model, presence([0], [2]), method="stream")
    columns = np.random.default_rng(3).random((9, 4))
    quantifier.observe(columns[:, 0])
    before = quantifier.candidate_joint(columns)
    other = quantifier.copy()
    quantifier.observe(columns[:, 1])
    quantifier.joint_probabilities()
    again = other.candidate_joint(columns)
    np.testing.assert_array_equal(again.event, before.event)
    np.testing.assert_array_equal(again.complement, before.complement)
