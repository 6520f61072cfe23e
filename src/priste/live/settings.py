"""What a service is told: its people, where their fixes come from and where releases go."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.live.addresses import (
    RECORDED,
    Address,
    is_loopback,
    read_input,
    read_output,
    secret_from,
)
from priste.live.person_stream import StreamOptions

DEFAULT_LISTEN = "127.0.0.1:8787"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SPAN = re.compile(r"(\d+)(s|min|h|d)")
_UNIT = {"s": 1, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class PersonSettings:
    """One person: a policy, devices, ways in and out.

    ``devices`` are the names by which messages are theirs (an OwnTracks user/device, a Traccar
    identifier); empty means every device, which only a person alone may have. ``clock`` is
    ``"wall"`` for life, ``"fixes"`` when recorded fixes bring their own time.
    """

    name: str
    policy: Path
    devices: frozenset[str] = frozenset()
    token: str | None = field(default=None, repr=False)
    inputs: tuple[Address, ...] = ()
    outputs: tuple[Address, ...] = ()
    options: StreamOptions = field(default_factory=StreamOptions)
    clock: Literal["wall", "fixes"] = "wall"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidParameter(
                "The name of a person has 1 to 64 letters, digits, '_' or '-'. "
                f"Got {self.name!r:.80}."
            )


@dataclass(frozen=True)
class Settings:
    """A whole service. ``listen`` None opens no HTTP port."""

    state: Path
    people: tuple[PersonSettings, ...]
    listen: tuple[str, int] | None = ("127.0.0.1", 8787)
    certificate: Path | None = None
    key: Path | None = None
    expose: bool = False

    def __post_init__(self) -> None:
        if not self.people:
            raise InvalidParameter("A service needs one person at least: write [people.NAME].")
        names = [person.name for person in self.people]
        if len(set(names)) != len(names):
            raise InvalidParameter("Two people of a service have one name.")
        if len(self.people) > 1 and not all(person.devices for person in self.people):
            raise InvalidParameter(
                "With several people each needs 'devices', the names by which messages are theirs."
            )
        listed = [device for person in self.people for device in person.devices]
        if len(set(listed)) != len(listed):
            raise InvalidParameter("A device belongs to two people of the service.")
        self._check_listening()

    def _check_listening(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InvalidParameter("TLS needs both 'certificate' and 'key'.")
        if self.listen is None or is_loopback(self.listen[0]):
            return
        if not self.expose:
            raise InvalidParameter(
                f"Listening on {self.listen[0]} lets other machines in. If that is meant, add "
                "--expose, with a certificate and a token for every person."
            )
        if self.certificate is None or not all(person.token for person in self.people):
            raise InvalidParameter(
                f"Listening on {self.listen[0]} needs 'certificate' and 'key' for TLS, and a "
                "'token_file' for every person. Or listen on 127.0.0.1 behind a proxy."
            )


def read_listen(text: str) -> tuple[str, int]:
    """Read HOST:PORT.

    >>> read_listen("127.0.0.1:8787"), read_listen("[::1]:0")
    (('127.0.0.1', 8787), ('::1', 0))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise InvalidParameter(
            f"Write an address to listen on as 127.0.0.1:8787. Got {text!r:.60}."
        )
    return host.strip("[]"), int(port)


def read_span(text: str) -> timedelta:
    """Read a length of time such as 90s, 30min, 2h.

    >>> read_span("30min")
    datetime.timedelta(seconds=1800)
    """
    found = _SPAN.fullmatch(str(text).strip())
    if not found:
        raise InvalidParameter(f"Write a length of time as 90s, 30min or 2h. Got {text!r:.40}.")
    return timedelta(seconds=int(found[1]) * _UNIT[found[2]])


def clock_of(inputs: tuple[Address, ...]) -> Literal["wall", "fixes"]:
    """Return the clock that goes with some sources: recorded ones bring their own."""
    return "fixes" if inputs and all(each.kind in RECORDED for each in inputs) else "wall"


def load_settings(path: Path) -> Settings:
    """Read the settings of a service from a TOML file; relative paths start at its folder."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise InvalidParameter(
            f"The settings {str(path)!r} cannot be read: {problem}."
        ) from problem
    folder = path.parent
    known = {"state", "listen", "certificate", "key", "expose", "people"}
    _refuse_unknown(tables, known, str(path))
    people = tables.get("people")
    if not isinstance(people, dict) or not all(isinstance(each, dict) for each in people.values()):
        raise InvalidParameter(f"{str(path)!r} needs a table [people.NAME] for each person.")
    expose = _typed(tables, "expose", bool, False)
    listen = _typed(tables, "listen", str, DEFAULT_LISTEN)
    certificate, key = _typed(tables, "certificate", str, ""), _typed(tables, "key", str, "")
    return Settings(
        state=folder / _typed(tables, "state", str, "state"),
        people=tuple(_person(name, table, folder, expose) for name, table in people.items()),
        listen=None if listen == "none" else read_listen(listen),
        certificate=folder / certificate if certificate else None,
        key=folder / key if key else None,
        expose=expose,
    )


def _person(name: str, table: dict[str, Any], folder: Path, expose: bool) -> PersonSettings:
    known = {"policy", "devices", "token_file", "in", "out", "missing", "hold", "accuracy", "clock"}
    _refuse_unknown(table, known, f"[people.{name}]")
    if "policy" not in table:
        raise InvalidParameter(f"[people.{name}] needs 'policy', the path of a policy file.")
    inputs = tuple(
        read_input(text, expose=expose, folder=folder) for text in _texts(table, "in", name)
    )
    outputs = tuple(
        read_output(text, expose=expose, folder=folder) for text in _texts(table, "out", name)
    )
    token_file = _typed(table, "token_file", str, "")
    accuracy = table.get("accuracy")
    clock = _typed(table, "clock", str, clock_of(inputs))
    if clock not in ("wall", "fixes"):
        raise InvalidParameter(f"'clock' of {name} must be 'wall' or 'fixes'. Got {clock!r:.40}.")
    return PersonSettings(
        name=name,
        policy=folder / _typed(table, "policy", str, ""),
        devices=frozenset(_texts(table, "devices", name)),
        token=secret_from(folder / token_file) if token_file else None,
        inputs=inputs,
        outputs=outputs,
        options=StreamOptions(
            missing=_typed(table, "missing", str, "cover"),
            hold=read_span(_typed(table, "hold", str, "0s")),
            accuracy=None if accuracy is None else check_float(accuracy, "accuracy", name),
        ),
        clock="fixes" if clock == "fixes" else "wall",
    )


def _texts(table: dict[str, Any], key: str, name: str) -> list[str]:
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InvalidParameter(f"{key!r} of {name} must be a list of texts.")
    return found


def _typed(table: dict[str, Any], key: str, kind: type, default: Any) -> Any:
    found = table.get(key, default)
    if not isinstance(found, kind):
        raise InvalidParameter(f"{key!r} must be a {kind.__name__}. Got {type(found).__name__}.")
    return found


def _refuse_unknown(table: dict[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(table) - known):
        raise InvalidParameter(
            f"{where} has an unknown key {unknown[0]!r:.60}; known are {', '.join(sorted(known))}."
        )
