"""Cabspotting: one file per cab, lines ``latitude longitude occupied unixtime``, newest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace
from priste.traces.formats.contract import TraceFormat, per_file, some_line
from priste.traces.formats.format import Format
from priste.traces.formats.text_lines import lines_of
from priste.traces.points import DECIMALS, ReleasedPoints
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the records of a file in its order; lines that are none are counted."""
    for line in lines_of(file.path):
        parsed = _parse(line)
        if parsed is None:
            tally.refuse(Problem.BAD_LINE)
        else:
            lat, lon, _, time = parsed
            yield file.user, (time, lat, lon)


def rewrite(
    file: SourceFile,
    target: Path,
    options: ReadingOptions,
    points: ReleasedPoints,
    keep: Collection[str],
) -> int:
    """Write the file with released points; ``occupied`` is 0 unless kept. Returns the lines."""
    written = 0
    with target.open("w", encoding="ascii", newline="\n") as out:
        for line in lines_of(file.path):
            parsed = _parse(line)
            if parsed is None:
                points.left_out.unreadable += 1
                continue
            _, _, occupied, time = parsed
            point = points.at(file.user, time)
            if point is not None:
                out.write(_line(*point, occupied if "occupied" in keep else 0, time))
                written += 1
    return written


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write one trace, newest first, as the data set does."""
    with target.open("w", encoding="ascii", newline="\n") as out:
        for trace in traces:
            rows = zip(trace.lat.tolist(), trace.lon.tolist(), trace.times.tolist(), strict=True)
            out.writelines(_line(lat, lon, 0, time) for lat, lon, time in reversed(list(rows)))


def _line(lat: float, lon: float, occupied: int, time: int) -> str:
    return f"{lat:.{DECIMALS}f} {lon:.{DECIMALS}f} {occupied} {time // 1_000_000}\n"


def _parse(line: bytes | None) -> tuple[float, float, int, int] | None:
    parts = () if line is None else line.split()
    if len(parts) != 4:
        return None
    try:
        lat, lon, occupied, time = float(parts[0]), float(parts[1]), int(parts[2]), int(parts[3])
    except ValueError:
        return None
    if occupied not in (0, 1) or abs(time) > 2**40:
        return None
    return lat, lon, occupied, time * 1_000_000


CABSPOTTING = TraceFormat(
    name=Format.CABSPOTTING,
    told_by="lines of latitude, longitude, 0 or 1, seconds since 1970",
    recognises=some_line(re.compile(rb"-?\d{1,3}(?:\.\d+)? -?\d{1,3}(?:\.\d+)? [01] \d{1,10}\s*$")),
    users=per_file(records),
    rewrite=rewrite,
    write=write,
    keepable=frozenset({"occupied"}),
    user_of_file=lambda inner: inner.with_suffix("").as_posix().removeprefix("new_"),
)
