"""Which cells a shape in the plane of a map covers.

``"touching"`` takes every cell that shares area with the shape; ``"centers"`` every cell
whose centre lies in the shape or on its edge, and, when there is none, falls back on
``"touching"``, so that a shape smaller than a cell covers the cell or cells it lies in.
Meeting in an edge or a corner is not sharing area: cells are shrunk by
:data:`EDGE_TOLERANCE` of their side on every side before they are compared, which also
absorbs rounding (0.7 km and 7 × 0.1 km are not the same float).

Every function returns sorted cell numbers; none when the shape lies outside the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps.grid import Grid

if TYPE_CHECKING:
    from shapely import Polygon

Cover: TypeAlias = Literal["touching", "centers"]

EDGE_TOLERANCE = 1e-9
"""The part of a cell's side within which a shape is taken to end at the cell's border."""


def check_cover(cover: str) -> None:
    """Refuse any rule but the two."""
    if cover not in ("touching", "centers"):
        raise InvalidParameter("must be 'touching' or 'centers'", parameter="cover", value=cover)


def cells_of_box(
    grid: Grid, x_min: float, y_min: float, x_max: float, y_max: float, cover: Cover
) -> NDArray[np.int64]:
    """Return the cells that the rectangle covers."""
    if cover == "centers":
        x, y = _centers_along(grid.columns, grid), _centers_along(grid.rows, grid)
        found = _combine(
            grid,
            np.flatnonzero((y >= y_min) & (y <= y_max)),
            np.flatnonzero((x >= x_min) & (x <= x_max)),
        )
        if found.size:
            return found
    found = _near_box(grid, x_min, y_min, x_max, y_max)
    return found if found.size else cell_of_point(grid, (x_min + x_max) / 2, (y_min + y_max) / 2)


def cells_of_circle(
    grid: Grid, x: float, y: float, radius: float, cover: Cover
) -> NDArray[np.int64]:
    """Return the cells that the disc covers."""
    near = _near_box(grid, x - radius, y - radius, x + radius, y + radius)
    row, column = np.divmod(near, grid.columns)
    east = (column + 0.5) * grid.cell_size - x
    north = (row + 0.5) * grid.cell_size - y
    if cover == "centers":
        inside = _length(east, north) <= radius
        if inside.any():
            return near[inside]
    half = (0.5 - EDGE_TOLERANCE) * grid.cell_size
    gap_east = np.maximum(np.abs(east) - half, 0.0)
    gap_north = np.maximum(np.abs(north) - half, 0.0)
    found = near[_length(gap_east, gap_north) <= radius]
    return found if found.size else cell_of_point(grid, x, y)


def cells_of_polygons(grid: Grid, pieces: Sequence[Polygon], cover: Cover) -> NDArray[np.int64]:
    """Return the cells that the valid polygons, the pieces of one part of a shape, cover."""
    if cover == "centers":
        found = _union([_centers_in(grid, piece) for piece in pieces])
        if found.size:
            return found
    return _union([_touching(grid, piece) for piece in pieces])


def cell_of_point(grid: Grid, x: float, y: float) -> NDArray[np.int64]:
    """Return the one cell of a point, or none when it lies outside the map."""
    if 0.0 <= x <= grid.width and 0.0 <= y <= grid.height:
        return np.array([grid.cell_at_xy(x, y)], dtype=np.int64)
    return np.empty(0, dtype=np.int64)


def _centers_in(grid: Grid, polygon: Polygon) -> NDArray[np.int64]:
    near = _near_box(grid, *polygon.bounds)
    return near[_holds_center(grid, near, polygon)]


def _touching(grid: Grid, polygon: Polygon) -> NDArray[np.int64]:
    import shapely

    near = _near_box(grid, *polygon.bounds)
    met = _holds_center(grid, near, polygon)
    # Squares are dear to make, and most are settled by their centre.
    row, column = np.divmod(near[~met], grid.columns)
    low, high = EDGE_TOLERANCE * grid.cell_size, (1.0 - EDGE_TOLERANCE) * grid.cell_size
    west, south = column * grid.cell_size, row * grid.cell_size
    squares = shapely.box(west + low, south + low, west + high, south + high)
    met[~met] = shapely.intersects(polygon, squares)
    if met.any():
        return near[met]
    inside = polygon.representative_point()
    return cell_of_point(grid, inside.x, inside.y)


def _holds_center(grid: Grid, cells: NDArray[np.int64], polygon: Polygon) -> NDArray[np.bool_]:
    import shapely

    row, column = np.divmod(cells, grid.columns)
    shapely.prepare(polygon)
    inside: NDArray[np.bool_] = shapely.intersects_xy(
        polygon, (column + 0.5) * grid.cell_size, (row + 0.5) * grid.cell_size
    )
    return inside


def _length(east: NDArray[np.float64], north: NDArray[np.float64]) -> NDArray[np.float64]:
    # Of a circle at the end of the floats: infinitely far is the right answer.
    with np.errstate(over="ignore"):
        return np.hypot(east, north)


def _union(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


def _near_box(
    grid: Grid, x_min: float, y_min: float, x_max: float, y_max: float
) -> NDArray[np.int64]:
    """Return the cells that share area with the rectangle."""
    return _combine(
        grid,
        _slots_between(y_min, y_max, grid.rows, grid.cell_size),
        _slots_between(x_min, x_max, grid.columns, grid.cell_size),
    )


def _slots_between(low: float, high: float, count: int, side: float) -> NDArray[np.int64]:
    slots = np.arange(count)
    starts = (slots + EDGE_TOLERANCE) * side
    ends = (slots + 1 - EDGE_TOLERANCE) * side
    return slots[(ends >= low) & (starts <= high)]


def _centers_along(count: int, grid: Grid) -> NDArray[np.float64]:
    return (np.arange(count, dtype=np.float64) + 0.5) * grid.cell_size


def _combine(grid: Grid, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    return (rows[:, None] * grid.columns + columns[None, :]).ravel()
