"""Traccar, OsmAnd, GPSLogger and PhoneTrack: fields of a query or form, or Traccar's JSON.

Read: ``id`` (or ``deviceid``, ``device``), ``lat``, ``lon`` and ``timestamp`` (or ``time``), or
their like in the JSON of Traccar Client 9. Nothing else of any form is looked at: speed, bearing,
battery, motion, odometer, activity and extras can reveal the place. Written: ``id lat lon timestamp
accuracy`` as a query, or ``lat lon timestamp acc`` as a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from priste.live.point import Point
from priste.live.protocol import Message, Reported
from priste.live.protocols.fields import (
    Unreadable,
    device_name,
    from_iso,
    from_unix,
    json_object,
    made_fix,
)
from priste.traces import Fix

_FIRST_MILLISECONDS = 10**11
"""From here on a timestamp counts milliseconds: in seconds it would be the year 5138."""


def read_query(fields: Mapping[str, str], now: datetime) -> Fix:
    """Return the fix of a query; one without a time is of ``now``.

    >>> from datetime import UTC
    >>> now = datetime(2026, 3, 4, 14, tzinfo=UTC)
    >>> read_query({"id": "7", "lat": "46.01", "lon": "7.05", "batt": "12"}, now).time == now
    True
    """
    device = device_name(fields.get("id") or fields.get("deviceid") or fields.get("device"))
    stated = fields.get("timestamp") or fields.get("time")
    lat, lon = fields.get("lat"), fields.get("lon")
    if lat is None and lon is None and "location" in fields:
        lat, _, lon = fields["location"].partition(",")
    return made_fix(device, now if stated is None else _time(stated), lat, lon)


def read_post(message: Message) -> tuple[Reported]:
    """Return the fix of a request in any of these forms."""
    if message.body.lstrip()[:1] == b"{":
        fix = read_json(message.body)
    else:
        fix = read_query(message.fields, message.now)
    return (Reported((fix.user or "",), lambda _: fix),)


def _time(stated: str) -> datetime:
    try:
        seconds = float(stated)
    except ValueError:
        return from_iso(stated.strip().replace(" ", "T", 1))
    return from_unix(seconds / 1000 if seconds >= _FIRST_MILLISECONDS else seconds)


def read_json(message: bytes | str) -> Fix:
    """Return the fix of a message of Traccar Client 9 or later.

    >>> read_json(
    ...     '{"location":{"timestamp":"2026-03-04T14:00:00.000Z","is_moving":true,"coords":'
    ...     '{"latitude":46.01,"longitude":7.05}},"device_id":"phone"}'
    ... ).user
    'phone'
    """
    said = json_object(message)
    location = said.get("location")
    coords = location.get("coords") if isinstance(location, dict) else None
    if not isinstance(location, dict) or not isinstance(coords, dict):
        raise Unreadable("a Traccar message has no location")
    stated = location.get("timestamp")
    when = from_iso(stated) if isinstance(stated, str) else _milliseconds(stated)
    device = device_name(said.get("device_id"))
    return made_fix(device, when, coords.get("latitude"), coords.get("longitude"))


def _milliseconds(stated: object) -> datetime:
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        raise Unreadable("a message has no time")
    try:
        return from_unix(stated / 1000)
    except OverflowError:
        raise Unreadable("a time is not a number of milliseconds") from None


def write(point: Point, device: str) -> dict[str, str]:
    """Return the query of a released point.

    >>> from datetime import UTC
    >>> write(Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, 7.05, 500.0), "7")
    {'id': '7', 'lat': '46.01', 'lon': '7.05', 'timestamp': '1772632800', 'accuracy': '500'}
    """
    return {
        "id": device,
        "lat": str(point.lat),
        "lon": str(point.lon),
        "timestamp": str(point.seconds),
        "accuracy": str(round(point.accuracy)),
    }


def request(point: Point, device: str, person: str) -> dict[str, Any]:
    """Return the request of a released point to a Traccar server."""
    return {"params": write(point, device)}


def gpslogger_request(point: Point, device: str, person: str) -> dict[str, Any]:
    """Return the form of a released point, as GPSLogger sends it to PhoneTrack."""
    found = write(point, device)
    return {"data": {"lat": found["lat"], "lon": found["lon"], "timestamp": found["timestamp"],
                     "acc": found["accuracy"]}}  # fmt: skip
