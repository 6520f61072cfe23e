"""The formats that are tables: CSV, Parquet and T-Drive lines, read out of core by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from priste.traces.cleaning import RawFixes
from priste.traces.formats import table_writing
from priste.traces.formats.contract import Head, TraceFormat, some_line
from priste.traces.formats.format import Format
from priste.traces.formats.open_tables import open_table
from priste.traces.points import ReleasedPoints
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Tally
from priste.traces.sources import Source, SourceFile

_DEGREES = rb"-?\d{1,3}(?:\.\d+)?"
_TDRIVE_LINE = re.compile(
    rb"\d+,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d," + _DEGREES + rb"," + _DEGREES + rb"\s*$"
)


def _users(
    source: Source, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFixes]]:
    with open_table(source, options) as table:
        yield from table.users(tally)


def _texts(
    source: Source, options: ReadingOptions, column: str
) -> Iterator[tuple[str | None, str]]:
    with open_table(source, options) as table:
        yield from table.texts(column)


def _named_like(source: Source, options: ReadingOptions) -> ReadingOptions:
    with open_table(source, options) as table:
        return ReadingOptions(table.layout.columns, options.zone, options.clock, options.user)


def _rewrite(
    kind: Format,
    file: SourceFile,
    target: Path,
    options: ReadingOptions,
    points: ReleasedPoints,
    keep: Collection[str],
) -> int:
    alone = Source(file.path, kind, (file,), ())
    return table_writing.rewrite(alone, target, options, points, keep)


def _looks_like_csv(head: Head) -> bool:
    if head.is_xml or head.is_json or b"\0" in head.data:
        return False
    return bool(head.lines) and any(mark in head.lines[0] for mark in b",;\t|")


def _table(kind: Format, **telling: Any) -> TraceFormat:
    """Return the format of a kind of table; ``telling`` is how it is recognised and named."""
    return TraceFormat(
        name=kind,
        users=_users,
        rewrite=partial(_rewrite, kind),
        write=partial(table_writing.write, kind=kind),
        keepable=None,
        one_user=False,
        options_of=_named_like,
        texts=_texts,
        **telling,
    )


CSV = _table(
    Format.CSV,
    told_by="lines of columns split by comma, semicolon, tab or bar",
    recognises=_looks_like_csv,
    suffixes=(".csv", ".tsv"),
)
PARQUET = _table(
    Format.PARQUET,
    told_by="the bytes PAR1",
    recognises=lambda head: head.data.startswith(b"PAR1"),
    suffixes=(".parquet", ".pq"),
)
TDRIVE = _table(
    Format.TDRIVE,
    told_by="lines of number, date and time, longitude, latitude",
    recognises=some_line(_TDRIVE_LINE),
    other_suffixes=(".csv",),
)
