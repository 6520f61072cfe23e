"""What a live protocol is: one object that says how fixes come in and how releases go out.

The service knows no protocol by name. It reads :mod:`priste.live.protocol_table`, to which other
packages add theirs by an entry point of the group ``priste.live``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from priste.live.point import Point
from priste.traces import Fix

if TYPE_CHECKING:
    from priste.live.addresses import Address
    from priste.live.retrying import Line
    from priste.live.settings import PersonSettings


class Intake(Protocol):
    """The person at the other end of a source."""

    @property
    def key(self) -> bytes | None:
        """The key of encrypted messages, None without one."""
        ...

    def owns(self, *names: str) -> bool:
        """Return whether messages of a device are this person's, by any of its names."""
        ...

    def now(self) -> datetime:
        """The time by which fixes are judged."""
        ...

    async def take(self, fix: Fix) -> bool:
        """Take a fix; waits while a recorded stream catches up.

        False for a fix of guarded hours: it must not be counted.
        """
        ...


class Outlet(Protocol):
    """A sink at work: it is offered every point and runs until it is cancelled."""

    line: Line

    def offer(self, point: Point) -> None:
        """Take a point; never waits."""
        ...

    async def run(self) -> None:
        """Deliver what is offered until cancelled."""
        ...


def _no_check(_: Address, __: PersonSettings) -> None:
    return


@dataclass(frozen=True)
class Source:
    """A way in that an address names.

    ``port`` is the usual port, None for an address that is a path. ``recorded`` sources hold fixes
    of the past, bring their own clock and end. ``check`` raises InvalidParameter for an address
    that this person must not have.
    """

    run: Callable[[Address, Intake, Line], Awaitable[None]]
    port: int | None = None
    options: frozenset[str] = frozenset()
    recorded: bool = False
    check: Callable[[Address, PersonSettings], None] = _no_check


@dataclass(frozen=True)
class Sink:
    """A way out that an address names; ``outlet`` makes it work for a person.

    With ``queries`` the server may have parameters of its own in the address.
    """

    outlet: Callable[[Address, str], Outlet]
    port: int | None = None
    options: frozenset[str] = frozenset()
    queries: bool = False


@dataclass(frozen=True)
class Message:
    """A request to the HTTP door, reduced to what a protocol may look at."""

    body: bytes = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)
    """The parameters of the query and of the path."""
    headers: Mapping[str, str] = field(repr=False)
    user: str
    """The name of basic authentication."""
    now: datetime


@dataclass(frozen=True)
class Reported:
    """One fix of a message: the names of its device, the first that fits counts, and the fix.

    ``fix`` is called when the person is known, whose key may be needed; Unreadable if it is none.
    """

    names: tuple[str, ...]
    fix: Callable[[Intake], Fix] = field(repr=False)


@dataclass(frozen=True)
class Post:
    """What phones send to a path of the HTTP door, and what they are answered.

    ``forgiving`` protocols answer messages that hold no fix as if they did: their phones would
    send what is refused again and again.
    """

    path: str
    read: Callable[[Message], Iterable[Reported]]
    methods: tuple[str, ...] = ("POST",)
    reply: bytes = b""
    forgiving: bool = False


@dataclass(frozen=True)
class LiveProtocol:
    """All ways in and out of one protocol, by the first word of their addresses."""

    name: str
    sources: Mapping[str, Source] = field(default_factory=dict)
    sinks: Mapping[str, Sink] = field(default_factory=dict)
    posts: tuple[Post, ...] = ()
