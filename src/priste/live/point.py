"""One released point: the same for every app, for the whole step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

LEAST_ACCURACY = 1.0
"""Metres: what an app is given where any larger accuracy might reach into a zone from outside."""


@dataclass(frozen=True, slots=True)
class Point:
    """A released location of one person, made of public numbers only.

    ``time`` is the beginning of the step. ``accuracy`` (metres) and ``place`` (the name of a
    public point) follow from the released cell. None shows when a fix came or how good it was.
    """

    person: str
    step: int
    time: datetime
    lat: float
    lon: float
    accuracy: float
    place: str | None = None

    @property
    def seconds(self) -> int:
        """The time as whole seconds since 1970."""
        return int(self.time.timestamp())

    @property
    def clock(self) -> str:
        """The time as text in UTC, as 2026-03-04T14:00:00Z."""
        return f"{self.time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
