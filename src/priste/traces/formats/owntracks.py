"""OwnTracks: the recorder's ``.rec`` files, and messages as JSON.

A ``.rec`` file has lines of a UTC time, a kind and a JSON message, split by tabs. An export is a
list of such messages, or an object with the list under ``data``.

Only messages of type ``location`` are fixes; their time is ``tst``. The first column may be when
the server received the message, which tells when the phone had a network, so it is never copied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from priste.errors import TraceError
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.formats.contract import Head, TraceFormat, per_file, some_line
from priste.traces.formats.format import Format
from priste.traces.formats.json_values import ShallowJson, cut_off, json_number
from priste.traces.formats.text_lines import lines_of
from priste.traces.points import DECIMALS, ReleasedPoints
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import instant_of

_LINES = some_line(re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z\t[^\t]*\t"))
_TYPE = re.compile(rb'"_type"\s*:\s*"(?:location|transition|waypoint|lwt|card)"')
_COPIED = ("tid",)
"""What else is written: the two letters that stand for the device on a map."""


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the locations of a file in its order; other messages are counted."""
    for message in _messages(file):
        if isinstance(message, Problem):
            tally.refuse(message)
        else:
            yield file.user, (_time(message), _number(message, "lat"), _number(message, "lon"))


def rewrite(
    file: SourceFile,
    target: Path,
    options: ReadingOptions,
    points: ReleasedPoints,
    keep: Collection[str],
) -> int:
    """Write the locations with released points and no other field but ``tid`` and those kept."""
    written, as_json = 0, _is_json(file.path)
    with target.open("w", encoding="utf-8", newline="\n") as out:
        for message in _messages(file):
            if isinstance(message, Problem):
                points.left_out.unreadable += 1
                continue
            time = _time(message)
            point = points.at(file.user, time)
            if point is not None and time is not None:
                more = {name: message[name] for name in message if name in {*_COPIED, *keep}}
                if as_json:
                    out.write("[\n" if not written else ",\n")
                    out.write(_json(*point, time, more))
                else:
                    out.write(_line(*point, time, more))
                written += 1
        if as_json:
            out.write("\n]\n" if written else "[]\n")
    return written


def write(traces: Iterable[Trace], target: Path, options: ReadingOptions) -> None:
    """Write one trace."""
    with target.open("w", encoding="utf-8", newline="\n") as out:
        for trace in traces:
            rows = zip(trace.lat.tolist(), trace.lon.tolist(), trace.times.tolist(), strict=True)
            out.writelines(_line(lat, lon, time, {}) for lat, lon, time in rows)


def _owner(inner: Path) -> str | None:
    return inner.with_suffix("").as_posix() if inner.parent == Path() else inner.parent.as_posix()


def _line(lat: float, lon: float, time: int, more: dict[str, Any]) -> str:
    when = f"{utc_datetime(time):%Y-%m-%dT%H:%M:%SZ}"
    return f"{when}\t{'*':<18}\t{_json(lat, lon, time, more)}\n"


def _json(lat: float, lon: float, time: int, more: dict[str, Any]) -> str:
    message = {
        **more,
        "_type": "location",
        "lat": round(lat, DECIMALS),
        "lon": round(lon, DECIMALS),
        "tst": time // 1_000_000,
    }
    return json.dumps(message, separators=(",", ":"))


def _is_json(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return Head(file.read(64)).is_json
    except OSError as error:
        raise TraceError(f"{path.name} cannot be read: {error.strerror}.") from None


def _messages(file: SourceFile) -> Iterator[dict[str, Any] | Problem]:
    """Yield the messages of a file one by one, however it holds them; or what is wrong with one."""
    if not _is_json(file.path):
        yield from map(_message, lines_of(file.path))
        return
    import ijson

    for place in ("item", "data.item"):
        with file.path.open("rb") as opened:
            try:
                for message in ijson.items(ShallowJson(opened, file.name), place, use_float=True):
                    yield _location(message)
            except (ijson.JSONError, UnicodeDecodeError, ValueError):
                raise cut_off(file.name) from None


def _location(message: object) -> dict[str, Any] | Problem:
    if not isinstance(message, dict):
        return Problem.BAD_LINE
    return message if message.get("_type") == "location" else Problem.OTHER_RECORD


def _message(line: bytes | None) -> dict[str, Any] | Problem:
    parts = [] if line is None else line.split(b"\t", 2)
    if len(parts) != 3:
        return Problem.BAD_LINE
    try:
        message = json.loads(parts[2])
    except (ValueError, RecursionError):
        return Problem.BAD_LINE
    return _location(message)


def _time(message: dict[str, Any]) -> int | None:
    value = message.get("tst")
    if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
        return None
    time = instant_of(value, None, "an OwnTracks message", Tally())
    return None if isinstance(time, Problem) else time


def _number(message: dict[str, Any], name: str) -> float | None:
    return json_number(message.get(name))


OWNTRACKS = TraceFormat(
    name=Format.OWNTRACKS,
    told_by="lines of a UTC time, a kind and a message, split by tabs; or JSON messages with _type",
    recognises=lambda head: _LINES(head) or (head.is_json and _TYPE.search(head.data) is not None),
    suffixes=(".rec",),
    other_suffixes=(".json",),
    users=per_file(records),
    rewrite=rewrite,
    write=write,
    keepable=None,
    user_of_file=_owner,
)
