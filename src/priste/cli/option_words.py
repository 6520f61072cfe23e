"""Errors of the library in the words of the command line: options instead of parameters.

An error says which parameter breaks which rule. Only its name differs between a program and a
command; the rule, the value and the hint are the same for both.
"""

from __future__ import annotations

from priste.errors import PristeError, message_of

OPTIONS = {
    "zone": "--zone",
    "format": "--format",
    "columns": "--column (as in --column lat=NAME)",
    "time_unit": "The time_unit of --column",
    "cluster": "--cluster",
    "guard": "--guard",
    "user": "--user",
    "place": "--place",
    "places": "--places or --place",
    "sample": "--sample",
    "column": "--column",
    "show_truth": "--show-truth",
    "policy": "--policy",
    "basemap": "--basemap",
    "tiles": "--tiles",
    "plot": "--plot",
    "listen": "--listen",
    "hold": "--hold",
    "adversary": "--adversary",
    "at_most": "--at-most",
    "with": "--with",
}
"""The options that stand for parameters."""

OF_COMMANDS = ("", "forecast", "compare")
"""Who may complain of them: nobody in particular, or the function that is the command."""


def in_options(error: PristeError) -> str:
    """Return the message of an error with what the command line calls things.

    >>> in_options(PristeError("must be given.", parameter="zone", hint="Such as UTC."))
    '--zone must be given. Such as UTC.'
    """
    if error.parameter.startswith("--"):
        return message_of(error, error.parameter)
    if error.owner in OF_COMMANDS and error.parameter in OPTIONS:
        return message_of(error, OPTIONS[error.parameter])
    return str(error)
