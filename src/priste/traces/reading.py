"""Read any known format, one user at a time, with a report of every problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from priste.errors import TraceError
from priste.traces.cleaning import clean
from priste.traces.fixes import Trace
from priste.traces.formats.known import FORMATS
from priste.traces.formats.table_formats import Tables
from priste.traces.reading_options import Columns, ReadingOptions
from priste.traces.record_problems import ReadingReport, Tally
from priste.traces.source_search import find_source
from priste.traces.sources import Source
from priste.traces.zones import Zone, zone_of


class Traces(Iterable[Trace]):
    """The traces of a source, one per user in the order of their names.

    Each iteration reads the source anew and holds one user at a time (of GeoJSON files, all).
    A source that changes between two readings raises :class:`TraceError`, and so does one
    without a single usable fix.
    """

    def __init__(self, source: Source, reading: ReadingOptions) -> None:
        self.source = source
        self.reading = reading
        self._stamp = source.stamp()
        self._report: ReadingReport | None = None

    def __repr__(self) -> str:
        return f"<Traces of {self.source.root.name!r}, {self.format}>"

    @property
    def format(self) -> str:
        """The name of the format of the source."""
        return self.source.format

    @property
    def report(self) -> ReadingReport:
        """The report of the reading: complete after one iteration. If it is asked for before, the
        source is read to its end."""
        if self._report is None:
            for _ in self:
                pass
        if self._report is None:
            raise TraceError(
                f"{self.source.root.name} was not read to its end.",
                hint="Iterate over all of it first.",
            )
        return self._report

    def know(self, report: ReadingReport) -> None:
        """Take over the report of somebody who read this very source, in another process."""
        self._report = report

    def columns(self) -> Columns:
        """Return which columns of a table hold its fixes; TraceError for what is no table."""
        self.check_unchanged()
        return self._tables("columns that could be named").columns(self.source, self.reading)

    def texts(self, column: str) -> Iterator[tuple[str | None, str]]:
        """Yield what a column of a table says about each user: every value once, as text.

        Raises TraceError where there is no such column, or no table.
        """
        self.check_unchanged()
        yield from self._tables(f"column {column!r}").texts(self.source, self.reading, column)

    def _tables(self, wanted: str) -> Tables:
        tables = FORMATS[self.format].tables
        if tables is None:
            raise TraceError(
                f"{self.source.root.name} is no table, so it has no {wanted}",
                hint="Tables are CSV and Parquet files.",
            )
        return tables

    def __iter__(self) -> Iterator[Trace]:
        self.check_unchanged()
        tally = Tally()
        known = FORMATS[self.format]
        for user, raw in known.users(self.source, self.reading, tally):
            trace = clean(user, raw, tally, known.earliest)
            if trace is not None:
                yield trace
        self.check_unchanged()
        self._report = tally.report(self.source.root.name, self.format, self.source.owners)
        if not self._report.fixes:
            raise TraceError(_no_fix(self._report), hint="Is it the right file?")

    def one(self) -> Trace:
        """Return the only trace; :class:`TraceError` when the source holds several users."""
        found = iter(self)
        trace = next(found)
        if next(found, None) is not None:
            raise TraceError(
                f"{self.source.root.name} holds the traces of several users",
                hint="Give a file of one of them.",
            )
        return trace

    def check_unchanged(self) -> None:
        """Raise :class:`TraceError` when a file changed since the source was found."""
        if self.source.stamp() != self._stamp:
            raise TraceError(
                f"{self.source.root.name} changed while it was being read",
                hint="Let it come to rest, then read it again.",
            )


def _no_fix(report: ReadingReport) -> str:
    """Say that a source holds no usable fix, and why."""
    if not report.records:
        return f"{report.source} holds no record at all."
    reasons = " ".join(line for line in report.lines()[1:] if line != report.owners)
    if report.records == 1:
        return f"The only record of {report.source} is no usable fix. {reasons}"
    return f"None of the {report.records} records of {report.source} is a usable fix. {reasons}"


def read_traces(
    path: str | Path,
    format: str | None = None,
    *,
    columns: Columns | Mapping[str, str] | None = None,
    zone: Zone | None = None,
    user: str | None = None,
) -> Traces:
    """Open a file, folder or zip archive of fixes; iterate for one :class:`Trace` per user.

    ``format`` overrides what the name and the content tell. ``columns`` names the columns of tables
    and the properties of GeoJSON. ``zone`` is the zone of clock times that carry none: CSV,
    Parquet, GeoJSON and T-Drive files with such times are refused without it (GPX, Geolife and NMEA
    times are UTC by definition). ``user`` makes everything one user's; without it, each file of a
    folder is its own user unless it names users itself, or all are named by dates
    (:mod:`priste.traces.file_owners`); ``report.owners`` says which. Times before the beginning of
    GPS time, 1980-01-06 (of Geolife before April 2007, when its collection began), or after 2099
    are impossible.

    Nothing is read before the first iteration but what tells the format. Raises :class:`TraceError`
    if the source does not have its stated or recognised format.
    """
    settled = Columns.of(columns)
    place = None if zone is None else zone_of(zone)
    source = find_source(path, format, user)
    return Traces(source, ReadingOptions(settled, place, user))
