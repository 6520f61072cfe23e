"""Push over MQTT: retained messages, so that a client that connects later gets the latest one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from priste.live.addresses import Address
from priste.live.point import Point
from priste.live.protocol import Outlet, Sink
from priste.live.retrying import Line
from priste.live.sinks.pushing import Pushing

Messages = Callable[[str, str, Point | None], Iterable[tuple[str, bytes]]]
"""Returns topics and payloads, given the topic of the address, the person and a point.

Without a point it returns what a broker gets once, when the connection is made.
"""


def mqtt_sinks(name: str, messages: Messages) -> dict[str, Sink]:
    """Return the sinks NAME+mqtt and NAME+mqtts."""

    def outlet(address: Address, person: str) -> Outlet:
        return _outlet(address, person, messages)

    options = frozenset({"password_file", "accuracy"})
    return {
        f"{name}+mqtt": Sink(outlet, 1883, options),
        f"{name}+mqtts": Sink(outlet, 8883, options),
    }


def _outlet(address: Address, person: str, messages: Messages) -> Pushing:
    topic = address.path.strip("/")

    async def session(outlet: Pushing) -> None:
        import aiomqtt

        async with aiomqtt.Client(
            address.host,
            address.port or 1883,
            username=address.user,
            password=address.password,
            tls_context=address.tls(),
        ) as client:
            outlet.line.state = "connected"
            for where, payload in messages(topic, person, None):
                await client.publish(where, payload, qos=1, retain=True)
            while True:
                point = await outlet.next()
                for where, payload in messages(topic, person, address.shown_here(point)):
                    await client.publish(where, payload, qos=1, retain=True)
                outlet.delivered(point)

    return Pushing(Line(address.shown), session)
