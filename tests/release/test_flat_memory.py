"""The public state of a stream takes the same memory after any number of releases."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
from priste.release import AccountantState, Draw, make_terms

GRID = Grid(rows=12, columns=12, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=1.0)
MECHANISM = PlanarLaplace(GRID, alpha=0.5)
EVENT = presence([0, 1], [1, 2])

COLUMN = 8 * GRID.size
"""What one kept column would take, in bytes."""

STEPS = 150


@pytest.mark.parametrize("replaying", [False, True])
def test_the_public_state_keeps_no_column(replaying):
    """After 150 releases, measured or replayed, less than a hundred columns are in memory."""
    state = AccountantState.first(make_terms(MODEL, EVENT, MECHANISM, 5.0, None, AnyPrior()))
    table = MECHANISM.emission()

    def advance(steps: int) -> None:
        nonlocal state
        for step in range(steps):
            output = 7 * step % GRID.size
            drawn = Draw(output, 0.5, table[:, output])
            state = state.replayed(drawn, (1.0,), (0.5,)) if replaying else state.after(drawn)
        state.passes(table[:, :1])  # what a replay has left to do is done when it is needed

    advance(5)
    tracemalloc.start()
    try:
        advance(5)
        before = tracemalloc.get_traced_memory()[0]
        advance(STEPS)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 100 * COLUMN


def test_a_stream_grows_by_its_ledger_alone():
    """Each of 150 steps adds less than one and a half columns: a packed one and a ledger line."""
    protector = Protector(MODEL, EVENT, MECHANISM, 0.5, "paper", rng=3, adversary=AnyPrior())
    cells = np.random.default_rng(4).integers(0, GRID.size, size=STEPS + 20)
    tracemalloc.start()
    try:
        for cell in cells[:20]:
            protector.release(int(cell))
        before = tracemalloc.get_traced_memory()[0]
        for cell in cells[20:]:
            protector.release(int(cell))
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 1.5 * STEPS * COLUMN
