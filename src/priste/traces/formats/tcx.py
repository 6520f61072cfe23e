"""TCX, Garmin's training files: the track points of activities and courses, in UTC.

What is written has one activity with released points and times, and nothing else: no heart
rates, altitudes, distances, laps or devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from priste.errors import TraceError
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.formats.contract import TraceFormat, per_file
from priste.traces.formats.format import Format
from priste.traces.formats.rewriting import Row, rewritten, rows_of
from priste.traces.formats.utc_times import utc_time
from priste.traces.formats.xml_records import elements, number_of, text_of, write_lines
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Tally
from priste.traces.sources import SourceFile

_NAMESPACE = "http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the track points of a file in its order."""
    try:
        with file.path.open("rb") as opened:
            for point in elements(opened, file.name, frozenset({"Trackpoint"})):
                lat = number_of(text_of(point, "Position", "LatitudeDegrees"))
                lon = number_of(text_of(point, "Position", "LongitudeDegrees"))
                yield file.user, (utc_time(text_of(point, "Time")), lat, lon)
    except OSError as error:
        raise TraceError(f"{file.name} cannot be read: {error.strerror}.") from None


def write_rows(rows: Iterable[Row], target: Path, like: Path | None = None) -> int:
    """Write times and places as one activity."""
    written = 0

    def lines() -> Iterator[str]:
        nonlocal written
        yield f'<TrainingCenterDatabase xmlns="{_NAMESPACE}"><Activities>'
        yield '<Activity Sport="Other">'
        for time, lat, lon in rows:
            when = f"{utc_datetime(time):%Y-%m-%dT%H:%M:%SZ}"
            if not written:
                yield f'<Id>{when}</Id><Lap StartTime="{when}"><Track>'
            yield (
                f"<Trackpoint><Time>{when}</Time><Position>"
                f"<LatitudeDegrees>{lat:.{DECIMALS}f}</LatitudeDegrees>"
                f"<LongitudeDegrees>{lon:.{DECIMALS}f}</LongitudeDegrees>"
                "</Position></Trackpoint>"
            )
            written += 1
        if written:
            yield "</Track></Lap>"
        yield "</Activity></Activities></TrainingCenterDatabase>"

    write_lines(target, lines())
    return written


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write one trace."""
    write_rows((row for trace in traces for row in rows_of(trace)), target)


TCX = TraceFormat(
    name=Format.TCX,
    told_by="XML with a TrainingCenterDatabase element",
    recognises=lambda head: head.is_xml and b"<TrainingCenterDatabase" in head.data,
    suffixes=(".tcx",),
    users=per_file(records),
    rewrite=rewritten(records, write_rows),
    write=write,
)
