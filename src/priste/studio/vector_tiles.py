"""Vector tiles (Mapbox Vector Tile 2.1) as GeoJSON: the few fields of protobuf that they need.

What is read comes from a file of the user's, but is parsed as hostile all the same: every length
is checked against what is there, and the number of points is bounded.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from priste.errors import InvalidParameter

MOST_POINTS = 400_000
"""How many points the features of one tile may have."""

_POINT, _LINE, _POLYGON = 1, 2, 3
_MOVE, _DRAW, _CLOSE = 1, 2, 7

Point = tuple[int, int]
Path = list[Point]


def geojson_of_tile(tile: bytes, zoom: int, column: int, row: int) -> dict[str, Any]:
    """Return a tile's features in degrees; each knows its layer as the property ``layer``.

    Raises InvalidParameter for bytes that are no such tile.
    """
    try:
        features = [
            feature
            for field, layer in _fields(tile)
            if field == 3 and isinstance(layer, bytes)
            for feature in _layer(layer, zoom, column, row)
        ]
    except (IndexError, ValueError, struct.error, OverflowError, RecursionError):
        raise InvalidParameter("A tile of the basemap is damaged.") from None
    return {"type": "FeatureCollection", "features": features}


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (field number, value) of a protobuf message: numbers as ints, the rest as bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == 2:
            length, at = _varint(message, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError("an unknown kind of field")
        if at + length > len(message):
            raise ValueError("a field longer than its message")
        yield key >> 3, message[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number without an end")


def _numbers(packed: bytes) -> list[int]:
    found, at = [], 0
    while at < len(packed):
        value, at = _varint(packed, at)
        found.append(value)
        if len(found) > 3 * MOST_POINTS:
            raise ValueError("too many points")
    return found


def _layer(layer: bytes, zoom: int, column: int, row: int) -> Iterator[dict[str, Any]]:
    name, extent = "", 4096
    keys: list[str] = []
    values: list[Any] = []
    features: list[bytes] = []
    for field, value in _fields(layer):
        if isinstance(value, bytes):
            if field == 1:
                name = value.decode("utf-8", "replace")
            elif field == 2:
                features.append(value)
            elif field == 3:
                keys.append(value.decode("utf-8", "replace"))
            elif field == 4:
                values.append(_value(value))
        elif field == 5:
            extent = value
    if not 0 < extent <= 2**16:
        raise ValueError("an impossible extent")
    place = _Place(zoom, column, row, extent)
    for feature in features:
        made = _feature(feature, place)
        if made is not None:
            tags, geometry = made
            pairs = zip(tags[::2], tags[1::2], strict=False)
            properties = {keys[key]: values[value] for key, value in pairs}
            properties["layer"] = name
            yield {"type": "Feature", "properties": properties, "geometry": geometry}


def _value(message: bytes) -> Any:
    for field, value in _fields(message):
        if isinstance(value, bytes):
            if field == 1:
                return value.decode("utf-8", "replace")
            number = struct.unpack("<f" if field == 2 else "<d", value)[0]
            return number if math.isfinite(number) else None
        if field == 6:
            return _zigzag(value)
        return bool(value) if field == 7 else value
    return None


def _zigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


class _Place:
    """Where a tile lies: its own units to degrees (web Mercator)."""

    def __init__(self, zoom: int, column: int, row: int, extent: int) -> None:
        self._side = extent * 2**zoom
        self._west, self._north = extent * column, extent * row

    def degrees(self, point: Point) -> list[float]:
        east = (self._west + point[0]) / self._side
        south = (self._north + point[1]) / self._side
        latitude = math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * south))))
        return [round(360 * east - 180, 6), round(latitude, 6)]


def _feature(message: bytes, place: _Place) -> tuple[list[int], dict[str, Any]] | None:
    tags: list[int] = []
    paths: list[Path] = []
    kind = 0
    for field, value in _fields(message):
        if isinstance(value, bytes):
            if field == 2:
                tags = _numbers(value)
            elif field == 4:
                paths = _paths(_numbers(value))
        elif field == 3:
            kind = value
    lines = [[place.degrees(point) for point in path] for path in paths if path]
    if not lines:
        return None
    if kind == _POINT:
        return tags, {"type": "MultiPoint", "coordinates": [p for line in lines for p in line]}
    if kind == _LINE:
        return tags, {"type": "MultiLineString", "coordinates": lines}
    if kind == _POLYGON:
        return tags, {"type": "MultiPolygon", "coordinates": _polygons(paths, place)}
    return None


def _paths(commands: list[int]) -> list[Path]:
    """Follow the commands of a geometry: move, draw, close."""
    paths: list[Path] = []
    x = y = at = points = 0
    while at < len(commands):
        what, count = commands[at] & 7, commands[at] >> 3
        at += 1
        if what == _CLOSE:
            if paths and paths[-1]:
                paths[-1].append(paths[-1][0])
            continue
        points += count
        if what not in (_MOVE, _DRAW) or points > MOST_POINTS:
            raise ValueError("no such command")
        for _ in range(count):
            x += _zigzag(commands[at])
            y += _zigzag(commands[at + 1])
            at += 2
            if what == _MOVE:
                paths.append([])
            paths[-1].append((x, y))
    return paths


def _polygons(paths: list[Path], place: _Place) -> list[list[list[list[float]]]]:
    """Return rings grouped: each outer one (clockwise on the screen) with the holes after it."""
    polygons: list[list[list[list[float]]]] = []
    for path in paths:
        if len(path) < 4:
            continue
        ring = [place.degrees(point) for point in path]
        around = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(path))
        if around > 0 or not polygons:
            polygons.append([ring])
        else:
            polygons[-1].append(ring)
    return polygons
