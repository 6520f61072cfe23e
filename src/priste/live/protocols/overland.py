"""Overland: batches of GeoJSON features, as the app of that name and several servers speak them.

Read: the position, ``timestamp`` and ``device_id`` of each feature. Motion, speed, altitude,
battery, Wi-Fi and the trip are never looked at. Written: one feature with ``timestamp``,
``device_id`` and ``horizontal_accuracy``.
"""

from __future__ import annotations

import json
from typing import Any

from priste.live.point import Point
from priste.live.protocol import Message, Reported
from priste.live.protocols.fields import (
    LARGEST_BATCH,
    Unreadable,
    device_name,
    from_iso,
    json_object,
    made_fix,
)
from priste.traces import Fix

REPLY = b'{"result":"ok"}'
"""What the app waits for before it forgets a batch."""


def read_post(message: Message) -> list[Reported]:
    """Return the fixes of a batch; Unreadable if it is none."""
    features = json_object(message.body, LARGEST_BATCH).get("locations")
    if not isinstance(features, list):
        raise Unreadable("an Overland message has no locations")
    return [_reported(feature, message) for feature in features]


def _reported(feature: object, message: Message) -> Reported:
    properties = feature.get("properties") if isinstance(feature, dict) else None
    named = properties.get("device_id") if isinstance(properties, dict) else None
    name = message.fields.get("device_id") or named
    known = (name,) if isinstance(name, str) else ("",)
    return Reported(known, lambda _: read(feature))


def read(feature: object) -> Fix:
    """Return the fix of one feature.

    >>> read({"type": "Feature", "geometry": {"type": "Point", "coordinates": [7.05, 46.01]},
    ...       "properties": {"timestamp": "2026-03-04T14:00:00Z", "motion": ["driving"]}}).time
    datetime.datetime(2026, 3, 4, 14, 0, tzinfo=datetime.timezone.utc)
    """
    geometry = feature.get("geometry") if isinstance(feature, dict) else None
    properties = feature.get("properties") if isinstance(feature, dict) else None
    if not isinstance(geometry, dict) or not isinstance(properties, dict):
        raise Unreadable("an Overland location is not a feature")
    place = geometry.get("coordinates")
    if not isinstance(place, list) or len(place) < 2:
        raise Unreadable("a message has no position")
    named = properties.get("device_id")
    device = device_name(named) if named else None
    return made_fix(device, from_iso(properties.get("timestamp")), place[1], place[0])


def write(point: Point, device: str) -> bytes:
    """Return the batch of one released point.

    >>> from datetime import UTC, datetime
    >>> point = Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, 7.05, 500.0)
    >>> json.loads(write(point, "phone"))["locations"][0]["properties"]["timestamp"]
    '2026-03-04T14:00:00Z'
    """
    feature = {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [point.lon, point.lat]},
        "properties": {
            "timestamp": point.clock,
            "horizontal_accuracy": round(point.accuracy),
            "device_id": device,
        },
    }
    return json.dumps({"locations": [feature]}, separators=(",", ":")).encode()


def request(point: Point, device: str, person: str) -> dict[str, Any]:
    """Return the POST of a released point."""
    return {"content": write(point, device), "headers": {"Content-Type": "application/json"}}
