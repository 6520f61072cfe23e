"""GeoJSON: Point features with a time property, or lines with one time per position.

Times of lines are looked for in the properties ``coordTimes``, ``times`` and
``coordinateProperties.times``, lists shaped like the coordinates. What is written has the
input's features with released points, its time and user properties, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from priste.errors import TraceError
from priste.maps.geojson_shapes import is_in_degrees
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace
from priste.traces.formats.contract import TraceFormat, named_inside
from priste.traces.formats.format import Format
from priste.traces.formats.json_values import json_number
from priste.traces.points import DECIMALS, ReleasedPoints
from priste.traces.reading_options import ReadingOptions, alias_of
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import instant_of

_LINE_TIMES = ("coordTimes", "times")
_LINES = ("LineString", "MultiLineString")
_GEOJSON = re.compile(rb'"type"\s*:\s*"Feature|"features"\s*:')


@dataclass(frozen=True)
class _Position:
    """One position: its time as written, and the coordinates as written."""

    time: object
    coordinates: object


@dataclass(frozen=True)
class _Feature:
    """A feature as parts (the lines of a MultiLineString, else one) of positions."""

    kind: str
    parts: list[list[_Position]]
    user: str | None
    user_name: str | None
    time_name: str | None
    properties: dict[str, Any]


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the positions of a file in its order, with the user its properties name."""
    for feature in _features(file, options):
        if isinstance(feature, Problem):
            tally.refuse(feature)
            continue
        for part in feature.parts:
            for position in part:
                time = _instant(position, options, file, tally)
                if time is Problem.NONEXISTENT_TIME:
                    tally.refuse(time)
                    continue
                lat, lon = _degrees(position.coordinates)
                yield feature.user, (None if isinstance(time, Problem) else time, lat, lon)


def rewrite(
    file: SourceFile,
    target: Path,
    options: ReadingOptions,
    points: ReleasedPoints,
    keep: Collection[str],
) -> int:
    """Write the features with released points; a line left with one point is left out."""
    written, features = 0, []
    for feature in _features(file, options):
        if isinstance(feature, Problem):
            points.left_out.unreadable += 1
            continue
        parts = [_released(feature, part, file, options, points) for part in feature.parts]
        if feature.kind in _LINES:
            points.left_out.unreleased += sum(len(part) for part in parts if len(part) == 1)
            parts = [part for part in parts if len(part) > 1]
        parts = [part for part in parts if part]
        if parts:
            features.append(_feature(feature, parts, keep))
            written += sum(map(len, parts))
    _save(features, target)
    return written


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write traces as Point features with ``user`` and ``time``."""
    features = []
    for trace in traces:
        user = {} if trace.user is None else {"user": trace.user}
        for fix in trace:
            point = [round(fix.lon, DECIMALS), round(fix.lat, DECIMALS)]
            when = fix.time.isoformat().replace("+00:00", "Z")
            features.append(_geojson("Point", point, {**user, "time": when}))
    _save(features, target)


def _released(
    feature: _Feature,
    part: list[_Position],
    file: SourceFile,
    options: ReadingOptions,
    points: ReleasedPoints,
) -> list[_Position]:
    found = []
    for position in part:
        time = _instant(position, options, file, Tally())
        point = points.at(feature.user, None if isinstance(time, Problem) else time)
        if point is not None:
            found.append(_Position(position.time, [point[1], point[0]]))
    return found


def _feature(old: _Feature, parts: list[list[_Position]], keep: Collection[str]) -> dict[str, Any]:
    named = {old.user_name, *keep} - {old.time_name, None}
    properties = {name: value for name, value in old.properties.items() if name in named}
    places: Any = [[position.coordinates for position in part] for part in parts]
    times: Any = [[position.time for position in part] for part in parts]
    if old.kind == "Point":
        places, times = places[0][0], times[0][0]
    elif old.kind == "LineString":
        places, times = places[0], times[0]
    if old.time_name == "coordinateProperties":
        properties[old.time_name] = {"times": times}
    elif old.time_name is not None:
        properties[old.time_name] = times
    return _geojson(old.kind, places, properties)


def _geojson(kind: str, coordinates: object, properties: dict[str, Any]) -> dict[str, Any]:
    geometry = {"type": kind, "coordinates": coordinates}
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _save(features: list[dict[str, Any]], target: Path) -> None:
    with target.open("w", encoding="utf-8", newline="\n") as out:
        out.write('{"type":"FeatureCollection","features":[')
        for place, feature in enumerate(features):
            out.write(",\n" if place else "\n")
            out.write(json.dumps(feature, separators=(",", ":")))
        out.write("\n]}\n")


def _features(file: SourceFile, options: ReadingOptions) -> Iterator[_Feature | Problem]:
    document = _document(file.path)
    is_collection = document["type"] == "FeatureCollection"
    listed = document.get("features") if is_collection else [document]
    if not isinstance(listed, list):
        raise TraceError(f"{file.name} is JSON but not GeoJSON: its 'features' are no list.")
    for feature in listed:
        yield _understood(feature, file, options)


def _understood(feature: object, file: SourceFile, options: ReadingOptions) -> _Feature | Problem:
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        return Problem.BAD_LINE
    geometry, properties = feature.get("geometry"), feature.get("properties") or {}
    if geometry is None:
        return Problem.MISSING_POSITION
    if not isinstance(geometry, dict) or not isinstance(properties, dict):
        return Problem.BAD_LINE
    kind, places = geometry.get("type"), geometry.get("coordinates")
    user_name = options.columns.user or _property(properties, "user")
    user = None if user_name is None else properties.get(user_name)
    owner = file.user if user is None or options.user is not None else str(user)
    if kind == "Point":
        time_name = options.columns.time or _property(properties, "time")
        time = None if time_name is None else properties.get(time_name)
        point = [[_Position(time, places)]]
        return _Feature(kind, point, owner, user_name, time_name, properties)
    if kind not in _LINES:
        return Problem.OTHER_RECORD
    time_name, times = _line_times(properties, options.columns.time)
    if not isinstance(places, list):
        return Problem.BAD_LINE
    lines, clocks = (places, times) if kind == "MultiLineString" else ([places], [times])
    if not isinstance(clocks, list) or len(clocks) != len(lines):
        clocks = [None] * len(lines)
    parts = []
    for line, when in zip(lines, clocks, strict=True):
        if not isinstance(line, list):
            return Problem.BAD_LINE
        whens = when if isinstance(when, list) and len(when) == len(line) else [None] * len(line)
        parts.append([_Position(*pair) for pair in zip(whens, line, strict=True)])
    return _Feature(kind, parts, owner, user_name, time_name, properties)


def _property(properties: dict[str, Any], part: str) -> str | None:
    return next((name for name in properties if alias_of(name) == part), None)


def _line_times(properties: dict[str, Any], wanted: str | None) -> tuple[str | None, object]:
    for name in (wanted,) if wanted is not None else _LINE_TIMES:
        if name in properties:
            return name, properties[name]
    nested = properties.get("coordinateProperties")
    if wanted is None and isinstance(nested, dict) and "times" in nested:
        return "coordinateProperties", nested["times"]
    return None, None


def _instant(
    position: _Position, options: ReadingOptions, file: SourceFile, tally: Tally
) -> int | Problem:
    unit = options.columns.time_unit
    return instant_of(position.time, options.zone, file.name, tally, unit)


def _degrees(coordinates: object) -> tuple[float | None, float | None]:
    if not isinstance(coordinates, list) or len(coordinates) < 2:
        return None, None
    lon, lat = coordinates[:2]
    return json_number(lat), json_number(lon)


def _document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path.name} is not UTF-8 text, as GeoJSON must be.") from None
    except json.JSONDecodeError as error:
        raise TraceError(
            f"{path.name} is not JSON: it breaks at line {error.lineno}, column {error.colno}. "
            "It may have been cut off."
        ) from None
    except (RecursionError, ValueError):  # nested without end; a number of a million digits
        raise TraceError(f"{path.name} is not JSON that a person or program would write.") from None
    if not isinstance(document, dict) or document.get("type") not in (
        "FeatureCollection",
        "Feature",
    ):
        raise TraceError(f"{path.name} is JSON but no GeoJSON Feature or FeatureCollection.")
    if not is_in_degrees(document.get("crs")):
        raise TraceError(
            f"{path.name} is in another coordinate system than WGS 84. Convert it to longitudes "
            "and latitudes first."
        )
    return document


GEOJSON = TraceFormat(
    name=Format.GEOJSON,
    told_by="JSON with a type of Feature or FeatureCollection",
    recognises=lambda head: head.is_json and _GEOJSON.search(head.data) is not None,
    suffixes=(".geojson", ".json"),
    users=named_inside(records),
    rewrite=rewrite,
    write=write,
    keepable=None,
    one_user=False,
)
