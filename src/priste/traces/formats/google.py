"""Google's location history: the export of a phone, and what Takeout gives, read as a stream.

Four shapes, recognised by their keys:

- *phone, Android* (``Timeline.json``): an object with ``semanticSegments`` (paths of points with
  times, visits, activities) and ``rawSignals`` (positions);
- *phone, iPhone* (``location-history.json``): a list of such segments, places as ``geo:lat,lon``
  and times of path points as minutes since the segment began;
- ``Records.json``: an object with ``locations``, one record per position, degrees times 10^7;
- *semantic months* (``2021_MARCH.json``): an object with ``timelineObjects``.

A visit is a stay. An activity is a fix where it began and one where it ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import PurePath
from typing import Any

from priste.errors import TraceError
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace
from priste.traces.formats.contract import Head, TraceFormat, by_name, text_writer
from priste.traces.formats.json_documents import json_items, json_number
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import instant_of, iso_text

Place = tuple[float | None, float | None]

_E7 = 10_000_000
_PAIR = re.compile(r"(?:geo:)?\s*(-?\d+(?:\.\d+)?)\s*°?\s*,\s*(-?\d+(?:\.\d+)?)\s*°?\s*$")
_ZONED = re.compile(r"(?:Z|[+-]\d\d:?\d\d)$")

_SHAPES = (
    (re.compile(rb'"(?:semanticSegments|rawSignals)"\s*:'), ("semanticSegments.", "rawSignals.")),
    (re.compile(rb'"locations"\s*:\s*\['), ("locations.",)),
    (re.compile(rb'"timelineObjects"\s*:'), ("timelineObjects.",)),
    (
        re.compile(rb'^\[\s*\{[^[]*?"(?:startTime|endTime|visit|activity|timelinePath)"\s*:'),
        ("",),
    ),
)
"""What tells each shape, and where its records stand, as ijson names places."""


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the positions of a file in its order; records without one are counted."""
    with file.open() as opened:
        places = _places(Head(opened.read(1 << 16)))
    if not places:
        raise TraceError(
            f"{file.name} is none of Google's location files: it has no semanticSegments, "
            "rawSignals, locations or timelineObjects, and is no list of segments.",
            hint="Is it the right file?",
        )
    for place in places:
        for entry in json_items(file, f"{place}item"):
            found = list(_fixes(entry)) if isinstance(entry, dict) else []
            if not found:
                tally.refuse(Problem.OTHER_RECORD)
            for fix in found:
                yield file.user, fix


def _places(head: Head) -> tuple[str, ...]:
    shapes = (places for pattern, places in _SHAPES if pattern.search(head.data))
    return next(shapes, ()) if head.is_json else ()


def _fixes(entry: dict[str, Any]) -> Iterator[RawFix]:
    """Yield the fixes of one record of any shape."""
    if "latitudeE7" in entry or "timestampMs" in entry:  # of Records.json
        yield RawFix(_time(entry.get("timestamp", entry.get("timestampMs"))), *_e7(entry))
    elif position := _object(entry.get("position")):  # of rawSignals
        yield RawFix(_time(position.get("timestamp")), *_pair(position.get("LatLng")))
    elif visit := _object(entry.get("placeVisit")):
        begin, end = _span(visit)
        yield RawFix(begin, *_e7(visit.get("location")), until=end)
    elif moved := _object(entry.get("activitySegment")):
        begin, end = _span(moved)
        yield RawFix(begin, *_e7(moved.get("startLocation")))
        yield RawFix(end, *_e7(moved.get("endLocation")))
        for point in _listed(_object(moved.get("simplifiedRawPath")).get("points")):
            yield RawFix(_time(point.get("timestamp", point.get("timestampMs"))), *_e7(point))
    else:
        yield from _segment(entry)


def _segment(entry: dict[str, Any]) -> Iterator[RawFix]:
    begin, end = _time(entry.get("startTime")), _time(entry.get("endTime"))
    for point in _listed(entry.get("timelinePath")):
        if "time" in point:
            time = _time(point["time"])
        else:
            time = _after(begin, point.get("durationMinutesOffsetFromStartTime"))
        yield RawFix(time, *_pair(point.get("point")))
    if visit := _object(entry.get("visit")):
        place = _pair(_object(visit.get("topCandidate")).get("placeLocation"))
        yield RawFix(begin, *place, until=end)
    if activity := _object(entry.get("activity")):
        yield RawFix(begin, *_pair(activity.get("start")))
        yield RawFix(end, *_pair(activity.get("end")))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _span(entry: dict[str, Any]) -> tuple[int | None, int | None]:
    span = _object(entry.get("duration"))
    begin, end = (
        span.get(f"{edge}Timestamp", span.get(f"{edge}TimestampMs")) for edge in ("start", "end")
    )
    return _time(begin), _time(end)


def _time(value: Any) -> int | None:
    """Return an instant: ISO 8601 with a zone, or milliseconds as a number or its text."""
    if isinstance(value, str) and not _ZONED.search(value):
        try:
            value = int(value)
        except ValueError:
            return None
    value = value if isinstance(value, str) else json_number(value)
    found = instant_of(value, None, "a Google record", Tally(), "ms")
    return None if isinstance(found, Problem) else found


def _after(begin: int | None, minutes: Any) -> int | None:
    try:
        later = timedelta(minutes=float(minutes))
    except (TypeError, ValueError, OverflowError):
        return None
    return None if begin is None else begin + later // timedelta(microseconds=1)


def _e7(value: Any) -> Place:
    place = _object(value)
    # Some phone files have lat/lng with E7 in another spelling.
    lat = _degree(place.get("latitudeE7", place.get("latE7")))
    return lat, _degree(place.get("longitudeE7", place.get("lngE7")))


def _degree(value: Any) -> float | None:
    number = json_number(value)
    if number is None:
        return None
    # A known fault of old exports: values that overflowed 32 bits.
    return (number - 2**32 if number > 1.8e9 else number) / _E7


def _pair(place: Any) -> Place:
    if isinstance(place, dict):
        place = place.get("latLng", place.get("LatLng"))
    found = _PAIR.match(place) if isinstance(place, str) else None
    return (None, None) if found is None else (float(found[1]), float(found[2]))


def _owner(inner: PurePath) -> str | None:
    """Return whose a file is: those of one Takeout belong to one account."""
    parts = inner.parts
    if "Takeout" not in parts:
        return by_name(inner)
    return "/".join(parts[: parts.index("Takeout")]) or "Takeout"


def _lines(trace: Trace) -> Iterator[str]:
    """Write as an Android phone does."""
    yield '{"semanticSegments":['
    for number, (time, lat, lon) in enumerate(trace.rows()):
        when = iso_text(time)
        path = [{"point": f"{lat:.{DECIMALS}f}°, {lon:.{DECIMALS}f}°", "time": when}]
        entry = {"startTime": when, "endTime": when, "timelinePath": path}
        yield ("," if number else "") + json.dumps(entry, separators=(",", ":"))
    yield "]}"


GOOGLE = TraceFormat(
    name="google",
    recognised_by="JSON with semanticSegments, rawSignals, locations, timelineObjects, a list of "
    "segments with startTime",
    recognises=lambda head: bool(_places(head)),
    other_suffixes=(".json",),
    read=read,
    write=text_writer(_lines),
    user_of_file=_owner,
)
