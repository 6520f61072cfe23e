"""Untrusted JSON documents, read record by record within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, Any

from priste.errors import TraceError
from priste.extras import need
from priste.traces.sources import SourceFile

DEEPEST = 500
"""How deep JSON may be nested; files of people are below 20. What streams it needs memory with the
square of the depth: at 100,000 brackets, 100 kB of file, four gigabytes."""

MOST_DIGITS = 1_000
"""Digits of one number; no file of fixes has more than 20. The compiled parser of ijson 3.6 ends
the whole process at 4,301, where Python refuses to read an integer (issue of its C backend)."""

_TOO_LONG = re.compile(rb"[0-9]{%d}" % MOST_DIGITS)


def json_number(value: object) -> float | None:
    """Return a number of JSON as a float, inf when it is beyond all floats, None for the rest.

    >>> json_number(7), json_number("7"), json_number(True), json_number(10**400)
    (7.0, None, None, inf)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def json_items(file: SourceFile, prefix: str) -> Iterator[Any]:
    """Yield the values at a place of a file, as ijson names places; numbers are int or Decimal.

    Raises TraceError for what is no JSON to its end, showing nothing of what it holds.
    """
    need("traces", "Reading JSON", "ijson")
    import ijson

    with file.open() as opened:
        if opened.read(3) != b"\xef\xbb\xbf":
            opened.seek(0)
        try:
            yield from ijson.items(BoundedJson(opened, file.name), prefix)
        except (ijson.JSONError, UnicodeDecodeError, ValueError, ArithmeticError):
            raise TraceError(
                f"{file.name} is not JSON to its end", hint="It may have been cut off."
            ) from None


class BoundedJson:
    """A file of JSON to be read in pieces, refused where it is beyond the bounds of this module.

    >>> import io
    >>> BoundedJson(io.BytesIO(b'{"a": "[[[["}'), "a.json").read(100)
    b'{"a": "[[[["}'
    >>> BoundedJson(io.BytesIO(b"[" * 501), "a.json").read(1000)
    Traceback (most recent call last):
    priste.errors.TraceError: a.json is nested deeper than 500. No file of fixes is.
    >>> BoundedJson(io.BytesIO(b"1" * 1000), "a.json").read(1000)
    Traceback (most recent call last):
    priste.errors.TraceError: a.json has a number of 1000 digits or more. No file of fixes has.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._depth = 0
        self._in_text = False
        self._unread = b""  # a backslash at the end of a piece, whose meaning comes with the next
        self._digits = b""  # the end of what was outside texts, in which a number may go on

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes of the file; TraceError once they are beyond a bound."""
        data = self._file.read(size)
        seen = self._unread + data
        slashes = len(seen) - len(seen.rstrip(b"\\"))
        self._unread = b"\\" * (slashes % 2)
        seen = seen[: len(seen) - slashes].replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = seen.split(b'"')  # by turns outside and inside texts
        outside = b'"'.join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        opened = outside.count(b"[") + outside.count(b"{")
        if self._depth + opened > DEEPEST:
            self._check_each(outside)
        self._depth += opened - outside.count(b"]") - outside.count(b"}")
        self._digits += outside
        if _TOO_LONG.search(self._digits):
            raise TraceError(
                f"{self._name} has a number of {MOST_DIGITS} digits or more",
                hint="No file of fixes has.",
            )
        self._digits = self._digits[-MOST_DIGITS:]
        return data

    def _check_each(self, outside: bytes) -> None:
        depth = self._depth
        for sign in outside:
            depth += (sign in b"[{") - (sign in b"]}")
            if depth > DEEPEST:
                raise TraceError(
                    f"{self._name} is nested deeper than {DEEPEST}", hint="No file of fixes is."
                )
