"""Small quantifiers, and which of their candidates a screen decides."""

from __future__ import annotations

import numpy as np

from priste import Grid, MarkovModel, PlanarLaplace, Quantifier
from priste.events import presence
from priste.quantify.guarantees import Limits
from priste.quantify.screening import (
    screened,
)


def small_quantifier(seed: int) -> tuple[Quantifier, np.ndarray]:
    """A stream on a map of 25 cells, and the columns of a low budget."""
    rng = np.random.default_rng(seed)
    grid = Grid(rows=5, columns=5, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0, reach=2.0)
    budget = float(rng.choice([0.003, 0.03, 0.1, 0.3]))
    columns = PlanarLaplace(grid, alpha=budget).emission()
    quantifier = Quantifier(model, presence([0, 6, 7], [2, 4]), method="forward")
    for _ in range(int(rng.integers(0, 7))):
        quantifier.observe(columns[:, rng.integers(25)])
    return quantifier, columns


def screen(quantifier: Quantifier, columns: np.ndarray, limits: Limits, rank: int):
    """The screen of a quantifier, of whatever size its map is."""
    streams = quantifier._streams
    prior_rows = np.concatenate([stream.prior_rows for stream in streams], axis=1)
    return screened(
        [stream.operator() for stream in streams],
        prior_rows,
        columns,
        limits,
        max(stream.relative_error(1) for stream in streams),
        quantifier.judge.passes,
        absolute_error=max(stream.absolute_error for stream in streams),
        rank=rank,
    )
