"""Lines of a text file, however long and broken: no line is held beyond a limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from priste.errors import TraceError

LONGEST_LINE = 1_000_000
"""Bytes; a longer line is no record of any line format and is given back as None."""


def lines_of(path: Path) -> Iterator[bytes | None]:
    """Yield the lines that are not blank, without their ends; None for one that is too long.

    A byte-order mark at the start is dropped.
    """
    try:
        with path.open("rb") as file:
            first = True
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    while line and not line.endswith(b"\n"):
                        line = file.readline(LONGEST_LINE)
                    yield None
                    continue
                text = line.strip(b"\r\n")
                if first:
                    text = text.removeprefix(b"\xef\xbb\xbf")
                first = False
                if text.strip():
                    yield text
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from None
