"""KML: gx:Track, and placemarks of a point with a time or a time span. Lines have no times.

A KMZ file is an archive of one KML document, read as every archive is.
"""

from __future__ import annotations

from collections.abc import Iterator

from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace
from priste.traces.formats.contract import TraceFormat, text_writer
from priste.traces.formats.xml_records import Element, elements, number_of, text_of
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import iso_text, utc_instant


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the fixes of tracks and timed points in their order; counts other placemarks.

    A placemark with a time span is a stay.
    """
    for placemark in elements(file, frozenset({"Placemark"})):
        tracks = list(placemark.iter("Track"))
        found = [fix for track in tracks for fix in _track(track)] if tracks else _point(placemark)
        if not found:
            tally.refuse(Problem.OTHER_RECORD)
        for fix in found:
            yield file.user, fix


def _track(track: Element) -> Iterator[RawFix]:
    times = [utc_instant(each.text) for each in track.findall("when")]
    places = [_place(each.text, None) for each in track.findall("coord")]
    for number in range(max(len(times), len(places))):
        time = times[number] if number < len(times) else None
        yield RawFix(time, *(places[number] if number < len(places) else (None, None)))


def _point(placemark: Element) -> list[RawFix]:
    point = next(placemark.iter("Point"), None)
    span = next(placemark.iter("TimeSpan"), None)
    stamp = next(placemark.iter("TimeStamp"), None)
    if point is None or (span is None and stamp is None):
        return []
    place = _place(point.findtext("coordinates"), ",")
    if span is None:
        return [RawFix(utc_instant(text_of(stamp, "when")), *place)]  # type: ignore[arg-type]
    begin, end = (utc_instant(text_of(span, name)) for name in ("begin", "end"))
    return [RawFix(begin, *place, until=end)]


def _place(text: str | None, mark: str | None) -> tuple[float | None, float | None]:
    """Return latitude and longitude of ``lon lat alt`` or ``lon,lat,alt``."""
    parts = [number_of(part) for part in (text or "").strip().split(mark)]
    return (parts[1], parts[0]) if len(parts) >= 2 else (None, None)


def _lines(trace: Trace) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<kml xmlns="http://www.opengis.net/kml/2.2"'
    yield ' xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><Placemark><gx:Track>'
    for time, lat, lon in trace.rows():
        yield f"<when>{iso_text(time)}</when>"
        yield f"<gx:coord>{lon:.{DECIMALS}f} {lat:.{DECIMALS}f} 0</gx:coord>"
    yield "</gx:Track></Placemark></Document></kml>"


KML = TraceFormat(
    name="kml",
    recognised_by="XML with a kml element, or a KMZ archive of one",
    recognises=lambda head: head.is_xml and b"<kml" in head.data,
    suffixes=(".kml",),
    read=read,
    write=text_writer(_lines),
)
