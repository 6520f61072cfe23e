"""Write complete files under their final name or nothing, and never over the input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from priste.atomic_files import atomic_output, check_apart
from priste.errors import TraceError
from priste.maps import Grid
from priste.traces.fixes import Trace, microseconds
from priste.traces.formats.contract import TraceFormat
from priste.traces.formats.known import FORMATS
from priste.traces.formats.recognition import format_named, format_of_name
from priste.traces.points import Released, ReleasedPoints
from priste.traces.reading import Traces
from priste.traces.reading_options import Columns, ReadingOptions
from priste.traces.timeline import Timeline
from priste.traces.zones import Zone, zone_of


@dataclass(frozen=True)
class WritingReport:
    """Where released records were written, and how many."""

    destination: str
    written: int

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values."""
        return {"destination": self.destination, "written": self.written}


def write_released(
    traces: Traces,
    destination: str | Path,
    released: Released,
    timeline: Timeline,
    grid: Grid,
    *,
    overwrite: bool = False,
) -> WritingReport:
    """Write released positions in the format of a source: one record per step, at its middle.

    ``released`` gives each user's released cell of each step of ``timeline``. A point is the centre
    of the released cell. Nothing of the input is written but its users, its format, and the names
    of the columns of tables. A format that is only read is written in the format that the name of
    the destination states.

    The destination appears complete or not at all, is never the input, and replaces an existing
    file only with ``overwrite``; a folder only when empty. Raises :class:`OutputError` otherwise.
    """
    target, source, reading = Path(destination), traces.source, traces.reading
    points = ReleasedPoints(released, timeline, grid)
    check_apart({"destination": target}, {"input": source.root})
    traces.check_unchanged()
    known = _written_as(traces, target)
    suffix = next(iter((*known.suffixes, *known.other_suffixes)), ".txt")
    is_named = True
    if known.tables is not None and known.name == source.format:
        reading = replace(reading, columns=traces.columns())
        is_named = reading.columns.user is not None
    written = 0

    def of(user: str | None) -> Trace | None:
        nonlocal written
        places = points.of(user)
        steps = np.flatnonzero(~np.isnan(places[:, 0]))
        written += len(steps)
        if not len(steps):
            return None
        times = [microseconds(timeline.middle_of(int(step))) for step in steps]
        name = user if is_named else None
        return Trace(name, np.array(times), places[steps, 0], places[steps, 1])

    with atomic_output(
        target, folder=source.is_folder, overwrite=overwrite, private=False
    ) as draft:
        if source.is_folder and not known.is_folder:
            for user in released:
                trace = of(user)
                if trace is not None:
                    path = draft / f"{user}{suffix}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    _write([trace], path, known, reading)
        else:
            made = (trace for trace in map(of, released) if trace is not None)
            _write(made, draft, known, reading)
    return WritingReport(str(target), written)


def _written_as(traces: Traces, target: Path) -> TraceFormat:
    """Return the format that releases are written in: that of the source if it can be."""
    known = FORMATS[traces.format]
    if known.write is None:
        name = "gpx" if traces.source.is_folder else format_of_name(target)
        known = FORMATS[traces.format if name is None else name]
    return known


def released_suffix(traces: Traces) -> str:
    """Return the end of the name that a released file of a source is usually given."""
    source, known = traces.source, FORMATS[traces.format]
    if source.is_folder:
        return ""
    if known.write is None:
        return ".gpx"
    if source.is_archive:
        return next(iter((*known.suffixes, *known.other_suffixes)), ".txt")
    return source.root.suffix


def write_traces(
    traces: Iterable[Trace],
    destination: str | Path,
    format: str | None = None,
    *,
    columns: Columns | Mapping[str, str] | None = None,
    zone: Zone | None = None,
    overwrite: bool = False,
) -> None:
    """Write traces as they are, with their true positions, to 7 decimals of a degree.

    For made-up data. The format follows the name of the destination unless stated. Tables and
    GeoJSON hold many users; Geolife is a folder, or a file named ``.plt``; a file of any other
    format holds one user. A stay is written as a fix at its beginning and one at its end. T-Drive
    lines need the ``zone`` of their clock. Times of Geolife, Cabspotting, OwnTracks, TCX and
    T-Drive are whole seconds, those of NMEA milliseconds.
    """
    target = Path(destination)
    kind = format_of_name(target) if format is None else format_named(format)
    if kind is None:
        raise TraceError(f"must be given: the name {target.name!r} tells none.", parameter="format")
    if isinstance(traces, Traces):
        check_apart({"destination": target}, {"input": traces.source.root})
    place = None if zone is None else zone_of(zone)
    reading = ReadingOptions(Columns.of(columns), place, None)
    known = FORMATS[kind]
    folder = known.is_folder and format_of_name(target) != kind
    instants = (trace.at(np.zeros(0, dtype=np.int64)) for trace in traces)
    with atomic_output(target, folder=folder, overwrite=overwrite, private=False) as draft:
        _write(instants, draft, known, reading)


def _write(
    traces: Iterable[Trace], draft: Path, known: TraceFormat, reading: ReadingOptions
) -> None:
    if known.write is None:
        raise TraceError(
            f"Files of format {known.name} are read but not written",
            hint="Write to a destination named .gpx, .csv or .geojson.",
        )
    single = not known.names_users and not draft.is_dir()
    known.write(_only_one(traces, known.name) if single else traces, draft, reading)


def _only_one(traces: Iterable[Trace], kind: str) -> Iterator[Trace]:
    for count, trace in enumerate(traces):
        if count:
            raise TraceError(
                f"A file of format {kind} holds one user", hint="Write a file for each."
            )
        yield trace
