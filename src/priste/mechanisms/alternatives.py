"""What people use in place of priste, as exact tables: coarser places, zones, other noise.

A :class:`PointTable` has no memory: an emission table, and the point that each output means. An
output without a point is silence that depends on the place, and has a likelihood like any other.
A :class:`MoveTable` chooses its noise by the move from the cell before to the cell now.

Some alternatives act on the true fix, not on its cell. Their tables are exact for a person who is,
at each step anew, at one of ``PLACES``² evenly spaced places of the true cell, each alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from priste.arguments import check_float, check_int
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms.emission_table import EmissionTable
from priste.mechanisms.mechanism import Mechanism, normalise_rows
from priste.mechanisms.planar_laplace import PlanarLaplace
from priste.mechanisms.restricted import remapped_columns
from priste.randomness import BitSource

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PLACES = 32
"""How many places along each side of a cell a person may be at. A power of 2: shares are exact."""

ADAPTIVE_NEAR, ADAPTIVE_FAR = 0.96, 2.7
ADAPTIVE_LESS, ADAPTIVE_MORE = 0.1, 5.0
"""The default thresholds, over alpha, and factors of ``AdaptiveGeoInd`` in Privkit 0.5.1."""


@dataclass(frozen=True, eq=False)
class PointTable:
    """An emission table whose output k is released as ``points[k]`` (km); nan where it is silence.

    ``at`` gives the outputs of places (n, 2) for alternatives that act on the fix; None for those
    that draw from the row of the cell.
    """

    mechanism: Mechanism
    points: Floats
    at: Callable[[Floats], Integers] | None = None

    def draw(self, cell: int, place: Floats, bits: BitSource) -> int:
        """Draw the output of a person in ``cell``, at ``place`` (nan if that is not known)."""
        if self.at is None or np.isnan(place[0]):
            return self.mechanism.sample(cell, bits)
        return int(self.at(place[None, :])[0])


@dataclass(frozen=True, eq=False)
class MoveTable:
    """Noise whose level depends on the move: ``levels[chosen[before, now]]``, outputs are cells.

    At the first step it is ``levels[first]``.
    """

    levels: tuple[Mechanism, ...]
    chosen: Integers
    first: int

    @property
    def points(self) -> Floats:
        """The centre of each cell."""
        return self.levels[0].grid.centers

    def draw(self, before: int | None, cell: int, bits: BitSource) -> int:
        """Draw the output of a person who was in ``before`` (None at the first step)."""
        level = self.first if before is None else self.chosen[before, cell]
        return self.levels[level].sample(cell, bits)

    def first_likelihood(self, output: int) -> Floats:
        """Return (m,) P(output | cell) of the first step."""
        return self.levels[self.first].likelihood(output)

    def likelihood(self, output: int) -> Floats:
        """Return (m, m) P(output | cell before, cell now)."""
        columns = np.stack([level.likelihood(output) for level in self.levels])
        return np.asarray(columns[self.chosen, np.arange(self.chosen.shape[1])])


def coarsened(grid: Grid, km: float) -> PointTable:
    """Release the centre of the square of side ``km`` around the fix ("approximate location").

    The squares begin at the south-west corner of the map.

    >>> table = coarsened(Grid(rows=2, columns=2, cell_size=1.0), 2.0)
    >>> table.mechanism.emission().tolist(), table.points.tolist()
    ([[1.0], [1.0], [1.0], [1.0]], [[1.0, 1.0]])
    """
    side = check_float(km, "km", "coarsened", above=0)
    return _of_places(grid, lambda places: (np.floor(places / side) + 0.5) * side)


def rounded(grid: Grid, decimals: int) -> PointTable:
    """Release latitude and longitude with this many decimals."""
    digits = check_int(decimals, "decimals", "rounded", least=0)
    if not grid.is_geographic:
        raise InvalidParameter("must be a map of the earth", parameter="grid", owner="rounded")

    def nearest(places: Floats) -> Floats:
        lat, lon = grid.latlon_at(places[:, 0], places[:, 1])
        return np.stack(grid.xy(np.round(lat, digits), np.round(lon, digits)), axis=1)

    return _of_places(grid, nearest)


def zones(grid: Grid, centres: ArrayLike, radius_km: float) -> PointTable:
    """Release nothing within ``radius_km`` of a centre (n, 2), and the true cell outside.

    Silence depends on the place: it is the last output.
    """
    radius = check_float(radius_km, "radius_km", "zones", above=0)
    hubs = np.asarray(centres, dtype=np.float64).reshape(-1, 2)

    def shown(places: Floats) -> Floats:
        inside = (np.hypot(*(places[:, None, :] - hubs).T) <= radius).any(axis=0)
        points = grid.centers[grid.cell_at_xy(places[:, 0], places[:, 1], "nearest")]
        return np.where(inside[:, None], np.nan, points)

    table = _of_places(grid, shown)
    if not np.isnan(table.points).any():
        raise InvalidParameter(
            "must reach a place of the map",
            parameter="radius_km",
            owner="zones",
            value=radius_km,
            hint=f"Take a radius of at least {grid.cell_size / 2:g} km, or smaller cells.",
        )
    return table


def landmarks(grid: Grid, cells: Sequence[int], k: int) -> PointTable:
    """Release one of the ``k`` landmarks nearest to the centre of the true cell, each alike.

    Of equally near ones the first named counts.
    """
    count = check_int(k, "k", "landmarks", least=1, most=len(cells))
    places = grid.centers[np.asarray(cells, dtype=np.int64)]
    apart = np.hypot(*(grid.centers[:, None, :] - places).T).T
    nearest = np.argsort(apart, axis=1, kind="stable")[:, :count]
    table = np.zeros((grid.size, len(cells)))
    np.put_along_axis(table, nearest, 1.0 / count, axis=1)
    return PointTable(EmissionTable(grid, normalise_rows(table)), places)


def remapped(mechanism: Mechanism, prior: ArrayLike) -> PointTable:
    """Replace each output by the cell with the least expected distance under a public prior.

    Post-processing, as Chatzikokolakis, ElSalamouny and Palamidessi (2017) propose it: it cannot
    leak more than ``mechanism`` does.
    """
    grid = mechanism.grid
    weights = np.asarray(prior, dtype=np.float64)
    best = (grid.distances() @ (weights[:, None] * mechanism.emission())).argmin(axis=0)
    merged = remapped_columns(mechanism.emission(), best, grid.size)
    return PointTable(EmissionTable(grid, normalise_rows(merged)), grid.centers)


def policy_graph(grid: Grid, block: int, epsilon: float) -> PointTable:
    """Add PGLP's policy-based Laplace noise under the graph of blocks of ``block``² cells.

    Cells of one block are neighbours of each other, other cells are not. Each coordinate gets
    Laplace noise of scale S/epsilon, S the largest L1 distance of neighbours. The noisy point goes
    to the nearest cell of the block. So epsilon bounds how far cells of a block can be
    distinguished, and the block is released exactly. A block of 1 releases the cell.
    """
    side = check_int(block, "block", "policy_graph", least=1)
    level = check_float(epsilon, "epsilon", "policy_graph", above=0)
    table = np.zeros((grid.rows, grid.columns, grid.rows, grid.columns))
    for top in range(0, grid.rows, side):
        for left in range(0, grid.columns, side):
            rows = slice(top, min(top + side, grid.rows))
            columns = slice(left, min(left + side, grid.columns))
            height, width = rows.stop - top, columns.stop - left
            scale = (height + width - 2) / level  # in cells
            down, across = _clipped_laplace(height, scale), _clipped_laplace(width, scale)
            table[rows, columns, rows, columns] = np.einsum("ac,bd->abcd", down, across)
    flat = normalise_rows(table.reshape(grid.size, grid.size))
    return PointTable(EmissionTable(grid, flat), grid.centers)


def constant_point(grid: Grid, cell: int) -> PointTable:
    """Release the centre of one public cell, whatever the true cell."""
    return PointTable(EmissionTable(grid, np.ones((grid.size, 1))), grid.centers[[cell]])


def adaptive(base: PlanarLaplace) -> MoveTable:
    """Adapt planar Laplace noise to how well the fix before predicts this one, as Privkit does.

    ``AdaptiveGeoInd`` of Privkit 0.5.1 with a window of one fix: its regression is then the fix
    before. An error of prediction below 0.96/alpha gives a tenth of alpha, one above 2.7/alpha five
    times alpha. Wider windows would remember more than one cell, and are not offered.
    """
    alpha = base.alpha
    apart = base.grid.distances()
    levels = [alpha, ADAPTIVE_LESS * alpha, ADAPTIVE_MORE * alpha]
    chosen = np.where(
        apart < ADAPTIVE_NEAR / alpha, 1, np.where(apart > ADAPTIVE_FAR / alpha, 2, 0)
    )
    return MoveTable(tuple(base._at(level) for level in levels), chosen, 0)


def velocity_aware(
    base: PlanarLaplace,
    *,
    strength: float,
    hours: float,
    moves: ArrayLike,
    bandwidth: float,
) -> MoveTable:
    """Adapt planar Laplace noise to speed, as ``VAGI`` of Privkit 0.5.1 does.

    alpha is multiplied by ``strength``^(2f - 1), f the mean of two shares: of people's speeds below
    the person's, and of report rates above this one (one half, where reports come every ``hours``).
    People's speeds are those of ``moves`` (m, m), weights of moves between cells; the share is
    smoothed by a normal distribution of ``bandwidth`` km/h. Privkit's own bandwidth is n^(-1/5) for
    n training speeds.
    """
    factor = check_float(strength, "strength", "velocity_aware", least=1)
    interval = check_float(hours, "hours", "velocity_aware", above=0)
    width = check_float(bandwidth, "bandwidth", "velocity_aware", above=0)
    speeds = base.grid.distances() / interval
    distinct, kinds = np.unique(np.round(speeds, 9), return_inverse=True)
    kinds = kinds.reshape(speeds.shape)
    weights = np.bincount(kinds.ravel(), np.asarray(moves, dtype=np.float64).ravel())
    below = ndtr((distinct[:, None] - distinct) / width) @ (weights / weights.sum())
    alphas = base.alpha * factor ** (below - 0.5)
    levels = (*(base._at(float(alpha)) for alpha in alphas), base)
    return MoveTable(levels, kinds.astype(np.int64), len(alphas))


def _of_places(grid: Grid, shown: Callable[[Floats], Floats]) -> PointTable:
    """Count what is released at the places of each cell, as ``shown`` says; nan is nothing."""
    steps = (np.arange(PLACES) + 0.5) / PLACES - 0.5
    shifts = grid.cell_size * np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    places = (grid.centers[:, None, :] + shifts).reshape(-1, 2)
    found, outputs = np.unique(_keys(shown(places)), return_inverse=True)
    cells = np.repeat(np.arange(grid.size), PLACES**2)
    counts = np.bincount(cells * len(found) + outputs, minlength=grid.size * len(found))
    points = np.stack([found.real, found.imag], axis=1)
    points[found == _SILENT] = np.nan

    def at(where: Floats) -> Integers:
        asked = _keys(shown(where))
        # A place off the map, or between those counted, may have an output of its own.
        apart = np.abs(asked[:, None] - found)
        return np.asarray(apart.argmin(axis=1), dtype=np.int64)

    table = counts.reshape(grid.size, -1) / PLACES**2
    return PointTable(EmissionTable(grid, table), points, at)


_SILENT = complex(1e9)
"""Stands for nothing where points are compared; no map is so large."""


def _keys(points: Floats) -> NDArray[np.complex128]:
    keys = np.round(points[:, 0], 6) + 1j * np.round(points[:, 1], 6)
    return np.where(np.isnan(points[:, 0]), _SILENT, keys)


def _clipped_laplace(count: int, scale: float) -> Floats:
    """Return (count, count): Laplace noise on a number 0 … count-1, rounded and kept in range."""
    if scale == 0.0:
        return np.eye(count)
    ends = np.concatenate([[-np.inf], np.arange(count - 1) + 0.5, [np.inf]])
    tails = 0.5 * np.exp(-np.abs(ends - np.arange(count)[:, None]) / scale)
    low, high = tails[:, :-1], tails[:, 1:]
    return np.where(np.eye(count, dtype=np.bool_), 1.0 - low - high, np.abs(low - high))
