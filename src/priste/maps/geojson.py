"""GeoJSON (RFC 7946): which points and polygons it holds, and cells of a map of the earth in it.

Points and polygons count, also inside ``Multi…``, ``GeometryCollection``, ``Feature`` and
``FeatureCollection``. Anything else, lines included, is an error rather than left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.maps.projection import check_degrees

if TYPE_CHECKING:
    from priste.maps.grid import Grid

DEEPEST_COLLECTION = 8
"""How deep collections may be nested."""

_KNOWN_SYSTEMS = ("CRS84", "EPSG::4326", "EPSG:4326")


@dataclass(frozen=True)
class PointPart:
    """One position, in degrees."""

    longitude: float
    latitude: float


@dataclass(frozen=True)
class PolygonPart:
    """One polygon: rings of (longitude, latitude), not yet checked."""

    shell: Sequence[Any]
    holes: tuple[Sequence[Any], ...]


@dataclass(frozen=True)
class Feature:
    """The parts of one feature (or of a single geometry), with a name for errors."""

    name: str
    parts: tuple[PointPart | PolygonPart, ...]


def read_geojson(source: Mapping[str, Any] | str | os.PathLike[str]) -> tuple[Feature, ...]:
    """Return the features of a GeoJSON mapping, or of the file at a path; at least one."""
    if not isinstance(source, (Mapping, str, os.PathLike)):
        raise InvalidParameter(
            "must be a mapping or the path of a file",
            parameter="source",
            owner="GeoJSON",
            value=type(source),
        )
    document = source if isinstance(source, Mapping) else _loaded(source)
    if not isinstance(document, Mapping):
        raise _broken("the document must be an object")
    _check_reference_system(document.get("crs"))
    if document.get("type") == "FeatureCollection":
        members = _array(document, "features")
        features = tuple(
            _feature(member, f"feature {number}") for number, member in enumerate(members)
        )
        if not features:
            raise _broken("a FeatureCollection must hold at least one feature")
        return features
    return (_feature(document, "the geometry"),)


def _loaded(path: str | os.PathLike[str]) -> object:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as problem:
        raise InvalidParameter(
            f"The GeoJSON file {os.fspath(path)!r:.200} cannot be read: {problem.strerror}.",
            parameter="source",
            owner="GeoJSON",
        ) from problem
    except (ValueError, RecursionError) as problem:
        raise InvalidParameter(
            f"The file {os.fspath(path)!r:.200} is not JSON: {problem!s:.100}.",
            parameter="source",
            owner="GeoJSON",
        ) from problem


def is_in_degrees(crs: object) -> bool:
    """Return whether the 'crs' of a GeoJSON document (None: it has none) is WGS84's degrees."""
    # The member of the 2008 format; RFC 7946 knows only WGS84.
    return crs is None or any(name in json.dumps(crs, default=str) for name in _KNOWN_SYSTEMS)


def _check_reference_system(crs: object) -> None:
    if not is_in_degrees(crs):
        raise _broken(
            "coordinates must be longitudes and latitudes in WGS84, but its 'crs' names another "
            "system; convert it first"
        )


def _feature(member: object, name: str) -> Feature:
    if isinstance(member, Mapping) and member.get("type") == "Feature":
        label = _label(member)
        name = f"{name} ({label!r:.60})" if label else name
        member = member.get("geometry")
    parts = tuple(_parts(member, name, 0))
    if not parts:
        raise _broken(f"{name} must have coordinates")
    return Feature(name, parts)


def _label(member: Mapping[str, Any]) -> str | None:
    properties = member.get("properties")
    label = properties.get("name") if isinstance(properties, Mapping) else None
    return label if isinstance(label, str) else None


def _parts(geometry: object, name: str, depth: int) -> Iterator[PointPart | PolygonPart]:
    if not isinstance(geometry, Mapping):
        raise _broken(f"{name} must have a geometry")
    if depth > DEEPEST_COLLECTION:
        raise _broken(f"{name} nests collections deeper than {DEEPEST_COLLECTION}")
    kind = geometry.get("type")
    if kind == "GeometryCollection":
        for member in _array(geometry, "geometries"):
            yield from _parts(member, name, depth + 1)
    elif kind == "Point":
        yield _point(_array(geometry, "coordinates"), name)
    elif kind == "MultiPoint":
        for position in _array(geometry, "coordinates"):
            yield _point(position, name)
    elif kind == "Polygon":
        yield _polygon(_array(geometry, "coordinates"), name)
    elif kind == "MultiPolygon":
        for rings in _array(geometry, "coordinates"):
            yield _polygon(rings, name)
    else:
        raise _broken(
            f"{name} must be made of Point, MultiPoint, Polygon, MultiPolygon or "
            f"GeometryCollection, but has type {kind!r:.60}; give a line as a polygon around it"
        )


def _point(position: object, name: str) -> PointPart:
    if not _is_array(position) or len(position) < 2:
        raise _broken(f"{name}: a position must be [longitude, latitude]")
    longitude = check_float(position[0], "longitude", f"GeoJSON, {name},")
    latitude = check_float(position[1], "latitude", f"GeoJSON, {name},")
    # Some writers go on counting past the date line.
    turned = longitude + 360.0 if -360.0 <= longitude < -180.0 else longitude
    check_degrees(latitude, turned, "point", f"GeoJSON, {name}")
    return PointPart(turned, latitude)


def _polygon(rings: object, name: str) -> PolygonPart:
    if not _is_array(rings) or not rings or not all(_is_array(ring) for ring in rings):
        raise _broken(f"{name}: a polygon must be an array of rings, the outer one first")
    return PolygonPart(rings[0], tuple(rings[1:]))


def _array(owner: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = owner.get(key)
    if not _is_array(value):
        raise _broken(f"{owner.get('type')!r:.60} must have an array of '{key}'")
    return value


def _is_array(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _broken(rule: str) -> InvalidParameter:
    return InvalidParameter(f"cannot be read: {rule}", parameter="source", owner="GeoJSON")


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
