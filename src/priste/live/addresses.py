"""Where fixes come from and releases go to, written as one address each.

Local by default: listening or fetching the truth beyond this machine needs ``expose``, and what
crosses a network needs TLS and, over MQTT, credentials. Passwords may stand in a file.
"""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from priste.errors import InvalidParameter

INPUTS = {
    "owntracks+mqtt": 1883,
    "owntracks+mqtts": 8883,
    "gpsd": 2947,
    "nmea+tcp": 10110,
    "nmea+udp": 10110,
    "nmea+file": None,
    "nmea+serial": None,
    "replay": None,
}
OUTPUTS = {
    "owntracks+http": 80,
    "owntracks+https": 443,
    "owntracks+mqtt": 1883,
    "owntracks+mqtts": 8883,
    "osmand+http": 80,
    "osmand+https": 443,
    "homeassistant+http": 80,
    "homeassistant+https": 443,
    "homeassistant+mqtt": 1883,
    "homeassistant+mqtts": 8883,
    "gpsd": 2947,
    "nmea+tcp": 10110,
    "nmea+unix": None,
}
RECORDED = {"replay", "nmea+file"}
"""Sources whose fixes are of the past: they bring their own clock."""

_OPTIONS = {"password_file", "device", "speed", "baud"}


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

    @property
    def shown(self) -> str:
        """The address as it may stand in logs: a webhook's path is a password, too."""
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

    def tls(self) -> ssl.SSLContext | None:
        """Return how to check the other side; None without TLS."""
        return ssl.create_default_context() if self.secure else None


def read_input(text: str, *, expose: bool = False, folder: Path = Path()) -> Address:
    """Read the address of a source.

    >>> read_input("gpsd://127.0.0.1").port
    2947
    >>> read_input("gpsd://example.org")
    Traceback (most recent call last):
    ...
    priste.errors.InvalidParameter: gpsd://example.org:2947 is not on this machine...
    """
    address = _read(text, INPUTS, "--in", folder)
    _check_reach(address, expose)
    return address


def read_output(text: str, *, expose: bool = False, folder: Path = Path()) -> Address:
    """Read the address of a sink; see :func:`read_input`."""
    address = _read(text, OUTPUTS, "--out", folder)
    _check_reach(address, expose)
    return address


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine by its very name; nothing is looked up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read(text: str, kinds: dict[str, int | None], option: str, folder: Path) -> Address:
    kind, _, _ = text.partition(":")
    if kind not in kinds:
        raise InvalidParameter(
            f"An address of {option} begins with one of {', '.join(sorted(kinds))}. "
            f"Got {kind[:40]!r}."
        )
    try:
        parts = urlsplit(text, allow_fragments=False)  # '#' belongs to topics
        port = parts.port
        options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        raise InvalidParameter(
            f"This {kind} address of {option} cannot be read; write {kind}://HOST:PORT/PATH."
        ) from None
    if unknown := sorted(set(options) - _OPTIONS):
        raise InvalidParameter(
            f"A {kind} address of {option} takes no {unknown[0][:40]!r}; "
            f"options are {', '.join(sorted(_OPTIONS))}."
        )
    has_host, path = kinds[kind] is not None, unquote(parts.path)
    if has_host and not parts.hostname:
        raise InvalidParameter(f"A {kind} address of {option} needs a host: {kind}://HOST:PORT.")
    if not has_host and (parts.hostname or not path):
        raise InvalidParameter(f"A {kind} address of {option} needs a path: {kind}:///PATH.")
    password = None if parts.password is None else unquote(parts.password)
    if "password_file" in options:
        password = secret_from(folder / options["password_file"])
    return Address(
        kind=kind,
        host=parts.hostname or "",
        port=port if port is not None else kinds[kind],
        path=path,
        user=None if parts.username is None else unquote(parts.username),
        password=password,
        options=options,
    )


def secret_from(path: Path) -> str:
    """Return the one line of a file that holds a secret."""
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidParameter(f"The file {str(path)!r} cannot be read: {problem}.") from problem
    if not found or "\n" in found:
        raise InvalidParameter(f"The file {str(path)!r} must hold one line, the secret.")
    return found


def _check_reach(address: Address, expose: bool) -> None:
    if not address.host or is_loopback(address.host):
        return
    if address.kind.endswith(("mqtt", "http")):
        raise InvalidParameter(
            f"{address.shown} is not on this machine, and {address.kind} is not encrypted. "
            f"Use {address.kind}s."
        )
    if address.kind.endswith("mqtts") and (address.user is None or address.password is None):
        raise InvalidParameter(
            f"{address.shown} is not on this machine: give its user, and its password in a file, "
            f"as {address.kind}://USER@HOST/TOPIC?password_file=PATH."
        )
    if not address.secure and not expose:
        raise InvalidParameter(
            f"{address.shown} is not on this machine, and the protocol has neither passwords nor "
            "encryption. Use a tunnel to a loopback address, or allow it with --expose."
        )
