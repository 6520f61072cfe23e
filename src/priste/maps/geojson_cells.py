"""Cells of a map of the earth as GeoJSON, for maps and libraries that read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.maps.grid import Grid

DECIMALS = 7
"""Decimals of a degree: about a centimetre."""


def cells_as_features(grid: Grid) -> dict[str, Any]:
    """Return every cell as a feature with its number, row and column."""
    features = [
        {
            "type": "Feature",
            "id": cell,
            "properties": {"cell": cell, "row": row, "column": column},
            "geometry": {"type": "Polygon", "coordinates": [ring.tolist()]},
        }
        for cell, ring in zip(range(grid.size), _rings(grid, range(grid.size)), strict=True)
        for row, column in [divmod(cell, grid.columns)]
    ]
    return {"type": "FeatureCollection", "features": features}


def cells_as_geometry(grid: Grid, cells: Iterable[int]) -> dict[str, Any]:
    """Return the area of some cells as one geometry."""
    import json

    import shapely

    polygons = shapely.polygons(_rings(grid, list(cells)))
    found: dict[str, Any] = json.loads(shapely.to_geojson(shapely.union_all(polygons)))
    return found


def _rings(grid: Grid, cells: Iterable[int]) -> NDArray[np.float64]:
    """Return the corners of cells (k, 5, 2) as longitude and latitude, counter-clockwise.

    Longitudes of a cell across 180° go on beyond it, so that its sides stay short.
    """
    if not grid.is_geographic:
        raise InvalidParameter(
            "This map is of the plane and has no longitudes, so it has no GeoJSON.",
            hint="Make a map of the earth with Grid.covering.",
        )
    y, x = (np.arange(n + 1) * grid.cell_size for n in (grid.rows, grid.columns))
    east, north = np.meshgrid(x, y)
    lat, lon = grid.latlon_at(east.ravel(), north.ravel())
    corners = np.round(np.stack([lon, lat], axis=1), DECIMALS)
    row, column = np.divmod(np.array(list(cells), dtype=np.int64), grid.columns)
    first, up = row * (grid.columns + 1) + column, grid.columns + 1
    around = np.stack([first, first + 1, first + up + 1, first + up, first], axis=1)
    rings: NDArray[np.float64] = corners[around]
    rings[..., 0] = np.unwrap(rings[..., 0], period=360.0, axis=1)
    return rings
