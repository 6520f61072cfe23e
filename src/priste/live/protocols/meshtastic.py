"""Meshtastic over MQTT, in the JSON of its firmware: positions of nodes in, a node's position out.

Read: ``latitude_i``, ``longitude_i`` and the time of messages of the type ``position``, and the
node they are from. Altitude, speed, track, satellites and signal strengths are never looked at.
Written: ``sendposition`` with latitude, longitude and time, which the node of the address sends to
its mesh as its own position.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from priste.errors import InvalidParameter
from priste.live.point import Point
from priste.live.protocol import Reported
from priste.live.protocols.fields import Unreadable, from_unix, json_object, made_fix
from priste.traces import Fix

if TYPE_CHECKING:
    from priste.live.addresses import Address

DEFAULT_TOPIC = "msh/+/2/json/+/+"
SENDING_TOPIC = "msh/2/json/mqtt"
"""Nodes take messages only on a channel that is called "mqtt"."""

_PER_DEGREE = 1e7
_MOST_NODE = 0xFFFFFFFF


def read_published(topic: str, payload: bytes | str) -> Reported:
    """Return the fix of a message; its device is ``!`` and eight digits, as apps show a node.

    >>> read_published("msh/2/json/LongFast/!a", b'{"from":2130636288}').names
    ('!7efeee00', '2130636288')
    """
    said = json_object(payload)
    node = said.get("from")
    if type(node) is not int or not 0 <= node <= _MOST_NODE:
        raise Unreadable("a Meshtastic message names no node")
    name = f"!{node:08x}"
    return Reported((name, str(node)), lambda _: _fix(said, name))


def _fix(said: Mapping[str, Any], name: str) -> Fix:
    position = said.get("payload")
    if said.get("type") != "position" or not isinstance(position, dict):
        raise Unreadable("a Meshtastic message is not a position")
    # Of the fix, of the node when it sent it, of the node that received it.
    time = position.get("timestamp") or position.get("time") or said.get("timestamp")
    lat, lon = position.get("latitude_i"), position.get("longitude_i")
    if type(lat) is not int or type(lon) is not int or (lat, lon) == (0, 0):
        raise Unreadable("a message has no position")
    return made_fix(name, from_unix(time), lat / _PER_DEGREE, lon / _PER_DEGREE)


def read_node(text: str) -> int:
    """Return the number of a node, as ``!7efeee00`` or in decimals.

    >>> read_node("!7efeee00")
    2130636288
    """
    try:
        node = int(text[1:], 16) if text.startswith("!") else int(text)
    except ValueError:
        node = -1
    if not 0 <= node <= _MOST_NODE:
        raise InvalidParameter(
            "must be a node, as !7efeee00", parameter="node", owner="--out", value=text
        )
    return node


def write(point: Point, node: int) -> bytes:
    """Return the message that makes a node send a released point to its mesh.

    >>> from datetime import UTC, datetime
    >>> write(Point("ada", 3, datetime(2026, 3, 4, 14, tzinfo=UTC), 46.01, 7.05, 500.0), 7)[:52]
    b'{"from":7,"type":"sendposition","payload":{"latitude'
    """
    lat, lon = round(point.lat * _PER_DEGREE), round(point.lon * _PER_DEGREE)
    place = {"latitude_i": lat, "longitude_i": lon}
    message = {"from": node, "type": "sendposition", "payload": {**place, "time": point.seconds}}
    return json.dumps(message, separators=(",", ":")).encode()


def messages(address: Address, person: str, point: Point | None) -> list[tuple[str, bytes]]:
    """Return what is published for a released point; InvalidParameter without a node."""
    node = read_node(address.options.get("node", ""))
    topic = f"{address.topic or SENDING_TOPIC}/!{node:08x}"
    return [] if point is None else [(topic, write(point, node))]
