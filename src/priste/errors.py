"""Every error priste raises on purpose, in one tree.

::

    PristeError
    ├── InvalidParameter      an argument breaks its rule (also a ValueError)
    │   ├── OutsideMap        a position lies outside the map
    │   └── EventSyntaxError  the text of an event cannot be read
    ├── TooManyWorlds         an event needs more worlds than the limit
    ├── PolicyError           a policy file breaks its rules
    ├── TraceError            a file of fixes cannot be read or written as its format asks
    ├── LedgerError           a ledger cannot be read, or is not of these releases
    ├── StateError            a journal, state or model file is corrupt or foreign
    ├── ReleaseRefused        nothing can be released within the guarantee
    └── OutputError           a result cannot be written where it was asked for
        └── OutputExists      there is something at that place already

Catch :class:`PristeError` to catch them all. Messages name who complains, the
rule, the offending value and what to do next; they never contain a true location.
"""

from __future__ import annotations

import os


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


class PolicyError(PristeError):
    """A policy file breaks its rules; ``problems`` lists all that were found."""

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


class TraceError(PristeError):
    """A file of fixes cannot be read or written as its format asks."""


class LedgerError(PristeError):
    """A ledger cannot be read, or does not belong to what it is taken for."""


class StateError(PristeError):
    """A state file, journal or model file is corrupt, truncated, foreign or of another version."""


class ReleaseRefused(PristeError):
    """Nothing can be released within the guarantee; nothing was released."""


class OutputError(PristeError):
    """A result cannot be written where it was asked for; what was there is as before."""


class OutputExists(OutputError):
    """There is something at the place of a result already; it was not touched.

    >>> print(OutputExists("out.csv"))
    There is already a file at 'out.csv'; it was not touched. Choose another name, or ask to \
overwrite it.
    >>> print(OutputExists("out.csv", "Choose another name."))
    There is already a file at 'out.csv'; it was not touched. Choose another name.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        remedy: str = "Choose another name, or ask to overwrite it.",
        *,
        what: str = "file",
    ) -> None:
        super().__init__(
            f"There is already a {what} at {os.fspath(path)!r}; it was not touched. {remedy}"
        )
        self.path = path
        self.remedy = remedy
        self.what = what

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross from worker processes; the usual way would give the message as the path.
        return _output_exists, (self.path, self.remedy, self.what)


def _output_exists(path: str | os.PathLike[str], remedy: str, what: str) -> OutputExists:
    return OutputExists(path, remedy, what=what)
