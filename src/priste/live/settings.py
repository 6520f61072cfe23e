"""The settings of a service: its people, where their fixes come from and where releases go."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from priste.errors import InvalidParameter, NoValue
from priste.live.addresses import (
    Address,
    Reach,
    is_local_network,
    is_loopback,
    read_input,
    read_output,
    secret_from,
)
from priste.live.output_points import NamedPoint
from priste.live.person_stream import StreamOptions
from priste.live.protocols.owntracks import secret_box_key
from priste.policy.document import read_tables, text_of
from priste.policy.mistakes import Mistakes
from priste.policy.sections import Section

DEFAULT_LISTEN = "127.0.0.1:8787"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SPAN = re.compile(r"(\d+)(s|min|h|d)")
_UNIT = {"s": 1, "min": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class PersonSettings:
    """One person: a policy, devices, ways in and out.

    ``devices`` are the names by which messages are theirs (an OwnTracks user/device, a Traccar
    identifier); empty means every device, which only a person alone may have. ``clock`` is
    ``"wall"`` for life, ``"fixes"`` when recorded fixes bring their own time. ``history`` is a
    recording of earlier days, for a policy that guards against a model of them.
    """

    name: str
    policy: Path
    devices: frozenset[str] = frozenset()
    token: str | None = field(default=None, repr=False)
    inputs: tuple[Address, ...] = ()
    outputs: tuple[Address, ...] = ()
    options: StreamOptions = field(default_factory=StreamOptions)
    clock: Literal["wall", "fixes"] = "wall"
    owntracks_key: bytes | None = field(default=None, repr=False)
    history: Path | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidParameter(
                "must have 1 to 64 letters, digits, '_' or '-'",
                parameter="name",
                owner="a person",
                value=self.name,
            )


@dataclass(frozen=True)
class Settings:
    """A whole service. ``listen`` None opens no HTTP port."""

    state: Path
    people: tuple[PersonSettings, ...]
    listen: tuple[str, int] | None = ("127.0.0.1", 8787)
    certificate: Path | None = None
    key: Path | None = None
    reach: Reach = Reach.HERE

    def __post_init__(self) -> None:
        if not self.people:
            raise InvalidParameter(
                "must name one at least: write [people.NAME]", parameter="people", owner="a service"
            )
        names = [person.name for person in self.people]
        if len(set(names)) != len(names):
            raise InvalidParameter(
                "must have different names", parameter="people", owner="a service"
            )
        if len(self.people) > 1 and not all(person.devices for person in self.people):
            raise InvalidParameter(
                "must be given where there are several people: the names by which messages are "
                "theirs",
                parameter="devices",
                owner="a person",
            )
        listed = [device for person in self.people for device in person.devices]
        if len(set(listed)) != len(listed):
            raise InvalidParameter(
                "must not be those of another person", parameter="devices", owner="a person"
            )
        self._check_listening()

    def _check_listening(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise InvalidParameter(
                "must be given with 'key', for TLS", parameter="certificate", owner="a service"
            )
        if self.listen is None or is_loopback(self.listen[0]):
            return
        if self.reach is Reach.HERE:
            raise InvalidParameter(
                f"lets other machines in, at {self.listen[0]}",
                parameter="listen",
                owner="a service",
                hint="If that is meant, add --expose, with a certificate and a token for every "
                "person.",
            )
        plain = self.reach is Reach.PLAIN and is_local_network(self.listen[0])
        if (self.certificate is None and not plain) or not all(p.token for p in self.people):
            raise InvalidParameter(
                "needs 'certificate' and 'key' for TLS, and a 'token_file' for every person, "
                f"at {self.listen[0]}",
                parameter="listen",
                owner="a service",
                hint="Or listen on 127.0.0.1 behind a proxy.",
            )


def read_listen(text: str) -> tuple[str, int]:
    """Read HOST:PORT.

    >>> read_listen("127.0.0.1:8787"), read_listen("[::1]:0")
    (('127.0.0.1', 8787), ('::1', 0))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise InvalidParameter(
            "must be an address, as 127.0.0.1:8787", parameter="listen", value=text
        )
    return host.strip("[]"), int(port)


def read_span(text: str) -> timedelta:
    """Read a length of time such as 90s, 30min, 2h.

    >>> read_span("30min")
    datetime.timedelta(seconds=1800)
    """
    found = _SPAN.fullmatch(str(text).strip())
    if not found:
        raise InvalidParameter(
            "must be a length of time, as 90s, 30min or 2h", parameter="hold", value=text
        )
    return timedelta(seconds=int(found[1]) * _UNIT[found[2]])


def read_point(text: str) -> dict[str, str | float]:
    """Read a public point.

    >>> read_point("home=46.0131,7.0192")
    {'name': 'home', 'lat': 46.0131, 'lon': 7.0192}
    """
    name, equals, place = text.partition("=")
    try:
        lat, lon = map(float, place.split(","))
    except ValueError:
        equals = ""
    if not equals:
        raise InvalidParameter(
            "must be written as home=46.0131,7.0192", parameter="point", value=NoValue.SECRET
        )
    return {"name": name, "lat": lat, "lon": lon}


def clock_of(inputs: tuple[Address, ...]) -> Literal["wall", "fixes"]:
    """Return the clock that goes with some sources: recorded ones bring their own."""
    return "fixes" if inputs and all(each.recorded for each in inputs) else "wall"


class PointSection(Section):
    """A public named point, as it is written."""

    name: str
    lat: float
    lon: float


class PersonSection(Section):
    """One person of a settings file, as it is written."""

    policy: str
    devices: list[str] = Field(default_factory=list)
    token_file: str | None = None
    owntracks_key_file: str | None = None
    inputs: list[str] = Field(default_factory=list, alias="in")
    outputs: list[str] = Field(default_factory=list, alias="out")
    missing: Literal["cover", "silence"] = "cover"
    hold: str = "0s"
    accuracy: float | None = None
    points: list[PointSection] = Field(default_factory=list)
    avoid_guarded: bool | None = None
    clock: Literal["wall", "fixes"] | None = None
    history: str | None = None

    def settings(
        self, name: str, folder: Path, reach: Reach = Reach.HERE, seed: int | None = None
    ) -> PersonSettings:
        """Return the person; relative paths start at ``folder``.

        Guarded places are avoided where Home Assistant gets releases, unless it is stated.
        """
        inputs = tuple(read_input(text, reach=reach, folder=folder) for text in self.inputs)
        outputs = tuple(read_output(text, reach=reach, folder=folder) for text in self.outputs)
        key, avoid = self.owntracks_key_file, self.avoid_guarded
        return PersonSettings(
            name=name,
            policy=folder / self.policy,
            devices=frozenset(self.devices),
            token=None if self.token_file is None else secret_from(folder / self.token_file),
            inputs=inputs,
            outputs=outputs,
            options=StreamOptions(
                missing=self.missing,
                hold=read_span(self.hold),
                accuracy=self.accuracy,
                points=tuple(NamedPoint(each.name, each.lat, each.lon) for each in self.points),
                avoid_guarded=any(to.home_assistant for to in outputs) if avoid is None else avoid,
                seed=seed,
            ),
            clock=self.clock or clock_of(inputs),
            owntracks_key=None if key is None else secret_box_key(secret_from(folder / key)),
            history=None if self.history is None else folder / self.history,
        )


class ServiceDocument(Section):
    """A settings file, as it is written."""

    state: str = "state"
    listen: str = DEFAULT_LISTEN
    certificate: str | None = None
    key: str | None = None
    expose: bool = False
    plain_lan: bool = False
    people: dict[str, PersonSection] = Field(min_length=1)

    def settings(
        self, folder: Path, mistakes: Mistakes | None = None, seed: int | None = None
    ) -> Settings:
        """Return the service; relative paths start at ``folder``, mistakes are collected."""
        people = []
        reach = Reach.PLAIN if self.plain_lan else Reach.EXPOSED if self.expose else Reach.HERE
        for name, section in self.people.items():
            with nullcontext() if mistakes is None else mistakes.at(("people", name)):
                people.append(section.settings(name, folder, reach, seed))
        if mistakes is not None:
            mistakes.raise_if_any()
        return Settings(
            state=folder / self.state,
            people=tuple(people),
            listen=None if self.listen == "none" else read_listen(self.listen),
            certificate=None if self.certificate is None else folder / self.certificate,
            key=None if self.key is None else folder / self.key,
            reach=reach,
        )


def load_settings(path: Path) -> Settings:
    """Read the settings of a service from a TOML file; relative paths start at its folder.

    Raises PolicyError with every mistake of form and its line, InvalidParameter for the others.
    """
    text = text_of(path, "settings file")
    mistakes = Mistakes(text, path.name)
    try:
        document = ServiceDocument.model_validate(read_tables(text, path.name))
    except ValidationError as error:
        mistakes.add_faults(ServiceDocument, error, values=False)
        raise mistakes.error() from None
    return document.settings(path.parent, mistakes)
