"""The sensitivity hull of a set of cells, and the norm whose unit ball it is.

The hull K is the convex hull of the differences of the cells of a set. Its norm says how far apart
two positions are as seen from the set: no two cells of the set are farther apart than 1. All of it
lives on the lattice of cells, so hulls are computed in whole numbers, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Point = tuple[int, int]


class SensitivityHull:
    """The hull of the differences of lattice points (column, row); may be a segment or a point.

    ``vertices`` go counterclockwise, symmetric about 0. A hull in the plane has at least four; a
    segment has its two ends, a point is ((0, 0),). ``area`` is exact; 0 for segments and points.

    >>> SensitivityHull([(0, 0), (2, 0), (0, 1)]).vertices
    ((-2, 0), (0, -1), (2, -1), (2, 0), (0, 1), (-2, 1))
    """

    def __init__(self, points: Iterable[Point]) -> None:
        corners = convex_hull(points)
        self.vertices: tuple[Point, ...] = tuple(
            convex_hull((a[0] - b[0], a[1] - b[1]) for a in corners for b in corners)
        )

    @property
    def dimension(self) -> int:
        """0 for a point, 1 for a segment, 2 for a body of the plane."""
        return min(len(self.vertices) - 1, 2)

    @property
    def area(self) -> float:
        pairs = zip(self.vertices, self.vertices[1:] + self.vertices[:1], strict=True)
        return sum(cross(a, b) for a, b in pairs) / 2

    @property
    def outer_radius(self) -> float:
        """The distance from 0 to the farthest vertex."""
        return max(math.hypot(*vertex) for vertex in self.vertices)

    def sectors(self) -> list[tuple[Point, Point]]:
        """Return the pairs of neighbouring vertices; between them the norm is linear."""
        return list(zip(self.vertices, self.vertices[1:] + self.vertices[:1], strict=True))

    def norm(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the norm of points (..., 2); inf off the line of a segment and off a point 0."""
        x, y = points[..., 0], points[..., 1]
        if self.dimension == 0:
            return np.where((x == 0) & (y == 0), 0.0, math.inf)
        if self.dimension == 1:
            end_x, end_y = self.vertices[1]
            along = np.abs(x * end_x + y * end_y) / (end_x**2 + end_y**2)
            return np.where(x * end_y == y * end_x, along, math.inf)
        level = np.zeros(points.shape[:-1])
        for first, second in self.sectors():
            np.maximum(level, linear_level(first, second, x, y), out=level)
        return level


def linear_level(
    first: Point, second: Point, x: NDArray[np.float64], y: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the linear function that is 1 at two vertices, at points (x, y)."""
    along_x, along_y = second[0] - first[0], second[1] - first[1]
    level: NDArray[np.float64] = (x * along_y - y * along_x) / cross(first, second)
    return level


def convex_hull(points: Iterable[Point]) -> list[Point]:
    """Return the corners of the convex hull, counterclockwise from the leftmost, in whole numbers.

    Points on an edge are left out; two points give two corners, one gives one.
    """
    ordered = sorted(set(points))
    if len(ordered) <= 2:
        return ordered
    lower, upper = _half_hull(ordered), _half_hull(ordered[::-1])
    return lower[:-1] + upper[:-1]


def _half_hull(ordered: list[Point]) -> list[Point]:
    chain: list[Point] = []
    for point in ordered:
        while len(chain) >= 2 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(origin: Point, middle: Point, end: Point) -> int:
    return cross(
        (middle[0] - origin[0], middle[1] - origin[1]), (end[0] - origin[0], end[1] - origin[1])
    )


def cross(left: Point, right: Point) -> int:
    """Return the signed area of the parallelogram that two vectors span."""
    return left[0] * right[1] - left[1] * right[0]
