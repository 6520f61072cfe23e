"""Google's location history: the export of a phone, and what Takeout gives, read as a stream.

Four shapes, told apart by what stands in them:

- *phone, Android* (``Timeline.json``): an object with ``semanticSegments`` (paths of points with
  times, visits, activities) and ``rawSignals`` (positions);
- *phone, iPhone* (``location-history.json``): a list of such segments, places as ``geo:lat,lon``
  and times of path points as minutes since the segment began;
- ``Records.json``: an object with ``locations``, one record per position, degrees times 10^7;
- *semantic months* (``2021_MARCH.json``): an object with ``timelineObjects``.

A visit counts as two fixes, at its beginning and at its end; so does an activity, where it began
and where it ended. What is written has the same shape with released points and times, and
nothing else: no place names or ids, accuracies, activities, devices, Wi-Fi scans or profiles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from priste.errors import TraceError
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.formats.contract import Head, TraceFormat, per_file
from priste.traces.formats.format import Format
from priste.traces.formats.json_values import ShallowJson, cut_off, json_number
from priste.traces.formats.rewriting import Row, rewritten, rows_of
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import instant_of

_E7 = 10_000_000
_PAIR = re.compile(r"(?:geo:)?\s*(-?\d+(?:\.\d+)?)\s*°?\s*,\s*(-?\d+(?:\.\d+)?)\s*°?\s*$")

# Where the records of each shape stand, as ijson names places.
_ANDROID, _PHONE, _RECORDS, _MONTH = (
    ("semanticSegments", "rawSignals"),
    ("",),
    ("locations",),
    ("timelineObjects",),
)
_KEYS = {
    _ANDROID: re.compile(rb'"(?:semanticSegments|rawSignals)"\s*:'),
    _RECORDS: re.compile(rb'"locations"\s*:\s*\['),
    _MONTH: re.compile(rb'"timelineObjects"\s*:'),
    _PHONE: re.compile(rb'^\[\s*\{[^[]*?"(?:startTime|endTime|visit|activity|timelinePath)"\s*:'),
}


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the positions of a file in its order; records without one are counted."""
    for entry in _entries(file.path):
        found = list(_fixes(entry))
        if not found:
            tally.refuse(Problem.OTHER_RECORD)
        for fix in found:
            yield file.user, fix


def write_rows(rows: Iterable[Row], target: Path, like: Path | None = None) -> int:
    """Write times and places in the shape of ``like``; as an Android phone does without one."""
    shape = _ANDROID if like is None else _shape(_head(like), like)
    opening, closing = {
        _ANDROID: ('{"semanticSegments":[', "]}"),
        _PHONE: ("[", "]"),
        _RECORDS: ('{"locations":[', "]}"),
        _MONTH: ('{"timelineObjects":[', "]}"),
    }[shape]
    written = 0
    with target.open("w", encoding="utf-8", newline="\n") as out:
        out.write(opening)
        for time, lat, lon in rows:
            out.write(",\n" if written else "\n")
            out.write(json.dumps(_entry(shape, time, lat, lon), separators=(",", ":")))
            written += 1
        out.write(f"\n{closing}\n")
    return written


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write one trace as the export of an Android phone."""
    write_rows((row for trace in traces for row in rows_of(trace)), target)


def _entry(shape: tuple[str, ...], time: int, lat: float, lon: float) -> dict[str, Any]:
    when = utc_datetime(time).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    lat, lon = round(lat, DECIMALS), round(lon, DECIMALS)
    e7 = {"latitudeE7": round(lat * _E7), "longitudeE7": round(lon * _E7)}
    if shape == _RECORDS:
        return {**e7, "timestamp": when}
    if shape == _MONTH:
        span = {"startTimestamp": when, "endTimestamp": when}
        return {"placeVisit": {"location": e7, "duration": span}}
    if shape == _ANDROID:
        path = [{"point": f"{lat:.{DECIMALS}f}°, {lon:.{DECIMALS}f}°", "time": when}]
    else:
        point = f"geo:{lat:.{DECIMALS}f},{lon:.{DECIMALS}f}"
        path = [{"point": point, "durationMinutesOffsetFromStartTime": "0"}]
    return {"startTime": when, "endTime": when, "timelinePath": path}


# Reading


def _shape(head: bytes, path: Path) -> tuple[str, ...]:
    for shape, pattern in _KEYS.items():
        if pattern.search(head):
            return shape
    raise TraceError(
        f"{path.name} is none of Google's location files: it has no semanticSegments, rawSignals, "
        "locations or timelineObjects, and is no list of segments."
    )


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return Head(file.read(1 << 16)).data
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from None


def _entries(path: Path) -> Iterator[Any]:
    """Yield the records one by one, whatever the size of the file."""
    import ijson

    for place in _shape(_head(path), path):
        prefix = f"{place}.item" if place else "item"
        with path.open("rb") as file:
            try:
                yield from ijson.items(ShallowJson(_without_mark(file), path.name), prefix)
            except (ijson.JSONError, UnicodeDecodeError, ValueError, ArithmeticError):
                raise cut_off(path.name) from None


def _without_mark(file: BinaryIO) -> BinaryIO:
    if file.read(3) != b"\xef\xbb\xbf":
        file.seek(0)
    return file


def _fixes(entry: Any) -> Iterator[RawFix]:
    """Yield the fixes of one record of any shape."""
    if not isinstance(entry, dict):
        return
    if "latitudeE7" in entry or "timestampMs" in entry:  # of Records.json
        yield _time(entry.get("timestamp", entry.get("timestampMs"))), *_e7(entry)
    elif isinstance(position := entry.get("position"), dict):  # of rawSignals
        yield _time(position.get("timestamp")), *_pair(position.get("LatLng"))
    elif isinstance(visit := entry.get("placeVisit"), dict):
        yield from _span(visit.get("duration"), _e7(visit.get("location")))
    elif isinstance(moved := entry.get("activitySegment"), dict):
        start, end = _e7(moved.get("startLocation")), _e7(moved.get("endLocation"))
        yield from _span(moved.get("duration"), start, end)
        yield from _points(moved.get("simplifiedRawPath"))
    else:
        yield from _segment(entry)


def _points(path: Any) -> Iterator[RawFix]:
    for point in _listed(path.get("points")) if isinstance(path, dict) else []:
        if isinstance(point, dict):
            yield _time(point.get("timestamp", point.get("timestampMs"))), *_e7(point)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _segment(entry: dict[str, Any]) -> Iterator[RawFix]:
    begin = _time(entry.get("startTime"))
    end = _time(entry.get("endTime"))
    for point in _listed(entry.get("timelinePath")):
        if not isinstance(point, dict):
            continue
        if "time" in point:
            time = _time(point["time"])
        else:
            time = _after(begin, point.get("durationMinutesOffsetFromStartTime"))
        yield time, *_pair(point.get("point"))
    if isinstance(visit := entry.get("visit"), dict):
        candidate = visit.get("topCandidate")
        place = candidate.get("placeLocation") if isinstance(candidate, dict) else None
        for time in (begin, end):
            yield time, *_pair(place)
    if isinstance(activity := entry.get("activity"), dict):
        yield begin, *_pair(activity.get("start"))
        yield end, *_pair(activity.get("end"))


def _span(
    duration: Any,
    place: tuple[float | None, float | None],
    other: tuple[float | None, float | None] | None = None,
) -> Iterator[RawFix]:
    span = duration if isinstance(duration, dict) else {}
    yield _time(span.get("startTimestamp", span.get("startTimestampMs"))), *place
    yield _time(span.get("endTimestamp", span.get("endTimestampMs"))), *(other or place)


def _time(value: Any) -> int | None:
    """Return an instant: ISO 8601 with a zone, or milliseconds as a number or its text."""
    if isinstance(value, Decimal):
        value = int(value)
    if isinstance(value, int) or (isinstance(value, str) and value.lstrip("-").isdigit()):
        found = instant_of(int(value), None, "a Google record", Tally(), "ms")
    elif isinstance(value, str) and (value.endswith("Z") or re.search(r"[+-]\d\d:?\d\d$", value)):
        found = instant_of(value, None, "a Google record", Tally())
    else:
        return None
    return None if isinstance(found, Problem) else found


def _after(begin: int | None, minutes: Any) -> int | None:
    try:
        later = timedelta(minutes=float(minutes))
    except (TypeError, ValueError, OverflowError):
        return None
    return None if begin is None else begin + later // timedelta(microseconds=1)


def _e7(place: Any) -> tuple[float | None, float | None]:
    found = place if isinstance(place, dict) else {}
    # Some phone files have lat/lng with E7 in another spelling.
    lat = _degree(found.get("latitudeE7", found.get("latE7")))
    lon = _degree(found.get("longitudeE7", found.get("lngE7")))
    return lat, lon


def _degree(value: Any) -> float | None:
    number = json_number(int(value) if isinstance(value, Decimal) else value)
    if number is None:
        return None
    # A known fault of old exports: values that overflowed 32 bits.
    return (number - 2**32 if number > 1.8e9 else number) / _E7


def _pair(place: Any) -> tuple[float | None, float | None]:
    if isinstance(place, dict):
        place = place.get("latLng", place.get("LatLng"))
    found = _PAIR.match(place) if isinstance(place, str) else None
    return (None, None) if found is None else (float(found[1]), float(found[2]))


GOOGLE = TraceFormat(
    name=Format.GOOGLE,
    told_by="JSON with semanticSegments, rawSignals, locations or timelineObjects, or a list of "
    "segments with startTime",
    recognises=lambda head: (
        head.is_json and any(pattern.search(head.data) for pattern in _KEYS.values())
    ),
    other_suffixes=(".json",),
    users=per_file(records),
    rewrite=rewritten(records, write_rows),
    write=write,
)
