"""GPX 1.0 and 1.1: the points of tracks. Waypoints and routes are not where somebody was when.

What is written has the tracks, segments and times of the input with released points, and nothing
else: no metadata, bounds, names, waypoints, routes, elevations or extensions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

from priste.errors import TraceError
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, microseconds, utc_datetime
from priste.traces.formats.contract import TraceFormat, per_file
from priste.traces.formats.format import Format
from priste.traces.points import DECIMALS, ReleasedPoints
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile

CREATOR = "priste"

_POINT_FIELDS = {
    "ele": "elevation",
    "speed": "speed",
    "course": "course",
    "magvar": "magnetic_variation",
    "geoidheight": "geoid_height",
    "name": "name",
    "cmt": "comment",
    "desc": "description",
    "src": "source",
    "sym": "symbol",
    "type": "type",
    "fix": "type_of_gpx_fix",
    "sat": "satellites",
    "hdop": "horizontal_dilution",
    "vdop": "vertical_dilution",
    "pdop": "position_dilution",
}
_TRACK_FIELDS = {
    "name": "name",
    "cmt": "comment",
    "desc": "description",
    "src": "source",
    "type": "type",
    "number": "number",
}
_GPX = re.compile(rb"<(?:\w+:)?gpx[\s>]")
_DECLARED = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the track points of a file in its order; waypoints and route points are counted."""
    document = _document(file.path)
    elsewhere = len(document.waypoints) + sum(len(route.points) for route in document.routes)
    tally.refuse(Problem.OTHER_RECORD, elsewhere)
    for track in document.tracks:
        for segment in track.segments:
            for point in segment.points:
                yield file.user, (_time(point), point.latitude, point.longitude)


def rewrite(
    file: SourceFile,
    target: Path,
    options: ReadingOptions,
    points: ReleasedPoints,
    keep: Collection[str],
) -> int:
    """Write the tracks with released points and the kept fields; returns the points."""
    import gpxpy.gpx as model

    document, written = _document(file.path), 0
    result = model.GPX()
    for track in document.tracks:
        new_track = model.GPXTrack()
        _copy(track, new_track, _TRACK_FIELDS, keep)
        for segment in track.segments:
            new_segment = model.GPXTrackSegment()
            for point in segment.points:
                time = _time(point)
                place = points.at(file.user, time)
                if place is None or time is None:
                    continue
                new_point = model.GPXTrackPoint(*place, time=utc_datetime(time))
                _copy(point, new_point, _POINT_FIELDS, keep)
                new_segment.points.append(new_point)
            written += len(new_segment.points)
            if new_segment.points:
                new_track.segments.append(new_segment)
        if new_track.segments:
            result.tracks.append(new_track)
    _save(result, target, "1.0" if document.version == "1.0" else "1.1")
    return written


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write traces as GPX 1.1, a track each, without the names of their users."""
    import gpxpy.gpx as model

    result = model.GPX()
    for trace in traces:
        segment = model.GPXTrackSegment()
        for fix in trace:
            place = round(fix.lat, DECIMALS), round(fix.lon, DECIMALS)
            segment.points.append(model.GPXTrackPoint(*place, time=fix.time))
        track = model.GPXTrack()
        track.segments.append(segment)
        result.tracks.append(track)
    _save(result, target, "1.1")


def _save(document: Any, target: Path, version: str) -> None:
    document.creator = CREATOR
    target.write_text(document.to_xml(version=version), encoding="utf-8")


def _copy(old: Any, new: Any, fields: dict[str, str], keep: Collection[str]) -> None:
    for tag, name in fields.items():
        if tag in keep:
            setattr(new, name, getattr(old, name, None))


def _time(point: Any) -> int | None:
    if point.time is None:
        return None
    # GPX times are UTC by definition, also when the Z is left out.
    time = point.time if point.time.tzinfo is not None else point.time.replace(tzinfo=UTC)
    try:
        return microseconds(time)
    except (OverflowError, ValueError):  # also a zone that no clock can have
        return None


def _document(path: Path) -> Any:
    """Return the parsed file. Errors say where it breaks and show nothing of what it holds."""
    import xml.etree.ElementTree as ElementTree

    import gpxpy
    import gpxpy.gpx

    text = _text(path)
    # No GPX file needs a document type; entities in one can grow without bound.
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise TraceError(
            f"{path.name} declares a document type or entities, which GPX has no use for and "
            "which can be made to fill the memory. Remove the declaration."
        )
    try:
        # gpxpy logs the whole text when the XML is broken: find that out before it does.
        ElementTree.fromstring(text)
        document = gpxpy.parse(text)
    except ElementTree.ParseError as error:
        line, column = error.position
        raise TraceError(
            f"{path.name} is not well-formed XML: it breaks at line {line}, column {column}. "
            "It may have been cut off."
        ) from None
    except (gpxpy.gpx.GPXException, ValueError, TypeError, AttributeError, RecursionError):
        raise TraceError(
            f"{path.name} is XML but not valid GPX: a point or field cannot be read."
        ) from None
    return document


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from None
    declared = _DECLARED.search(data[:200])
    encoding = "utf-8-sig" if declared is None else declared.group(1).decode()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise TraceError(f"{path.name} is not text in the encoding {encoding}.") from None


GPX = TraceFormat(
    name=Format.GPX,
    told_by="XML with a gpx element",
    recognises=lambda head: head.is_xml and _GPX.search(head.data) is not None,
    suffixes=(".gpx",),
    users=per_file(records),
    rewrite=rewrite,
    write=write,
    keepable=frozenset(_POINT_FIELDS) | frozenset(_TRACK_FIELDS),
)
