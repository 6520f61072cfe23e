"""A map to draw under the cells, from a file of the user's own: GeoJSON or PMTiles.

A PMTiles archive is read here, tile by tile; the page gets images, or for vector tiles the GeoJSON
that they hold. No network is used.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import threading
import zlib
from pathlib import Path
from typing import Any

from priste.errors import InvalidParameter

LARGEST_GEOJSON = 60_000_000
LARGEST_TILE = 8_000_000

_MEDIA = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "AVIF": "image/avif"}


class GeoJsonMap:
    """A GeoJSON file, as it is."""

    def __init__(self, path: Path) -> None:
        if path.stat().st_size > LARGEST_GEOJSON:
            raise InvalidParameter(
                f"The basemap {path.name} is larger than {LARGEST_GEOJSON / 1e6:.0f} MB",
                hint="Cut out the town, or make a PMTiles file of it.",
            )
        self._content = path.read_bytes()
        try:
            found = json.loads(self._content)
        except (ValueError, RecursionError):
            raise InvalidParameter(
                f"The basemap {path.name} is not GeoJSON.", hint="Is it the right file?"
            ) from None
        if not isinstance(found, dict) or found.get("type") not in ("FeatureCollection", "Feature"):
            raise InvalidParameter(
                f"The basemap {path.name} must be a GeoJSON Feature or FeatureCollection.",
                hint="Is it the right file?",
            )

    def describe(self) -> dict[str, Any]:
        """Return the kind."""
        return {"kind": "geojson"}

    def features(self) -> bytes:
        """Return the file."""
        return self._content

    def tile(self, zoom: int, column: int, row: int) -> None:
        """Return nothing: the file holds the whole map."""


class PmtilesMap:
    """A PMTiles archive of images or of vector tiles."""

    def __init__(self, path: Path) -> None:
        import pmtiles.reader

        archives: Any = pmtiles.reader  # it has no types
        self._turn = threading.Lock()
        try:
            with path.open("rb") as file:  # the mapping stays when the file is closed
                self._reader: Any = archives.Reader(archives.MmapSource(file))
            self._header = self._reader.header()
        except Exception:
            raise InvalidParameter(
                f"The basemap {path.name} is not a PMTiles archive.", hint="Is it the right file?"
            ) from None
        self._type = self._header["tile_type"].name
        if self._type not in _MEDIA and self._type != "MVT":
            raise InvalidParameter(
                f"The basemap {path.name} holds tiles of an unknown kind.",
                hint="Take images or vector tiles (MVT).",
            )

    def describe(self) -> dict[str, Any]:
        """Return the kind, the zooms and the bounds."""
        header = self._header
        ends = ("min_lat_e7", "min_lon_e7", "max_lat_e7", "max_lon_e7")
        found = {
            "kind": "vector" if self._type == "MVT" else "raster",
            "min_zoom": header["min_zoom"],
            "max_zoom": header["max_zoom"],
            "bounds": [header[end] / 1e7 for end in ends],
        }
        return found if self._type == "MVT" else {**found, "media_type": _MEDIA[self._type]}

    def features(self) -> None:
        """Return nothing: the map is read in tiles."""

    def tile(self, zoom: int, column: int, row: int) -> tuple[bytes, str] | None:
        """Return the image of a tile, or the GeoJSON of a vector tile; None where there is none."""
        with self._turn:
            found = self._reader.get(zoom, column, row)
        if not found:
            return None
        if self._header["tile_compression"].name == "GZIP":
            found = _unpacked(found)
        if self._type != "MVT":
            return found, _MEDIA[self._type]
        return geojson_of_tile(found, zoom, column, row), "application/geo+json"


def geojson_of_tile(tile: bytes, zoom: int, column: int, row: int) -> bytes:
    """Return the features of a vector tile in degrees; each knows its layer, and nothing else.

    Raises InvalidParameter for bytes that are no such tile.
    """
    from google.protobuf.message import DecodeError
    from mapbox_vector_tile import decode

    def in_degrees(place: Any, extent: int) -> Any:
        if not place or isinstance(place[0], list):
            return [in_degrees(each, extent) for each in place]
        across, down = (column + place[0] / extent) / 2**zoom, (row + place[1] / extent) / 2**zoom
        south = math.pi * (1 - 2 * down)
        return [360 * across - 180, math.degrees(2 * math.atan(math.exp(south)) - math.pi / 2)]

    try:
        layers = decode(tile, default_options={"y_coord_down": True, "geojson": True})
        features = [
            {
                "type": "Feature",
                "properties": {"layer": name},
                "geometry": {
                    "type": feature["geometry"]["type"],
                    "coordinates": in_degrees(feature["geometry"]["coordinates"], layer["extent"]),
                },
            }
            for name, layer in layers.items()
            for feature in layer["features"]
        ]
        found = {"type": "FeatureCollection", "features": features}
        return json.dumps(found, separators=(",", ":"), allow_nan=False).encode()
    except (DecodeError, ArithmeticError, AssertionError, IndexError, ValueError, RecursionError):
        raise InvalidParameter(
            "A tile of the basemap is damaged.", hint="Take it from its source again."
        ) from None


def _unpacked(packed: bytes) -> bytes:
    """Return a tile that was packed with gzip, of a bounded size."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        try:
            found = file.read(LARGEST_TILE + 1)
        except (OSError, EOFError, zlib.error):
            raise InvalidParameter(
                "A tile of the basemap is damaged.", hint="Take it from its source again."
            ) from None
    if len(found) > LARGEST_TILE:
        raise InvalidParameter(
            "A tile of the basemap is too large.", hint="Make its file with smaller tiles."
        )
    return found


Basemap = GeoJsonMap | PmtilesMap


def open_basemap(path: Path) -> Basemap:
    """Open the file of a basemap; InvalidParameter in words for anything else."""
    if not path.is_file():
        raise InvalidParameter("must be a file that is there", parameter="basemap", value=str(path))
    if path.suffix.lower() == ".pmtiles":
        return PmtilesMap(path)
    if path.suffix.lower() in (".geojson", ".json"):
        return GeoJsonMap(path)
    raise InvalidParameter(
        "must be a .pmtiles or a .geojson file",
        parameter="basemap",
        value=path.name,
    )
