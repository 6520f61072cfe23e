"""JSON documents that strangers wrote: their values, and how deep they may be nested."""

from __future__ import annotations

from typing import BinaryIO

from priste.errors import TraceError

DEEPEST = 500
"""How deep JSON may be nested; files of people are below 20. What streams it needs memory with the
square of the depth: at 100,000 brackets, 100 kB of file, four gigabytes."""


def json_number(value: object) -> float | None:
    """Return a number of JSON as a float, inf when it is beyond all floats, None for the rest.

    >>> json_number(7), json_number("7"), json_number(True), json_number(10**400)
    (7.0, None, None, inf)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def cut_off(name: str) -> TraceError:
    """Return the error for a file that stops being JSON, showing nothing of what it holds."""
    return TraceError(f"{name} is not JSON to its end. It may have been cut off.")


class ShallowJson:
    """A file of JSON to be read in pieces, refused where it is nested deeper than ``DEEPEST``.

    >>> import io
    >>> ShallowJson(io.BytesIO(b'{"a": "[[[["}'), "a.json").read(100)
    b'{"a": "[[[["}'
    >>> ShallowJson(io.BytesIO(b"[" * 501), "a.json").read(1000)
    Traceback (most recent call last):
    priste.errors.TraceError: a.json is nested deeper than 500. No file of fixes is.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._depth = 0
        self._in_text = False
        self._unread = b""  # a backslash at the end of a piece, whose meaning comes with the next

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes of the file; TraceError once they are too deep."""
        data = self._file.read(size)
        seen = self._unread + data
        slashes = len(seen) - len(seen.rstrip(b"\\"))
        self._unread = b"\\" * (slashes % 2)
        seen = seen[: len(seen) - slashes].replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = seen.split(b'"')  # by turns outside and inside texts
        outside = b"".join(parts[self._in_text :: 2])
        self._in_text ^= len(parts) % 2 == 0
        opened = outside.count(b"[") + outside.count(b"{")
        if self._depth + opened > DEEPEST:
            self._check_each(outside)
        self._depth += opened - outside.count(b"]") - outside.count(b"}")
        return data

    def _check_each(self, outside: bytes) -> None:
        depth = self._depth
        for sign in outside:
            depth += (sign in b"[{") - (sign in b"]}")
            if depth > DEEPEST:
                raise TraceError(
                    f"{self._name} is nested deeper than {DEEPEST}. No file of fixes is."
                )
