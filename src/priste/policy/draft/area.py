"""The map of a draft: blocks of the public lattice around where people are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.policy.draft.places import KM_PER_DEGREE, Place, apart_km
from priste.policy.lattice import Box, box_of, lattice_grid, zone_origin

CELLS_ACROSS = 14
"""How many cells the longer side has, about."""

LARGE_MAP_KM = 24.0
"""A larger map than that is cut to a square of this side around where most time is spent."""

COVERAGES = (1.0, 0.98, 0.96, 0.94, 0.9)
"""Shares of each axis that the box is tried with, from all to the least."""

FINEST_KM = 0.2
"""Cells need not be finer than that to separate places: a stay is not known more precisely."""

MARGIN_KM = 0.1
"""What is added around the positions, before the map grows to whole blocks."""

SMALLEST_CELL_KM = 0.1
"""No cell is smaller: receivers are not much better than that."""

Floats = NDArray[np.float64]
_Span = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """A map of the public lattice: south, west, north, east; the origin of its zone; the size of
    its cells (km); and the share of time off it.
    """

    bounds: Box
    origin: tuple[float, float]
    cell_size: float
    outside: float

    @property
    def grid(self) -> Grid:
        """The map, without what lies around it."""
        return lattice_grid(self.origin, self.bounds, self.cell_size)


def frame_of(lat: Floats, lon: Floats, places: Sequence[Place]) -> Frame:
    """Return the map of positions that each stand for as much time.

    It holds all positions if its cells then separate ``places``. Otherwise it holds the largest
    middle part of each axis for which they do; if there is none, the largest part that is not
    larger than ``LARGE_MAP_KM``; and if that leaves out too much, a square of that side around
    where most time is spent. So one trip does not make all cells large.
    """
    middle = float(lon[0])
    east = east_of(lon, middle)
    wanted = _telling_apart(places, LARGE_MAP_KM / CELLS_ACROSS)
    tried = [_quantiles(lat, east, coverage) for coverage in COVERAGES]
    for limit in (wanted * CELLS_ACROSS, LARGE_MAP_KM):
        small = [spans for spans in tried if _longer_side(*spans) <= limit]
        if small:
            return _framed(lat, lon, middle, *small[0])
    inside = everyday(lat, lon)
    return _framed(lat, lon, middle, *_quantiles(lat[inside], east[inside], 1.0))


def everyday(lat: Floats, lon: Floats) -> NDArray[np.bool_]:
    """Return which positions lie within a square of ``LARGE_MAP_KM`` around where most time is."""
    east = east_of(lon, float(lon[0]))
    # Squares of a quarter of that are counted; at these latitudes a degree is as wide as here.
    tile = LARGE_MAP_KM / 4
    scale = KM_PER_DEGREE * np.maximum(np.cos(np.radians(lat)), 0.01)
    tiles = np.stack([lat * KM_PER_DEGREE // tile, east * scale // tile], axis=1)
    _, number, counts = np.unique(tiles, axis=0, return_inverse=True, return_counts=True)
    most = number.reshape(-1) == int(np.argmax(counts))
    middle_lat, middle_east = float(lat[most].mean()), float(east[most].mean())
    here = KM_PER_DEGREE * max(math.cos(math.radians(middle_lat)), 0.01)
    inside: NDArray[np.bool_] = (np.abs(lat - middle_lat) * KM_PER_DEGREE <= LARGE_MAP_KM / 2) & (
        np.abs(east - middle_east) * here <= LARGE_MAP_KM / 2
    )
    return inside


def east_of(lon: Floats, middle: float) -> Floats:
    """Return degrees east of a longitude, the short way round."""
    return (lon - middle + 180.0) % 360.0 - 180.0


def round_up(km: float) -> float:
    """Return the next round number: 1, 1.5, 2, 2.5, 3, 4 or 5 times a power of ten."""
    scale = 10.0 ** math.floor(math.log10(km))
    return next(
        round(f * scale, 6) for f in (1, 1.5, 2, 2.5, 3, 4, 5, 10) if f * scale >= km * (1 - 1e-9)
    )


def _telling_apart(places: Sequence[Place], otherwise: float) -> float:
    """Return the cell size at which the nearest two of the main places lie in different cells."""
    distances = [
        apart_km(a.lat, a.lon, b.lat, b.lon)
        for number, a in enumerate(places)
        for b in places[:number]
    ]
    # Two places half a cell apart or more are usually in different cells; diagonally nearer.
    return min(otherwise, max(FINEST_KM, min(distances) / 1.5)) if distances else otherwise


def _quantiles(lat: Floats, east: Floats, coverage: float) -> tuple[_Span, _Span]:
    tail = (1.0 - coverage) / 2
    south, north = np.quantile(lat, (tail, 1.0 - tail)).tolist()
    west, far_east = np.quantile(east, (tail, 1.0 - tail)).tolist()
    return (south, north), (west, far_east)


def _km_per_lon(south_north: _Span) -> float:
    return KM_PER_DEGREE * max(math.cos(math.radians(sum(south_north) / 2)), 0.01)


def _longer_side(south_north: _Span, west_east: _Span) -> float:
    height = (south_north[1] - south_north[0]) * KM_PER_DEGREE
    return max(height, (west_east[1] - west_east[0]) * _km_per_lon(south_north))


def _framed(lat: Floats, lon: Floats, middle: float, south_north: _Span, west_east: _Span) -> Frame:
    """Return the map of whole blocks of the public lattice around two spans, with round cells."""
    per_lon = _km_per_lon(south_north)
    side = _longer_side(south_north, west_east) + 2 * MARGIN_KM
    cell_size = max(SMALLEST_CELL_KM, round_up(side / CELLS_ACROSS))
    south = max(south_north[0] - MARGIN_KM / KM_PER_DEGREE, -90.0)
    north = min(south_north[1] + MARGIN_KM / KM_PER_DEGREE, 90.0)
    west, far_east = west_east[0] - MARGIN_KM / per_lon, west_east[1] + MARGIN_KM / per_lon
    origin = zone_origin((south + north) / 2, _turned(middle + (west + far_east) / 2))
    box = (south, _turned(middle + west), north, _turned(middle + far_east))
    try:
        bounds = box_of(lattice_grid(origin, box, cell_size))
    except InvalidParameter:  # around a pole
        bounds = (round(box[0], 4), round(box[1], 4), round(box[2], 4), round(box[3], 4))
    grid = lattice_grid(origin, bounds, cell_size)
    x, y = grid.xy(lat, lon)
    inside = (x >= 0) & (x <= grid.width) & (y >= 0) & (y <= grid.height)
    return Frame(bounds, origin, cell_size, 1.0 - float(np.count_nonzero(inside)) / inside.size)


def _turned(lon: float) -> float:
    return (lon + 180.0) % 360.0 - 180.0
