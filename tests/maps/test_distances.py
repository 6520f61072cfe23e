"""The cell that is best for everybody: the quick way finds the one that comparing all finds."""

from __future__ import annotations

import numpy as np
import pytest

from priste.maps import Grid, best_constant, distances


def compared_with_all(grid: Grid, weights: np.ndarray) -> int:
    """Compare every cell with every weight."""
    return int(np.argmin([weights @ grid.distances_from(cell) for cell in range(grid.size)]))


@pytest.mark.parametrize("seed", range(12))
def test_the_best_constant_of_many_weights(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spread, gathered and zero weights on maps of any shape, with transforms and without."""
    rng = np.random.default_rng(seed)
    grid = Grid(int(rng.integers(1, 14)), int(rng.integers(1, 14)), float(rng.uniform(0.05, 4)))
    weights = rng.random(grid.size) ** (1 + 20 * (seed % 3)) * (rng.random(grid.size) < 0.7)
    weights[rng.integers(grid.size)] += 0.5
    expected = compared_with_all(grid, weights)
    assert best_constant(grid, weights) == expected
    monkeypatch.setattr(distances, "FEW_PAIRS", 0)
    assert best_constant(grid, weights) == expected


def test_of_equal_cells_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cells around the middle are equally good; both ways name the lowest."""
    grid = Grid(rows=8, columns=8, cell_size=1.0)
    monkeypatch.setattr(distances, "FEW_PAIRS", 0)
    corners = np.zeros(grid.size)
    corners[[0, 7, 56, 63]] = 1.0
    assert best_constant(grid, corners) == best_constant(grid, np.ones(grid.size)) == 27
