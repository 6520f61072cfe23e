"""Gaussian movement: nearer cells are likelier, with one scale; the paper's synthetic data.

The probability of going from one cell to another is proportional to
``exp(-d**2 / (2 * sigma**2))``, with ``d`` the distance in km between their centres, and
each row is divided by its sum. On a rectangular map ``d**2`` splits into a part along
the rows and a part along the columns, and so does the sum: the matrix is exactly a
Kronecker product of two small ones.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import sparse

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.structured import SeparableTransition
from priste.mobility.transitions import DenseTransition, SparseTransition
from priste.mobility.validation import MAX_NUMBER, FloatArray, frozen

Form = Literal["auto", "dense", "separable"]

LEAST_SAVING = 8
"""How many times less work the separable form must be to be the default.

Measured by ``benchmarks/parts``: 5 times less, on 10 by 10 cells, is no quicker than a full matrix.
"""

LEAST_WEIGHT = 2.0**-480
"""Gaussian weights along one axis below this are 0 (moves beyond about 25.8 sigma).

Products of two weights, normalised, and of a share of a fitted row stay above the least
positive float, so that the separable form never loses a move that the dense form has.
"""

MAX_NONZEROS = 50_000_000
"""Number of stored probabilities above which a sparse matrix is refused (about 1 GB)."""

_REACH_SLACK = 1e-12
"""Relative slack on ``reach``, so that 20 cells of 0.1 km lie within a reach of 2 km."""


def _line_weights(length: int, cell_size: float, sigma: float) -> FloatArray:
    """Return unnormalised weights between the positions of a line of cells."""
    positions = np.arange(length, dtype=np.float64) * cell_size
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.abs(positions[:, None] - positions) / sigma
        weights = np.exp(-0.5 * scaled * scaled)
    return np.where(weights < LEAST_WEIGHT, 0.0, weights)


def gaussian_factors(grid: Grid, sigma: float) -> tuple[FloatArray, FloatArray]:
    """Return the row factor and the column factor, each with rows that sum to 1."""
    factors = []
    for length in (grid.rows, grid.columns):
        weights = _line_weights(length, grid.cell_size, sigma)
        factors.append(weights / weights.sum(axis=1, keepdims=True))
    return factors[0], factors[1]


def gaussian_transition(
    grid: Grid, sigma: float, *, form: Form = "auto"
) -> DenseTransition | SeparableTransition:
    """Return the whole Gaussian of a map, dense or separable.

    Both forms are the same matrix up to one rounding per entry. "auto" is separable where that is
    at least ``LEAST_SAVING`` times less work (from 16 by 16 cells on), otherwise dense.
    """
    sigma = check_float(sigma, "sigma", "a Gaussian model", why="km", above=0, most=MAX_NUMBER)
    if form not in ("auto", "dense", "separable"):
        raise InvalidParameter(
            "must be 'auto', 'dense' or 'separable'",
            parameter="form",
            owner="a Gaussian model",
            value=form,
        )
    rows, columns = gaussian_factors(grid, sigma)
    saves = grid.size >= LEAST_SAVING * (grid.rows + grid.columns)
    if form == "separable" or (form == "auto" and saves):
        return SeparableTransition(rows, columns)
    return DenseTransition(np.kron(rows, columns))


def cells_within(grid: Grid, reach: float) -> sparse.csr_array:
    """Return the (m, m) pattern of the pairs of cells at most ``reach`` km apart.

    Each stored entry is the squared distance in units of the cell size, plus 1 so that
    the pair of a cell with itself is stored too.
    """
    reach = check_float(reach, "reach", "a Gaussian model", why="km", least=0, most=MAX_NUMBER)
    furthest = reach / grid.cell_size * (1 + _REACH_SLACK)
    rows, columns = grid.rows, grid.columns
    down = int(min(furthest, rows - 1))
    widths = {
        step: int(min(np.sqrt(furthest**2 - step**2), columns - 1)) for step in range(down + 1)
    }
    offsets = [
        (row_step, column_step)
        for row_step in range(-down, down + 1)
        for column_step in range(-widths[abs(row_step)], widths[abs(row_step)] + 1)
    ]
    stored = sum((rows - abs(dr)) * (columns - abs(dc)) for dr, dc in offsets)
    if stored > MAX_NONZEROS:
        raise InvalidParameter(
            f"must keep at most {MAX_NONZEROS} pairs of cells; on a map of {grid.size} cells it "
            f"keeps {stored}",
            parameter="reach",
            owner="a Gaussian model",
            value=reach,
            hint="Choose a smaller reach, or none: the separable form needs no cut.",
        )
    numbers = np.arange(grid.size, dtype=np.int64).reshape(rows, columns)
    sources, targets, squares = [], [], []
    for row_step, column_step in offsets:
        source = numbers[
            max(0, -row_step) : rows - max(0, row_step),
            max(0, -column_step) : columns - max(0, column_step),
        ].reshape(-1)
        sources.append(source)
        targets.append(source + (row_step * columns + column_step))
        squares.append(np.full(source.size, row_step**2 + column_step**2 + 1.0))
    where = (np.concatenate(sources), np.concatenate(targets))
    return sparse.csr_array((np.concatenate(squares), where), shape=(grid.size, grid.size))


def truncated_gaussian(grid: Grid, sigma: float, reach: float) -> SparseTransition:
    """Return the Gaussian cut at ``reach`` km and normalised again, as a sparse matrix.

    The cut matrix *is* the model: moves beyond ``reach`` have probability 0 in it.
    :func:`mass_outside_reach` says how much of the whole Gaussian was cut in each row.
    """
    sigma = check_float(sigma, "sigma", "a Gaussian model", why="km", above=0, most=MAX_NUMBER)
    matrix = cells_within(grid, reach)
    with np.errstate(over="ignore", under="ignore"):
        unit = grid.cell_size / sigma
        distance = np.sqrt(matrix.data - 1.0)
        scaled = np.where(distance > 0.0, distance * unit, 0.0)
        matrix.data = np.exp(-0.5 * scaled * scaled)
    sums = np.asarray(matrix.sum(axis=1), dtype=np.float64)
    matrix.data /= np.repeat(sums, np.diff(matrix.indptr))
    return SparseTransition(matrix)


def mass_outside_reach(grid: Grid, sigma: float, reach: float) -> FloatArray:
    """Return, for each cell, the probability that the whole Gaussian moves beyond ``reach``.

    A sum of positive terms, so that it is accurate to a few roundings however small.
    """
    sigma = check_float(sigma, "sigma", "a Gaussian model", why="km", above=0, most=MAX_NUMBER)
    reach = check_float(reach, "reach", "a Gaussian model", why="km", least=0, most=MAX_NUMBER)
    furthest = reach / grid.cell_size * (1 + _REACH_SLACK)
    row_factor, column_factor = gaussian_factors(grid, sigma)
    offsets = np.abs(np.subtract.outer(np.arange(grid.columns), np.arange(grid.columns)))
    # beyond[k, c]: mass that leaves the reach from column c when the row moves by k
    beyond = np.empty((grid.rows, grid.columns))
    for row_step in range(grid.rows):
        left = furthest**2 - row_step**2
        outside = offsets > (np.sqrt(left) if left >= 0.0 else -1.0)
        beyond[row_step] = (column_factor * outside).sum(axis=1)
    cut = np.empty((grid.rows, grid.columns))
    for row in range(grid.rows):
        steps = np.abs(np.arange(grid.rows) - row)
        cut[row] = row_factor[row] @ beyond[steps]
    return frozen(cut.reshape(-1))
