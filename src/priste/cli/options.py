"""The options that several commands share, each said once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.traces import Traces

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of words.")]
PolicyFile = Annotated[
    Path, typer.Option("--policy", "-p", help="The policy, a TOML file.", show_default=False)
]
Format = Annotated[
    str | None, typer.Option(help="The format of the traces, if their names do not tell.")
]
Zone = Annotated[
    str | None, typer.Option(help="The zone of times that carry none, as Europe/Paris.")
]
Column = Annotated[
    list[str] | None,
    typer.Option(help="Name a column: lat=y, lon=x, time=t or user=id. May be repeated."),
]
User = Annotated[list[str] | None, typer.Option(help="Only this user. May be repeated.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing result.")]
ShowTruth = Annotated[
    bool, typer.Option("--show-truth", help="Draw the true points in the report: keep it private.")
]
Cycle = Annotated[
    Literal["day", "week"] | None, typer.Option(help="One matrix per step of the day or week.")
]


@dataclass(frozen=True)
class Reading:
    """How files of fixes are to be read where they do not tell.

    A command that takes a ``reading`` has one option for each of its fields.
    """

    format: Format = None
    zone: Zone = None
    column: Column = None

    def open(self, path: Path) -> Traces:
        """Open a source of fixes; columns are texts such as ``lat=y``."""
        from priste.traces import read_traces

        named = {}
        for text in self.column or ():
            part, found, name = text.partition("=")
            if not found or not name:
                raise InvalidParameter(f"A --column is written PART=NAME, as lat=y. Got {text!r}.")
            named[part] = name
        return read_traces(path, self.format, columns=named or None, zone=self.zone)


AS_IT_TELLS = Reading()
"""Read a source as its name and content tell."""
