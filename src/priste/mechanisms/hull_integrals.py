"""Integrals of K-norm noise over rectangles: how likely the noisy point lies this many cells away.

The noise has density proportional to ``exp(-alpha * norm(z))``, the norm being that of a
sensitivity hull. Between two neighbouring vertices of the hull the norm is linear, so each
rectangle is cut along the rays through the vertices, the pieces into triangles, and over a
triangle the integral has a closed form. Every result is a sum of positive terms, accurate relative
to itself.

Along each axis of n cells, the offsets are "beyond" (less than -(n-1)), -(n-1), ..., n-1, "beyond":
2 n + 1 slots, slot n being the true cell's own.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from priste.mechanisms.sensitivity_hull import Point, SensitivityHull, linear_level

_FORGOTTEN_EXPONENT = 60.0
_SMALLEST_ALPHA, _LARGEST_ALPHA = 1e-100, 1e100


class HullMasses:
    """The probabilities of all offsets on a rows x columns grid, for one hull and any alpha."""

    def __init__(self, hull: SensitivityHull, rows: int, columns: int) -> None:
        self._hull = hull
        self._rows = rows
        self._columns = columns
        self._triangles: tuple[float, _Triangles] | None = None

    def at(self, alpha: float) -> NDArray[np.float64]:
        """Return (2 rows + 1, 2 columns + 1), the probability of each offset; sums to 1.

        The relative error of an entry above exp(-600) is below 1e-11. ``alpha`` > 0 is per unit of
        the norm.
        """
        # Outside of this range the distribution no longer changes in floating point.
        alpha = min(max(alpha, _SMALLEST_ALPHA), _LARGEST_ALPHA)
        if self._hull.dimension == 0:
            point = np.zeros((2 * self._rows + 1, 2 * self._columns + 1))
            point[self._rows, self._columns] = 1.0
            return point
        if self._hull.dimension == 1:
            return self._segment_masses(alpha)
        # Beyond this distance nothing is left, compared with what any unbounded slot holds.
        corner = np.array([self._columns - 0.5, self._rows - 0.5])
        farthest = float(self._hull.norm(corner * np.array([[1, 1], [1, -1]])).max())
        reach = self._hull.outer_radius * (farthest + _FORGOTTEN_EXPONENT / alpha)
        triangles = self._cut(4.0 ** math.ceil(math.log(reach, 4.0)))
        levels = alpha * triangles.levels
        terms = triangles.doubled_area * np.exp(-levels[0])
        terms *= simplex_integral(levels[1] - levels[0], levels[2] - levels[0])
        shape = (2 * self._rows + 1, 2 * self._columns + 1)
        sums = np.zeros(shape[0] * shape[1])
        np.add.at(sums, triangles.slots, terms)
        return sums.reshape(shape) * (alpha * alpha / (2.0 * self._hull.area))

    def _cut(self, reach: float) -> _Triangles:
        # Calibrators try many alphas, and nearby ones have the same reach.
        if self._triangles is not None and self._triangles[0] == reach:
            return self._triangles[1]
        parts = [
            _sector_triangles(sector, _edges(self._rows, reach), _edges(self._columns, reach))
            for sector in self._hull.sectors()
        ]
        triangles = _Triangles(
            np.concatenate([part.slots for part in parts]),
            np.concatenate([part.doubled_area for part in parts]),
            np.concatenate([part.levels for part in parts], axis=1),
        )
        self._triangles = (reach, triangles)
        return triangles

    def _segment_masses(self, alpha: float) -> NDArray[np.float64]:
        """Return the masses for a segment: Laplace noise along it, rate alpha per half of it."""
        end_x, end_y = (abs(v) for v in self._hull.vertices[1])
        crossings = {0.0}
        for count, end in ((self._columns, end_x), (self._rows, end_y)):
            if end:
                crossings.update((k + 0.5) / end for k in range(count))
        starts = np.array(sorted(crossings))
        middles = np.append((starts[:-1] + starts[1:]) / 2.0, starts[-1] + 1.0)
        ends = np.append(starts[1:], math.inf)
        halves = 0.5 * np.exp(-alpha * starts) * -np.expm1(-alpha * (ends - starts))
        sign_x, sign_y = (int(np.sign(v)) for v in self._hull.vertices[1])
        masses = np.zeros((2 * self._rows + 1, 2 * self._columns + 1))
        away_x = np.minimum(np.rint(middles * end_x), self._columns).astype(np.intp)
        away_y = np.minimum(np.rint(middles * end_y), self._rows).astype(np.intp)
        for side in (1, -1):
            slots = (
                self._rows + side * sign_y * away_y,
                self._columns + side * sign_x * away_x,
            )
            np.add.at(masses, slots, halves)
        return masses


class _Triangles:
    """Triangles: their slot, twice their area, and the norm at their corners, smallest first."""

    def __init__(
        self,
        slots: NDArray[np.intp],
        doubled_area: NDArray[np.float64],
        levels: NDArray[np.float64],
    ) -> None:
        self.slots = slots
        self.doubled_area = doubled_area
        self.levels = levels


def simplex_integral(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integral of exp(-p u - q v) over u, v >= 0, u + v <= 1, for 0 <= p <= q.

    Each of three ranges has a form without cancellation; the relative error is below 1e-14.

    >>> round(float(simplex_integral(np.array([0.0]), np.array([0.0]))[0]), 14)
    0.5
    """
    result = np.empty_like(p)
    large = p >= 1.0
    apart = ~large & (q >= 2.0)
    small = ~large & ~apart
    # 1 - exp(-p) is at least 0.63, and p exp(-p) times a number up to 1 takes at most 0.37 away.
    lp, lq = p[large], q[large]
    result[large] = (-np.expm1(-lp) - lp * np.exp(-lp) * _decay(lq - lp)) / lp / lq
    # _decay(p) is at least 0.63 and _decay(q) at most 0.44.
    ap, aq = p[apart], q[apart]
    result[apart] = (_decay(ap) - _decay(aq)) / (aq - ap)
    sp, sq = p[small][:, None], q[small][:, None]
    nodes, weights = _unit_nodes()
    result[small] = (np.exp(-sp * (1.0 - nodes)) * nodes * _decay(sq * nodes)) @ weights
    return result


def _decay(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (1 - exp(-x)) / x, which is 1 at 0."""
    safe = np.where(x == 0.0, 1.0, x)
    result: NDArray[np.float64] = np.where(x == 0.0, 1.0, -np.expm1(-safe) / safe)
    return result


@lru_cache(maxsize=1)
def _unit_nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the nodes and weights of Gauss and Legendre on [0, 1]; read-only."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


def _edges(count: int, reach: float) -> NDArray[np.float64]:
    inner = np.arange(-count, count) + 0.5
    return np.concatenate([[-reach], inner, [reach]])


def _sector_triangles(
    sector: tuple[Point, Point], row_edges: NDArray[np.float64], column_edges: NDArray[np.float64]
) -> _Triangles:
    """Cut all rectangles to the cone between two vertices, and what is left into triangles."""
    first, second = sector
    south, west = np.meshgrid(row_edges[:-1], column_edges[:-1], indexing="ij")
    north, east = np.meshgrid(row_edges[1:], column_edges[1:], indexing="ij")
    # Counterclockwise corners, (rectangle, corner).
    x = np.stack([west, east, east, west], axis=-1).reshape(-1, 4)
    y = np.stack([south, south, north, north], axis=-1).reshape(-1, 4)
    touched = np.flatnonzero(
        (_side(first, x, y) > 0).any(axis=1) & (_side(second, x, y) < 0).any(axis=1)
    )
    x, y = _cut_by_line(x[touched], y[touched], first, 1.0)
    x, y = _cut_by_line(x, y, second, -1.0)
    fan = np.arange(1, x.shape[1] - 1)
    edge_x, edge_y = x - x[:, :1], y - y[:, :1]
    doubled = (edge_x[:, fan] * edge_y[:, fan + 1] - edge_y[:, fan] * edge_x[:, fan + 1]).ravel()
    kept = doubled > 0.0
    level = np.maximum(linear_level(first, second, x, y), 0.0)
    corners = np.stack(
        [np.repeat(level[:, 0], len(fan)), level[:, fan].ravel(), level[:, fan + 1].ravel()]
    )
    return _Triangles(
        np.repeat(touched, len(fan))[kept], doubled[kept], np.sort(corners[:, kept], axis=0)
    )


def _side(ray: Point, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Tell on which side of the line through 0 and ``ray`` points lie: > 0 is left of it."""
    side: NDArray[np.float64] = ray[0] * y - ray[1] * x
    return side


def _cut_by_line(
    x: NDArray[np.float64], y: NDArray[np.float64], ray: Point, sign: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Keep the part of convex polygons (n, v) on one side of a line through 0; -> (n, 2 v).

    Every corner gives two places: itself if it is kept, then the crossing on the edge after it if
    there is one. Places left empty repeat the last one filled, which adds triangles of no area.
    """
    side = sign * _side(ray, x, y)
    next_side = np.roll(side, -1, axis=1)
    crossing = (side < 0) != (next_side < 0)
    gap = np.where(crossing, side - next_side, 1.0)
    share = np.where(crossing, side / gap, 0.0)
    next_x, next_y = np.roll(x, -1, axis=1), np.roll(y, -1, axis=1)
    filled = np.stack([side >= 0, crossing], axis=-1).reshape(len(x), -1)
    places = np.where(filled, np.arange(filled.shape[1]), -1)
    last = np.maximum.accumulate(places, axis=1)
    # Before the first filled place stands the last one of all: polygons are closed.
    last = np.where(last < 0, places.max(axis=1, keepdims=True), last)
    last = np.maximum(last, 0)
    both = []
    for here, there in ((x, next_x), (y, next_y)):
        cut = here + share * (there - here)
        interleaved = np.stack([here, cut], axis=-1).reshape(len(x), -1)
        both.append(np.take_along_axis(interleaved, last, axis=1))
    return both[0], both[1]
