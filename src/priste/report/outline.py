"""Lines of a user's own GeoJSON, drawn on maps for context: coasts, rivers, streets, borders."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.maps.geojson import is_in_degrees

MOST_POSITIONS = 4000
"""How many positions are drawn: from a finer outline, only every few."""

DEEPEST = 12
"""How deep arrays and collections may be nested."""

Line = tuple[tuple[float, float], ...]


def read_outline(path: str | Path, grid: Grid) -> tuple[Line, ...]:
    """Return the lines and borders of a GeoJSON file in km on a map, near it.

    Points are left out, and so are lines that stay far from the map. Raises InvalidParameter for
    what is not GeoJSON in degrees, or on a map of the plane.
    """
    if not grid.is_geographic:
        raise InvalidParameter(
            "must be of a map of the earth: it is in degrees", parameter="outline"
        )
    path = Path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidParameter(f"There is no outline file {str(path)!r}.") from None
    except (OSError, ValueError, RecursionError) as problem:
        raise InvalidParameter(
            f"The outline {str(path)!r} cannot be read as GeoJSON: {problem!s:.100}."
        ) from None
    if isinstance(document, dict) and not is_in_degrees(document.get("crs")):
        raise InvalidParameter(
            f"The outline {str(path)!r} must be in longitudes and latitudes (WGS84)",
            hint="Its 'crs' names another system; convert it first.",
        )
    lines = [line for line in _lines(document, 0, path) if len(line) > 1]
    if not lines:
        raise InvalidParameter(
            f"The outline {str(path)!r} holds no line and no polygon",
            hint="Give GeoJSON with some.",
        )
    near = [drawn for line in lines if (drawn := _on(grid, line))]
    thin = max(1, math.ceil(sum(map(len, near)) / MOST_POSITIONS))
    return tuple((*line[:-1:thin], line[-1]) for line in near)


def _lines(node: Any, depth: int, path: Path) -> Iterator[list[tuple[float, float]]]:
    """Yield the positions (longitude, latitude) of every line and ring."""
    if depth > DEEPEST:
        raise InvalidParameter(f"The outline {str(path)!r} nests deeper than {DEEPEST}.")
    if not isinstance(node, dict):
        return
    for member in (*_listed(node.get("features")), *_listed(node.get("geometries"))):
        yield from _lines(member, depth + 1, path)
    if isinstance(node.get("geometry"), dict):
        yield from _lines(node["geometry"], depth + 1, path)
    if node.get("type") in ("LineString", "MultiLineString", "Polygon", "MultiPolygon"):
        yield from _runs(node.get("coordinates"), depth + 1, path)


def _runs(node: Any, depth: int, path: Path) -> Iterator[list[tuple[float, float]]]:
    if depth > DEEPEST:
        raise InvalidParameter(f"The outline {str(path)!r} nests deeper than {DEEPEST}.")
    members = _listed(node)
    if members and all(_is_position(member) for member in members):
        yield [(float(member[0]), float(member[1])) for member in members]
        return
    for member in members:
        if not isinstance(member, list) or _is_position(member):
            raise InvalidParameter(
                f"The outline {str(path)!r} holds a line that is not made of [longitude, latitude]."
            )
        yield from _runs(member, depth + 1, path)


def _listed(node: Any) -> list[Any]:
    return node if isinstance(node, list) else []


def _is_position(node: Any) -> bool:
    return (
        isinstance(node, list)
        and len(node) >= 2
        and all(isinstance(v, int | float) and not isinstance(v, bool) for v in node[:2])
        and abs(node[0]) <= 360
        and abs(node[1]) <= 90
    )


def _on(grid: Grid, line: list[tuple[float, float]]) -> Line:
    """Return a line in km; nothing if all of it is more than a map's length away."""
    east, north = grid.xy([lat for _, lat in line], [lon for lon, _ in line])
    reach = max(grid.width, grid.height)
    near = (abs(east - grid.width / 2) < 1.5 * reach) & (abs(north - grid.height / 2) < 1.5 * reach)
    if not near.any():
        return ()
    return tuple(zip(east.round(4).tolist(), north.round(4).tolist(), strict=True))
