"""NMEA 0183: RMC and GGA sentences of a receiver in, of a released point out.

Read: time, date and position of sentences whose checksum holds and that state a fix. Written: RMC
and GGA without speed, course and altitude; the dilution of precision stands for the accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from typing import Any

from priste.live.point import Point
from priste.live.protocols.fields import Unreadable, made_fix
from priste.traces import Fix, Problem
from priste.traces.formats.nmea import framed, nearest_instant, position, sentence

LONGEST_LINE = 256
"""Bytes of a line; the standard allows 82."""

METRES_PER_HDOP = 5.0
"""What one unit of dilution is commonly taken for, by gpsd and GeoClue among others."""


class Receiver:
    """What one receiver has said so far: dates come from RMC, and GGA alone goes by ``now``."""

    def __init__(self) -> None:
        self._known: datetime | None = None

    def read(self, line: bytes, now: datetime) -> Fix | None:
        """Return the fix of a sentence, or None where it states none; Unreadable if broken.

        >>> now = datetime(2026, 3, 4, 14, 1, tzinfo=UTC)
        >>> point = Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, -7.05, 500.0)
        >>> [Receiver().read(line, now) for line in write(point).splitlines()][0]
        Fix(user=None, time=datetime.datetime(2026, 3, 4, 14, 0, tzinfo=datetime.timezone.utc))
        """
        said = _sentence(line)
        if said is None or not isinstance(said.time, time):
            return None
        if said.msgID == "RMC":
            if said.status != "A" or not isinstance(said.date, date):
                return None
            when = datetime.combine(said.date, said.time, tzinfo=UTC)
        else:
            if str(said.quality) in ("0", ""):
                return None
            when = nearest_instant(said.time, self._known or now)
        if not isinstance(said.lat, float) or not isinstance(said.lon, float):
            return None
        if said.msgID == "RMC" or self._known is not None:
            self._known = when  # without any date the clock is better: a gap may last a day
        return made_fix(None, when, said.lat, said.lon)


def _sentence(line: bytes) -> Any:
    """Return an RMC or GGA sentence as pynmeagps reads it, None for any other."""
    line = line.strip()
    if not line:
        return None
    said = sentence(line) if len(line) <= LONGEST_LINE else Problem.BAD_LINE
    if said is Problem.BAD_LINE:
        raise Unreadable("a line is not an NMEA sentence")
    if said is Problem.BAD_CHECKSUM:
        raise Unreadable("an NMEA sentence does not match its checksum")
    return said if not isinstance(said, Problem) and said.msgID in ("RMC", "GGA") else None


def write(point: Point) -> bytes:
    """Return the two sentences of a released point.

    >>> print(write(
    ...     Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, -7.05, 500.0)
    ... ).decode().replace("\\r", ""), end="")
    $GPRMC,140000.00,A,4600.60000,N,00703.00000,W,,,040326,,,A*4A
    $GPGGA,140000.00,4600.60000,N,00703.00000,W,1,04,99.9,,M,,M,,*76
    """
    at = point.time.astimezone(UTC)
    place = position(point.lat, point.lon, 5)  # five decimals of a minute are 2 cm
    dilution = min(max(point.accuracy / METRES_PER_HDOP, 0.1), 99.9)
    clock = f"{at:%H%M%S}.00"
    said = (
        f"GPRMC,{clock},A,{place},,,{at:%d%m%y},,,A",
        f"GPGGA,{clock},{place},1,04,{dilution:.1f},,M,,M,,",
    )
    return "".join(f"{framed(each)}\r\n" for each in said).encode()


class Conversation:
    """What one client of the server gets: sentences, whatever it says."""

    listening = True

    def greeting(self, latest: Point | None) -> bytes:
        """Return the sentences of the latest release."""
        return b"" if latest is None else write(latest)

    def hear(self, received: bytes, latest: Point | None) -> Iterable[bytes]:
        """Answer nothing."""
        return ()

    def report(self, point: Point) -> bytes:
        """Return the sentences of a release."""
        return write(point)
