"""Pushing over MQTT: OwnTracks messages, or a device tracker of Home Assistant."""

from __future__ import annotations

from priste.live.addresses import Address
from priste.live.protocols import home_assistant, owntracks
from priste.live.retrying import Line
from priste.live.sinks.outlet import Pushing


def mqtt_outlet(address: Address, person: str) -> Pushing:
    """Return the outlet of an address ``owntracks+mqtt…`` or ``homeassistant+mqtt…``.

    Messages are retained: who connects later gets the latest release, as from a phone.
    """
    for_home_assistant = address.kind.startswith("homeassistant")
    topic = address.path.strip("/") or f"owntracks/{person}/priste"
    if for_home_assistant:
        topic = home_assistant.attributes_topic(person)

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
            if for_home_assistant:
                where, config = home_assistant.write_discovery(person)
                await client.publish(where, config, qos=1, retain=True)
            write = home_assistant.write_attributes if for_home_assistant else owntracks.write
            while True:
                point = await outlet.next()
                await client.publish(topic, write(point), qos=1, retain=True)
                outlet.delivered(point)

    return Pushing(Line(address.shown), session)
