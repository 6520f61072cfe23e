"""A region drawn in text, north up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_int
from priste.maps.grid import Grid

WHOLLY, PARTLY, NOT_AT_ALL = "#", "+", "."


def draw_cells(grid: Grid, mask: NDArray[np.bool_], *, width: int, height: int) -> str:
    """Return lines of at most ``width`` characters, at most ``height`` of them, after a legend.

    ``mask`` (m,) is true at the cells to draw.

    One character stands for a square block of cells, as small as the space allows.
    """
    for name, value in (("width", width), ("height", height)):
        check_int(value, name, "a drawing", least=1)
    block = max(math.ceil(grid.columns / width), math.ceil(grid.rows / height))
    covered = mask.reshape(grid.rows, grid.columns).astype(np.int64)
    counts, totals = _block_sums(covered, block), _block_sums(np.ones_like(covered), block)
    characters = np.where(counts == 0, NOT_AT_ALL, np.where(counts == totals, WHOLLY, PARTLY))
    lines = ["".join(row) for row in characters[::-1]]
    return "\n".join([_legend(grid, block), *lines])


def _block_sums(values: NDArray[np.int64], block: int) -> NDArray[np.int64]:
    by_row = np.add.reduceat(values, np.arange(0, values.shape[0], block), axis=0)
    sums: NDArray[np.int64] = np.add.reduceat(by_row, np.arange(0, values.shape[1], block), axis=1)
    return sums


def _legend(grid: Grid, block: int) -> str:
    if block == 1:
        return f"{WHOLLY} covered; a character is a cell of {grid.cell_size:g} km; north is up"
    return (
        f"{WHOLLY} covered, {PARTLY} in part; a character is {block}×{block} cells, "
        f"{block * grid.cell_size:g} km; north is up"
    )
