"""NMEA 0183 logs: RMC, GGA and GLL sentences of one epoch merged into one fix, in UTC.

An epoch is a run of sentences with one time of day. Its position is that of RMC, else GGA, else
GLL; it has none when any of them says that the receiver had no fix. Its date is that of its
RMC or ZDA, else follows from the dated epochs before it (or, at the start of a log, after it)
across midnights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from priste.extras import need
from priste.traces.cleaning import RawFix
from priste.traces.fixes import Trace, microseconds, utc_datetime
from priste.traces.formats.contract import TraceFormat, some_line, text_writer
from priste.traces.formats.text_lines import lines_of
from priste.traces.reading_options import ReadingOptions
from priste.traces.record_problems import Problem, Tally
from priste.traces.sources import SourceFile

_POSITIONED = ("RMC", "GGA", "GLL")
_HALF_DAY = timedelta(hours=12)


@dataclass
class _Epoch:
    """The values of the sentences of one time of day."""

    clock: time
    day: date | None = None
    positions: dict[str, tuple[float, float]] = field(default_factory=dict)
    has_fix: bool = True
    sentences: int = 0

    def position(self) -> tuple[float, float] | None:
        """Return the position of the sentence that is trusted most."""
        return next((self.positions[k] for k in _POSITIONED if k in self.positions), None)


def read(
    file: SourceFile, options: ReadingOptions, tally: Tally
) -> Iterator[tuple[str | None, RawFix]]:
    """Yield one record per epoch; broken, empty and other sentences are counted.

    Sentences are counted, not epochs: the second sentence of an epoch counts as other record.
    """
    for epoch, when in _dated(list(_epochs(file, tally))):
        tally.refuse(Problem.OTHER_RECORD, epoch.sentences - 1)
        if not epoch.has_fix:
            tally.refuse(Problem.NO_FIX)
            continue
        lat, lon = epoch.position() or (None, None)
        yield file.user, RawFix(when, lat, lon)


def checksum(body: bytes) -> int:
    """Return the checksum of what stands between ``$`` and ``*``.

    >>> f"{checksum(b'GPGLL,,,,,,V,N'):02X}"
    '64'
    """
    total = 0
    for byte in body:
        total ^= byte
    return total


def _epochs(file: SourceFile, tally: Tally) -> Iterator[_Epoch]:
    need("traces", "Reading NMEA", "pynmeagps")
    current: _Epoch | None = None
    for line in lines_of(file):
        said = sentence(line)
        if isinstance(said, Problem):
            tally.refuse(said)
            continue
        clock = getattr(said, "time", None)
        if not isinstance(clock, time):
            # A receiver that has not even the time says so in its first sentences.
            tally.refuse(Problem.NO_FIX if said.msgID in _POSITIONED else Problem.OTHER_RECORD)
            continue
        if said.msgID == "ZDA" and (current is None or current.clock != clock):
            tally.refuse(Problem.OTHER_RECORD)
            continue
        if current is None or current.clock != clock or said.msgID in current.positions:
            if current is not None:
                yield current
            current = _Epoch(clock)
        _hear(current, said)
    if current is not None:
        yield current


def _hear(epoch: _Epoch, said: Any) -> None:
    """Add what one sentence says to its epoch."""
    epoch.sentences += 1
    if said.msgID == "ZDA":
        day = _zda_date(said)
        epoch.day = epoch.day or day
        return
    if said.msgID == "RMC" and isinstance(said.date, date):
        epoch.day = said.date
    if said.msgID == "GGA":
        epoch.has_fix &= str(said.quality) not in ("0", "")
    else:
        epoch.has_fix &= said.status == "A"
    if isinstance(said.lat, float) and isinstance(said.lon, float):
        epoch.positions[said.msgID] = (said.lat, said.lon)


def _zda_date(said: Any) -> date | None:
    try:
        return date(int(said.year), int(said.month), int(said.day))
    except (ValueError, TypeError):
        return None


def sentence(line: bytes | None) -> Any:
    """Return a sentence that matters as pynmeagps reads it, or the problem it has."""
    from pynmeagps import VALNONE, NMEAReader, exceptions

    if line is None:
        return Problem.BAD_LINE
    if line.startswith(b"!"):
        return Problem.OTHER_RECORD
    body, star, given = line.removeprefix(b"$").strip().partition(b"*")
    if not line.startswith(b"$") or not star or len(body) < 6:
        return Problem.BAD_LINE
    try:
        matches = checksum(body) == int(given, 16)
    except ValueError:
        return Problem.BAD_LINE
    if not matches:
        return Problem.BAD_CHECKSUM
    if body[2:5] not in (b"RMC", b"GGA", b"GLL", b"ZDA") or body[5:6] != b",":
        return Problem.OTHER_RECORD
    try:
        said = NMEAReader.parse(b"$" + body + b"*" + given + b"\r\n", validate=VALNONE)
    except (
        exceptions.NMEAParseError,
        exceptions.NMEAMessageError,
        exceptions.NMEATypeError,
        ValueError,
        TypeError,
        IndexError,
    ):
        return Problem.BAD_LINE
    return Problem.OTHER_RECORD if said is None else said


def _dated(epochs: list[_Epoch]) -> Iterator[tuple[_Epoch, int | None]]:
    """Yield the epochs with their instants; None for all when the log never states a date."""
    first = next((place for place, epoch in enumerate(epochs) if epoch.day is not None), None)
    if first is None:
        yield from ((epoch, None) for epoch in epochs)
        return
    # Backwards from the first date to the start of the log, then forwards.
    known = _at(epochs[first], epochs[first].day)
    whens: list[datetime | None] = [None] * len(epochs)
    for place in range(first - 1, -1, -1):
        known = nearest_instant(epochs[place].clock, known)
        whens[place] = known
    known = _at(epochs[first], epochs[first].day)
    for place in range(first, len(epochs)):
        epoch = epochs[place]
        known = (
            _at(epoch, epoch.day) if epoch.day is not None else nearest_instant(epoch.clock, known)
        )
        whens[place] = known
    for epoch, when in zip(epochs, whens, strict=True):
        yield epoch, None if when is None else microseconds(when)


def _at(epoch: _Epoch, day: date | None) -> datetime:
    return datetime.combine(day or date.min, epoch.clock, tzinfo=UTC)


def nearest_instant(clock: time, known: datetime) -> datetime:
    """Return the instant with that time of day (UTC) within half a day of a known one."""
    when = datetime.combine(known.astimezone(UTC).date(), clock, tzinfo=UTC)
    if when - known > _HALF_DAY:
        return when - timedelta(days=1)
    if known - when > _HALF_DAY:
        return when + timedelta(days=1)
    return when


def _lines(trace: Trace) -> Iterator[str]:
    """Write RMC sentences without speed and course."""
    for instant, lat, lon in trace.rows():
        at = utc_datetime(instant)
        clock = f"{at:%H%M%S}.{at.microsecond // 1000:03d}"
        yield framed(f"GPRMC,{clock},A,{position(lat, lon, 6)},,,{at:%d%m%y},,,A")


def framed(body: str) -> str:
    """Return a sentence with its checksum, without an end."""
    return f"${body}*{checksum(body.encode()):02X}"


def position(lat: float, lon: float, decimals: int) -> str:
    """Return a position as sentences hold it, in degrees and minutes with so many decimals.

    >>> position(46.01, -7.05, 5)
    '4600.60000,N,00703.00000,W'
    """
    north, east = _minutes(lat, 2, decimals), _minutes(lon, 3, decimals)
    return f"{north},{'S' if lat < 0 else 'N'},{east},{'W' if lon < 0 else 'E'}"


def _minutes(degrees: float, digits: int, decimals: int) -> str:
    unit = 10**decimals
    whole, rest = divmod(round(abs(degrees) * 60 * unit), 60 * unit)
    return f"{whole:0{digits}d}{rest // unit:02d}.{rest % unit:0{decimals}d}"


NMEA = TraceFormat(
    name="nmea",
    recognised_by="lines of NMEA sentences, $GPRMC and the like",
    recognises=some_line(re.compile(rb"[$!][A-Z]{2}[A-Z0-9]{2,4},")),
    suffixes=(".nmea",),
    read=read,
    write=text_writer(_lines, newline="\r\n"),
)
