"""Lines of a text file, with a limit on the length of a line."""

from __future__ import annotations

from collections.abc import Iterator

from priste.traces.sources import SourceFile

LONGEST_LINE = 1_000_000
"""Bytes; a longer line is no record of any line format and is given back as None."""


def lines_of(file: SourceFile) -> Iterator[bytes | None]:
    """Yield the lines that are not blank, without their ends; None for one that is too long.

    A byte-order mark at the start is dropped.
    """
    with file.open() as opened:
        first = True
        while line := opened.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                while line and not line.endswith(b"\n"):
                    line = opened.readline(LONGEST_LINE)
                yield None
                continue
            text = line.strip(b"\r\n")
            if first:
                text = text.removeprefix(b"\xef\xbb\xbf")
            first = False
            if text.strip():
                yield text
