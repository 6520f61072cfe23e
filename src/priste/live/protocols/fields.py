"""The fields of a message from outside: checked, or refused without being quoted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from priste.errors import PristeError
from priste.traces import Fix

LARGEST_MESSAGE = 65_536
"""Bytes of one message; a location needs a few hundred."""

LARGEST_BATCH = 1_048_576
"""Bytes of a message that holds many fixes, which a phone sends after hours without a network."""

LONGEST_NAME = 128
"""Characters of the name of a device."""

UNKNOWN_DEVICE = "a message is of a device that is not set up here"
"""Why a message is refused that names none of the ``devices`` of a person."""

_LAST_SECOND = 253_402_300_799  # of the year 9999


class Unreadable(PristeError):
    """A message holds no usable fix; the text says why and never what it held."""


def json_object(message: bytes | str, most: int = LARGEST_MESSAGE) -> Mapping[str, Any]:
    """Return a JSON object of at most this many bytes; anything else is Unreadable."""
    if len(message) > most:
        raise Unreadable(f"a message has more than {most} bytes")
    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        raise Unreadable("a message is not JSON") from None
    if not isinstance(found, dict):
        raise Unreadable("a message is not a JSON object")
    return found


def made_fix(device: str | None, time: datetime, lat: object, lon: object) -> Fix:
    """Return the fix at a position in degrees, numbers or text; Unreadable outside the earth."""
    return Fix(device, time, _degrees(lat, 90.0), _degrees(lon, 180.0))


def _degrees(value: object, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Unreadable("a message has no position")
    try:
        degrees = float(value)
    except (ValueError, OverflowError):
        raise Unreadable("a position is not a number") from None
    if not math.isfinite(degrees) or abs(degrees) > most:
        raise Unreadable("a position is not on the earth")
    return degrees


def from_unix(value: object) -> datetime:
    """Return the instant of seconds since 1970, a number or text.

    >>> from_unix("1772629200").isoformat()
    '2026-03-04T13:00:00+00:00'
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise Unreadable("a message has no time")
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        raise Unreadable("a time is not a number of seconds") from None
    if not 0 <= seconds <= _LAST_SECOND:  # false for nan
        raise Unreadable("a time lies outside the years 1970 to 9999")
    return datetime.fromtimestamp(seconds, UTC)


def from_iso(value: object) -> datetime:
    """Return the instant of an ISO 8601 text with its zone.

    >>> from_iso("2026-03-04T14:00:00.000Z").isoformat()
    '2026-03-04T14:00:00+00:00'
    """
    if not isinstance(value, str):
        raise Unreadable("a message has no time")
    try:
        when = datetime.fromisoformat(value)
        if when.tzinfo is None:
            raise Unreadable("a time states no zone")
        return when.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Unreadable("a time is not ISO 8601") from None


def device_name(value: object) -> str:
    """Return a name of a device: short, printable, not empty."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**20 else ""
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME or not value.isprintable():
        raise Unreadable("a message names no device")
    return value
