"""OwnTracks Recorder ``.rec``: lines of a UTC time, a kind and a JSON message, split by tabs.

Only messages of type ``location`` are fixes; their time is ``tst``. The first column may be when
the server received the message, which tells when the phone had a network, so it is never copied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, utc_datetime
from priste.traces.formats.contract import TraceFormat, per_file, some_line
from priste.traces.formats.format import Format
from priste.traces.formats.json_values import json_number
from priste.traces.formats.text_lines import lines_of
from priste.traces.options import ReadingOptions
from priste.traces.points import DECIMALS, ReleasedPoints
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile
from priste.traces.zones import instant_of

_COPIED = ("tid",)
"""What else is written: the two letters that stand for the device on a map."""


def records(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield the locations of a file in its order; other messages are counted."""
    for line in lines_of(file.path):
        message = _message(line)
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
    written = 0
    with target.open("w", encoding="utf-8", newline="\n") as out:
        for line in lines_of(file.path):
            message = _message(line)
            if isinstance(message, Problem):
                points.left_out.unreadable += 1
                continue
            time = _time(message)
            point = points.at(file.user, time)
            if point is not None and time is not None:
                more = {name: message[name] for name in message if name in {*_COPIED, *keep}}
                out.write(_line(*point, time, more))
                written += 1
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
    message = {
        **more,
        "_type": "location",
        "lat": round(lat, DECIMALS),
        "lon": round(lon, DECIMALS),
        "tst": time // 1_000_000,
    }
    when = f"{utc_datetime(time):%Y-%m-%dT%H:%M:%SZ}"
    return f"{when}\t{'*':<18}\t{json.dumps(message, separators=(',', ':'))}\n"


def _message(line: bytes | None) -> dict[str, Any] | Problem:
    parts = [] if line is None else line.split(b"\t", 2)
    if len(parts) != 3:
        return Problem.BAD_LINE
    try:
        message = json.loads(parts[2])
    except (ValueError, RecursionError):
        return Problem.BAD_LINE
    if not isinstance(message, dict):
        return Problem.BAD_LINE
    return message if message.get("_type") == "location" else Problem.OTHER_RECORD


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
    told_by="lines of a UTC time, a kind and a message, split by tabs",
    recognises=some_line(re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z\t[^\t]*\t")),
    suffixes=(".rec",),
    users=per_file(records),
    rewrite=rewrite,
    write=write,
    keepable=None,
    user_of_file=_owner,
)
