"""OwnTracks over MQTT: the messages of one topic of a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from priste.errors import InvalidParameter
from priste.live.addresses import Address
from priste.live.protocols import owntracks
from priste.live.protocols.fields import UNKNOWN_DEVICE, Unreadable
from priste.live.retrying import Line, keep_trying
from priste.live.sources.intake import Intake

if TYPE_CHECKING:
    from priste.live.settings import PersonSettings

MOST_UNREAD = 1_000
"""Messages that may wait to be read; the broker's further ones are dropped."""


def check(address: Address, person: PersonSettings) -> None:
    """Raise InvalidParameter where messages of several devices would be one person's unasked."""
    topic = _topic(address)
    if not person.devices and ("+" in topic or "#" in topic):
        raise InvalidParameter(
            f"The topic of {address.shown} holds the messages of every device of the broker, and "
            f"all of them would count as fixes of {person.name!r}. Name one topic, as "
            "owntracks/USER/DEVICE, or the person's devices, as --device USER/DEVICE."
        )


def _topic(address: Address) -> str:
    return address.path.strip("/") or "owntracks/+/+"


async def run(address: Address, intake: Intake, line: Line) -> None:
    """Read a broker for ever."""

    async def session() -> None:
        import aiomqtt

        async with aiomqtt.Client(
            address.host,
            address.port or 1883,
            username=address.user,
            password=address.password,
            tls_context=address.tls(),
            max_queued_incoming_messages=MOST_UNREAD,
        ) as client:
            await client.subscribe(_topic(address), qos=1)
            line.state = "connected"
            async for message in client.messages:
                try:
                    names = owntracks.names_of_topic(str(message.topic))
                    if not intake.owns(*names):
                        raise Unreadable(UNKNOWN_DEVICE)
                    if not isinstance(message.payload, bytes | str):
                        raise Unreadable("a message is no text")
                    fix = owntracks.read(message.payload, names[0])
                except Unreadable as problem:
                    line.reasons[str(problem)] += 1
                    continue
                line.messages += 1
                await intake.take(fix)

    await keep_trying(line, session)
