"""Writing: whole files under their final name or nothing, and never over what was read."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from priste.atomic_files import atomic_output, check_apart
from priste.errors import InvalidParameter, TraceError
from priste.maps import Grid
from priste.randomness import BitSource, Seed
from priste.traces.cleaning import ClockRange
from priste.traces.fixes import Trace, microseconds
from priste.traces.formats.format import Format
from priste.traces.formats.known import FORMATS
from priste.traces.formats.recognition import format_named, format_of_name
from priste.traces.points import PointChoice, Released, ReleasedPoints
from priste.traces.reading import Traces
from priste.traces.reading_options import Columns, ReadingOptions
from priste.traces.timeline import Timeline
from priste.traces.zones import Zone, zone_of

RowChoice = Literal["fixes", "steps"]
_How = TypeVar("_How")


@dataclass(frozen=True)
class WritingReport:
    """What was written, and which records of the input were left out and why.

    ``unreadable`` records could not be read; ``untimed`` ones have no readable time (or user);
    ``unreleased`` ones fall into a step, or belong to a user, for which nothing was released.
    """

    destination: str
    written: int
    unreadable: int
    untimed: int
    unreleased: int

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values."""
        return {
            "destination": self.destination,
            "written": self.written,
            "left_out": {
                "unreadable": self.unreadable,
                "untimed": self.untimed,
                "unreleased": self.unreleased,
            },
        }


def write_released(
    traces: Traces,
    destination: str | Path,
    released: Released,
    timeline: Timeline,
    grid: Grid,
    *,
    point: PointChoice = "centre",
    rng: Seed | BitSource = None,
    keep: Collection[str] = (),
    rows: RowChoice = "fixes",
    overwrite: bool = False,
) -> WritingReport:
    """Write a source back with released positions, in its own format, columns and order.

    ``released`` gives each user's released cell of each step of ``timeline``. With
    ``rows="fixes"`` every record of the input that has a time is written with the one point of
    its step, whatever its own position was; so the times of the records, and how many there
    are, are those of the input. With ``rows="steps"`` there is instead one record per released
    step, at its middle, and nothing of the input but users, format and column names.

    A point is the ``centre`` of the released cell or a ``random`` point of it. No other field of
    the input is written unless ``keep`` names it: a column of a table, a property of GeoJSON, a
    key of OwnTracks, a GPX tag ("ele"), "altitude" or "labels" of Geolife, "occupied" of
    Cabspotting. Columns stay in their places, empty.

    The destination appears whole or not at all, is never the input, and replaces an existing
    file only with ``overwrite``; a folder only when empty. Raises :class:`OutputError`
    otherwise.
    """
    if rows not in get_args(RowChoice):
        raise InvalidParameter(f"'rows' must be one of {get_args(RowChoice)}. Got {rows!r:.40}.")
    kept = _checked_keep(keep, traces.format)
    target = Path(destination)
    points = ReleasedPoints(released, timeline, grid, point, rng)
    source = traces.source
    check_apart({"destination": target}, {"input": source.root})
    traces.check_unchanged()
    if rows == "steps":
        return _write_steps(traces, target, released, points, overwrite)
    written, rewrite = 0, _able(FORMATS[source.format].rewrite, source.format)
    with atomic_output(
        target, folder=source.is_folder, overwrite=overwrite, private=False
    ) as draft:
        for file in source.files:
            path = draft / file.name if source.is_folder else draft
            path.parent.mkdir(parents=True, exist_ok=True)
            written += rewrite(file, path, traces.reading, points, kept)
        for field, name in FORMATS[source.format].companions.items():
            if field in kept and source.is_folder:
                for beside in sorted(source.root.rglob(name)):
                    copy = draft / beside.relative_to(source.root)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(beside, copy)
        traces.check_unchanged()
    left = points.left_out
    return WritingReport(str(target), written, left.unreadable, left.untimed, left.unreleased)


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

    For data one made oneself. The format follows the name of the destination unless stated. GPX,
    Cabspotting, OwnTracks and NMEA hold one user per file; Geolife is a folder, or a file named
    ``.plt``. T-Drive lines need the ``zone`` of their clock. Times of Geolife, Cabspotting,
    OwnTracks and T-Drive are whole seconds, those of NMEA milliseconds.
    """
    target = Path(destination)
    kind = format_of_name(target) if format is None else format_named(format)
    if kind is None:
        raise TraceError(f"The name {target.name!r} tells no format. State it with format=.")
    if isinstance(traces, Traces):
        check_apart({"destination": target}, {"input": traces.source.root})
    place = None if zone is None else zone_of(zone)
    reading = ReadingOptions(Columns.of(columns), place, ClockRange(), None)
    folder = FORMATS[kind].is_folder and format_of_name(target) is not kind
    with atomic_output(target, folder=folder, overwrite=overwrite, private=False) as draft:
        _write_plain(traces, draft, kind, reading)


def _write_plain(
    traces: Iterable[Trace], draft: Path, kind: Format, reading: ReadingOptions
) -> None:
    alone = FORMATS[kind].one_user and not draft.is_dir()
    write = _able(FORMATS[kind].write, kind)
    write(_only_one(traces, kind) if alone else traces, draft, reading)


def _only_one(traces: Iterable[Trace], kind: Format) -> Iterator[Trace]:
    for count, trace in enumerate(traces):
        if count:
            raise TraceError(f"A file of format {kind} holds one user. Write a file for each.")
        yield trace


def _write_steps(
    traces: Traces, target: Path, released: Released, points: ReleasedPoints, overwrite: bool
) -> WritingReport:
    source, reading = traces.source, traces.reading
    written = 0

    def of(user: str | None) -> Trace | None:
        nonlocal written
        places = points.draw(user)  # each user is asked for once
        steps = np.flatnonzero(~np.isnan(places[:, 0]))
        written += len(steps)
        if not len(steps):
            return None
        times = [microseconds(points.timeline.middle_of(int(step))) for step in steps]
        named = None if unnamed else user
        return Trace(named, np.array(times), places[steps, 0], places[steps, 1])

    unnamed = False
    known = FORMATS[source.format]
    suffix = source.files[0].path.suffix
    if known.write is None:  # only read: the destination's name tells another format
        suffix = ".gpx" if source.is_folder else target.suffix
        known = FORMATS[format_of_name(Path(f"x{suffix}")) or source.format]
    elif known.options_of is not None:
        reading = known.options_of(source, reading)
        unnamed = reading.columns.user is None
    with atomic_output(
        target, folder=source.is_folder, overwrite=overwrite, private=False
    ) as draft:
        if source.is_folder and not known.is_folder:
            for user in released:
                trace = of(user)
                if trace is not None:
                    path = draft / f"{user}{suffix}"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    _write_plain([trace], path, known.name, reading)
        else:
            made = (trace for trace in map(of, released) if trace is not None)
            _write_plain(made, draft, known.name, reading)
    return WritingReport(str(target), written, 0, 0, 0)


def _able(how: _How | None, kind: Format) -> _How:
    if how is None:
        raise TraceError(
            f"Files of format {kind} are read but not written. Write one record a step into a file "
            "of another format: rows='steps' and a destination named .gpx, .csv or .geojson."
        )
    return how


def _checked_keep(keep: Collection[str], kind: Format) -> frozenset[str]:
    if isinstance(keep, str):
        raise InvalidParameter(f"'keep' must be a collection of names. Got the text {keep!r:.40}.")
    names = frozenset(keep)
    allowed = FORMATS[kind].keepable
    if allowed is not None and not names <= allowed:
        raise InvalidParameter(
            f"'keep' may name {', '.join(sorted(allowed)) or 'nothing'} in format {kind}. "
            f"Got {', '.join(sorted(names - allowed))}."
        )
    return names
