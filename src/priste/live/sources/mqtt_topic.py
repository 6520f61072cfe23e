"""Read the messages of one topic of an MQTT broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from priste.errors import InvalidParameter
from priste.live.addresses import Address
from priste.live.protocol import Intake, Reported, Source
from priste.live.protocols.fields import UNKNOWN_DEVICE, Unreadable
from priste.live.retrying import Line, keep_trying

if TYPE_CHECKING:
    from priste.live.settings import PersonSettings

MOST_UNREAD = 1_000
"""Messages that may wait to be read; the broker's further ones are dropped."""

Published = Callable[[str, bytes | str], Reported]
"""Reads a message of a topic; Unreadable if it names no device."""


def mqtt_sources(name: str, default: str, read: Published) -> dict[str, Source]:
    """Return the sources NAME+mqtt and NAME+mqtts; ``default`` is the topic of no path."""

    async def run(address: Address, intake: Intake, line: Line) -> None:
        await keep_trying(line, lambda: _session(address, default, read, intake, line))

    def check(address: Address, person: PersonSettings) -> None:
        topic = address.topic or default
        if not person.devices and ("+" in topic or "#" in topic):
            raise InvalidParameter(
                f"The topic of {address.shown} holds the messages of every device of the "
                f"broker, and all of them would count as fixes of {person.name!r}",
                hint="Name one topic, as owntracks/USER/DEVICE, or the person's devices, as "
                "--device USER/DEVICE.",
            )

    options = frozenset({"password_file"})
    return {
        f"{name}+mqtt": Source(run, 1883, options, check=check),
        f"{name}+mqtts": Source(run, 8883, options, check=check),
    }


async def _session(
    address: Address, default: str, read: Published, intake: Intake, line: Line
) -> None:
    import aiomqtt

    async with aiomqtt.Client(
        **address.broker(), max_queued_incoming_messages=MOST_UNREAD
    ) as client:
        await client.subscribe(address.topic or default, qos=1)
        line.state = "connected"
        async for message in client.messages:
            try:
                if not isinstance(message.payload, bytes | str):
                    raise Unreadable("a message is no text")
                reported = read(str(message.topic), message.payload)
                if not intake.owns(*reported.names):
                    raise Unreadable(UNKNOWN_DEVICE)
                fix = reported.fix(intake)
            except Unreadable as problem:
                line.reasons[str(problem)] += 1
                continue
            if await intake.take(fix):
                line.messages += 1
