"""Where fixes come from and releases go to, written as one address each.

Local by default: to listen, or to fetch true locations, beyond this machine needs ``expose``.
Whatever crosses a network needs TLS and, over MQTT, credentials. Passwords and tokens are in files.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import math
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from priste.errors import InvalidParameter
from priste.live.point import LEAST_ACCURACY, Point

if TYPE_CHECKING:
    from priste.live.protocol import Sink, Source

SECRETS = {
    "bearer_file": "the token is sent as 'Authorization: Bearer'",
    "x_api_token_file": "the token is sent as 'X-API-Token'",
    "api_key_file": "the token is sent as the query 'api_key'",
    "token_file": "the token is sent as the query 'token'",
}
"""Options of an address that name a file with the token of a server."""

_SECRET_NAMES = {"api_key", "token", "key", "secret", "password", "access_token"}
_QUERY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")


class Reach(StrEnum):
    """How far beyond this machine addresses may go."""

    HERE = "here"
    EXPOSED = "expose"
    PLAIN = "plain_lan"
    """As exposed, and without encryption in a local network, where others can read the messages."""


@dataclass(frozen=True)
class Address:
    """One source or sink. ``repr`` and :attr:`shown` hold no password, path or query."""

    kind: str
    host: str
    port: int | None
    path: str = field(repr=False)
    user: str | None = field(repr=False)
    password: str | None = field(repr=False)
    options: dict[str, str] = field(repr=False, default_factory=dict)
    query: dict[str, str] = field(repr=False, default_factory=dict)
    secrets: dict[str, str] = field(repr=False, default_factory=dict)
    recorded: bool = False
    """Whether its fixes are recorded ones, whose own times are the clock."""

    @property
    def shown(self) -> str:
        """The address as logs may contain it: without path, because a webhook's path is a
        secret."""
        return f"{self.kind}://{self.host}:{self.port}" if self.host else f"{self.kind}:"

    @property
    def secure(self) -> bool:
        """Whether the protocol is one over TLS."""
        return self.kind.endswith(("mqtts", "https"))

    @property
    def url(self) -> str:
        """The address of an HTTP server, without credentials."""
        scheme = "https" if self.secure else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}{self.path or '/'}"

    @property
    def topic(self) -> str:
        """The topic of an MQTT address; empty where it names none."""
        return self.path.strip("/")

    @property
    def home_assistant(self) -> bool:
        """Whether Home Assistant may be at the other end, which widens zones by the accuracy.

        It also reads the topics of OwnTracks.
        """
        if self.kind.startswith("owntracks+mqtt"):
            return not self.topic or self.topic.startswith("owntracks/")
        return self.kind.startswith("homeassistant+") or self.path.startswith("/api/webhook/")

    def shown_here(self, point: Point) -> Point:
        """Return a point with an accuracy of at most what is meant for the other end."""
        stated = self.options.get("accuracy")
        most = float(stated) if stated else LEAST_ACCURACY if self.home_assistant else math.inf
        return dataclasses.replace(point, accuracy=min(point.accuracy, most))

    def secret_query(self) -> dict[str, str]:
        """Return the parameters that the server is sent with every request, tokens included."""
        named = {"api_key_file": "api_key", "token_file": "token"}
        tokens = {named[option]: self.secrets[option] for option in named if option in self.secrets}
        return {**self.query, **tokens}

    def secret_headers(self) -> dict[str, str]:
        """Return the headers that carry tokens."""
        found = {}
        if "bearer_file" in self.secrets:
            found["Authorization"] = f"Bearer {self.secrets['bearer_file']}"
        if "x_api_token_file" in self.secrets:
            found["X-API-Token"] = self.secrets["x_api_token_file"]
        return found

    def broker(self) -> dict[str, Any]:
        """Return how to connect to an MQTT broker, as arguments of aiomqtt."""
        return {
            "hostname": self.host,
            "port": self.port or 1883,
            "username": self.user,
            "password": self.password,
            "tls_context": self.tls(),
        }

    def tls(self) -> ssl.SSLContext | None:
        """Return how to check the other side; None without TLS."""
        return ssl.create_default_context() if self.secure else None


def read_input(text: str, *, reach: Reach = Reach.HERE, folder: Path = Path()) -> Address:
    """Read the address of a source.

    >>> read_input("gpsd://127.0.0.1").port
    2947
    >>> read_input("gpsd://example.org")
    Traceback (most recent call last):
    ...
    priste.errors.InvalidParameter: gpsd://example.org:2947 is not on this machine...
    """
    from priste.live.protocol_table import sources

    address = _read(text, sources(), "--in", folder)
    _check_reach(address, reach)
    return address


def read_output(text: str, *, reach: Reach = Reach.HERE, folder: Path = Path()) -> Address:
    """Read the address of a sink; see :func:`read_input`."""
    from priste.live.protocol_table import sinks

    address = _read(text, sinks(), "--out", folder)
    _check_reach(address, reach)
    return address


def is_local_network(host: str) -> bool:
    """Return whether the name of a host is of a local network; nothing is looked up.

    >>> is_local_network("192.168.1.7"), is_local_network("ha.local"), is_local_network("8.8.8.8")
    (True, True, False)
    """
    try:
        found = ipaddress.ip_address(host)
        return found.is_private and not found.is_unspecified
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".home.arpa"))


def is_loopback(host: str) -> bool:
    """Return whether the name of a host is this machine; nothing is looked up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read(text: str, ways: Mapping[str, Source | Sink], option: str, folder: Path) -> Address:
    kind, _, _ = text.partition(":")
    if kind not in ways:
        raise InvalidParameter(
            f"must begin with one of {', '.join(sorted(ways))}",
            parameter="address",
            owner=option,
            value=kind[:40],
        )
    way = ways[kind]
    try:
        parts = urlsplit(text, allow_fragments=False)  # '#' belongs to topics
        port = parts.port
        asked = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        raise InvalidParameter(
            f"must be written as {kind}://HOST:PORT/PATH", parameter="address", owner=option
        ) from None
    options = {name: value for name, value in asked.items() if name in way.options}
    query = {name: value for name, value in asked.items() if name not in way.options}
    _check_query(query, kind, way, option)
    _check_accuracy(options)
    has_host, path = way.port is not None, unquote(parts.path)
    if has_host and not parts.hostname:
        raise InvalidParameter(
            f"needs a host: {kind}://HOST:PORT", parameter="address", owner=option
        )
    if not has_host and (parts.hostname or not path):
        raise InvalidParameter(f"needs a path: {kind}:///PATH", parameter="address", owner=option)
    password = None if parts.password is None else unquote(parts.password)
    if "password_file" in options:
        password = secret_from(folder / options["password_file"])
    return Address(
        kind=kind,
        host=parts.hostname or "",
        port=port if port is not None else way.port,
        path=path,
        user=None if parts.username is None else unquote(parts.username),
        password=password,
        options=options,
        query=query,
        secrets={name: secret_from(folder / options[name]) for name in SECRETS if name in options},
        recorded=getattr(way, "recorded", False),
    )


def _check_query(query: dict[str, str], kind: str, way: Source | Sink, option: str) -> None:
    """Refuse unknown parameters, and secrets, which do not belong on command lines."""
    for name in sorted(query):
        if not getattr(way, "queries", False) or not _QUERY_NAME.fullmatch(name):
            raise InvalidParameter(
                f"takes no {name[:40]!r} with {kind}; options are "
                f"{', '.join(sorted(way.options)) or 'none'}",
                parameter="address",
                owner=option,
            )
        if name.lower() in _SECRET_NAMES:
            raise InvalidParameter(
                f"The {name!r} of a {kind} address is a secret, and others can see the command "
                "line",
                hint=f"Put it in a file of yours alone and name that: {name}_file=PATH, one of "
                f"{', '.join(SECRETS)}.",
            )


def _check_accuracy(options: Mapping[str, str]) -> None:
    try:
        if 0 < float(options.get("accuracy", 1)) < 1e7:  # false for nan
            return
    except ValueError:
        pass
    raise InvalidParameter(
        "must be metres > 0", parameter="accuracy", owner="--out", value=options["accuracy"]
    )


def secret_from(path: Path) -> str:
    """Return the one line of a file that holds a secret."""
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidParameter(
            f"cannot be read: {problem}", parameter=str(path), owner="secrets"
        ) from problem
    if not found or "\n" in found:
        raise InvalidParameter(
            "must hold one line, the secret", parameter=str(path), owner="secrets"
        )
    return found


def _check_reach(address: Address, reach: Reach) -> None:
    if not address.host or is_loopback(address.host):
        return
    if reach is Reach.PLAIN and is_local_network(address.host):
        return
    if address.kind.endswith(("mqtt", "http")):
        raise InvalidParameter(
            f"{address.shown} is not on this machine, and {address.kind} is not encrypted",
            hint=f"Use {address.kind}s; or --plain-lan in a local network whose users may read "
            "along.",
        )
    if address.kind.endswith("mqtts") and (address.user is None or address.password is None):
        raise InvalidParameter(
            f"{address.shown} is not on this machine: give its user, and its password in a file",
            hint=f"Write {address.kind}://USER@HOST/TOPIC?password_file=PATH.",
        )
    if not address.secure and reach is Reach.HERE:
        raise InvalidParameter(
            f"{address.shown} is not on this machine, and the protocol has neither "
            "passwords nor encryption",
            hint="Use a tunnel to a loopback address, or allow it with --expose.",
        )
