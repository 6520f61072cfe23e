"""How a CSV file is written: its delimiter and the names of its columns.

The guess is made by stated rules from the first lines, so that the same file is always read the
same way: the delimiter is the one of ``, ; tab |`` that cuts the first line into most parts (the
first of several), quotes are ``"``, and the first line is a header unless a number stands in it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass

from priste.errors import TraceError
from priste.traces.sources import SourceFile

_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_HEADER = 1_000_000


@dataclass(frozen=True)
class Dialect:
    """The shape of a CSV file; without a header, columns are ``column0``, ``column1``, …"""

    delimiter: str
    has_header: bool
    names: tuple[str, ...]


def dialect_of(file: SourceFile) -> Dialect:
    """Return the dialect of a file; :class:`TraceError` when its first line is no row."""
    with file.open() as opened:
        data = opened.read(_LONGEST_HEADER)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TraceError(f"{file.name} is UTF-16 text", hint="Save it as UTF-8.")
    if b"\0" in data:
        raise TraceError(
            f"{file.name} is not text, so it is not CSV.", hint="Is it the right file?"
        )
    try:
        # The cut may fall inside a character; only whole lines are looked at.
        text = data.decode(
            "utf-8-sig", errors="strict" if len(data) < _LONGEST_HEADER else "ignore"
        )
    except UnicodeDecodeError:
        text = data.decode("utf-8-sig", errors="replace")
    lines = text.splitlines()
    if not text.strip():
        raise TraceError(f"{file.name} is empty: it holds no fix.", hint="Is it the right file?")
    delimiter = max(_DELIMITERS, key=lambda mark: len(_cut(lines, mark)))
    first = _cut(lines, delimiter)
    if len(first) < 3:
        raise TraceError(
            f"The first line of {file.name} is no row of at least a time, a latitude and a "
            "longitude, split by comma, semicolon, tab or bar.",
            hint="Is it the right file?",
        )
    has_header = not any(_is_number(cell) for cell in first)
    names = tuple(first) if has_header else tuple(f"column{i}" for i in range(len(first)))
    return Dialect(delimiter, has_header, names)


def _cut(lines: list[str], delimiter: str) -> list[str]:
    try:
        return next(csv.reader(lines, delimiter=delimiter), [])
    except csv.Error:
        return []


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
