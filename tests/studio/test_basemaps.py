"""Basemaps from files: GeoJSON as it is, PMTiles as images or as the GeoJSON of vector tiles."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pmtiles.tile import Compression, TileType
from tests.studio.small_archives import COLUMN, ROW, ZOOM, archive, tile

from priste.errors import InvalidParameter
from priste.studio.basemap import geojson_of_tile, open_basemap

PNG = b"\x89PNG\r\n\x1a\n and so on"
STREETS = {"type": "FeatureCollection", "features": []}


def features_of(data: bytes) -> list[Any]:
    """Return the features that are made of a tile."""
    found: list[Any] = json.loads(geojson_of_tile(data, ZOOM, COLUMN, ROW))["features"]
    return found


def test_geojson_is_served_as_it_is(tmp_path: Path) -> None:
    """The bytes of the file; other JSON is refused in words."""
    path = tmp_path / "town.geojson"
    path.write_text(json.dumps(STREETS))
    found = open_basemap(path)
    assert found.describe() == {"kind": "geojson"}
    assert found.features() == path.read_bytes()
    assert found.tile(0, 0, 0) is None
    for wrong in ("[]", "{", '{"type": "Point"}'):
        path.write_text(wrong)
        with pytest.raises(InvalidParameter):
            open_basemap(path)


def test_images_of_an_archive(tmp_path: Path) -> None:
    """A tile that is there, one that is not, and what the page must know."""
    path = archive(tmp_path / "town.pmtiles", TileType.PNG, PNG, Compression.NONE)
    found = open_basemap(path)
    assert found.describe() == {
        "kind": "raster",
        "min_zoom": ZOOM,
        "max_zoom": ZOOM,
        "bounds": [45.8, 6.7, 46.2, 7.1],
        "media_type": "image/png",
    }
    assert found.tile(ZOOM, COLUMN, ROW) == (PNG, "image/png")
    assert found.tile(ZOOM, COLUMN + 1, ROW) is None


def test_vector_tiles_become_geojson(tmp_path: Path) -> None:
    """Lines, points and polygons with holes, at the places that web Mercator gives them."""
    line = [(0, 0), (4096, 4096), (2048, 0)]
    packed = gzip.compress(tile(2, [line]))
    path = archive(tmp_path / "town.pmtiles", TileType.MVT, packed, Compression.GZIP)
    content, media_type = open_basemap(path).tile(ZOOM, COLUMN, ROW) or (b"", "")
    assert media_type == "application/geo+json"
    (feature,) = json.loads(content)["features"]
    assert feature["properties"] == {"layer": "roads"}
    assert feature["geometry"]["type"] == "LineString"
    for (x, y), (lon, lat) in zip(line, feature["geometry"]["coordinates"], strict=True):
        assert lon == pytest.approx(360 * (COLUMN + x / 4096) / 2**ZOOM - 180, abs=1e-6)
        south = math.pi * (1 - 2 * (ROW + y / 4096) / 2**ZOOM)
        assert lat == pytest.approx(
            math.degrees(2 * math.atan(math.exp(south)) - math.pi / 2), abs=1e-6
        )
    outer = [(0, 0), (100, 0), (100, 100), (0, 100)]
    hole = [(10, 10), (10, 20), (20, 20), (20, 10)]
    (feature,) = features_of(tile(3, [outer, hole, outer]))
    assert [len(polygon) for polygon in feature["geometry"]["coordinates"]] == [2, 1]
    (feature,) = features_of(tile(1, [[(5, 5)], [(6, 6)]]))
    assert len(feature["geometry"]["coordinates"]) == 2


@given(
    st.binary(max_size=200)
    | st.binary(max_size=40).map(lambda cut: tile(2, [[(0, 0), (9, 9)]])[:-9] + cut)
)
def test_damaged_tiles_are_told_or_read(data: bytes) -> None:
    """Any bytes give features or an error of ours, never anything else."""
    try:
        assert isinstance(features_of(data), list)
    except InvalidParameter:
        return


def test_other_files_are_no_basemaps(tmp_path: Path) -> None:
    """A missing file, another suffix, and an archive that is none are told in words."""
    (tmp_path / "x.pmtiles").write_bytes(b"not an archive" * 20)
    (tmp_path / "x.txt").write_text("x")
    for name in ("missing.pmtiles", "x.pmtiles", "x.txt"):
        with pytest.raises(InvalidParameter, match="basemap"):
            open_basemap(tmp_path / name)
