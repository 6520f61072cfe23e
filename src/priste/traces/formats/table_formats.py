"""The formats that are tables: CSV, Parquet and T-Drive lines, read out of core by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from priste.traces.cleaning import RawFixes
from priste.traces.formats import table_writing
from priste.traces.formats.contract import Head, TraceFormat, some_line
from priste.traces.formats.open_tables import open_table
from priste.traces.reading_options import Columns, ReadingOptions
from priste.traces.record_problems import Tally
from priste.traces.sources import Source

_DEGREES = rb"-?\d{1,3}(?:\.\d+)?"
_TDRIVE_LINE = re.compile(
    rb"\d+,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d," + _DEGREES + rb"," + _DEGREES + rb"\s*$"
)


class Tables:
    """How a format is read whose files are one table with columns."""

    def users(
        self, source: Source, options: ReadingOptions, tally: Tally
    ) -> Iterator[tuple[str | None, RawFixes]]:
        """Yield each user of a source once, in the order of names."""
        with open_table(source, options) as table:
            yield from table.users(tally)

    def columns(self, source: Source, options: ReadingOptions) -> Columns:
        """Return which columns of the source hold its fixes."""
        with open_table(source, options) as table:
            return table.layout.columns

    def texts(
        self, source: Source, options: ReadingOptions, column: str
    ) -> Iterator[tuple[str | None, str]]:
        """Yield what a column says about each user, every value once."""
        with open_table(source, options) as table:
            yield from table.texts(column)


def _looks_like_csv(head: Head) -> bool:
    if head.is_xml or head.is_json or b"\0" in head.data:
        return False
    return bool(head.lines) and any(mark in head.lines[0] for mark in b",;\t|")


def _table(name: str, **telling: Any) -> TraceFormat:
    """Return the format of a kind of table; ``telling`` is how it is recognised and named."""
    write = partial(table_writing.write, kind=name)
    return TraceFormat(name=name, tables=Tables(), write=write, names_users=True, **telling)


CSV = _table(
    "csv",
    recognised_by="lines of columns split by comma, semicolon, tab or bar",
    recognises=_looks_like_csv,
    suffixes=(".csv", ".tsv"),
)
PARQUET = _table(
    "parquet",
    recognised_by="the bytes PAR1",
    recognises=lambda head: head.data.startswith(b"PAR1"),
    suffixes=(".parquet", ".pq", ".geoparquet"),
)
TDRIVE = _table(
    "tdrive",
    recognised_by="lines of number, date and time, longitude, latitude",
    recognises=some_line(_TDRIVE_LINE),
    other_suffixes=(".csv",),
)
