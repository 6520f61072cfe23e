"""OwnTracks: the recorder's ``.rec`` files, and messages as JSON.

A ``.rec`` file has lines of a UTC time, a kind and a JSON message, split by tabs. An export is a
list of such messages, or an object with the list under ``data``. Only messages of type ``location``
are fixes; their time is ``tst``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.formats.contract import Head, TraceFormat, some_line, text_writer
from priste.traces.formats.json_documents import json_items, json_number
from priste.traces.formats.text_lines import lines_of
from priste.traces.points import DECIMALS
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import utc_instant

_LINES = some_line(re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z\t[^\t]*\t"))
_TYPE = re.compile(rb'"_type"\s*:\s*"(?:location|transition|waypoint|lwt|card)"')


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the locations of a file in its order; other messages are counted."""
    for message in _messages(file):
        if not isinstance(message, dict):
            tally.refuse(Problem.BAD_LINE)
        elif message.get("_type") != "location":
            tally.refuse(Problem.OTHER_RECORD)
        else:
            lat, lon = (json_number(message.get(name)) for name in ("lat", "lon"))
            yield file.user, RawFix(_time(message.get("tst")), lat, lon)


def _messages(file: SourceFile) -> Iterator[Any]:
    """Yield the messages of a file one by one, however it holds them; None for what is none."""
    with file.open() as opened:
        is_json = Head(opened.read(64)).is_json
    if is_json:
        for place in ("item", "data.item"):
            yield from json_items(file, place)
    else:
        yield from map(_message, lines_of(file))


def _message(line: bytes | None) -> Any:
    parts = [] if line is None else line.split(b"\t", 2)
    try:
        return json.loads(parts[2]) if len(parts) == 3 else None
    except (ValueError, RecursionError):
        return None


def _time(value: object) -> int | None:
    if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
        return None
    return utc_instant(value if isinstance(value, str) else json_number(value))


def _owner(inner: PurePath) -> str | None:
    return inner.with_suffix("").as_posix() if len(inner.parts) == 1 else inner.parent.as_posix()


def _lines(trace: Trace) -> Iterator[str]:
    for time, lat, lon in trace.rows():
        place = {"lat": round(lat, DECIMALS), "lon": round(lon, DECIMALS)}
        message = {"_type": "location", **place, "tst": time // 1_000_000}
        when = f"{utc_datetime(time):%Y-%m-%dT%H:%M:%SZ}"
        yield f"{when}\t{'*':<18}\t{json.dumps(message, separators=(',', ':'))}"


OWNTRACKS = TraceFormat(
    name="owntracks",
    recognised_by="lines of a UTC time, a kind and a message, split by tabs; or JSON with _type",
    recognises=lambda head: _LINES(head) or (head.is_json and _TYPE.search(head.data) is not None),
    suffixes=(".rec",),
    other_suffixes=(".json",),
    read=read,
    write=text_writer(_lines),
    user_of_file=_owner,
)
