"""Geolife 1.3: ``Data/<user>/Trajectory/*.plt`` with six header lines, and ``labels.txt``.

A line is ``latitude,longitude,0,altitude in feet,days since 1899-12-30,date,time``. All times are
GMT, stated twice; a record whose two times differ is set aside.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from priste.errors import TraceError
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, microseconds, utc_datetime
from priste.traces.formats.contract import TraceFormat, per_file, some_line
from priste.traces.formats.format import Format
from priste.traces.formats.text_lines import lines_of
from priste.traces.points import DECIMALS, ReleasedPoints
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile

LABELS_FILE = "labels.txt"
LABELS_FIELD = "labels"
FIRST_DAY = datetime(2007, 4, 1, tzinfo=UTC)
"""When the collection of the data set began: a clock before it was wrong."""

NO_ALTITUDE = "-777"
"""What the format writes where no altitude is known."""

_HEADER = (
    "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n"
    "0,2,255,My Track,0,0,2,8421376\n0\n"
)
_HEADER_LINES = 6
_DAY_ZERO = datetime(1899, 12, 30, tzinfo=UTC)
_DAYS_TO_1970 = 25_569
_DAY = 86_400_000_000
_TOLERATED = 2_000_000  # microseconds between the two times: days have ten decimals at most


@dataclass(frozen=True, slots=True)
class Label:
    """How a user said to have travelled between two instants."""

    start: datetime
    end: datetime
    mode: str


class _Line(NamedTuple):
    time: int | None
    days: float | None
    lat: float
    lon: float
    altitude: str


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the records of a file in its order; counts lines that are none and bad clocks."""
    for parsed in _parsed(file.path):
        if parsed is None:
            tally.refuse(Problem.BAD_LINE)
        elif _contradicts(parsed):
            tally.refuse(Problem.CONTRADICTORY_TIME)
        else:
            yield file.user, (parsed.time, parsed.lat, parsed.lon)


def rewrite(
    file: SourceFile,
    target: Path,
    options: ReadingOptions,
    points: ReleasedPoints,
    keep: Collection[str],
) -> int:
    """Write the file with released points and no altitude, unless kept; returns the lines."""
    written = 0
    with target.open("w", encoding="ascii", newline="\r\n") as out:
        out.write(_HEADER)
        for parsed in _parsed(file.path):
            if parsed is None or _contradicts(parsed):
                points.left_out.unreadable += 1
                continue
            point = points.at(file.user, parsed.time)
            if point is not None and parsed.time is not None:
                altitude = parsed.altitude if "altitude" in keep else NO_ALTITUDE
                out.write(_line(*point, parsed.time, altitude))
                written += 1
    return written


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write traces into a folder in the 1.3 layout, or the only one as a file."""
    if not target.is_dir():
        for trace in traces:
            _write_file(trace, target)
        return
    for trace in traces:
        user = "000" if trace.user is None else trace.user
        if not user or user.startswith(".") or "/" in user or "\\" in user or "\0" in user:
            raise TraceError(f"The user {user[:40]!r} cannot be the name of a Geolife folder.")
        folder = target / "Data" / user / "Trajectory"
        folder.mkdir(parents=True)
        _write_file(trace, folder / f"{trace.start:%Y%m%d%H%M%S}.plt")


def _write_file(trace: Trace, path: Path) -> None:
    with path.open("w", encoding="ascii", newline="\r\n") as out:
        out.write(_HEADER)
        rows = zip(trace.lat.tolist(), trace.lon.tolist(), trace.times.tolist(), strict=True)
        out.writelines(_line(lat, lon, time, NO_ALTITUDE) for lat, lon, time in rows)


def read_labels(path: str | Path) -> dict[str, tuple[Label, ...]]:
    """Return the labels of each user below a Geolife folder, in the order of their files.

    Raises :class:`TraceError` with the number of a line that is no label.
    """
    found = {}
    for file in sorted(Path(path).rglob(LABELS_FILE)):
        labels = []
        for number, line in enumerate(lines_of(file), start=1):
            if number > 1:  # the first line names the columns
                labels.append(_label(line, f"{file.parent.name}/{file.name}", number))
        found[file.parent.resolve().name] = tuple(labels)
    return found


def _label(line: bytes | None, name: str, number: int) -> Label:
    parts = [] if line is None else line.decode("utf-8", errors="replace").split("\t")
    try:
        start, end = (
            datetime.strptime(part, "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC) for part in parts[:2]
        )
        return Label(start, end, parts[2].strip())
    except (ValueError, IndexError):
        raise TraceError(f"Line {number} of {name} is no label: start, end, mode.") from None


def _parsed(path: Path) -> Iterator[_Line | None]:
    """Yield the lines after the header, None for one that is no record."""
    for number, line in enumerate(lines_of(path)):
        if number == 0 and (line is None or not line.startswith(b"Geolife trajectory")):
            raise TraceError(f"{path.name} does not begin with the header of a Geolife .plt file.")
        if number >= _HEADER_LINES:
            yield None if line is None else _parse(line)


def _parse(line: bytes) -> _Line | None:
    try:
        parts = line.decode("ascii").split(",")
        lat, lon, altitude, days = float(parts[0]), float(parts[1]), parts[3], parts[4]
        day, clock = parts[5], parts[6].strip()
        float(altitude)
    except (ValueError, IndexError):
        return None
    return _Line(_stated(day, clock), _counted(days), lat, lon, altitude)


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


def _counted(days: str) -> float | None:
    try:
        return (float(days) - _DAYS_TO_1970) * _DAY
    except ValueError:
        return None


def _contradicts(line: _Line) -> bool:
    if line.time is None or line.days is None:
        return False
    return abs(line.time - line.days) > _TOLERATED


def _owner(inner: Path) -> str | None:
    folder = inner.parent
    return (folder.parent if folder.name == "Trajectory" else folder).name or None


def _line(lat: float, lon: float, time: int, altitude: str) -> str:
    when = utc_datetime(time)
    days = (when - _DAY_ZERO) / timedelta(days=1)
    return (
        f"{lat:.{DECIMALS}f},{lon:.{DECIMALS}f},0,{altitude},{days:.10f},"
        f"{when:%Y-%m-%d},{when:%H:%M:%S}\n"
    )


GEOLIFE = TraceFormat(
    name=Format.GEOLIFE,
    told_by="the line Geolife trajectory",
    recognises=some_line(re.compile(rb"Geolife trajectory\s*$")),
    suffixes=(".plt",),
    users=per_file(records),
    rewrite=rewrite,
    write=write,
    keepable=frozenset({"altitude", LABELS_FIELD}),
    is_folder=True,
    earliest=FIRST_DAY,
    user_of_file=_owner,
    companions=MappingProxyType({LABELS_FIELD: LABELS_FILE}),
)
