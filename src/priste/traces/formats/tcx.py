"""TCX, Garmin's training files: the track points of activities and courses, in UTC."""

from __future__ import annotations

from collections.abc import Iterator

from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.formats.contract import TraceFormat, text_writer
from priste.traces.formats.xml_records import elements, number_of, text_of
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import utc_instant

_NAMESPACE = "http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the track points of a file in its order."""
    for point in elements(file, frozenset({"Trackpoint"})):
        lat, lon = (
            number_of(text_of(point, f"Position/{name}Degrees"))
            for name in ("Latitude", "Longitude")
        )
        yield file.user, RawFix(utc_instant(text_of(point, "Time")), lat, lon)


def _lines(trace: Trace) -> Iterator[str]:
    begin = f"{trace.start:%Y-%m-%dT%H:%M:%SZ}"
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<TrainingCenterDatabase xmlns="{_NAMESPACE}"><Activities>'
    yield f'<Activity Sport="Other"><Id>{begin}</Id><Lap StartTime="{begin}"><Track>'
    for time, lat, lon in trace.rows():
        yield (
            f"<Trackpoint><Time>{utc_datetime(time):%Y-%m-%dT%H:%M:%SZ}</Time><Position>"
            f"<LatitudeDegrees>{lat:.{DECIMALS}f}</LatitudeDegrees>"
            f"<LongitudeDegrees>{lon:.{DECIMALS}f}</LongitudeDegrees>"
            "</Position></Trackpoint>"
        )
    yield "</Track></Lap></Activity></Activities></TrainingCenterDatabase>"


TCX = TraceFormat(
    name="tcx",
    recognised_by="XML with a TrainingCenterDatabase element",
    recognises=lambda head: head.is_xml and b"<TrainingCenterDatabase" in head.data,
    suffixes=(".tcx",),
    read=read,
    write=text_writer(_lines),
)
