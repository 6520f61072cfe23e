"""The live protocols: those of this package, and those that others register.

Another package adds one with an entry point of the group ``priste.live`` that names a
:class:`~priste.live.protocol.LiveProtocol`. A word that two protocols claim is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar

from priste.errors import InvalidParameter
from priste.live.protocol import LiveProtocol, Post, Sink, Source
from priste.live.protocols import (
    gpsd,
    home_assistant,
    meshtastic,
    nmea,
    osmand,
    overland,
    owntracks,
)
from priste.live.sinks.http_push import http_sinks
from priste.live.sinks.mqtt_push import mqtt_sinks
from priste.live.sinks.serving import serving_sink
from priste.live.sources.line_sources import read_tcp, read_udp
from priste.live.sources.mqtt_topic import mqtt_sources
from priste.live.sources.replay import play
from priste.registered import Registered

PROTOCOLS = (
    LiveProtocol(
        "owntracks",
        sources=mqtt_sources("owntracks", owntracks.DEFAULT_TOPIC, owntracks.read_published),
        sinks={
            **http_sinks("owntracks", owntracks.request),
            **mqtt_sinks("owntracks", owntracks.messages),
        },
        posts=(
            Post("/owntracks", owntracks.read_post, reply=owntracks.REPLY, forgiving=True),
            Post("/pub", owntracks.read_post, reply=owntracks.REPLY, forgiving=True),
        ),
    ),
    LiveProtocol(
        "overland",
        sinks=http_sinks("overland", overland.request),
        posts=(Post("/overland", overland.read_post, reply=overland.REPLY, forgiving=True),),
    ),
    LiveProtocol(
        "osmand",
        sinks=http_sinks("osmand", osmand.request),
        posts=(
            Post("/osmand", osmand.read_post, ("GET", "POST")),
            Post("/", osmand.read_post, ("GET", "POST")),
        ),
    ),
    LiveProtocol(
        "gpslogger",  # also the form of PhoneTrack, whose path holds a token and the device
        sinks=http_sinks("gpslogger", osmand.gpslogger_request),
        posts=(
            Post("/gpslogger/{device}", osmand.read_post, ("GET", "POST")),
            Post("/log/gpslogger/{token}/{device}", osmand.read_post, ("GET", "POST")),
        ),
    ),
    LiveProtocol(
        "homeassistant",
        sinks={
            **http_sinks("homeassistant", home_assistant.request),
            **mqtt_sinks("homeassistant", home_assistant.messages),
        },
    ),
    LiveProtocol(
        "meshtastic",
        sources=mqtt_sources("meshtastic", meshtastic.DEFAULT_TOPIC, meshtastic.read_published),
        sinks=mqtt_sinks("meshtastic", meshtastic.messages, frozenset({"node"}), retain=False),
    ),
    LiveProtocol(
        "gpsd",
        sources={"gpsd": Source(read_tcp(gpsd.Reader, gpsd.WATCH), 2947)},
        sinks={"gpsd": serving_sink(gpsd.Conversation, 2947)},
    ),
    LiveProtocol(
        "nmea",
        sources={
            "nmea+tcp": Source(read_tcp(nmea.Receiver), 10110),
            "nmea+udp": Source(read_udp(nmea.Receiver), 10110),
        },
        sinks={
            "nmea+tcp": serving_sink(nmea.Conversation, 10110),
            "nmea+unix": serving_sink(nmea.Conversation, None),
        },
    ),
    LiveProtocol(
        "replay", sources={"replay": Source(play, options=frozenset({"speed"}), recorded=True)}
    ),
)

LIVE = Registered("priste.live", LiveProtocol, {each.name: each for each in PROTOCOLS})
"""All protocols by name."""

Way = TypeVar("Way")


@cache
def sources() -> Mapping[str, Source]:
    """Return the ways in by the word that their addresses begin with."""
    return _gathered(lambda protocol: protocol.sources)


@cache
def sinks() -> Mapping[str, Sink]:
    """Return the ways out by the word that their addresses begin with."""
    return _gathered(lambda protocol: protocol.sinks)


@cache
def posts() -> Mapping[str, Post]:
    """Return what phones may post, by its path."""
    return _gathered(lambda protocol: {post.path: post for post in protocol.posts})


def _gathered(ways: Callable[[LiveProtocol], Mapping[str, Way]]) -> Mapping[str, Way]:
    found: dict[str, Way] = {}
    for protocol in LIVE.values():
        for word, way in ways(protocol).items():
            if word in found:
                raise InvalidParameter(
                    f"Two live protocols claim {word!r}; the second is {protocol.name!r}",
                    hint="Remove one of the packages that register them.",
                )
            found[word] = way
    return found
