"""Map archives, made up."""

from __future__ import annotations

from pathlib import Path

from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer

ZOOM, COLUMN, ROW = 10, 531, 362


def varint(value: int) -> bytes:
    """Write a number as protobuf does."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, value: int | bytes) -> bytes:
    """Write a field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def commands(paths: list[list[tuple[int, int]]], close: bool) -> bytes:
    """Write paths as the commands of a vector tile."""
    found: list[int] = []
    x = y = 0
    for path in paths:
        for number, (to_x, to_y) in enumerate(path):
            if number < 2:
                found.append((1 if number == 0 else 2) | (1 if number == 0 else len(path) - 1) << 3)
            found += [zigzag(to_x - x), zigzag(to_y - y)]
            x, y = to_x, to_y
        if close:
            found.append(7 | 1 << 3)
    return b"".join(map(varint, found))


def tile(kind: int, paths: list[list[tuple[int, int]]]) -> bytes:
    """Write a vector tile with one feature in one layer."""
    geometry = commands(paths, close=kind == 3)
    feature = field(2, varint(0) + varint(0)) + field(3, kind) + field(4, geometry)
    layer = field(1, b"roads") + field(2, feature) + field(3, b"name")
    layer += field(4, field(1, "Große Straße".encode())) + field(5, 4096) + field(15, 2)
    return field(3, layer)


def archive(
    path: Path,
    kind: TileType,
    data: bytes,
    packed: Compression,
    places: tuple[tuple[int, int], ...] = ((COLUMN, ROW),),
) -> Path:
    """Write a PMTiles archive with the same tile in these columns and rows."""
    with path.open("wb") as file:
        writer = Writer(file)
        for column, row in places:
            writer.write_tile(zxy_to_tileid(ZOOM, column, row), data)
        header = {
            "tile_type": kind,
            "tile_compression": packed,
            "min_zoom": ZOOM,
            "max_zoom": ZOOM,
            "min_lon_e7": 67000000,
            "min_lat_e7": 458000000,
            "max_lon_e7": 71000000,
            "max_lat_e7": 462000000,
            "center_zoom": ZOOM,
            "center_lon_e7": 69000000,
            "center_lat_e7": 460000000,
        }
        writer.finalize(header, {})
    return path
