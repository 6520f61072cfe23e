"""The application: its commands, in the order in which people use them."""

from __future__ import annotations

from typing import Annotated

import typer

from priste.cli import journal_repair, live
from priste.cli.audit import audit
from priste.cli.compare import compare
from priste.cli.console import command
from priste.cli.demo import demo
from priste.cli.evaluate import evaluate
from priste.cli.explain import explain
from priste.cli.fit import fit
from priste.cli.forecast import forecast
from priste.cli.init import init
from priste.cli.protect import protect
from priste.cli.report import report
from priste.cli.studio import studio

app = typer.Typer(
    name="priste",
    help="Keep what people did, where and when, deniable while they use location services.",
    no_args_is_help=True,
    # A traceback with local variables could show true locations.
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for each in (init, explain, forecast, compare, fit, protect, audit, evaluate, report, demo):
    app.command()(command(each))
app.add_typer(live.app, name="live")
app.add_typer(journal_repair.app, name="journal")
app.command()(studio)


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
