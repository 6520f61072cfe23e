"""What a guarantee asks of a column: the worst mixtures of few priors are found exactly."""

from __future__ import annotations

import numpy as np
import pytest

from priste import Grid, KnownPrior, MarkovModel, OddsBound, Quantifier, presence
from priste.release.calibrators.best_guess import Sources
from priste.release.calibrators.programme import EventConditions

GRID = Grid(rows=2, columns=3, cell_size=1.0)
MODEL = MarkovModel.gaussian(GRID, sigma=0.7)
TOLERANCE = 1e-6


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_no_mixture_of_priors_is_worse_than_the_one_that_is_found(rows: int) -> None:
    """Compared with the leakage that the exact search finds, direction by direction."""
    draws = np.random.default_rng(rows)
    priors = draws.dirichlet(np.full(GRID.size, 0.3), size=rows)
    quantifier = Quantifier(MODEL, presence([0, 4], [1, 2]), KnownPrior(priors), method="stream")
    quantifier.observe(draws.random(GRID.size))
    (operator,) = quantifier.candidate_operators()
    table = draws.dirichlet(np.full(5, 0.5), size=GRID.size)
    conditions = EventConditions(
        operator, OddsBound(1.0, 1.0), Sources(table, np.arange(table.shape[1])), priors[0]
    )
    _, ((up, _), (down, _)) = conditions._scores(np.eye(5))
    for place in range(5):
        after = quantifier.copy()
        after.observe(table[:, place])
        exact = after.directions()
        assert up[:, place].max() == pytest.approx(exact[0], abs=TOLERANCE)
        assert down[:, place].max() == pytest.approx(exact[1], abs=TOLERANCE)
