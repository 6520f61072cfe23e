"""A set of cells of one map, made from cell numbers or from shapes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_float
from priste.errors import InvalidParameter, OutsideMap
from priste.maps.cells import Cells, read_cell_numbers
from priste.maps.coverage import (
    Cover,
    cell_of_point,
    cells_of_box,
    cells_of_circle,
    cells_of_polygons,
    check_cover,
)
from priste.maps.earth_shapes import box_on_map, polygon_on_map
from priste.maps.geojson import PointPart, PolygonPart, cells_as_geometry, read_geojson
from priste.maps.grid import Grid
from priste.maps.projection import LARGEST_RADIUS_KM, check_degrees
from priste.maps.region_drawing import draw_cells
from priste.maps.rings import Ring, closed_corners, valid_polygon
from priste.showable import Plottable, Tabular

SetOperation: TypeAlias = Callable[[frozenset[int], frozenset[int]], frozenset[int]]


@dataclass(frozen=True, init=False, repr=False)
class Region(Plottable, Tabular):
    """A set of cells of one map: a value, frozen, compared and hashed by grid and cells.

    ``cells`` is sorted. Iterating gives cell numbers, so a region goes wherever cells
    are taken. ``|``, ``&``, ``-``, ``^`` join regions of equal grids and ``~`` is every other
    cell of the map. A region may be empty (two disjoint ones meet in nothing); events
    refuse empty ones.

    Shapes cover cells by one of two rules. ``cover="touching"``, the default, takes every cell
    that shares area with the shape, so that every point of the shape lies in the region.
    ``cover="centers"`` takes the cells whose centre lies in the shape or on its edge; a part of a
    shape that holds no centre (it is smaller than a cell, or thin) covers the cells it shares area
    with instead, so nothing ever vanishes. A point covers the cell it lies in. What lies outside
    the map is left out; a shape with nothing on the map raises :class:`OutsideMap`.

    >>> grid = Grid(rows=4, columns=4, cell_size=1.0)
    >>> Region(grid, [5, 6]) | Region.box(grid, 0, 0, 2, 1)
    Region(grid, [0, 1, 5, 6])
    >>> Region.circle(grid, 1.2, 1.3, radius_km=0.1).cells
    (5,)
    >>> 5 in Region(grid, [5]), len(~Region(grid, [5]))
    (True, 15)
    """

    grid: Grid
    cells: tuple[int, ...]

    def __init__(self, grid: Grid, cells: Cells) -> None:
        _check_grid(grid)
        numbers = tuple(sorted(read_cell_numbers(cells, name="cells")))
        if isinstance(cells, Region) and cells.grid != grid:
            raise InvalidParameter(
                "must not be a Region of another map", parameter="cells", owner="a Region"
            )
        if numbers and numbers[-1] >= grid.size:
            raise InvalidParameter(
                f"must be in [0, {grid.size}) on this map",
                parameter="cells",
                owner="a Region",
                value=numbers[-1],
            )
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "cells", numbers)

    # From shapes in km

    @classmethod
    def box(
        cls,
        grid: Grid,
        x_min: float,
        y_min: float,
        x_max: float,
        y_max: float,
        *,
        cover: Cover = "touching",
    ) -> Region:
        """Cover a rectangle given in km from the map's south-west corner."""
        _check_rule(grid, cover)
        x_min, y_min = (
            check_float(x_min, "x_min", "Region.box"),
            check_float(y_min, "y_min", "Region.box"),
        )
        x_max, y_max = (
            check_float(x_max, "x_max", "Region.box"),
            check_float(y_max, "y_max", "Region.box"),
        )
        if not (x_min < x_max and y_min < y_max):
            raise InvalidParameter(
                "must have x_min < x_max and y_min < y_max (km)",
                parameter="corners",
                owner="Region.box",
                got=f"x from {x_min!r} to {x_max!r}, y from {y_min!r} to {y_max!r}",
            )
        cells = cells_of_box(grid, x_min, y_min, x_max, y_max, cover)
        return cls._found(grid, cells, "Region.box")

    @classmethod
    def circle(
        cls, grid: Grid, x: float, y: float, radius_km: float, *, cover: Cover = "touching"
    ) -> Region:
        """Cover a disc: centre in km from the map's south-west corner, radius in km."""
        _check_rule(grid, cover)
        x, y = check_float(x, "x", "Region.circle"), check_float(y, "y", "Region.circle")
        radius = check_float(radius_km, "radius_km", "a circle")
        if not radius > 0.0:
            raise InvalidParameter(
                "must be > 0",
                parameter="radius_km",
                owner="a circle",
                value=radius,
                hint="For the cell of a point use Region(grid, [grid.cell_at_xy(x, y)]).",
            )
        return cls._found(grid, cells_of_circle(grid, x, y, radius, cover), "Region.circle")

    @classmethod
    def polygon(
        cls, grid: Grid, ring: Ring, holes: Sequence[Ring] = (), *, cover: Cover = "touching"
    ) -> Region:
        """Cover a polygon of ``(x, y)`` corners in km, without its ``holes``.

        Rings may be closed (last corner = first) or left open, and run either way round. A ring
        that crosses itself, or a hole that leaves the polygon, is an error.
        """
        _check_rule(grid, cover)
        who = "Region.polygon"
        inner = [closed_corners(hole, who) for hole in holes]
        shape = valid_polygon(closed_corners(ring, who), inner, who)
        return cls._found(grid, cells_of_polygons(grid, [shape], cover), who)

    # From shapes in degrees, on maps of the earth

    @classmethod
    def box_latlon(
        cls,
        grid: Grid,
        south: float,
        west: float,
        north: float,
        east: float,
        *,
        cover: Cover = "touching",
    ) -> Region:
        """Cover a box of degrees, bounded by two parallels and two meridians.

        ``east < west`` means across longitude 180°.
        """
        _check_rule(grid, cover)
        pieces = box_on_map(grid, south, west, north, east)
        return cls._found(grid, cells_of_polygons(grid, pieces, cover), "Region.box_latlon")

    @classmethod
    def circle_latlon(
        cls, grid: Grid, lat: float, lon: float, radius_km: float, *, cover: Cover = "touching"
    ) -> Region:
        """Cover a disc: centre in degrees, radius in **km** (0.3 for 300 m), at most 450.

        Distances are those of the map, so the edge is true to ``grid.distance_error`` when the
        centre lies on the map.
        """
        _check_rule(grid, cover)
        lat, lon = (
            check_float(lat, "lat", "Region.circle_latlon"),
            check_float(lon, "lon", "Region.circle_latlon"),
        )
        check_degrees(lat, lon, "centre", "Region.circle_latlon")
        radius = check_float(radius_km, "radius_km", "a circle")
        if radius > LARGEST_RADIUS_KM:
            raise InvalidParameter(
                f"must be at most {LARGEST_RADIUS_KM:g}",
                parameter="radius_km",
                owner="Region.circle_latlon",
                value=radius,
                hint="The unit is km: write 0.3 for 300 m.",
            )
        x, y = grid.xy(lat, lon)
        return cls.circle(grid, x, y, radius, cover=cover)

    @classmethod
    def polygon_latlon(
        cls, grid: Grid, ring: Ring, holes: Sequence[Ring] = (), *, cover: Cover = "touching"
    ) -> Region:
        """Cover a polygon of ``(latitude, longitude)`` corners, without its ``holes``.

        Edges are straight in degrees, as in GeoJSON, and go the shorter way round the
        earth, so a polygon may cross longitude 180°. Other rules as for :meth:`polygon`.
        """
        _check_rule(grid, cover)
        who = "Region.polygon_latlon"
        outer, *inner = (closed_corners(one, who)[:, ::-1] for one in (ring, *holes))
        pieces = polygon_on_map(grid, outer, inner, who)
        return cls._found(grid, cells_of_polygons(grid, pieces, cover), who)

    @classmethod
    def geojson(
        cls,
        grid: Grid,
        source: Mapping[str, Any] | str | os.PathLike[str],
        *,
        cover: Cover = "touching",
        outside: Literal["error", "ignore"] = "error",
    ) -> Region:
        """Cover the points and polygons of GeoJSON: a mapping, or the path of a file.

        Reads Point, MultiPoint, Polygon, MultiPolygon, GeometryCollection, Feature and
        FeatureCollection (RFC 7946: longitude first, WGS84) and covers all they hold
        together; every polygon follows the rule of ``cover`` by itself. A feature with nothing on
        the map raises :class:`OutsideMap`; ``outside="ignore"`` leaves such features out, as
        long as one is on the map.
        """
        _check_rule(grid, cover)
        if outside not in ("error", "ignore"):
            raise InvalidParameter(
                "must be 'error' or 'ignore'", parameter="outside", value=outside
            )
        found: list[NDArray[np.int64]] = []
        for feature in read_geojson(source):
            who = f"GeoJSON, {feature.name}"
            cells = [_cells_of_part(grid, part, who, cover) for part in feature.parts]
            together = np.concatenate(cells)
            if outside == "error" and not together.size:
                raise _outside(who)
            found.append(together)
        return cls._found(grid, np.concatenate(found), "Region.geojson")

    @classmethod
    def _found(cls, grid: Grid, cells: NDArray[np.int64], who: str) -> Region:
        if not cells.size:
            raise _outside(who)
        return cls(grid, cells)

    # A set of cells

    @cached_property
    def _numbers(self) -> frozenset[int]:
        return frozenset(self.cells)

    def __contains__(self, cell: object) -> bool:
        return cell in self._numbers

    def __iter__(self) -> Iterator[int]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __or__(self, other: Region) -> Region:
        return self._joined(other, frozenset.__or__)

    def __and__(self, other: Region) -> Region:
        return self._joined(other, frozenset.__and__)

    def __sub__(self, other: Region) -> Region:
        return self._joined(other, frozenset.__sub__)

    def __xor__(self, other: Region) -> Region:
        return self._joined(other, frozenset.__xor__)

    def __invert__(self) -> Region:
        return Region(self.grid, np.flatnonzero(~self.mask))

    def _joined(self, other: Region, join: SetOperation) -> Region:
        if not isinstance(other, Region):
            return NotImplemented
        if other.grid != self.grid:
            raise InvalidParameter(
                "must have equal maps to be joined", parameter="regions", got="two different grids"
            )
        return Region(self.grid, join(self._numbers, other._numbers))

    @property
    def mask(self) -> NDArray[np.bool_]:
        """A new (m,) array, true at the cells of the region."""
        mask = np.zeros(self.grid.size, dtype=np.bool_)
        mask[list(self.cells)] = True
        return mask

    def drawing(self, *, width: int = 78, height: int = 40) -> str:
        """Return the region drawn in text, north up, after a line of legend.

        Lines are at most ``width`` characters and there are at most ``height`` of them besides the
        legend. On a larger map a character stands for a square block of cells.

        >>> print(Region(Grid(2, 3, 0.5), [0, 4]).drawing())
        # covered; a character is a cell of 0.5 km; north is up
        .#.
        #..
        """
        return draw_cells(self.grid, self.mask, width=width, height=height)

    def to_geojson(self) -> dict[str, Any]:
        """Return the area of the cells as a GeoJSON geometry; a map of the plane has none."""
        return cells_as_geometry(self.grid, self.cells)

    @property
    def __geo_interface__(self) -> dict[str, Any]:
        if not self.grid.is_geographic:
            raise AttributeError("a map of the plane has no longitudes")
        return self.to_geojson()

    def __repr__(self) -> str:
        if len(self) <= 20:
            return f"Region(grid, {list(self.cells)})"
        first = ", ".join(map(str, self.cells[:5]))
        return f"<Region of {len(self)} of {self.grid.size} cells: {first}, …>"


def _check_grid(grid: Grid) -> None:
    if not isinstance(grid, Grid):
        raise InvalidParameter(
            "must be a Grid", parameter="grid", owner="a Region", value=type(grid)
        )


def _check_rule(grid: Grid, cover: Cover) -> None:
    _check_grid(grid)
    check_cover(cover)


def _cells_of_part(
    grid: Grid, part: PointPart | PolygonPart, who: str, cover: Cover
) -> NDArray[np.int64]:
    if isinstance(part, PointPart):
        return cell_of_point(grid, *grid.xy(part.latitude, part.longitude))
    pieces = polygon_on_map(grid, part.shell, part.holes, who)
    return cells_of_polygons(grid, pieces, cover)


def _outside(who: str) -> OutsideMap:
    return OutsideMap(
        f"{who}: a shape must lie on the map, at least in part. This one does not.",
        owner="Region",
        hint="Check its units and the order of its coordinates, or cover a larger area.",
    )
