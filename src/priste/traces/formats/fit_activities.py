"""FIT, what sports watches record: the position records of an activity, in UTC. It is only read."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from priste.errors import TraceError
from priste.extras import need
from priste.traces.cleaning import RawFix
from priste.traces.fixes import microseconds
from priste.traces.formats.contract import TraceFormat
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile

_DEGREES_PER_SEMICIRCLE = 180.0 / 2**31


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the messages called "record" in their order; the others are counted."""
    need("traces", "Reading FIT files", "fitdecode")
    import fitdecode

    quiet = {
        "error_handling": fitdecode.ErrorHandling.IGNORE,  # it would warn, on stderr
        "check_crc": fitdecode.CrcCheck.READONLY,
    }
    try:
        with file.open() as opened, fitdecode.FitReader(opened, **quiet) as messages:
            for message in messages:
                if message.frame_type != fitdecode.FIT_FRAME_DATA:
                    continue
                if message.name != "record":
                    tally.refuse(Problem.OTHER_RECORD)
                    continue
                lat = _degrees(message.get_value("position_lat", fallback=None))
                lon = _degrees(message.get_value("position_long", fallback=None))
                time = _time(message.get_value("timestamp", fallback=None))
                yield file.user, RawFix(time, lat, lon)
    except (
        fitdecode.FitError, ValueError, KeyError, IndexError, TypeError, struct.error,
        AssertionError, OverflowError, AttributeError,
    ):  # fmt: skip  # what its reader raises on bytes that are none
        raise TraceError(
            f"{file.name} is not a whole FIT file", hint="It may be cut off."
        ) from None


def _degrees(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) * _DEGREES_PER_SEMICIRCLE


def _time(value: Any) -> int | None:
    if not isinstance(value, datetime) or value.tzinfo is None:
        return None
    return microseconds(value)


FIT = TraceFormat(
    name="fit",
    recognised_by="the bytes .FIT in its header",
    recognises=lambda head: head.data[8:12] == b".FIT",
    suffixes=(".fit",),
    read=read,
)
