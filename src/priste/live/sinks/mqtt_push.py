"""Push over MQTT: retained messages, so that a client that connects later gets the latest one.

Messages that are commands to a device are not retained: it would follow them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from priste.live.addresses import Address
from priste.live.point import Point
from priste.live.protocol import Outlet, Sink
from priste.live.retrying import Line
from priste.live.sinks.pushing import Pushing

Messages = Callable[[Address, str, Point | None], Iterable[tuple[str, bytes]]]
"""Returns topics and payloads, given the address, the person and a point.

Without a point it returns what a broker gets once, when the connection is made.
"""


def mqtt_sinks(
    name: str, messages: Messages, more: frozenset[str] = frozenset(), *, retain: bool = True
) -> dict[str, Sink]:
    """Return the sinks NAME+mqtt and NAME+mqtts; ``more`` are options of their own."""

    def outlet(address: Address, person: str) -> Outlet:
        return _outlet(address, person, messages, retain)

    options = frozenset({"password_file", "accuracy"}) | more
    return {
        f"{name}+mqtt": Sink(outlet, 1883, options),
        f"{name}+mqtts": Sink(outlet, 8883, options),
    }


def _outlet(address: Address, person: str, messages: Messages, retain: bool) -> Pushing:
    first = list(messages(address, person, None))

    async def session(outlet: Pushing) -> None:
        import aiomqtt

        async with aiomqtt.Client(**address.broker()) as client:
            outlet.line.state = "connected"
            for where, payload in first:
                await client.publish(where, payload, qos=1, retain=retain)
            while True:
                point = await outlet.next()
                for where, payload in messages(address, person, address.shown_here(point)):
                    await client.publish(where, payload, qos=1, retain=retain)
                outlet.delivered(point)

    return Pushing(Line(address.shown), session)
