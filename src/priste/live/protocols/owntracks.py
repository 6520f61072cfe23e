"""OwnTracks: JSON messages over HTTP or MQTT; only ``_type: location`` is a fix.

Read: ``lat``, ``lon``, ``tst``. Everything else that the app may add (battery, network names,
regions, motion, the time of sending) is never looked at; transitions and waypoints are refused.
Encrypted messages are read with the key of the app (libsodium's secret box: the text of the key
filled up with zero bytes, the nonce before the data). Written: ``_type lat lon tst acc tid``.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from priste.errors import InvalidParameter
from priste.live.point import Point
from priste.live.protocol import Message, Reported
from priste.live.protocols.fields import Unreadable, device_name, from_unix, json_object, made_fix
from priste.traces import Fix

if TYPE_CHECKING:
    from priste.live.addresses import Address

DEFAULT_TOPIC = "owntracks/+/+"
KEY_BYTES = 32

REPLY = b"[]"
"""What a phone gets for a message over HTTP: no commands, no friends."""


def read(message: bytes | str, device: str | None = None, key: bytes | None = None) -> Fix:
    """Return the fix of a location message; ``device`` is whose it is.

    >>> read('{"_type":"location","lat":46.01,"lon":7.05,"tst":1772629200,"SSID":"clinic"}').user
    >>> read('{"_type":"transition","lat":46.01,"lon":7.05,"tst":1772629200}')
    Traceback (most recent call last):
    ...
    priste.live.protocols.fields.Unreadable: an OwnTracks message is not a location
    """
    said = json_object(message)
    if said.get("_type") == "encrypted":
        said = json_object(_decrypted(said.get("data"), key))
    if said.get("_type") != "location":
        raise Unreadable("an OwnTracks message is not a location")
    return made_fix(device, from_unix(said.get("tst")), said.get("lat"), said.get("lon"))


def secret_box_key(secret: str) -> bytes:
    """Return the key of the app's secret; InvalidParameter if the app would refuse it.

    >>> len(secret_box_key("a secret"))
    32
    """
    key = secret.encode()
    if not 0 < len(key) <= KEY_BYTES:
        raise InvalidParameter(
            f"must hold a key of 1 to {KEY_BYTES} bytes",
            parameter="owntracks_key_file",
            got=f"{len(key)}",
        )
    return key.ljust(KEY_BYTES, b"\0")


def _decrypted(data: object, key: bytes | None) -> bytes:
    if key is None:
        raise Unreadable("an OwnTracks message is encrypted, and no key file was given")
    from nacl.exceptions import CryptoError
    from nacl.secret import SecretBox

    try:
        box = base64.b64decode(data if isinstance(data, str) else "", validate=True)
        return bytes(SecretBox(key).decrypt(box))
    except (ValueError, TypeError, CryptoError):
        raise Unreadable("an encrypted OwnTracks message does not fit the key") from None


def read_post(message: Message) -> tuple[Reported]:
    """Return the fix of a POST; user and device are in headers, query or basic authentication."""
    user = message.headers.get("x-limit-u") or message.fields.get("u") or message.user
    device = message.headers.get("x-limit-d") or message.fields.get("d") or ""
    return (
        Reported(
            (f"{user}/{device}", user, device),
            lambda intake: read(message.body, key=intake.key),
        ),
    )


def read_published(topic: str, payload: bytes | str) -> Reported:
    """Return the fix of a message that was published to a topic."""
    names = names_of_topic(topic)
    return Reported(names, lambda intake: read(payload, names[0], intake.key))


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


def request(point: Point, device: str, person: str) -> dict[str, Any]:
    """Return the POST of a released point."""
    headers = {"Content-Type": "application/json", "X-Limit-U": person, "X-Limit-D": device}
    return {"content": write(point), "headers": headers}


def messages(address: Address, person: str, point: Point | None) -> list[tuple[str, bytes]]:
    """Return what is published for a released point."""
    return [] if point is None else [(address.topic or f"owntracks/{person}/priste", write(point))]
