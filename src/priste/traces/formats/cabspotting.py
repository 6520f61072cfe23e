"""Cabspotting: one file per cab, lines ``latitude longitude occupied unixtime``, newest first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace
from priste.traces.formats.contract import TraceFormat, some_line, text_writer
from priste.traces.formats.text_lines import lines_of
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile

_LINE = re.compile(rb"(-?\d{1,3}(?:\.\d+)?) (-?\d{1,3}(?:\.\d+)?) [01] (\d{1,10})\s*$")


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the records of a file in its order; lines that are none are counted."""
    for line in lines_of(file):
        found = None if line is None else _LINE.match(line)
        if found is None:
            tally.refuse(Problem.BAD_LINE)
        else:
            lat, lon, time = found.groups()
            yield file.user, RawFix(int(time) * 1_000_000, float(lat), float(lon))


def _lines(trace: Trace) -> Iterator[str]:
    for time, lat, lon in reversed(list(trace.rows())):
        yield f"{lat:.{DECIMALS}f} {lon:.{DECIMALS}f} 0 {time // 1_000_000}"


CABSPOTTING = TraceFormat(
    name="cabspotting",
    recognised_by="lines of latitude, longitude, 0 or 1, seconds since 1970",
    recognises=some_line(_LINE),
    read=read,
    write=text_writer(_lines),
    user_of_file=lambda inner: inner.with_suffix("").as_posix().removeprefix("new_"),
)
