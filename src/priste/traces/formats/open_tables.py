"""Tables of fixes (CSV, Parquet, T-Drive lines), read and sorted by DuckDB out of core.

Memory is bounded by ``MEMORY`` for DuckDB plus the fixes of one user at a time. What does not fit
is spilled to a private folder that is removed afterwards, or by the next command after a crash.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.atomic_files import scratch_folder
from priste.errors import TraceError
from priste.extras import need
from priste.traces.cleaning import RawFixes
from priste.traces.databases import open_database
from priste.traces.formats.csv_dialects import Dialect, dialect_of
from priste.traces.formats.table_queries import (
    FILE_COLUMN,
    Layout,
    csv_source,
    identifier,
    parquet_source,
)
from priste.traces.reading_options import Columns, ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import Source, SourceFile
from priste.traces.zones import UNREADABLE_TIME, instants, zone_needed

MEMORY = "256MB"
_THREADS = 4
_BATCH = 65_536
_TDRIVE_NAMES = ("id", "time", "lon", "lat")
_TDRIVE = Dialect(",", False, _TDRIVE_NAMES)
# Rejected lines of these kinds may have swallowed others: the lines of the file are counted.
_SWALLOWING = ("UNQUOTED VALUE", "LINE SIZE OVER MAXIMUM")


class OpenTable:
    """The files of a source as one table on an open connection."""

    def __init__(
        self, connection: Any, source: Source, reading: ReadingOptions, folder: Path
    ) -> None:
        self._connection = connection
        self._source = source
        self._reading = reading
        self._files = [_readable(file, folder) for file in source.files]
        self._owner = dict(zip(self._files, (f.user for f in source.files), strict=True))
        self._rows_read = 0
        self.layout = self._layout()

    def users(self, tally: Tally) -> Iterator[tuple[str | None, RawFixes]]:
        """Yield the records of each user in the order of the table, users in order of names."""
        layout, (who, whole) = self.layout, self._who()
        time, zoned = layout.time_and_zoned()
        until, until_zoned = layout.time_and_zoned("until")
        lat, lon = layout.degrees("lat"), layout.degrees("lon")
        query = (
            f"SELECT {who} AS u, {time} AS t, {zoned} AS z, {until} AS e, {until_zoned} AS y, "
            f"{lat} AS a, {lon} AS o "
            f"FROM (SELECT *, row_number() OVER () AS n FROM {layout.source})"
        )
        if not whole:
            query += " ORDER BY u, n"
        held: list[tuple[NDArray[Any], ...]] = []
        current: str | None = None
        for batch in self._batches(query):
            names, starts = _stretches(batch.column(0))
            values = [column.to_numpy(zero_copy_only=False) for column in batch.columns[1:]]
            for name, begin, end in zip(names, starts, [*starts[1:], batch.num_rows], strict=True):
                if name != current and held:
                    yield from self._user(current, held, whole, tally)
                    held = []
                current = name
                held.append(tuple(value[begin:end] for value in values))
        if held:
            yield from self._user(current, held, whole, tally)
        tally.refuse(Problem.BAD_LINE, self.bad_lines())

    def texts(self, name: str) -> Iterator[tuple[str | None, str]]:
        """Yield what a column says about each user, as text: every value once, nothing twice."""
        if name not in self.layout.names:
            raise TraceError(
                f"{self._source.root.name} has no column {name!r}",
                hint=f"It has {', '.join(self.layout.names)}.",
            )
        who, whole = self._who()
        query = (
            f"SELECT DISTINCT {who} AS u, trim(CAST({self.layout.raw(name)} AS VARCHAR)) AS v "
            f"FROM {self.layout.source} WHERE nullif(v, '') IS NOT NULL ORDER BY u, v"
        )
        for batch in self._batches(query):
            for user, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if user is not None or whole:
                    yield self._named(user, whole), text

    def _who(self) -> tuple[str, bool]:
        """Return the expression of who a row is of, and whether all rows are of one user."""
        by_column = self.layout.columns.user is not None
        if self._reading.user is not None or (not by_column and len(self._files) == 1):
            return "CAST(NULL AS VARCHAR)", True
        return (self.layout.user() if by_column else identifier(FILE_COLUMN)), False

    def _named(self, who: str | None, whole: bool) -> str | None:
        """Return the name of a user, given what :meth:`_who` says of their rows."""
        if whole:
            return self._source.files[0].user if self._reading.user is None else self._reading.user
        return self._owner[str(who)] if self.layout.columns.user is None else who

    def bad_lines(self) -> int:
        """Return how many lines of CSV could not be read by the one pass that was made."""
        if self.layout.dialect is None:
            return 0
        found = self._connection.execute(
            "SELECT count(DISTINCT (scan_id, file_id, line)), "
            f"count(*) FILTER (CAST(error_type AS VARCHAR) IN {_SWALLOWING}) FROM reject_errors"
        ).fetchone()
        rejected, swallowing = int(found[0]), int(found[1])
        if not swallowing:
            return rejected
        headers = len(self._files) * self.layout.dialect.has_header
        return max(rejected, sum(map(_count_lines, self._source.files)) - headers - self._rows_read)

    def _user(
        self, name: str | None, held: list[tuple[NDArray[Any], ...]], whole: bool, tally: Tally
    ) -> Iterator[tuple[str | None, RawFixes]]:
        clocks, zoned, ends, ends_zoned, lat, lon = (
            np.concatenate(parts) for parts in zip(*held, strict=True)
        )
        held.clear()
        if name is None and not whole:
            tally.refuse(Problem.MISSING_USER, clocks.size)
            return
        name = self._named(name, whole)
        times, exists = self._instants(clocks, zoned.astype(np.bool_), tally)
        until: NDArray[np.int64] | None = None
        if self.layout.columns.until is not None:
            until, ends_exist = self._instants(ends, ends_zoned.astype(np.bool_), Tally())
            until = np.where(ends_exist, until, UNREADABLE_TIME)
        if not exists.all():
            tally.refuse(Problem.NONEXISTENT_TIME, int(np.count_nonzero(~exists)))
            times, lat, lon = times[exists], lat[exists], lon[exists]
            until = None if until is None else until[exists]
        yield name, RawFixes(times, lat, lon, until)

    def _instants(
        self, clocks: NDArray[np.int64], zoned: NDArray[np.bool_], tally: Tally
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        naive = ~zoned & (clocks > UNREADABLE_TIME)
        exists = np.ones(clocks.shape, dtype=np.bool_)
        if not naive.any():
            return clocks, exists
        if self._reading.zone is None:
            where = "T-Drive's taxis drove in Beijing." if self._is("tdrive") else ""
            raise zone_needed(self._source.root.name, where)
        times = clocks.copy()
        times[naive], exists[naive] = instants(clocks[naive], self._reading.zone, tally)
        return times, exists

    def _is(self, kind: str) -> bool:
        return self._source.format == kind

    def _layout(self) -> Layout:
        wanted, what = self._reading.columns, self._source.root.name
        if self._is("parquet"):
            relation = parquet_source(self._files)
            described = self._ask(
                f"DESCRIBE SELECT * EXCLUDE ({identifier(FILE_COLUMN)}) FROM {relation}"
            )
            names = tuple(str(row[0]) for row in described)
            types = tuple(str(row[1]) for row in described)
            points = [name for name, kind in zip(names, types, strict=True) if "GEOMETRY" in kind]
            return Layout(relation, names, types, wanted.found_in(names, what, points), None)
        if self._is("tdrive"):
            dialect, columns = _TDRIVE, Columns("id", "time", "lat", "lon")
        else:
            dialect = self._one_dialect()
            columns = wanted.found_in(dialect.names, what)
        types = ("VARCHAR",) * len(dialect.names)
        relation = csv_source(self._files, dialect)
        return Layout(relation, dialect.names, types, columns, dialect)

    def _one_dialect(self) -> Dialect:
        first, *others = [dialect_of(file) for file in self._source.files]
        for file, other in zip(self._source.files[1:], others, strict=True):
            if (other.delimiter, other.names) != (first.delimiter, first.names):
                raise TraceError(
                    f"{file.name} has other columns than {self._source.files[0].name}",
                    hint="Read files of different columns one by one.",
                )
        return first

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        with _plain_errors(self._source):
            answer: list[tuple[Any, ...]] = self._connection.execute(query).fetchall()
        return answer

    def _batches(self, query: str) -> Iterator[Any]:
        with _plain_errors(self._source):
            for batch in self._connection.sql(query).to_arrow_reader(_BATCH):
                self._rows_read += batch.num_rows
                yield batch


@contextmanager
def open_table(source: Source, reading: ReadingOptions) -> Iterator[OpenTable]:
    """Open the files of a source as one table; what DuckDB spills is removed at the end."""
    need("traces", "Reading tables", "duckdb", "pyarrow")
    with scratch_folder() as folder:
        threads = min(_THREADS, os.cpu_count() or 1)
        connection = open_database(folder, memory=MEMORY, threads=threads)
        try:
            connection.execute("SET TimeZone = 'UTC'")
            yield OpenTable(connection, source, reading, folder)
        finally:
            connection.close()


@contextmanager
def _plain_errors(source: Source) -> Iterator[None]:
    """Turn DuckDB's errors, which may quote lines of the file, into ones that do not."""
    import duckdb
    import pyarrow

    try:
        yield
    except duckdb.OutOfMemoryException:
        raise TraceError(
            f"Sorting {source.root.name} needs more room than the temporary folder has",
            hint="Set TMPDIR to a folder on a larger disk.",
        ) from None
    except (duckdb.Error, pyarrow.ArrowException):
        kind = "Parquet" if source.format == "parquet" else "CSV"
        raise TraceError(
            f"{source.root.name} cannot be read as {kind}: it may have been cut off, mix line "
            "ends, or be something else.",
            hint="Take it from its source again.",
        ) from None


def _readable(file: SourceFile, folder: Path) -> str:
    """Return a name under which DuckDB reads this file, all of it, and no other.

    It takes ``*?[`` for patterns, so such names get a link. A file in an archive is unpacked. And
    behind a byte-order mark it loses every row when the first cell is quoted and holds the
    delimiter (seen with 2.0.0): such a file is copied without the mark.
    """
    name, stand_in = str(file.path.resolve()), folder / f"input-{len(list(folder.iterdir()))}"
    with file.open() as data:
        is_marked = data.read(4) == b'\xef\xbb\xbf"'
        if is_marked or file.member is not None:
            data.seek(3 if is_marked else 0)
            with stand_in.open("wb") as copy:
                shutil.copyfileobj(data, copy)
            return str(stand_in)
    if not any(mark in name for mark in "*?["):
        return name
    stand_in.symlink_to(name)
    return str(stand_in)


def _stretches(users: Any) -> tuple[list[str | None], list[int]]:
    """Return the users of a sorted column, one entry per stretch, and where each begins."""
    encoded = users.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()] if codes.size else []
    known = encoded.dictionary.to_pylist()
    return [None if codes[place] < 0 else known[codes[place]] for place in starts], starts


def _count_lines(file: SourceFile) -> int:
    count, last = 0, b"\n"
    with file.open() as data:
        while chunk := data.read(1 << 20):
            count += chunk.count(b"\n")
            last = chunk[-1:]
    return count + (last != b"\n")
