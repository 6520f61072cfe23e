"""Geolife 1.3: ``Data/<user>/Trajectory/*.plt`` with six header lines.

A line is ``latitude,longitude,0,altitude in feet,days since 1899-12-30,date,time``. All times are
GMT, stated twice; a record whose two times differ is set aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path, PurePath

from priste.errors import TraceError
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, microseconds, utc_datetime
from priste.traces.formats.contract import TraceFormat, some_line, text_writer
from priste.traces.formats.text_lines import lines_of
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile

FIRST_DAY = datetime(2007, 4, 1, tzinfo=UTC)
"""When the collection of the data set began: a clock before it was wrong."""

_HEADER = (
    "Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3",
    "0,2,255,My Track,0,0,2,8421376", "0",
)  # fmt: skip
_NO_ALTITUDE = "-777"
_DAY_ZERO = datetime(1899, 12, 30, tzinfo=UTC)
_DAYS_TO_1970 = 25_569
_DAY = 86_400_000_000
_TOLERATED = 2_000_000  # microseconds between the two times: days have ten decimals at most


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the records of a file in its order; counts lines that are none and bad clocks."""
    for number, line in enumerate(lines_of(file)):
        if number == 0 and (line is None or not line.startswith(_HEADER[0].encode())):
            raise TraceError(
                f"{file.name} does not begin with the header of a Geolife .plt file.",
                hint="Is it the right file?",
            )
        if number >= len(_HEADER):
            fix = Problem.BAD_LINE if line is None else _parsed(line)
            if isinstance(fix, Problem):
                tally.refuse(fix)
            else:
                yield file.user, fix


def _parsed(line: bytes) -> RawFix | Problem:
    try:
        lat, lon, _, altitude, days, day, clock = line.decode("ascii").split(",")[:7]
        float(altitude)
        position = float(lat), float(lon)
    except ValueError:
        return Problem.BAD_LINE
    time = _stated(day, clock.strip())
    try:
        counted = (float(days) - _DAYS_TO_1970) * _DAY
    except ValueError:
        return RawFix(time, *position)
    if time is not None and abs(time - counted) > _TOLERATED:
        return Problem.CONTRADICTORY_TIME
    return RawFix(time, *position)


@lru_cache(maxsize=64)
def _midnight(day: str) -> int | None:
    try:
        return microseconds(datetime.fromisoformat(f"{day}T00:00:00").replace(tzinfo=UTC))
    except ValueError:
        return None


def _stated(day: str, clock: str) -> int | None:
    midnight = _midnight(day)
    try:
        hours, minutes, seconds = map(int, clock.split(":"))
    except ValueError:
        return None
    if midnight is None or not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60):
        return None
    return midnight + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000


def _owner(inner: PurePath) -> str | None:
    folder = inner.parent
    return (folder.parent if folder.name == "Trajectory" else folder).name or None


def _lines(trace: Trace) -> Iterator[str]:
    yield from _HEADER
    for time, lat, lon in trace.rows():
        when = utc_datetime(time)
        days = (when - _DAY_ZERO) / timedelta(days=1)
        place = f"{lat:.{DECIMALS}f},{lon:.{DECIMALS}f},0,{_NO_ALTITUDE}"
        yield f"{place},{days:.10f},{when:%Y-%m-%d},{when:%H:%M:%S}"


_write_file = text_writer(_lines, newline="\r\n")


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write traces into a folder in the 1.3 layout, or the only one as a file."""
    if not target.is_dir():
        _write_file(traces, target, options)
        return
    for trace in traces:
        user = "000" if trace.user is None else trace.user
        if not user or user.startswith(".") or "/" in user or "\\" in user or "\0" in user:
            raise TraceError(
                f"The user {user[:40]!r} cannot be the name of a Geolife folder.",
                hint="Rename the user.",
            )
        folder = target / "Data" / user / "Trajectory"
        folder.mkdir(parents=True)
        _write_file([trace], folder / f"{trace.start:%Y%m%d%H%M%S}.plt", options)


GEOLIFE = TraceFormat(
    name="geolife",
    recognised_by="the line Geolife trajectory",
    recognises=some_line(re.compile(rb"Geolife trajectory\s*$")),
    suffixes=(".plt",),
    read=read,
    write=write,
    is_folder=True,
    earliest=FIRST_DAY,
    user_of_file=_owner,
    ignores=("labels.txt",),
)
