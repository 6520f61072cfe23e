"""Values of JSON documents that strangers wrote."""

from __future__ import annotations

from priste.errors import TraceError


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
