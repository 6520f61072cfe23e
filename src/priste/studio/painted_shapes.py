"""Painted cells as a shape in degrees, for maps whose cells have no lasting numbers.

Where beyond the map is a place of its own, the map has one more cell on each side and a policy
names places by coordinates. Any painted cells are the centres in one ring. Cells in one piece are
gone around, a little within them. Others become the teeth of combs: a spine along the border of
the cells to the west, a back along the lower border of every row, where no centre is, and on
it the cells of that row. A tree of strips encloses nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from priste.errors import PristeError
from priste.maps import Grid, Region
from priste.studio.wire import Refused

if TYPE_CHECKING:
    from shapely import Polygon

INSET = 0.1
THREAD = 0.02
"""Parts of a cell's side: how far within the cells a ring goes, and half of a spine or back."""

LONGEST_EDGE = 10
"""Cells: edges are straight in degrees, rows of cells are not."""

Corner = tuple[float, float]


@lru_cache(maxsize=256)
def ring_around(grid: Grid, cells: tuple[int, ...]) -> tuple[Corner, ...]:
    """Return corners (lat, lon) of a polygon that holds the centres of exactly these cells.

    >>> grid = Grid.covering(46.0, 7.0, 46.1, 7.1, 1.0)
    >>> ring = ring_around(grid, (0, 1, 2, 9, 11, 18, 19, 20, 40))  # around a cell, and one apart
    >>> Region.polygon_latlon(grid, ring, cover="centers").cells
    (0, 1, 2, 9, 11, 18, 19, 20, 40)
    """
    shape = _outline(_runs(grid, cells))
    side = grid.cell_size
    corners = list(shape.exterior.segmentize(LONGEST_EDGE).coords)[:-1]
    found = [grid.latlon_at(x * side, y * side) for x, y in corners]
    ring = tuple((round(float(lat), 7), round(float(lon), 7)) for lat, lon in found)
    try:
        exact = Region.polygon_latlon(grid, ring, cover="centers").cells == tuple(sorted(cells))
    except PristeError:
        exact = False
    if not exact:
        raise Refused(
            422,
            "These cells cannot be written as one place in degrees.",
            "Paint them as two places, and name both in the secret.",
        )
    return ring


def _runs(grid: Grid, cells: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return neighbours of a row together: their row, first column, and the one after the last."""
    runs: list[tuple[int, int, int]] = []
    for cell in sorted(cells):
        row, column = divmod(cell, grid.columns)
        if runs and runs[-1][0] == row and runs[-1][2] == column:
            runs[-1] = (row, runs[-1][1], column + 1)
        else:
            runs.append((row, column, column + 1))
    return runs


def _outline(runs: list[tuple[int, int, int]]) -> Polygon:
    """Return one polygon without holes; lengths are cells here."""
    import shapely

    boxes = [shapely.box(west, row, east, row + 1) for row, west, east in runs]
    whole = shapely.union_all(boxes).buffer(-INSET, join_style="mitre")
    if isinstance(whole, shapely.Polygon) and not whole.interiors:
        return whole
    spine = min(west for _, west, _ in runs)
    rows = sorted({row for row, _, _ in runs})
    strips = [shapely.box(spine - THREAD, rows[0] - THREAD, spine + THREAD, rows[-1] + THREAD)]
    for row in rows:
        ends = [(west, east) for at, west, east in runs if at == row]
        last = max(east for _, east in ends) - INSET
        strips.append(shapely.box(spine - THREAD, row - THREAD, last, row + THREAD))
        strips += [
            shapely.box(west + INSET, row, east - INSET, row + 1 - INSET) for west, east in ends
        ]
    comb: Polygon = shapely.union_all(strips)
    return comb
