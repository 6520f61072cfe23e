"""The options that several commands share, each said once."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.batch import RunFiles
    from priste.traces import Traces

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of words.")]
PolicyFile = Annotated[
    Path, typer.Option("--policy", "-p", help="The policy, a TOML file.", show_default=False)
]
RunPolicy = Annotated[
    Path | None,
    typer.Option(
        "--policy", "-p", help="The policy.  [default: that of the run]", show_default=False
    ),
]
Format = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The format of the traces, if their names do not show it."),
]
Zone = Annotated[
    str | None,
    typer.Option(metavar="ZONE", help="The zone of times that carry none, as Europe/Paris."),
]
Column = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PART=NAME",
        help="Name a column: lat=y, lon=x, time=t or user=id; or say how times are written: "
        "'time_format=%d.%m.%Y %H:%M', time_unit=ms. May be repeated.",
    ),
]
AsUser = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="All files belong to this one user."),
]
User = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Only this user. May be repeated.")
]
BesideEarlier = Annotated[
    bool,
    typer.Option(
        "--beside-earlier-releases",
        help="Also release people whose earlier releases cannot be counted. Nothing is then "
        "guaranteed about both releases together.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing result.")]
ShowTruth = Annotated[
    bool, typer.Option("--show-truth", help="Draw the true points in the report: keep it private.")
]


@dataclass(frozen=True)
class Reading:
    """How files of fixes are to be read where they do not tell.

    A command that takes a ``reading`` has one option for each of its fields.
    """

    format: Format = None
    zone: Zone = None
    column: Column = None
    as_user: AsUser = None

    def words(self) -> Iterator[str]:
        """Yield the options that say the same, as they are typed.

        >>> " ".join(Reading(zone="UTC", column=["time_format=%d.%m.%Y %H:%M"]).words())
        "--zone UTC --column 'time_format=%d.%m.%Y %H:%M'"
        """
        for each in fields(self):
            given = getattr(self, each.name)
            for value in given if isinstance(given, list) else [given]:
                if value is not None:
                    yield f"--{each.name.replace('_', '-')} {shlex.quote(value)}"

    def open(self, path: Path) -> Traces:
        """Open a source of fixes; columns are texts such as ``lat=y``."""
        from priste.traces import read_traces

        named = {}
        for text in self.column or ():
            part, found, name = text.partition("=")
            if not found or not name:
                raise InvalidParameter(
                    "must be written PART=NAME, as lat=y", parameter="column", value=text
                )
            named[part] = name
        return read_traces(
            path, self.format, columns=named or None, zone=self.zone, user=self.as_user
        )


AS_IT_TELLS = Reading()
"""Read a source as its name and content tell."""


def open_input(run: RunFiles, given: Path | None, reading: Reading) -> Traces:
    """Open the input of a run, or the one that is given in its place.

    The input of the run is read as the run read it, unless options say otherwise.
    """
    if given is None and reading == AS_IT_TELLS:
        reading = Reading(**run.sources.reading)
    return reading.open(run.input(given))
