"""The contract of a trace format: what is written is read again, and damage is counted."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from priste.errors import TraceError
from priste.testing.required import NotConformant, require
from priste.traces import Columns, Fix, Trace, TraceFormat
from priste.traces.cleaning import clean
from priste.traces.formats.contract import Head
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Tally
from priste.traces.sources import Source, SourceFile

DEGREES = 1e-6
"""How far a position may move when it is written and read: a tenth of a metre."""

SECOND = 1_000_000
CUTS = 24
"""At how many places a file is cut short, and damaged."""


def check_trace_format(
    form: TraceFormat, sample: bytes | None = None, expected: Sequence[Trace] = ()
) -> None:
    """Raise NotConformant if a trace format breaks a rule of its contract.

    A format that writes must read again what it wrote: the same users, times to the second,
    positions to a tenth of a metre. One that only reads needs a ``sample`` file and the traces
    ``expected`` of it. Files that are cut short, damaged, empty or something else must be read as
    far as they go, counted, or refused with TraceError; no message may quote them.

    >>> from priste.traces import FORMATS
    >>> check_trace_format(FORMATS["gpx"])
    """
    require(isinstance(form, TraceFormat), "A format must be a TraceFormat.")
    require(form.name.replace("-", "_").isidentifier(), "A format needs a name of plain letters.")
    require(form.recognised_by.strip(), "recognised_by must say what the format is recognised by.")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if sample is None:
            require(
                form.write is not None, "A format that is only read needs a 'sample' to be tried."
            )
            expected = _walks(form)
            sample = _written(form, expected, place)
        require(form.recognises(Head(sample)), "recognises() must know the format's own files.")
        for other in (b"", b"\0\1\2\3" * 64, b"nothing of the kind\n" * 20):
            require(not form.recognises(Head(other)), "recognises() must not take any file.")
        found = _read(form, sample, place)
        _compare(expected, found, form)
        _check_damage(form, sample, place)


def _walks(form: TraceFormat) -> list[Trace]:
    start = datetime(2026, 3, 4, 8, tzinfo=UTC)
    names = ("17", "23") if form.names_users else ("17",)  # some formats number people
    return [
        Trace.of(
            Fix(name, start + timedelta(minutes=k), 46.0 + 0.001 * k, 7.0 + 0.002 * k + 0.1 * n)
            for k in range(8)
        )
        for n, name in enumerate(names)
    ]


def _options() -> ReadingOptions:
    return ReadingOptions(Columns(), UTC, None)


def _written(form: TraceFormat, traces: Sequence[Trace], place: Path) -> bytes:
    path = place / f"written{next(iter(form.suffixes), '.txt')}"
    if form.write is not None:
        form.write(traces, path, _options())
    return path.read_bytes()


def _read(form: TraceFormat, data: bytes, place: Path) -> tuple[list[Trace], Tally]:
    suffix = next(iter((*form.suffixes, *form.other_suffixes)), ".txt")
    path = place / f"17{suffix}"
    path.write_bytes(data)
    user = None if form.names_users else "17"
    source = Source(path, form.name, (SourceFile(path, path.name, user),))
    tally = Tally()
    read = form.users(source, _options(), tally)
    traces = (clean(user, raw, tally) for user, raw in read)
    return [trace for trace in traces if trace is not None], tally


def _compare(expected: Sequence[Trace], read: tuple[list[Trace], Tally], form: TraceFormat) -> None:
    found, _ = read
    names = [trace.user for trace in expected]
    require([trace.user for trace in found] == names, "Users must come back, in order of names.")
    for one, other in zip(expected, found, strict=True):
        require(len(one) == len(other), "Every fix must come back, once.")
        late = np.abs(one.times - other.times).max()
        require(late < SECOND, "Times must come back to the second, as UTC.")
        off = max(np.abs(one.lat - other.lat).max(), np.abs(one.lon - other.lon).max())
        require(off <= DEGREES, "Positions must come back to a tenth of a metre.")


def _check_damage(form: TraceFormat, sample: bytes, place: Path) -> None:
    """Cut and damage the file: only TraceError may be raised, and it must not quote the file."""
    places = np.linspace(0, len(sample) - 1, CUTS).astype(int).tolist()
    damaged = [sample[:at] for at in places]
    damaged += [sample[:at] + b"\xff<;\n" + sample[at + 4 :] for at in places]
    for data in damaged:
        try:
            _read(form, data, place)
        except TraceError as refused:
            quoted = ("46.00" in str(refused)) or ("7.00" in str(refused))
            require(not quoted, "No message may quote a position of the file.")
        except Exception as failure:
            raise NotConformant(
                f"A damaged file must be counted or raise TraceError. Got {type(failure).__name__}."
            ) from failure
