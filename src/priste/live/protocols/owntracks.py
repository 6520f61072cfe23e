"""OwnTracks: JSON messages over HTTP or MQTT; only ``_type: location`` is a fix.

Read: ``lat``, ``lon``, ``tst``. Everything else that the app may add (battery, network names,
regions, motion, the time of sending) is never looked at; transitions, waypoints and encrypted
messages are refused. Written: ``_type lat lon tst acc tid``.
"""

from __future__ import annotations

import json

from priste.live.point import Point
from priste.live.protocols.fields import Unreadable, device_name, from_unix, json_object, made_fix
from priste.traces import Fix

REPLY = b"[]"
"""What a phone gets for a message over HTTP: no commands, no friends."""


def read(message: bytes | str, device: str | None = None) -> Fix:
    """Return the fix of a location message; ``device`` is whose it is.

    >>> read('{"_type":"location","lat":46.01,"lon":7.05,"tst":1772629200,"SSID":"clinic"}').user
    >>> read('{"_type":"transition","lat":46.01,"lon":7.05,"tst":1772629200}')
    Traceback (most recent call last):
    ...
    priste.live.protocols.fields.Unreadable: an OwnTracks message is not a location
    """
    said = json_object(message)
    if said.get("_type") != "location":
        raise Unreadable("an OwnTracks message is not a location")
    return made_fix(device, from_unix(said.get("tst")), said.get("lat"), said.get("lon"))


def names_of_topic(topic: str) -> tuple[str, str, str]:
    """Return the names of the device that publishes to ``owntracks/user/device``.

    >>> names_of_topic("owntracks/ada/phone")
    ('ada/phone', 'ada', 'phone')
    """
    parts = topic.split("/")
    if len(parts) != 3 or not all(parts):
        raise Unreadable("a topic is not owntracks/user/device")
    return device_name("/".join(parts[1:])), parts[1], parts[2]


def write(point: Point) -> bytes:
    """Return the message of a released point.

    >>> from datetime import UTC, datetime
    >>> write(Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, 7.05, 500.0)).decode()
    '{"_type":"location","lat":46.01,"lon":7.05,"tst":1772632800,"acc":500,"tid":"da"}'
    """
    message = {
        "_type": "location",
        "lat": point.lat,
        "lon": point.lon,
        "tst": point.seconds,
        "acc": round(point.accuracy),
        "tid": point.person[-2:],
    }
    return json.dumps(message, separators=(",", ":")).encode()
