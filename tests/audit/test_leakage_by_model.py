"""The leakage of one stream under several models, guarded or not."""

from __future__ import annotations

import numpy as np
import pytest

from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, Quantifier, presence
from priste.audit import leakage_by_model, moves_scaled
from priste.errors import InvalidParameter

GRID = Grid(rows=2, columns=3, cell_size=1.0)
SLOW, FAST = MarkovModel.gaussian(GRID, sigma=0.6), MarkovModel.gaussian(GRID, sigma=2.0)
EVENT = presence([0], [2, 3])


def test_it_is_the_largest_over_the_steps_and_what_the_ledger_says_of_the_guarded_model() -> None:
    protector = Protector(
        SLOW, EVENT, PlanarLaplace(GRID, 2.0), 1.0, rng=4, adversary=KnownPrior(SLOW.stationary())
    )
    releases = [protector.release(cell) for cell in (0, 0, 1, 1, 2, 5)]
    likelihoods = [protector.ledger.likelihood(step) for step in range(6)]
    found = leakage_by_model({"slow": SLOW, "fast": FAST}, {"visit": EVENT}, likelihoods)
    largest = max(release.leakage[0] for release in releases)
    assert found["slow"]["visit"] == pytest.approx(largest, abs=1e-6)
    quantifier = Quantifier(FAST, EVENT, KnownPrior(FAST.stationary()))
    values = []
    for likelihood in likelihoods:
        quantifier.observe(likelihood)
        values.append(quantifier.leakage().value)
    assert found["fast"]["visit"] == pytest.approx(max(values), abs=1e-6)
    assert found["fast"]["visit"] > 0.0


def test_moves_are_scaled_and_rows_stay_distributions() -> None:
    for factor in (0.5, 2.0, 50.0):
        before, after = (m.transition(0).toarray() for m in (SLOW, moves_scaled(SLOW, factor)))
        assert after.sum(axis=1) == pytest.approx(np.ones(GRID.size))
        moving = 1.0 - np.diag(before)
        assert 1.0 - np.diag(after) == pytest.approx(np.minimum(1.0, factor * moving))
    with pytest.raises(InvalidParameter, match="moves_scaled"):
        moves_scaled(MarkovModel(GRID, [np.eye(6), np.eye(6)]), 2.0)
