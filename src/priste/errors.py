"""Every error priste raises on purpose, in one tree.

Catch :class:`PristeError` to catch them all. Messages name who complains, the
rule, the offending value and what to do next; they never contain a true location.
"""

from __future__ import annotations


class PristeError(Exception):
    """The root of all errors of priste."""


class InvalidParameter(PristeError, ValueError):
    """An argument breaks its stated rule."""


class OutsideMap(InvalidParameter):
    """A position lies outside the map, and the nearest cell was not asked for."""


class EventSyntaxError(InvalidParameter):
    """The text of an event cannot be read; ``position`` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class TooManyWorlds(PristeError):
    """An event needs more worlds than the stated limit."""


class StateError(PristeError):
    """A state file or journal is corrupt, truncated, foreign or of another version."""


class ReleaseRefused(PristeError):
    """Nothing can be released within the promise; nothing was released."""


class TraceError(PristeError):
    """A file of fixes cannot be read or written as its format asks."""


class PolicyError(PristeError):
    """A policy file breaks its rules; ``problems`` lists all that were found."""

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems
