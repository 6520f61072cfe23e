"""Rewriting a format of which nothing is kept but times: released points at the input's times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from priste.traces.fixes import Trace
from priste.traces.formats.contract import Records, Rewrite
from priste.traces.points import ReleasedPoints
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Tally
from priste.traces.sources import SourceFile

Row: TypeAlias = tuple[int, float, float]
"""A time in microseconds since 1970, a latitude and a longitude."""

WriteRows: TypeAlias = Callable[[Iterable[Row], Path, Path | None], int]
"""Writes rows to a path, in the shape of another file; returns how many."""


def rewritten(records: Records, write_rows: WriteRows) -> Rewrite:
    """Return a rewriting that keeps the order and times of the records, and nothing else."""

    def rewrite(
        file: SourceFile,
        target: Path,
        options: ReadingOptions,
        points: ReleasedPoints,
        keep: Collection[str],
    ) -> int:
        tally = Tally()
        written = write_rows(_released(file, options, points, tally), target, file.path)
        points.left_out.unreadable += tally.records
        return written

    def _released(
        file: SourceFile, options: ReadingOptions, points: ReleasedPoints, tally: Tally
    ) -> Iterator[Row]:
        for user, (time, _, _) in records(file, options, tally):
            place = points.at(user, time)
            if place is not None and time is not None:
                yield time, *place

    return rewrite


def rows_of(trace: Trace) -> Iterator[Row]:
    """Yield the fixes of a trace."""
    yield from zip(trace.times.tolist(), trace.lat.tolist(), trace.lon.tolist(), strict=True)
