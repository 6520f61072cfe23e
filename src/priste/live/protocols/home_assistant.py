"""Home Assistant: the webhook of a mobile app, and an MQTT device tracker. Written only.

Home Assistant assumes that a person is in a zone if the zone is within the reported accuracy. So an
accuracy of a kilometre would assert that the person is at the clinic. Points for it have an
accuracy of a metre (``Address.shown_here``), so that only the released point decides about zones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from priste.live.point import Point

if TYPE_CHECKING:
    from priste.live.addresses import Address


def write_webhook(point: Point) -> bytes:
    """Return the body of a POST to ``/api/webhook/<id>``.

    >>> from datetime import UTC, datetime
    >>> point = Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, 7.05, 500.0)
    >>> write_webhook(point).decode()
    '{"type":"update_location","data":{"gps":[46.01,7.05],"gps_accuracy":500}}'
    """
    data = {"gps": [point.lat, point.lon], "gps_accuracy": round(point.accuracy)}
    return _compact({"type": "update_location", "data": data})


def attributes_topic(person: str) -> str:
    """Return the topic to which the attributes of a tracker are published."""
    return f"priste/{person}/location"


def write_attributes(point: Point) -> bytes:
    """Return the attributes of an MQTT device tracker: where it is."""
    return _compact(
        {"latitude": point.lat, "longitude": point.lon, "gps_accuracy": round(point.accuracy)}
        | {"released": point.clock}
    )


def write_discovery(person: str) -> tuple[str, bytes]:
    """Return the topic and the message by which Home Assistant learns of the tracker.

    >>> write_discovery("ada")[0]
    'homeassistant/device_tracker/priste_ada/config'
    """
    config = {
        "name": person,
        "unique_id": f"priste_{person}",
        "json_attributes_topic": attributes_topic(person),
        "source_type": "gps",
    }
    return f"homeassistant/device_tracker/priste_{person}/config", _compact(config)


def request(point: Point, device: str, person: str) -> dict[str, Any]:
    """Return the POST of a released point to the webhook."""
    return {"content": write_webhook(point), "headers": {"Content-Type": "application/json"}}


def messages(address: Address, person: str, point: Point | None) -> list[tuple[str, bytes]]:
    """Return what is published for a released point; first how Home Assistant finds it."""
    if point is None:
        return [write_discovery(person)]
    return [(attributes_topic(person), write_attributes(point))]


def _compact(message: Mapping[str, object]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()
