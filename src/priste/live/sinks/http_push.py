"""Pushing over HTTP: OwnTracks servers, Traccar, and Home Assistant's webhook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from priste.live.addresses import Address
from priste.live.point import Point
from priste.live.protocols import home_assistant, osmand, owntracks
from priste.live.retrying import Line
from priste.live.sinks.outlet import Pushing

TIMEOUT = 15.0
"""Seconds for one delivery."""

_JSON = {"Content-Type": "application/json"}


def http_outlet(address: Address, person: str) -> Pushing:
    """Return the outlet of an address ``owntracks+…``, ``osmand+…`` or ``homeassistant+…``."""
    device = address.options.get("device", person)
    requests: dict[str, Callable[[Point], dict[str, Any]]] = {
        "owntracks": lambda point: {
            "content": owntracks.write(point),
            "headers": {**_JSON, "X-Limit-U": person, "X-Limit-D": device},
        },
        "osmand": lambda point: {"params": osmand.write(point, device)},
        "homeassistant": lambda point: {
            "content": home_assistant.write_webhook(point),
            "headers": _JSON,
        },
    }
    made = requests[address.kind.partition("+")[0]]

    async def session(outlet: Pushing) -> None:
        import httpx

        auth = None if address.user is None else (address.user, address.password or "")
        # No proxies or credentials from the environment: a point goes where it was told to.
        async with httpx.AsyncClient(timeout=TIMEOUT, auth=auth, trust_env=False) as client:
            while True:
                point = await outlet.next()
                # The answer's body is not read: servers send commands and other people in it.
                async with client.stream("POST", address.url, **made(point)) as answer:
                    if not answer.is_success:
                        raise ConnectionError("refused")
                outlet.delivered(point)

    return Pushing(Line(address.shown), session)
