"""The commands and their options. Each imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from priste.cli.console import BROKEN, clean_errors, print_json, results

app = typer.Typer(
    name="priste",
    help="Keep what people did, where and when, deniable while they use location services.",
    no_args_is_help=True,
    # A traceback with local variables could show true locations.
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from priste import __version__

        typer.echo(f"priste {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Keep what people did, where and when, deniable while they use location services."""


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of words.")]


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where to put the town.")] = Path("demo-output"),
    seed: Annotated[int, typer.Option(min=0, help="Makes the demo repeatable.")] = 1,
    json: Json = False,
) -> None:
    """Protect two weeks in a made-up town, and show what would have leaked."""
    with clean_errors():
        from priste.cli.demonstration import demonstrate, show

        made = demonstrate(folder, seed=seed)
        if json:
            print_json(made.to_dict())
        else:
            show(made, results())
        if not made.report.kept:
            raise typer.Exit(BROKEN)
