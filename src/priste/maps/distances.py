"""Distances between cells, from centre to centre, without a table of all pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priste.maps.grid import Grid

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEW_PAIRS = 2**22
"""Up to this many pairs of cells every one is looked at: that is quicker than to be clever."""

ROUNDING_OF_SPECTRA = 1e-9
"""How far sums by Fourier transforms may be off, as a share of all weight across the whole map:
the largest seen was 2e-15."""


def kilometres(grid: Grid, cells: Integers, others: Integers) -> Floats:
    """Return the distance between centres of cells, one by one.

    >>> kilometres(Grid(rows=1, columns=3, cell_size=2.0), np.array([0, 1]), np.array([2, 1]))
    array([4., 0.])
    """
    apart = grid.centers[cells] - grid.centers[others]
    return np.asarray(np.hypot(apart[:, 0], apart[:, 1]), dtype=np.float64)


def best_constant(grid: Grid, weights: Floats) -> int:
    """Return the cell whose mean distance is least when cells have these weights (m,) >= 0.

    Exact: no cell is left out but those that a bound on rounding excludes. Of equal ones the lowest
    number.

    >>> best_constant(Grid(rows=1, columns=5, cell_size=1.0), np.array([1.0, 0, 0, 1.0, 1.0]))
    3
    """
    there = np.flatnonzero(weights)
    candidates = np.arange(grid.size)
    if len(there) * grid.size > FEW_PAIRS:
        roughly = _roughly_weighted(grid, weights)
        unsure = ROUNDING_OF_SPECTRA * weights.sum() * np.hypot(grid.width, grid.height)
        candidates = np.flatnonzero(roughly <= roughly.min() + 2 * unsure)
    centers = grid.centers[candidates]
    total = np.zeros(len(candidates))
    for cell in there:
        apart = centers - grid.centers[cell]
        total += weights[cell] * np.hypot(apart[:, 0], apart[:, 1])
    return int(candidates[total.argmin()])


def _roughly_weighted(grid: Grid, weights: Floats) -> Floats:
    """Return (m,) the weighted distances to all cells, by Fourier transforms: O(m log m).

    The distance of two cells depends only on the rows and columns between them, so that the sums
    are a convolution; the map is doubled so that nothing comes around its edge.
    """
    shape = (2 * grid.rows, 2 * grid.columns)
    rows, columns = (np.minimum(np.arange(n), n - np.arange(n)) for n in shape)
    apart = grid.cell_size * np.hypot(rows[:, None], columns[None, :])
    spectrum = np.fft.rfft2(weights.reshape(grid.rows, grid.columns), shape) * np.fft.rfft2(apart)
    return np.asarray(np.fft.irfft2(spectrum, shape)[: grid.rows, : grid.columns]).ravel()
