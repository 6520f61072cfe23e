"""gpsd's JSON, as client and as server. A TPV report is a fix; requests begin with "?".

Read: ``time``, ``lat``, ``lon`` of TPV reports with a position (mode 2 or 3). Written: the
greeting, the answers that clients wait for, and TPV with ``mode time lat lon eph`` and a speed that
is always 0 (some clients show "nan" without one). Clients that ask for NMEA get sentences. Speed,
track, altitude, satellites and raw data of the receiver are never passed on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from priste.live.point import Point
from priste.live.protocols import nmea
from priste.live.protocols.fields import Unreadable, from_iso, json_object, made_fix
from priste.traces import Fix

WATCH = b'?WATCH={"enable":true,"json":true}\n'
"""What a client sends to receive fixes."""

DEVICE = "priste"
LONGEST_REQUEST = 1_024
"""Bytes of a request; a client that sends a longer one is disconnected."""

_PROTOCOL = {"proto_major": 3, "proto_minor": 14}
# A body ends itself; a name alone is ended by what cannot belong to it.
_REQUEST = re.compile(rb"\?([A-Z]{1,16})\s*(?:=\s*(\{[^{}]*\})|(?=[;\r\n?])|(?<=[\r\n]))")


def read(line: bytes | str) -> Fix | None:
    """Return the fix of a report, None for one that is no position; Unreadable if it is neither.

    >>> read('{"class":"TPV","mode":3,"time":"2026-03-04T14:00:00.000Z","lat":46.01,"lon":7.05}')
    Fix(user=None, time=datetime.datetime(2026, 3, 4, 14, 0, tzinfo=datetime.timezone.utc))
    >>> read('{"class":"SKY","satellites":[]}')
    """
    said = json_object(line)
    if said.get("class") != "TPV" or said.get("mode") not in (2, 3):
        return None
    if "time" not in said or "lat" not in said or "lon" not in said:
        return None
    return made_fix(None, from_iso(said["time"]), said["lat"], said["lon"])


class Reader:
    """Reads the reports of one gpsd."""

    def read(self, line: bytes, now: datetime) -> Fix | None:
        """Return the fix of a report; see :func:`read`."""
        return read(line)


def greeting() -> bytes:
    """Return what a server says first."""
    return _line({"class": "VERSION", "release": "3.22", "rev": "priste", **_PROTOCOL})


def write(point: Point) -> bytes:
    """Return the TPV report of a released point; its time is the step's.

    >>> from datetime import UTC, datetime
    >>> write(Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, 7.05, 500.0))[15:68]
    b'"device":"priste","mode":2,"time":"2026-03-04T14:00:0'
    """
    return _line(
        {
            "class": "TPV",
            "device": DEVICE,
            "mode": 2,
            "time": point.clock.replace("Z", ".000Z"),
            "lat": point.lat,
            "lon": point.lon,
            "eph": point.accuracy,
            "speed": 0.0,
        }
    )


class Conversation:
    """What one client of the server has asked for; requests may come in pieces and without ends."""

    def __init__(self) -> None:
        self.listening = False
        self._json, self._sentences = True, False
        self._begun = b""

    def greeting(self, latest: Point | None) -> bytes:
        """Return what a server says first."""
        return greeting()

    def report(self, point: Point) -> bytes:
        """Return the report of a release in the forms that the client asked for."""
        return (write(point) if self._json else b"") + (
            nmea.write(point) if self._sentences else b""
        )

    def hear(self, received: bytes, latest: Point | None) -> Iterator[bytes]:
        """Yield the answers to what was received; raise Unreadable for what is no request.

        >>> talk = Conversation()
        >>> [answer[:17] for answer in talk.hear(b'?WATCH={"enable":true', None)]
        []
        >>> [answer[:17] for answer in talk.hear(b'};', None)]
        [b'{"class":"DEVICES', b'{"class":"WATCH",']
        >>> talk.listening
        True
        """
        self._begun += received
        while request := self._next():
            yield from self._answer(request[1].decode("ascii"), request[2], latest)

    def _next(self) -> re.Match[bytes] | None:
        self._begun = self._begun.lstrip(b" \t\r\n;")
        if len(self._begun) > LONGEST_REQUEST or self._begun[:1] not in (b"", b"?"):
            raise Unreadable("a client of the gpsd server sent no request")
        found = _REQUEST.match(self._begun)
        if found is not None:
            self._begun = self._begun[found.end() :]
        return found

    def _answer(self, name: str, body: bytes | None, latest: Point | None) -> Iterator[bytes]:
        if name == "VERSION":
            yield greeting()
        elif name == "DEVICES":
            yield _devices()
        elif name == "DEVICE":
            yield _line({"class": "DEVICE", "path": DEVICE, "driver": "priste"})
        elif name == "WATCH":
            if body is not None:
                self._watch(body)
            yield _devices()
            asked = {"enable": self.listening, "json": self._json, "nmea": self._sentences}
            yield _line({"class": "WATCH", **asked})
            if self.listening and latest is not None:
                yield self.report(latest)
        elif name == "POLL":
            reports = [] if latest is None else [json.loads(write(latest))]
            yield _line({"class": "POLL", "active": 1, "tpv": reports, "sky": []})
        else:
            yield _line({"class": "ERROR", "message": "Unrecognized request"})

    def _watch(self, body: bytes) -> None:
        """Take in what a client wants to receive, and in which form."""
        try:
            said = json_object(body)
        except Unreadable:
            said = {"enable": False}
        self.listening = said.get("enable", True) is not False
        self._sentences = bool(said.get("nmea")) or bool(said.get("raw"))
        self._json = bool(said.get("json", not self._sentences))


def _devices() -> bytes:
    known = {"class": "DEVICE", "path": DEVICE, "driver": "priste", "flags": 1}
    return _line({"class": "DEVICES", "devices": [known]})


def _line(report: dict[str, Any]) -> bytes:
    return json.dumps(report, separators=(",", ":")).encode() + b"\r\n"
