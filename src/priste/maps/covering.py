"""Where the map that covers a box of degrees lies, and how many cells it needs."""

from __future__ import annotations

import math

import numpy as np

from priste.errors import InvalidParameter
from priste.maps.projection import LARGEST_RADIUS_KM, LocalProjection, check_box

BORDER_MARGIN_KM = 2e-6
"""What is added around a box, so that rounding puts no point of its edge outside the map."""

_SAMPLES_PER_SIDE = 1025
_CENTRE_DECIMALS = 6
_CORNER_DECIMALS = 7


def frame_around(
    south: float, west: float, north: float, east: float, cell_size: float
) -> tuple[int, int, LocalProjection]:
    """Return ``rows, columns, projection`` of the map around a box of degrees.

    Every position of the box lies on that map.
    """
    south, west, north, east = check_box(south, west, north, east, "a map")
    # First around the middle of the degrees, then around the middle of what that draws:
    # near a pole the two are far apart.
    middle = (west + east) / 2
    first = LocalProjection((south + north) / 2, middle if middle <= 180 else middle - 360, 0, 0)
    x_min, y_min, x_max, y_max = extent(first, south, west, north, east)
    latitude, longitude = first.inverse((x_min + x_max) / 2, (y_min + y_max) / 2)
    # Rounded, because a map is compared by its content and should be the same value on
    # machines whose sines differ in the last bit.
    centre = LocalProjection(
        round(float(latitude), _CENTRE_DECIMALS), round(float(longitude), _CENTRE_DECIMALS), 0, 0
    )
    x_min, y_min, x_max, y_max = extent(centre, south, west, north, east)
    farthest = math.hypot(max(-x_min, x_max), max(-y_min, y_max))
    if farthest > LARGEST_RADIUS_KM:
        raise InvalidParameter(
            f"may reach at most {LARGEST_RADIUS_KM:g} km from its middle",
            parameter="box",
            owner="a map",
            got=f"{farthest:.6g} km",
            hint="Cover a smaller area.",
        )
    rows = math.ceil((y_max - y_min) / cell_size)
    columns = math.ceil((x_max - x_min) / cell_size)
    corner_east = round((x_min + x_max - columns * cell_size) / 2, _CORNER_DECIMALS)
    corner_north = round((y_min + y_max - rows * cell_size) / 2, _CORNER_DECIMALS)
    projection = LocalProjection(centre.latitude, centre.longitude, corner_east, corner_north)
    return rows, columns, projection


def extent(
    projection: LocalProjection, south: float, west: float, north: float, east: float
) -> tuple[float, float, float, float]:
    """Return the plane rectangle around a box of degrees, as ``projection`` draws it.

    The extremes of the coordinates lie on the border of the box. Between two samples of a
    smooth border a coordinate exceeds both by less than its second difference.
    """
    latitude = np.linspace(south, north, _SAMPLES_PER_SIDE)
    longitude = np.linspace(west, east, _SAMPLES_PER_SIDE)
    sides = [
        projection.forward(np.full_like(longitude, south), longitude),
        projection.forward(np.full_like(longitude, north), longitude),
        projection.forward(latitude, np.full_like(latitude, west)),
        projection.forward(latitude, np.full_like(latitude, east)),
    ]
    lowest, highest = [], []
    for axis in range(2):
        values = np.stack([side[axis] for side in sides])
        margin = float(np.abs(np.diff(values, 2, axis=1)).max()) + BORDER_MARGIN_KM
        lowest.append(float(values.min()) - margin)
        highest.append(float(values.max()) + margin)
    return lowest[0], lowest[1], highest[0], highest[1]
