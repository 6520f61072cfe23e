"""Backward vectors of long events: plain products are the scaled ones to the bit; few layers."""

from __future__ import annotations

import numpy as np
import pytest

from priste import Grid, MarkovModel
from priste.events import at, presence
from priste.quantify.lifted import MOVES_KEPT, BackwardVectors, LiftedChain

GRID = Grid(rows=6, columns=7, cell_size=1.0)
MODELS = {
    "dense": MarkovModel.gaussian(GRID, sigma=1.0, form="dense"),
    "separable": MarkovModel.gaussian(GRID, sigma=0.7, form="separable"),
    "sparse": MarkovModel.gaussian(GRID, sigma=1.0, reach=2.0),
    "far apart": MarkovModel.gaussian(GRID, sigma=0.16, form="dense"),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_plain_products_are_the_scaled_ones_to_the_bit(
    model: MarkovModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the plain way is taken, and where it is not, every vector is that of the scaled way."""
    event = presence([0, 3], [5, 9]) & ~at([40], 12)
    quick = BackwardVectors(LiftedChain(model, event))
    for transition in model.schedule.transitions():
        monkeypatch.setitem(vars(transition), "least_factor", 0.0)
    scaled = BackwardVectors(LiftedChain(model, event))
    assert quick.absolute_error == scaled.absolute_error
    for step in range(12):
        np.testing.assert_array_equal(quick.at(step), scaled.at(step))
    np.testing.assert_array_equal(quick.at_start(), scaled.at_start())


def test_equal_layers_of_a_long_event_are_kept_once() -> None:
    """A presence over 500 steps keeps the arrays of its few kinds of layers, not of each step."""
    chain = LiftedChain(MODELS["sparse"], presence([0, 1], range(500)))
    BackwardVectors(chain)
    kept = {id(chain._moves_at(step)) for step in range(500)}
    assert len(kept) <= 3


def test_different_layers_are_forgotten_and_made_again() -> None:
    """With another region at each step, few are kept and what is asked for again is the same."""
    event = at([0], 0)
    for step in range(1, 3 * MOVES_KEPT // 2):
        event = event | at([step % GRID.size, (step * 5 + 1) % GRID.size], step)
    chain = LiftedChain(MODELS["sparse"], event)
    first = chain._moves_at(7)
    for step in range(3 * MOVES_KEPT // 2):
        chain._moves_at(step)
    again = chain._moves_at(7)
    assert len(chain._different) <= MOVES_KEPT
    assert first is not None
    assert again is not None
    np.testing.assert_array_equal(first.target, again.target)
