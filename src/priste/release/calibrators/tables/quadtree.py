"""Cut a map into rectangles, small where the user is likely and large elsewhere."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid

Floats = NDArray[np.float64]
Rectangle = tuple[int, int, int, int]
"""First row, row after the last, first column, column after the last."""

DIGITS = 11
"""Probabilities are compared to so many digits: equal ones differ in the last on some machines."""


def likely_rectangles(grid: Grid, predicted: Floats, most: int) -> list[Rectangle]:
    """Return at most ``most`` rectangles that cover every cell once, in order of their corners.

    The one with the largest probability times diameter is halved first, across its longer side (a
    square across its columns), until there are so many or all are single cells. It depends on
    nothing but its arguments, and not on their last bits.

    >>> grid = Grid(rows=2, columns=4, cell_size=1.0)
    >>> likely_rectangles(grid, np.array([1.0, 0, 0, 0, 0, 0, 0, 0]), 3)
    [(0, 2, 0, 1), (0, 2, 1, 2), (0, 2, 2, 4)]
    """
    table = np.zeros((grid.rows + 1, grid.columns + 1))
    np.cumsum(predicted.reshape(grid.rows, grid.columns), axis=0, out=table[1:, 1:])
    np.cumsum(table[1:, 1:], axis=1, out=table[1:, 1:])
    summed: list[list[float]] = table.tolist()

    def weighed(box: Rectangle) -> tuple[float, int, Rectangle]:
        top, bottom, left, right = box
        area = (bottom - top) * (right - left)
        if area == 1:
            return 1.0, 0, box  # single cells come last: all others have a first entry <= 0
        mass = summed[bottom][right] - summed[top][right] - summed[bottom][left] + summed[top][left]
        diameter = math.hypot(bottom - top - 1, right - left - 1)
        return -round(max(mass, 0.0) * diameter, DIGITS), -area, box

    boxes = [weighed((0, grid.rows, 0, grid.columns))]
    while len(boxes) < most and boxes[0][0] <= 0.0:
        top, bottom, left, right = heapq.heappop(boxes)[2]
        if bottom - top > right - left:
            middle = (top + bottom) // 2
            halves = (top, middle, left, right), (middle, bottom, left, right)
        else:
            middle = (left + right) // 2
            halves = (top, bottom, left, middle), (top, bottom, middle, right)
        for half in halves:
            heapq.heappush(boxes, weighed(half))
    return sorted(box for _, _, box in boxes)


def labels_of(grid: Grid, rectangles: list[Rectangle]) -> NDArray[np.int64]:
    """Return (m,), the number of the rectangle that each cell lies in."""
    labels = np.empty((grid.rows, grid.columns), dtype=np.int64)
    for number, (top, bottom, left, right) in enumerate(rectangles):
        labels[top:bottom, left:right] = number
    return labels.ravel()
