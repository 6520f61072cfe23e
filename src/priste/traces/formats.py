"""The formats that are read and written, and how a file's format is recognised."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from priste.errors import InvalidParameter, TraceError

HEAD_BYTES = 16_384
"""How much of a file is looked at to recognise it."""


class Format(StrEnum):
    """A format of fixes."""

    CABSPOTTING = "cabspotting"
    CSV = "csv"
    GEOJSON = "geojson"
    GEOLIFE = "geolife"
    GPX = "gpx"
    NMEA = "nmea"
    OWNTRACKS = "owntracks"
    PARQUET = "parquet"
    TDRIVE = "tdrive"


_SUFFIXES = {
    ".csv": Format.CSV,
    ".geojson": Format.GEOJSON,
    ".gpx": Format.GPX,
    ".json": Format.GEOJSON,
    ".nmea": Format.NMEA,
    ".parquet": Format.PARQUET,
    ".plt": Format.GEOLIFE,
    ".pq": Format.PARQUET,
    ".rec": Format.OWNTRACKS,
    ".tsv": Format.CSV,
}
# Lines that look like CSV, but say more than that.
_KINDS_OF_CSV = {Format.TDRIVE}

_DEGREES = rb"-?\d{1,3}(?:\.\d+)?"
_LINES = (
    (Format.GEOLIFE, re.compile(rb"Geolife trajectory\s*$")),
    (Format.NMEA, re.compile(rb"[$!][A-Z]{2}[A-Z0-9]{2,4},")),
    (Format.OWNTRACKS, re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z\t[^\t]*\t")),
    (
        Format.TDRIVE,
        re.compile(
            rb"\d+,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d," + _DEGREES + rb"," + _DEGREES + rb"\s*$"
        ),
    ),
    (
        Format.CABSPOTTING,
        re.compile(_DEGREES + rb" " + _DEGREES + rb" [01] \d{1,10}\s*$"),
    ),
)
_GPX = re.compile(rb"<(?:\w+:)?gpx[\s>]")


def format_named(name: str) -> Format:
    """Return the format of a name such as "gpx".

    >>> format_named("gpx")
    <Format.GPX: 'gpx'>
    """
    try:
        return Format(name)
    except ValueError:
        raise InvalidParameter(
            f"A 'format' must be one of {', '.join(Format)}. Got {name!r:.40}."
        ) from None


def format_of_name(path: Path) -> Format | None:
    """Return the format that a file's name promises, if any.

    >>> format_of_name(Path("walk.GPX"))
    <Format.GPX: 'gpx'>
    """
    return _SUFFIXES.get(path.suffix.lower())


def detect_format(path: Path) -> Format:
    """Return the format of a file by its name and its first bytes, which must agree.

    Raises :class:`TraceError` for an empty file, one that nothing recognises, or one whose name
    promises something else than it holds; ``format=`` overrides.
    """
    head = head_of(path)
    if not head:
        raise TraceError(f"{path.name} is empty: it holds no fix.")
    held, promised = _format_of_content(head), format_of_name(path)
    if held is None and promised is not Format.CSV:
        raise TraceError(
            f"{path.name} looks like none of the formats {', '.join(Format)}. "
            "If it is one of them, say so with format=."
        )
    if held is None or held in _KINDS_OF_CSV:
        if held is None and b"\0" in head:
            raise TraceError(f"{path.name} is named as CSV but is not text.")
        return held or Format.CSV
    if promised is not None and promised is not held:
        raise TraceError(
            f"{path.name} is named as {promised} but looks like {held}. State which with format=."
        )
    return held


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file, without a UTF-8 byte-order mark or leading space."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from None
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def _format_of_content(head: bytes) -> Format | None:
    if head.startswith(b"PAR1"):
        return Format.PARQUET
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", errors="replace").lstrip().encode()
    if head.startswith(b"<"):
        return Format.GPX if _GPX.search(head) else None
    if head.startswith(b"{"):
        return Format.GEOJSON
    lines = head.splitlines()[:20]
    for kind, pattern in _LINES:
        if any(pattern.match(line) for line in lines):
            return kind
    if lines and b"\0" not in head and any(mark in lines[0] for mark in b",;\t|"):
        return Format.CSV
    return None
