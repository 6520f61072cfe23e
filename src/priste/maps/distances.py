"""Distances between cells, from centre to centre, without a table of all pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priste.maps.grid import Grid

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def kilometres(grid: Grid, cells: Integers, others: Integers) -> Floats:
    """Return the distance between centres of cells, one by one.

    >>> kilometres(Grid(rows=1, columns=3, cell_size=2.0), np.array([0, 1]), np.array([2, 1]))
    array([4., 0.])
    """
    apart = grid.centers[cells] - grid.centers[others]
    return np.asarray(np.hypot(apart[:, 0], apart[:, 1]), dtype=np.float64)


def best_constant(grid: Grid, weights: Floats) -> int:
    """Return the cell whose mean distance is least when cells have these weights (m,).

    Exact: every cell is compared. Of equal ones the lowest number.

    >>> best_constant(Grid(rows=1, columns=5, cell_size=1.0), np.array([1.0, 0, 0, 1.0, 1.0]))
    3
    """
    total = np.zeros(grid.size)
    for cell in np.flatnonzero(weights):
        apart = grid.centers - grid.centers[cell]
        total += weights[cell] * np.hypot(apart[:, 0], apart[:, 1])
    return int(total.argmin())
