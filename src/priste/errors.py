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
    ├── MissingExtra          an optional part is not installed (also an ImportError)
    └── OutputError           a result cannot be written where it was asked for
        └── OutputExists      there is something at that place already

Catch :class:`PristeError` to catch them all. An error carries its parts as fields: ``parameter``
and ``owner`` (who complains), ``rule``, ``value`` and ``hint`` (the next step). The message is
made from them, and a front end can make its own. Neither holds a true location.
"""

from __future__ import annotations

import os
from enum import Enum

LONGEST_TEXT = 60
"""Characters of a value that a message shows at most."""

_LARGEST_SHOWN = 10**40


class NoValue(Enum):
    """The ``value`` of an error that has none, or none that may be shown."""

    ABSENT = "absent"
    SECRET = "secret"


class PristeError(Exception):
    """The root of all errors of priste.

    With a ``parameter``, ``rule`` says what must hold of it ("must be > 0"); without one, ``rule``
    is the whole statement. ``value`` is the offending value: kept if it is a number, a text, None
    or a tuple of those, otherwise reduced to the text that the message shows, so that an error can
    be sent between processes and holds no large data. ``got`` is that text where ``repr`` would not
    do. A value that may be a true location is given as ``NoValue.SECRET``.

    >>> error = PristeError("must be > 0", parameter="alpha", owner="PlanarLaplace", value=-1,
    ...                     hint="For an exact release use Identity(grid).")
    >>> print(error)
    The 'alpha' of PlanarLaplace must be > 0. Got -1. For an exact release use Identity(grid).
    >>> error.parameter, error.owner, error.rule, error.value
    ('alpha', 'PlanarLaplace', 'must be > 0', -1)
    """

    def __init__(
        self,
        rule: str,
        *,
        parameter: str = "",
        owner: str = "",
        value: object = NoValue.ABSENT,
        got: str = "",
        hint: str = "",
    ) -> None:
        self.rule = rule
        self.parameter = parameter
        self.owner = owner
        self.got = got or ("" if value is NoValue.ABSENT else shown(value))
        self.value = value if _is_plain(value) else self.got
        self.hint = hint
        super().__init__(_message(self))


def _message(error: PristeError) -> str:
    subject = f"The {error.parameter!r}" if error.parameter else ""
    if subject and error.owner:
        subject = f"{subject} of {error.owner}"
    return message_of(error, subject)


def message_of(error: PristeError, subject: str) -> str:
    """Return the message of an error about ``subject``, as a front end may call it."""
    text = f"{subject} {error.rule}" if subject else error.rule
    if (error.got or error.hint) and not text.endswith((".", "!", "?")):
        text += "."
    if error.got:
        text += f" Got {error.got}."
    elif subject and not text.endswith("."):
        text += "."
    return f"{text} {error.hint}" if error.hint else text


def shown(value: object) -> str:
    """Return a value for an error message, of at most ``LONGEST_TEXT`` characters.

    >>> shown(-1.5), shown(10**5000), shown(dict)
    ('-1.5', 'an integer of more than 40 digits', 'dict')
    """
    if value is NoValue.SECRET:
        return "something else"
    if isinstance(value, type):
        return value.__name__[:LONGEST_TEXT]
    if isinstance(value, int) and abs(value) >= _LARGEST_SHOWN:
        return "an integer of more than 40 digits"  # Python refuses to write very long ones
    text = repr(value)
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "..."


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, bool | int | float | str | NoValue)


class InvalidParameter(PristeError, ValueError):
    """An argument breaks its stated rule."""


class OutsideMap(InvalidParameter):
    """A position lies outside the map, and the nearest cell was not asked for."""


class EventSyntaxError(InvalidParameter):
    """The text of an event cannot be read; ``position`` counts characters from 0."""

    def __init__(self, rule: str, position: int = 0, *, hint: str = "") -> None:
        super().__init__(rule, hint=hint)
        self.position = position


class TooManyWorlds(PristeError):
    """An event needs more worlds than the stated limit."""


class PolicyError(PristeError):
    """A policy breaks its rules.

    ``problems`` lists all that were found in words, ``faults`` the same as pairs of the dotted key
    and what is wrong there.
    """

    def __init__(
        self,
        rule: str,
        problems: tuple[str, ...] = (),
        faults: tuple[tuple[str, str], ...] = (),
        *,
        hint: str = "",
    ) -> None:
        super().__init__(rule, hint=hint)
        self.problems = problems
        self.faults = faults


class TraceError(PristeError):
    """A file of fixes cannot be read or written as its format asks."""


class LedgerError(PristeError):
    """A ledger cannot be read, or does not belong to what it is taken for."""


class StateError(PristeError):
    """A state file, journal or model file is corrupt, truncated, foreign or of another version."""


class ReleaseRefused(PristeError):
    """Nothing can be released within the guarantee; nothing was released."""


class MissingExtra(PristeError, ImportError):
    """An optional part of the installation is missing; ``extra`` is what to install."""

    def __init__(self, rule: str, *, hint: str = "", extra: str = "") -> None:
        super().__init__(rule, hint=hint)
        self.extra = extra


class OutputError(PristeError):
    """A result cannot be written where it was asked for; what was there is as before."""


class OutputExists(OutputError):
    """There is something at the place of a result already; it was not touched.

    >>> print(OutputExists("out.csv"))
    There is already a file at 'out.csv'; it was not touched. Choose another name, or overwrite it \
(--overwrite, or overwrite=True).
    >>> OutputExists("out", "Choose another name.", what="folder").hint
    'Choose another name.'
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        hint: str = "Choose another name, or overwrite it (--overwrite, or overwrite=True).",
        *,
        what: str = "file",
    ) -> None:
        super().__init__(
            f"There is already a {what} at {os.fspath(path)!r}; it was not touched.", hint=hint
        )
        self.path = path
        self.what = what

    def __reduce__(self) -> tuple[object, ...]:
        # The usual way to pickle an exception would pass the message as the path.
        return _output_exists, (self.path, self.hint, self.what)


def _output_exists(path: str | os.PathLike[str], hint: str, what: str) -> OutputExists:
    return OutputExists(path, hint, what=what)
