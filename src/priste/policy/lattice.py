"""The public lattice: cells that do not depend on the person of a map.

The earth is divided into zones, each with an origin. A lattice counts cells of a given size in km
east and north from the origin of its zone, in the plane that :class:`~priste.maps.Grid` draws
around it. A map on the lattice consists of whole blocks of ``BLOCK`` by ``BLOCK`` cells. So two
people of one zone with cells of one size share every cell that both their maps have, and the
position of a cell reveals nothing about the data that the map was made for.
"""

from __future__ import annotations

import math

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.maps.covering import extent
from priste.maps.projection import LocalProjection, check_box

Box = tuple[float, float, float, float]
"""South, west, north, east in degrees."""

BLOCK = 2
"""How many cells a block of the lattice has on each side."""

ZONE_HEIGHT = 2.0
"""Degrees of latitude from one origin to the next."""

ZONE_WIDTHS = ((60.0, 2.0), (90.0, 4.0))
"""Degrees of longitude from one origin to the next, for latitudes up to the first number. No point
is farther than 165 km from its origin, and meridians lean by 2° at most from the columns of its
lattice, so that up to latitude 80° a box of degrees differs from a map of 28 cells across by less
than a cell on each side (closer to a pole it may differ by more)."""

_DECIMALS = 4
_EDGE = 33


def zone_origin(lat: float, lon: float) -> tuple[float, float]:
    """Return the origin of the zone of a position: latitude and longitude, even degrees.

    >>> zone_origin(47.37, 8.54), zone_origin(-33.9, 151.2), zone_origin(78.2, 15.6)
    ((48.0, 8.0), (-34.0, 152.0), (78.0, 16.0))
    """
    latitude = ZONE_HEIGHT * round(lat / ZONE_HEIGHT)
    width = next(width for limit, width in ZONE_WIDTHS if abs(latitude) <= limit)
    return latitude, (width * round(lon / width) + 180.0) % 360.0 - 180.0


def lattice_grid(origin: tuple[float, float], box: Box, cell_size: float) -> Grid:
    """Return the smallest map of whole blocks of a lattice that holds a box of degrees.

    >>> here = lattice_grid((48.0, 8.0), (47.30, 8.40, 47.45, 8.65), 1.0)
    >>> there = lattice_grid((48.0, 8.0), (47.36, 8.50, 47.50, 8.70), 1.0)
    >>> cell = there.cell_at(*here.latlon(here.cell_at(47.37, 8.54)))
    >>> np.allclose(there.latlon(cell), here.latlon(here.cell_at(47.37, 8.54)), atol=1e-9, rtol=0)
    True
    """
    if not cell_size > 0:
        raise InvalidParameter("must be > 0", parameter="cell_size", value=cell_size)
    around = LocalProjection(*origin, 0.0, 0.0)
    x_min, y_min, x_max, y_max = extent(around, *check_box(*box, "a map"))
    block = BLOCK * cell_size
    west, south = math.floor(x_min / block), math.floor(y_min / block)
    columns = BLOCK * (math.ceil(x_max / block) - west)
    rows = BLOCK * (math.ceil(y_max / block) - south)
    corner = round(west * block, 9), round(south * block, 9)
    return Grid(rows, columns, cell_size, projection=LocalProjection(*origin, *corner))


def box_of(grid: Grid) -> Box:
    """Return a box of degrees, to four decimals, around which a lattice puts exactly this map.

    Closer to a pole than latitude 80° it may be a smaller map of the lattice. Raises
    InvalidParameter where there is no such box.
    """
    edge = np.linspace(0.0, 1.0, _EDGE)
    ends = np.zeros(_EDGE)
    south, _ = grid.latlon_at(edge * grid.width, ends)
    north, _ = grid.latlon_at(edge * grid.width, ends + grid.height)
    _, west = grid.latlon_at(ends, edge * grid.height)
    _, east = grid.latlon_at(ends + grid.width, edge * grid.height)
    # Across longitude 180° the larger of two longitudes is the one that looks smaller.
    middle = float(grid.latlon_at(grid.width / 2, grid.height / 2)[1])
    west, east = (middle + (each - middle + 180.0) % 360.0 - 180.0 for each in (west, east))
    scale = 10.0**_DECIMALS  # strictly within the edges: one that lies on an edge may grow the map
    inner = (
        (math.floor(float(south.max()) * scale) + 1) / scale,
        (math.floor(float(west.max()) * scale) + 1) / scale,
        (math.ceil(float(north.min()) * scale) - 1) / scale,
        (math.ceil(float(east.min()) * scale) - 1) / scale,
    )
    if inner[0] >= inner[2] or inner[1] >= inner[3]:
        raise InvalidParameter(
            "must not hold a pole: it cannot be written as a box of degrees", parameter="map"
        )
    return inner[0], _turned(inner[1]), inner[2], _turned(inner[3])


def _turned(lon: float) -> float:
    return round((lon + 180.0) % 360.0 - 180.0, _DECIMALS)
