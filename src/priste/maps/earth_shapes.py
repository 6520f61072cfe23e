"""Shapes in degrees, brought into the plane of a map.

Edges are straight in degrees (RFC 7946), so a side along a parallel stays on it. A shape is
unrolled where it crosses longitude 180°, cut to the surroundings of the map, its edges
divided into short pieces, and only then projected: a country around a city costs no more
than the city, and nothing far away is drawn where the projection is poor.

Longitudes come first here, as in GeoJSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps.grid import Grid
from priste.maps.projection import check_box
from priste.maps.rings import Ring, closed_corners, valid_polygon

if TYPE_CHECKING:
    from shapely import Geometry, Polygon

EDGE_PIECE_DEGREES = 0.01
"""The longest piece of an edge that is drawn as a straight line: at latitude 65° a parallel
of that length bends by a centimetre."""

SEAM_DEGREES = 1e-9
"""How far halves of a turn reach over each other: at 450 km from a pole, less than 0.01 mm."""

_SAMPLES_PER_SIDE = 65


@dataclass(frozen=True)
class _Window:
    """The degrees around a map; ``west`` ≤ ``east`` may pass ±180."""

    south: float
    west: float
    north: float
    east: float
    around_pole: bool


def polygon_on_map(grid: Grid, shell: Ring, holes: Sequence[Ring], who: str) -> list[Polygon]:
    """Return what lies near the map of a polygon of (longitude, latitude) corners, in km.

    Edges go the shorter way round the earth.
    """
    outer = _unrolled(closed_corners(shell, who), who)
    inner = [_beside(_unrolled(closed_corners(hole, who), who), outer) for hole in holes]
    return _drawn(grid, valid_polygon(outer, inner, who))


def box_on_map(grid: Grid, south: float, west: float, north: float, east: float) -> list[Polygon]:
    """Return what lies near the map of a box of degrees; ``east < west`` is across 180°."""
    import shapely

    south, west, north, east = check_box(south, west, north, east, "Region.box_latlon")
    return _drawn(grid, shapely.box(west, south, east, north))


def _unrolled(corners: NDArray[np.float64], who: str) -> NDArray[np.float64]:
    """Add whole turns to the longitudes so that no edge is longer than half a turn."""
    longitude, latitude = corners[:, 0], corners[:, 1]
    if np.any(np.abs(latitude) > 90.0) or np.any(np.abs(longitude) > 360.0):
        raise InvalidParameter(
            "must have latitudes in [-90, 90] and longitudes in [-360, 360] degrees",
            parameter="corners",
            owner=who,
            hint="Are they the other way round?",
        )
    turns = np.zeros(len(corners))
    turns[1:] = -np.cumsum(np.round(np.diff(longitude) / 360.0))
    if turns[-1] != 0.0:
        raise InvalidParameter(
            "must not go round a pole",
            parameter="polygon",
            owner=who,
            hint="Cut it along a meridian into parts, as GeoJSON asks (RFC 7946, 3.1.9), or use "
            "Region.box_latlon.",
        )
    return np.column_stack([longitude + 360.0 * turns, latitude])


def _beside(hole: NDArray[np.float64], shell: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn a hole round the earth until it lies by its shell."""
    middle = (hole[:, 0].min() + hole[:, 0].max()) / 2
    target = (shell[:, 0].min() + shell[:, 0].max()) / 2
    return _turned(hole, int(np.round((target - middle) / 360.0)))


def _turned(corners: NDArray[np.float64], turns: int) -> NDArray[np.float64]:
    """Add whole turns of the earth to the longitudes."""
    moved: NDArray[np.float64] = corners + np.array([360.0 * turns, 0.0])
    return moved


def _drawn(grid: Grid, shape: Polygon) -> list[Polygon]:
    import shapely

    projection = grid.earth_projection()

    def project(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack(projection.forward(degrees[:, 1], degrees[:, 0]))

    pieces: list[Polygon] = []
    for part in _cut_to(shape, _window(grid)):
        drawn = shapely.transform(shapely.segmentize(part, EDGE_PIECE_DEGREES), project)
        # Corners that were one rounding apart in degrees may cross in the plane.
        pieces.extend(_polygons(drawn if drawn.is_valid else shapely.make_valid(drawn)))
    return pieces


def _cut_to(shape: Polygon, window: _Window) -> Iterator[Polygon]:
    """Give the parts of ``shape`` in the window, whichever turn of the earth they are on."""
    import shapely

    west, _, east, _ = shape.bounds
    spans = [(window.west, window.east)]
    if window.around_pole:
        # The two meridians that bound a whole turn are one line of the plane: halves keep every
        # part a plain polygon. They overlap, lest a centre on that line fall between them.
        middle = (window.west + window.east) / 2
        spans = [
            (window.west - SEAM_DEGREES, middle + SEAM_DEGREES),
            (middle - SEAM_DEGREES, window.east + SEAM_DEGREES),
        ]
    for low, high in spans:
        for turn in range(
            int(np.ceil((low - east) / 360.0)), int(np.floor((high - west) / 360.0)) + 1
        ):
            moved = shapely.transform(shape, partial(_turned, turns=turn))
            yield from _polygons(
                moved.intersection(shapely.box(low, window.south, high, window.north))
            )


def _polygons(shape: Geometry) -> list[Polygon]:
    import shapely

    parts = shapely.get_parts(shapely.get_parts(shape))
    return [part for part in parts if part.geom_type == "Polygon" and part.area > 0.0]


def _window(grid: Grid) -> _Window:
    """Return degrees that hold the whole map, with room to spare."""
    projection = grid.earth_projection()
    x = np.linspace(0.0, grid.width, _SAMPLES_PER_SIDE)
    y = np.linspace(0.0, grid.height, _SAMPLES_PER_SIDE)
    latitude, longitude = projection.inverse(
        np.concatenate([x, np.full_like(y, grid.width), x[::-1], np.zeros_like(y)]),
        np.concatenate([np.zeros_like(x), y, np.full_like(x, grid.height), y[::-1]]),
    )
    longitude = np.unwrap(longitude, period=360.0)
    # Between samples a coordinate strays by less than it changes from one to the next.
    spare_latitude = float(np.abs(np.diff(latitude)).max()) + EDGE_PIECE_DEGREES
    spare_longitude = float(np.abs(np.diff(longitude)).max()) + EDGE_PIECE_DEGREES
    south, north = latitude.min() - spare_latitude, latitude.max() + spare_latitude
    if north >= 90.0 or south <= -90.0 or _holds_pole(grid):
        middle = projection.longitude
        if projection.latitude > 0.0:
            return _Window(float(south), middle - 180.0, 90.0, middle + 180.0, True)
        return _Window(-90.0, middle - 180.0, float(north), middle + 180.0, True)
    return _Window(
        float(south),
        float(longitude.min()) - spare_longitude,
        float(north),
        float(longitude.max()) + spare_longitude,
        False,
    )


def _holds_pole(grid: Grid) -> bool:
    projection = grid.earth_projection()
    x, y = projection.forward(np.copysign(90.0, projection.latitude), 0.0)
    return bool(0.0 <= x <= grid.width and 0.0 <= y <= grid.height)
