"""Regions from GeoJSON: what is read, what is refused, and across 180°."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from priste.errors import InvalidParameter, OutsideMap
from priste.maps import Cover, Grid, Region

GRID = Grid.covering(39.9, 116.3, 40.0, 116.5, cell_size=0.5)
SQUARE = [[116.35, 39.92], [116.40, 39.92], [116.40, 39.96], [116.35, 39.96], [116.35, 39.92]]
HOLE = [[116.36, 39.93], [116.39, 39.93], [116.39, 39.95], [116.36, 39.95], [116.36, 39.93]]
CLINIC = [[116.45, 39.95], [116.4501, 39.95], [116.4501, 39.9501], [116.45, 39.95]]
POINT = [116.42, 39.97]


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def point(position: Any) -> dict[str, Any]:
    return {"type": "Point", "coordinates": position}


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(*features: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}


def flipped(ring: list[list[float]]) -> list[tuple[float, float]]:
    return [(lat, lon) for lon, lat in ring]


SQUARE_CELLS = Region.polygon_latlon(GRID, flipped(SQUARE))
CLINIC_CELL = Region(GRID, [GRID.cell_at(39.95003, 116.45007)])
POINT_CELL = Region(GRID, [GRID.cell_at(39.97, 116.42)])
FAR_AWAY = point([2.35, 48.86])


def test_every_kind_of_geometry() -> None:
    """Each kind covers what its parts cover."""
    assert Region.geojson(GRID, polygon(SQUARE)) == SQUARE_CELLS
    assert Region.geojson(GRID, point(POINT)) == POINT_CELL
    assert Region.geojson(GRID, point([*POINT, 43.5])) == POINT_CELL
    multi = {"type": "MultiPolygon", "coordinates": [[SQUARE], [CLINIC]]}
    assert Region.geojson(GRID, multi) == SQUARE_CELLS | CLINIC_CELL
    points = {"type": "MultiPoint", "coordinates": [POINT, [116.45, 39.95]]}
    assert Region.geojson(GRID, points) == POINT_CELL | CLINIC_CELL
    mixed = {"type": "GeometryCollection", "geometries": [polygon(SQUARE), point(POINT)]}
    assert Region.geojson(GRID, mixed) == SQUARE_CELLS | POINT_CELL
    assert Region.geojson(GRID, feature(polygon(SQUARE), name="park")) == SQUARE_CELLS
    both = collection(feature(polygon(SQUARE)), feature(point(POINT)))
    assert Region.geojson(GRID, both) == SQUARE_CELLS | POINT_CELL


def test_holes_are_left_out() -> None:
    """The hole of a polygon, by centres, is what the polygon of the hole covers."""
    outer = Region.geojson(GRID, polygon(SQUARE), cover="centers")
    inner = Region.geojson(GRID, polygon(HOLE), cover="centers")
    assert len(inner) > 0
    assert Region.geojson(GRID, polygon(SQUARE, HOLE), cover="centers") == outer - inner


@pytest.mark.parametrize("cover", ["touching", "centers"])
def test_a_small_part_beside_a_large_one_is_not_lost(cover: Cover) -> None:
    """The clinic holds no centre, but the rule applies to each polygon by itself."""
    multi = {"type": "MultiPolygon", "coordinates": [[SQUARE], [CLINIC]]}
    assert CLINIC_CELL.cells[0] in Region.geojson(GRID, multi, cover=cover)


def test_a_file_is_read(tmp_path: Path) -> None:
    """By path or by the text of a path, and nothing is changed."""
    document = collection(feature(polygon(SQUARE), name="park"))
    path = tmp_path / "places.geojson"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert Region.geojson(GRID, path) == SQUARE_CELLS
    assert Region.geojson(GRID, str(path)) == SQUARE_CELLS
    assert document == collection(feature(polygon(SQUARE), name="park"))


def test_what_lies_outside() -> None:
    """A feature elsewhere is an error that names it, or left out on request, but never all."""
    document = collection(feature(polygon(SQUARE)), feature(FAR_AWAY, name="Paris"))
    with pytest.raises(OutsideMap, match=r"feature 1 \('Paris'\)"):
        Region.geojson(GRID, document)
    assert Region.geojson(GRID, document, outside="ignore") == SQUARE_CELLS
    with pytest.raises(OutsideMap):
        Region.geojson(GRID, collection(feature(FAR_AWAY)), outside="ignore")
    with pytest.raises(InvalidParameter, match="'outside'"):
        Region.geojson(GRID, document, outside="nearest")  # type: ignore[arg-type]


def test_the_three_ways_to_write_a_polygon_across_180() -> None:
    """Jumping from 179.9 to -179.9, counting past 180 either way, and cut in two parts."""
    grid = Grid.covering(-18.2, 179.8, -17.9, -179.8, cell_size=1.0)

    def box(west: float, east: float) -> list[list[float]]:
        return [[west, -18.1], [east, -18.1], [east, -18.0], [west, -18.0], [west, -18.1]]

    expected = Region.box_latlon(grid, -18.1, 179.9, -18.0, -179.9)
    assert 0 < len(expected) < grid.size
    for ring in (box(179.9, -179.9), box(179.9, 180.1), box(-180.1, -179.9)):
        assert Region.geojson(grid, polygon(ring)) == expected
    cut = {"type": "MultiPolygon", "coordinates": [[box(179.9, 180.0)], [box(-180.0, -179.9)]]}
    assert Region.geojson(grid, cut) == expected
    for longitude in (-180.05, 179.95):
        assert Region.geojson(grid, point([longitude, -18.05])).cells == (
            grid.cell_at(-18.05, 179.95),
        )


def deep(levels: int) -> dict[str, Any]:
    geometry: dict[str, Any] = point(POINT)
    for _ in range(levels):
        geometry = {"type": "GeometryCollection", "geometries": [geometry]}
    return geometry


def endless() -> dict[str, Any]:
    geometry: dict[str, Any] = {"type": "GeometryCollection"}
    geometry["geometries"] = [geometry]
    return geometry


def test_nesting_is_bounded() -> None:
    """A few levels are read, more are refused, a collection within itself too."""
    assert Region.geojson(GRID, deep(3)) == POINT_CELL
    for document in (deep(50), endless()):
        with pytest.raises(InvalidParameter, match="nests"):
            Region.geojson(GRID, document)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"type": "Circle", "coordinates": POINT},
        {"type": "LineString", "coordinates": SQUARE},
        {"type": ["Point"], "coordinates": POINT},
        {"type": "Point"},
        point([]),
        point([116.42]),
        point("116,40"),
        point(["116.42", "39.97"]),
        point([True, True]),
        point([math.nan, 39.97]),
        point([39.97, 116.42]),
        point([1e9, 39.97]),
        point(None),
        polygon(),
        polygon([]),
        polygon(SQUARE[:2]),
        polygon([[39.92, 116.35], [39.92, 116.40], [39.96, 116.40]]),
        polygon([[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]),
        polygon([[-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90]]),
        polygon(SQUARE, [[116.0, 39.0], [116.1, 39.0], [116.1, 39.1], [116.0, 39.0]]),
        polygon("ring"),
        {"type": "Polygon", "coordinates": SQUARE},
        {"type": "MultiPolygon", "coordinates": []},
        {"type": "MultiPolygon", "coordinates": [SQUARE]},
        {"type": "GeometryCollection", "geometries": []},
        {"type": "GeometryCollection", "geometries": [None]},
        feature(None),
        {"type": "Feature"},
        collection(),
        collection(None),
        collection(collection(feature(point(POINT)))),
        {"type": "FeatureCollection", "features": {"0": feature(point(POINT))}},
        {**point(POINT), "crs": {"type": "name", "properties": {"name": "EPSG:3857"}}},
        {**point(POINT), "crs": 3},
    ],
    ids=lambda document: json.dumps(document)[:60],
)
def test_broken_geojson_is_refused(document: dict[str, Any]) -> None:
    """Unknown types, missing members, lines, bad positions, broken rings, other systems."""
    with pytest.raises(InvalidParameter, match="GeoJSON") as caught:
        Region.geojson(GRID, document)
    assert not isinstance(caught.value, OutsideMap)


def test_the_old_name_of_wgs84_is_understood() -> None:
    """Files of the 2008 format name their system; WGS84 in degrees is fine."""
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    assert Region.geojson(GRID, {**point(POINT), "crs": crs}) == POINT_CELL


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Missing, a folder, not JSON, not text, too deep, not an object."""
    with pytest.raises(InvalidParameter, match="cannot be read"):
        Region.geojson(GRID, tmp_path / "missing.geojson")
    with pytest.raises(InvalidParameter, match="cannot be read"):
        Region.geojson(GRID, tmp_path)
    broken = tmp_path / "broken.geojson"
    for content in (b"{", b"\xff\xfe\x00", b"[" * 200_000):
        broken.write_bytes(content)
        with pytest.raises(InvalidParameter, match="not JSON"):
            Region.geojson(GRID, broken)
    broken.write_text("[1, 2]", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="object"):
        Region.geojson(GRID, broken)
    for source in (None, 5, ["a"]):
        with pytest.raises(InvalidParameter):
            Region.geojson(GRID, source)  # type: ignore[arg-type]


def test_a_map_of_the_plane_has_no_degrees() -> None:
    """GeoJSON needs a map of the earth."""
    for document in (point(POINT), polygon(SQUARE)):
        with pytest.raises(InvalidParameter, match=r"Grid\.covering"):
            Region.geojson(Grid(5, 5, 1.0), document)
