"""OwnTracks over MQTT: the messages of one topic of a broker."""

from __future__ import annotations

from priste.live.addresses import Address
from priste.live.protocols import owntracks
from priste.live.protocols.fields import Unreadable
from priste.live.retrying import Line, keep_trying
from priste.live.sources.intake import Intake

MOST_UNREAD = 1_000
"""Messages that may wait to be read; the broker's further ones are dropped."""


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
            await client.subscribe(address.path.strip("/") or "owntracks/+/+", qos=1)
            line.state = "connected"
            async for message in client.messages:
                try:
                    device = owntracks.device_of_topic(str(message.topic))
                    payload = message.payload
                    if not isinstance(payload, bytes | str):
                        raise Unreadable("a message is no text")
                    fix = owntracks.read(payload, device)
                except Unreadable:
                    line.refused += 1
                    continue
                line.messages += 1
                await intake.take(fix)

    await keep_trying(line, session)
