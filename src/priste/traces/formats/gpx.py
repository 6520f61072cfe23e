"""GPX 1.0 and 1.1: the points of tracks. Waypoints and routes do not say when somebody was
there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace
from priste.traces.formats.contract import TraceFormat, text_writer
from priste.traces.formats.xml_records import elements, number_of, text_of
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import iso_text, utc_instant

_GPX = re.compile(rb"<(?:\w+:)?gpx[\s>]")


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the track points of a file in its order; waypoints and route points are counted."""
    for point in elements(file, frozenset({"trkpt", "wpt", "rtept"})):
        if point.tag == "trkpt":
            lat, lon = number_of(point.get("lat")), number_of(point.get("lon"))
            yield file.user, RawFix(utc_instant(text_of(point, "time")), lat, lon)
        else:
            tally.refuse(Problem.OTHER_RECORD)


def _lines(trace: Trace) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<gpx version="1.1" creator="priste" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>'
    for time, lat, lon in trace.rows():
        place = f'lat="{lat:.{DECIMALS}f}" lon="{lon:.{DECIMALS}f}"'
        yield f"<trkpt {place}><time>{iso_text(time)}</time></trkpt>"
    yield "</trkseg></trk></gpx>"


GPX = TraceFormat(
    name="gpx",
    recognised_by="XML with a gpx element",
    recognises=lambda head: head.is_xml and _GPX.search(head.data) is not None,
    suffixes=(".gpx",),
    read=read,
    write=text_writer(_lines),
)
