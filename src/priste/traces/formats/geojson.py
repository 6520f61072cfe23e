"""GeoJSON: Point features with a time property, or lines with one time per position.

Times of lines are looked for in the properties ``coordTimes``, ``times`` and
``coordinateProperties.times``, lists shaped like the coordinates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from priste.errors import TraceError
from priste.maps.geojson import is_in_degrees
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace
from priste.traces.formats.contract import TraceFormat
from priste.traces.formats.json_documents import json_number
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions, alias_of
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import UNREADABLE_TIME, instant_of, iso_text

_GEOJSON = re.compile(rb'"type"\s*:\s*"Feature|"features"\s*:')


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the positions of a file in its order, with the user its properties name.

    A point with a beginning and an end is a stay.
    """
    for feature in _features(file):
        found = _positions(feature, options)
        if isinstance(found, Problem):
            tally.refuse(found)
            continue
        user = _user(feature["properties"] or {}, file, options)
        for when, coordinates, end in found:
            time, until = (
                instant_of(each, options.zone, file.name, tally, options.columns.time_unit)
                for each in (when, end)
            )
            if time is Problem.NONEXISTENT_TIME:
                tally.refuse(time)
                continue
            until = UNREADABLE_TIME if end is not None and isinstance(until, Problem) else until
            yield user, RawFix(_known(time), *_degrees(coordinates), until=_known(until))


def _features(file: SourceFile) -> Iterator[Any]:
    document = _document(file)
    is_collection = document["type"] == "FeatureCollection"
    listed = document.get("features") if is_collection else [document]
    if not isinstance(listed, list):
        raise TraceError(
            f"{file.name} is JSON but not GeoJSON: its 'features' are no list.",
            hint="Is it the right file?",
        )
    yield from listed


def _positions(
    feature: Any, options: ReadingOptions
) -> list[tuple[object, object, object]] | Problem:
    """Return time, coordinates and end of each position, as they are written."""
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        return Problem.BAD_LINE
    geometry, properties = feature.get("geometry"), feature.setdefault("properties", {}) or {}
    if geometry is None:
        return Problem.MISSING_POSITION
    if not isinstance(geometry, dict) or not isinstance(properties, dict):
        return Problem.BAD_LINE
    kind, places = geometry.get("type"), geometry.get("coordinates")
    if kind == "Point":
        time, end = _point_times(properties, options)
        return [(time, places, end)]
    if kind not in ("LineString", "MultiLineString"):
        return Problem.OTHER_RECORD
    times = _line_times(properties, options.columns.time)
    if not isinstance(places, list):
        return Problem.BAD_LINE
    lines, clocks = (places, times) if kind == "MultiLineString" else ([places], [times])
    if not isinstance(clocks, list) or len(clocks) != len(lines):
        clocks = [None] * len(lines)
    found: list[tuple[object, object, object]] = []
    for line, when in zip(lines, clocks, strict=True):
        if not isinstance(line, list):
            return Problem.BAD_LINE
        whens = when if isinstance(when, list) and len(when) == len(line) else [None] * len(line)
        found += [(time, place, None) for time, place in zip(whens, line, strict=True)]
    return found


def _user(properties: dict[str, Any], file: SourceFile, options: ReadingOptions) -> str | None:
    name = options.columns.user or _property(properties, "user")
    user = None if name is None else properties.get(name)
    return file.user if user is None or options.user is not None else str(user)


def _point_times(properties: dict[str, Any], options: ReadingOptions) -> tuple[object, object]:
    name, end = options.columns.time, options.columns.until
    if name is None:
        name = _property(properties, "time")
    if name is None:
        name, end = _property(properties, "begin"), end or _property(properties, "until")
    return tuple(None if each is None else properties.get(each) for each in (name, end))  # type: ignore[return-value]


def _property(properties: dict[str, Any], part: str) -> str | None:
    return next((name for name in properties if alias_of(name) == part), None)


def _line_times(properties: dict[str, Any], wanted: str | None) -> object:
    for name in (wanted,) if wanted is not None else ("coordTimes", "times"):
        if name in properties:
            return properties[name]
    nested = properties.get("coordinateProperties")
    return nested.get("times") if wanted is None and isinstance(nested, dict) else None


def _known(time: int | Problem) -> int | None:
    return None if isinstance(time, Problem) else time


def _degrees(coordinates: object) -> tuple[float | None, float | None]:
    if not isinstance(coordinates, list) or len(coordinates) < 2:
        return None, None
    lon, lat = coordinates[:2]
    return json_number(lat), json_number(lon)


def _document(file: SourceFile) -> dict[str, Any]:
    with file.open() as opened:
        data = opened.read()
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise TraceError(
            f"{file.name} is not UTF-8 text, as GeoJSON must be.", hint="Save it as UTF-8."
        ) from None
    except json.JSONDecodeError as error:
        raise TraceError(
            f"{file.name} is not JSON: it breaks at line {error.lineno}, column {error.colno}",
            hint="It may have been cut off.",
        ) from None
    except (RecursionError, ValueError):  # nested without end; a number of a million digits
        raise TraceError(
            f"{file.name} is not JSON that a person or program would write.",
            hint="Is it the right file?",
        ) from None
    if not isinstance(document, dict) or document.get("type") not in (
        "FeatureCollection",
        "Feature",
    ):
        raise TraceError(
            f"{file.name} is JSON but no GeoJSON Feature or FeatureCollection.",
            hint="Is it the right file?",
        )
    if not is_in_degrees(document.get("crs")):
        raise TraceError(
            f"{file.name} is in another coordinate system than WGS 84",
            hint="Convert it to longitudes and latitudes first.",
        )
    return document


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write traces as Point features with ``user`` and ``time``."""
    with target.open("w", encoding="utf-8", newline="\n") as out:
        out.write('{"type":"FeatureCollection","features":[')
        between = "\n"
        for trace in traces:
            user = {} if trace.user is None else {"user": trace.user}
            for time, lat, lon in trace.rows():
                place = [round(lon, DECIMALS), round(lat, DECIMALS)]
                feature = {
                    "type": "Feature",
                    "geometry": {"type": "Point", "coordinates": place},
                    "properties": {**user, "time": iso_text(time)},
                }
                out.write(between + json.dumps(feature, separators=(",", ":")))
                between = ",\n"
        out.write("\n]}\n")


GEOJSON = TraceFormat(
    name="geojson",
    recognised_by="JSON with a type of Feature or FeatureCollection",
    recognises=lambda head: head.is_json and _GEOJSON.search(head.data) is not None,
    suffixes=(".geojson", ".json"),
    names_users=True,
    read=read,
    write=write,
)
