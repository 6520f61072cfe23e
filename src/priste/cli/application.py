"""The commands and their options. Each imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from priste.cli import live
from priste.cli.console import BROKEN, clean_errors, print_json, progress, results, warn_of_seed
from priste.cli.sources import Reading
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.cli.auditing import Audit
    from priste.cli.procedures import ProcedureAudit

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


@app.command()
def init(
    traces: Annotated[
        Path | None, typer.Argument(help="A trace to take the map and places from.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write.")] = Path(
        "policy.toml"
    ),
    format: Format = None,
    zone: Zone = None,
    column: Column = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Write a commented policy to edit, from a trace if one is given."""
    with clean_errors():
        from priste.cli.drafting import draft

        made = draft(
            traces, output, Reading(format, zone, tuple(column or ())), overwrite=overwrite
        )
        if json:
            print_json({"policy": str(output), "regions": list(made.regions)})
        else:
            results().print(
                f"Wrote {output}. Edit its places and events, then: priste explain {output}"
            )


@app.command()
def explain(
    policy: Annotated[Path, typer.Argument(help="The policy, a TOML file.")],
    json: Json = False,
) -> None:
    """Say in plain words what a policy promises, against whom, and what not."""
    with clean_errors():
        from priste.cli.explaining import show
        from priste.policy import explain_policy, load_policy

        with progress("Reading the policy"):
            explained = explain_policy(load_policy(policy))
        if json:
            print_json(explained.to_dict())
        else:
            show(explained, results())


@app.command()
def fit(
    traces: Annotated[Path, typer.Argument(help="Traces of people, a file or a folder.")],
    policy: PolicyFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The model file to write (.npz).")
    ] = Path("model.npz"),
    cycle: Cycle = None,
    sigma: Annotated[
        float | None, typer.Option(help="Spread of the smoothing in km; from the data if left out.")
    ] = None,
    format: Format = None,
    zone: Zone = None,
    column: Column = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Fit a mobility model on traces, on the map and clock of a policy."""
    with clean_errors():
        from priste.cli.fitting import fit_model, show

        made = fit_model(
            policy,
            traces,
            output,
            Reading(format, zone, tuple(column or ())),
            cycle=cycle,
            sigma=sigma,
            overwrite=overwrite,
        )
        if json:
            print_json(made.to_dict())
        else:
            show(made, results())


@app.command()
def protect(
    source: Annotated[Path, typer.Argument(help="True locations, a file or a folder.")],
    policy: PolicyFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The released file.  [default: NAME.released.SUFFIX]"),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; each takes users.")] = 1,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Repeatable draws, for experiments: NOT private.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column or field to write back as it is. May be repeated."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML report with the costs: keep it private.")
    ] = None,
    show_truth: ShowTruth = False,
    format: Format = None,
    zone: Zone = None,
    column: Column = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Release a file of locations under a policy; run it again to go on after a stop."""
    with clean_errors():
        from priste.cli.protecting import beside, protect_and_report, show

        warn_of_seed(seed)
        made = protect_and_report(
            policy,
            source,
            output or beside(source),
            reading=Reading(format, zone, tuple(column or ())),
            workers=workers,
            seed=seed,
            keep=keep or (),
            overwrite=overwrite,
            page=report,
            show_truth=show_truth,
        )
        if json:
            print_json(made.to_dict())
        else:
            show(made, results())
        if not made.kept:
            raise typer.Exit(BROKEN)


@app.command()
def audit(
    policy: PolicyFile,
    released: Annotated[
        Path | None, typer.Argument(help="A ledger of protect, or any released trace.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="The budget of the mechanism that made a trace, if not the policy's."),
    ] = None,
    procedure: Annotated[
        bool,
        typer.Option(
            "--procedure", help="Audit the way of releasing itself, against those who know it."
        ),
    ] = False,
    steps: Annotated[
        int | None, typer.Option(min=1, help="With --procedure: how many steps to follow.")
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="With --procedure: streams to sample on large maps.")
    ] = 10,
    seed: Annotated[
        int | None, typer.Option(min=0, help="With --procedure: repeat the sampled streams.")
    ] = None,
    user: User = None,
    format: Format = None,
    zone: Zone = None,
    column: Column = None,
    json: Json = False,
) -> None:
    """Tell what releases say about each event, step by step, against any prior."""
    with clean_errors():
        made: Audit | ProcedureAudit
        if procedure != (released is None):
            raise InvalidParameter(
                "Give audit either a released file, or --procedure to audit the way of releasing."
            )
        if released is None:
            from priste.cli.procedures import audit_the_procedure, show_procedure

            made = audit_the_procedure(policy, steps=steps, runs=runs, seed=seed)
            if not json:
                show_procedure(made, results())
        else:
            from priste.cli.auditing import audit as run_audit
            from priste.cli.auditing import show

            made = run_audit(
                policy,
                released,
                alpha=alpha,
                users=user or (),
                reading=Reading(format, zone, tuple(column or ())),
            )
            if not json:
                show(made, results())
        if json:
            print_json(made.to_dict())
        if not made.kept:
            raise typer.Exit(BROKEN)


@app.command()
def report(
    released: Annotated[Path, typer.Argument(help="A file that protect released, or its ledger.")],
    policy: PolicyFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
    input: Annotated[
        Path | None,
        typer.Option(help="The protected file: adds distances and the mechanism alone."),
    ] = None,
    show_truth: ShowTruth = False,
    plots: Annotated[
        Path | None, typer.Option(help="Also write every figure as PNG and PDF to this folder.")
    ] = None,
    user: User = None,
    format: Format = None,
    zone: Zone = None,
    column: Column = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make the HTML report of a finished run, and figures as PNG and PDF."""
    with clean_errors():
        from priste.cli.reporting import show, write_report

        made = write_report(
            policy,
            released,
            output,
            source=input,
            reading=Reading(format, zone, tuple(column or ())),
            show_truth=show_truth,
            plots=plots,
            users=user or (),
            overwrite=overwrite,
        )
        if json:
            print_json(made.to_dict())
        else:
            show(made, results())
        if not made.kept:
            raise typer.Exit(BROKEN)


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help='Experiments by name, or "all".', show_default=False)
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller maps and fewer runs: minutes.")
    ] = False,
    geolife: Annotated[
        Path | None,
        typer.Option(help="The folder of Geolife 1.3; a made-up city stands in without it."),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for everything; runs resume there.")
    ] = Path("reproduction"),
    runs: Annotated[
        int | None, typer.Option(min=2, help="Runs of the paper's loop.  [default: 100, quick 8]")
    ] = None,
    truth_runs: Annotated[
        int | None,
        typer.Option(min=0, help="Runs of each curve that the knowing adversary follows."),
    ] = None,
    calibrator: Annotated[
        list[str] | None,
        typer.Option(
            help="Also draw this calibrator, as certified, or certified=20 for 20 runs. May be "
            "repeated.  [default: certified and remap]"
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes.  [default: cores]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Everything but times follows from it.")] = 2019,
    json: Json = False,
) -> None:
    """Make the paper's figures and tables again; run it again to go on after a stop."""
    with clean_errors():
        from priste.cli.reproducing import experiments, make, show, show_list

        if listing:
            if json:
                print_json(experiments())
            else:
                show_list(results())
            return
        made = make(
            names or [],
            output,
            size="quick" if quick else "full",
            geolife=geolife,
            runs=runs,
            truth_runs=truth_runs,
            calibrators=calibrator,
            workers=workers,
            seed=seed,
        )
        if json:
            print_json({"index": str(output / "index.html"), "made": [m.to_dict() for m in made]})
        else:
            show(made, output, results())


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


app.add_typer(live.app, name="live")
