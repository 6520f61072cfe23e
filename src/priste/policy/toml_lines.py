"""The line of each key of a TOML text, for errors."""

from __future__ import annotations

import re

_HEADER = re.compile(r"^\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")

Path = tuple[str, ...]


def lines_of_keys(text: str) -> dict[Path, int]:
    """Return the line (from 1) on which each table and key of a TOML text begins.

    Good enough to point a person at a line: keys inside inline tables and arrays are
    not listed, their enclosing key is.

    >>> lines_of_keys("[map]\\nsouth = 1\\n[events.clinic]\\nformula = 'x'")
    {('map',): 1, ('map', 'south'): 2, ('events', 'clinic'): 3, ('events', 'clinic', 'formula'): 4}
    """
    found: dict[Path, int] = {}
    table: Path = ()
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if fence:
            if fence in line:
                fence = ""
            continue
        if header := _HEADER.match(line):
            table = _parts(header[1])
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault(table + _parts(key[1]), number)
            for mark in ('"""', "'''"):
                if line.count(mark) == 1:
                    fence = mark
    return found


def line_of(path: Path, lines: dict[Path, int]) -> int | None:
    """Return the line of the longest beginning of ``path`` that stands in the text."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


def _parts(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))
