"""Reading: any known format, one user at a time, with a report of everything that was odd."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path

from priste.errors import TraceError
from priste.traces import cabspotting, geojson, geolife, gpx, nmea, owntracks
from priste.traces.cleaning import EARLIEST, LATEST, ClockRange, RawFixes, Record, clean
from priste.traces.fixes import Trace
from priste.traces.formats import Format
from priste.traces.options import Columns, Reading
from priste.traces.problems import ReadingReport, Tally
from priste.traces.sources import Source, SourceFile, find_source
from priste.traces.tables import open_table
from priste.traces.zones import Zone, zone_of

Records = Callable[[SourceFile, Reading, Tally], Iterator[tuple[str | None, Record]]]

TABLES = (Format.CSV, Format.PARQUET, Format.TDRIVE)
_RECORDS: dict[Format, Records] = {
    Format.CABSPOTTING: cabspotting.records,
    Format.GEOJSON: geojson.records,
    Format.GEOLIFE: geolife.records,
    Format.GPX: gpx.records,
    Format.NMEA: nmea.records,
    Format.OWNTRACKS: owntracks.records,
}


class Traces(Iterable[Trace]):
    """The traces of a source, one per user in the order of their names.

    Each iteration reads the source anew and holds one user at a time (of a GeoJSON file, all).
    A source that changes between two readings raises :class:`TraceError`, and so does one
    without a single usable fix.
    """

    def __init__(self, source: Source, reading: Reading) -> None:
        self.source = source
        self.reading = reading
        self._stamp = source.stamp()
        self._report: ReadingReport | None = None

    def __repr__(self) -> str:
        return f"<Traces of {self.source.root.name!r}, {self.format}>"

    @property
    def format(self) -> Format:
        """The format of the source."""
        return self.source.format

    @property
    def report(self) -> ReadingReport:
        """What reading met. Complete after one iteration; asked before, it reads to the end."""
        if self._report is None:
            for _ in self:
                pass
        if self._report is None:
            raise TraceError(f"{self.source.root.name} was not read to its end.")
        return self._report

    def __iter__(self) -> Iterator[Trace]:
        self.check_unchanged()
        tally = Tally()
        for user, raw in self._raw(tally):
            trace = clean(user, raw, self.reading.clock, tally)
            if trace is not None:
                yield trace
        self.check_unchanged()
        self._report = tally.report(self.source.root.name, str(self.format))
        if not self._report.fixes:
            reasons = " ".join(self._report.lines()[1:]) or "It holds no record at all."
            raise TraceError(
                f"None of the {self._report.records} records of {self.source.root.name} is a "
                f"usable fix. {reasons}"
            )

    def one(self) -> Trace:
        """Return the only trace; :class:`TraceError` when the source holds several users."""
        found = iter(self)
        trace = next(found)
        if next(found, None) is not None:
            raise TraceError(
                f"{self.source.root.name} holds the traces of several users. Take them one by one."
            )
        return trace

    def check_unchanged(self) -> None:
        """Raise :class:`TraceError` when a file changed since the source was found."""
        if self.source.stamp() != self._stamp:
            raise TraceError(
                f"{self.source.root.name} changed while it was being read. "
                "Let it come to rest, then read it again."
            )

    def _raw(self, tally: Tally) -> Iterator[tuple[str | None, RawFixes]]:
        if self.format in TABLES:
            with open_table(self.source, self.reading) as table:
                yield from table.users(tally)
            return
        records = _RECORDS[self.format]
        if self.format is Format.GEOJSON:  # users are named inside, in any order
            held: dict[str | None, list[Record]] = {}
            for file in self.source.files:
                for user, record in records(file, self.reading, tally):
                    held.setdefault(user, []).append(record)
            for user in sorted(held, key=_named_last):
                yield user, RawFixes.of(held.pop(user))
            return
        files = sorted(self.source.files, key=lambda file: (_named_last(file.user), file.name))
        for user, owned in groupby(files, key=lambda file: file.user):
            found = (record for file in owned for _, record in records(file, self.reading, tally))
            yield user, RawFixes.of(found)


def read_traces(
    path: str | Path,
    format: str | None = None,
    *,
    columns: Columns | Mapping[str, str] | None = None,
    zone: Zone | None = None,
    user: str | None = None,
    earliest: datetime | None = None,
    latest: datetime = LATEST,
) -> Traces:
    """Open a file or folder of fixes; iterate over the result for one :class:`Trace` per user.

    ``format`` overrides what the name and the content tell (see :class:`Format`). ``columns`` names
    the columns of tables and the properties of GeoJSON. ``zone`` is the zone of clock times that
    carry none: CSV, Parquet, GeoJSON and T-Drive files with such times are refused without it (GPX,
    Geolife and NMEA times are UTC by definition). ``user`` makes everything one user's;
    without it, each file of a folder is its own user unless it names users itself. Times
    before ``earliest`` (unless told the birth of GPS time, 1980-01-06, and for Geolife
    April 2007, when its collection began) or not before ``latest`` are impossible.

    Nothing is read before the first iteration but what tells the format. Raises
    :class:`TraceError` when the source cannot be what it is taken for.
    """
    settled = Columns.of(columns)
    place = None if zone is None else zone_of(zone)
    source = find_source(path, format, user)
    if earliest is None:
        earliest = geolife.FIRST_DAY if source.format is Format.GEOLIFE else EARLIEST
    return Traces(source, Reading(settled, place, ClockRange(earliest, latest), user))


def _named_last(user: str | None) -> tuple[bool, str]:
    return user is not None, user or ""
