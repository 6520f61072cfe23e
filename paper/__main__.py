"""``python -m paper``: make the paper's figures and tables again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from paper.catalogue import CATALOGUE, chosen
from paper.experiments.experiment import settings_for
from paper.experiments.release_runs import CALIBRATORS
from paper.kept import keep as keep_figures
from paper.reproduction import Reproduced
from paper.reproduction import reproduce as run
from paper.running.expectation import expected_seconds
from paper.running.jobs import Job
from priste.cli.console import Found, Tell, command, notices, progress
from priste.errors import InvalidParameter

_STYLES = {"reproduced": "green", "not reproduced": "red", "not decidable": "yellow"}


@dataclass(frozen=True)
class Catalogue:
    """The names and titles of all experiments."""

    titles: Mapping[str, str]

    def to_dict(self) -> Mapping[str, Any]:
        """Return plain values for JSON."""
        return self.titles

    def show(self, out: Console) -> None:
        """Print the names and titles."""
        table = Table(box=None, pad_edge=False)
        table.add_column("name", no_wrap=True)
        table.add_column("what it shows")
        for name, title in self.titles.items():
            table.add_row(name, title)
        out.print(table)


@dataclass(frozen=True)
class Reproduction:
    """What was made, and where."""

    folder: Path
    made: tuple[Reproduced, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        index = str(self.folder / "index.html")
        return {"index": index, "made": [each.to_dict() for each in self.made]}

    def show(self, out: Console) -> None:
        """Print the verdicts, and where everything is."""
        for each in self.made:
            table = Table(box=None, pad_edge=False, show_header=False)
            table.add_column("here", min_width=max(map(len, _STYLES)))
            table.add_column("the paper says")
            for finding in each.findings:
                table.add_row(f"[{_STYLES[finding.verdict]}]{finding.said}[/]", finding.claim)
            out.print(f"[bold]{each.experiment.name}[/bold]")
            out.print(Padding(table, (0, 0, 0, 2)))
        spent = sum(each.cpu_seconds for each in self.made)
        page = self.folder / "index.html"
        out.print(f"\n{spent:,.0f} CPU seconds of work. The page: {page}", soft_wrap=True)


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
    solver_runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each row of the solver table.  [default: 10, quick 2]"),
    ] = None,
    calibrator: Annotated[
        list[str] | None,
        typer.Option(
            help="Also draw this calibrator, as certified, or certified=20 for 20 runs. May be "
            "repeated.  [default: certified and optimal]"
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes.  [default: cores]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Everything but times follows from it.")] = 2019,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="Write what the documentation shows of it into the tree."),
    ] = False,
) -> Found:
    """Make the paper's figures and tables again; run it again to continue after a stop."""
    if listing:
        return Catalogue({name: experiment.title for name, experiment in CATALOGUE.items()})
    asked_for = {"runs": runs, "truth_runs": truth_runs, "solver_runs": solver_runs}
    changes: dict[str, Any] = {name: n for name, n in asked_for.items() if n is not None}
    size: Any = "quick" if quick else "full"
    settings = settings_for(size, seed=seed, geolife=geolife, **changes)
    if calibrator is not None:
        asked = dict(_asked(each, settings.runs_with) for each in calibrator)
        changes["runs_with"] = {name: count for name, count in asked.items() if name != "paper"}
        settings = settings_for(size, seed=seed, geolife=geolife, **changes)
    made_by = _command(names or (), size, geolife, asked_for, calibrator, seed)
    made: list[Reproduced] = []
    asked_experiments = chosen(names or ())
    notices().print(_expectation([e.jobs(settings) for e in asked_experiments], workers))
    for place, experiment in enumerate(asked_experiments, start=1):
        which = f"{place} of {len(asked_experiments)}, " if len(asked_experiments) > 1 else ""
        with progress(f"{which}{experiment.name}", "CPU seconds of work") as tell:
            made += run(
                [experiment.name],
                output,
                settings,
                workers=workers,
                command=made_by,
                on_progress=_without_name(tell),
            )
    if keep:
        keep_figures(output)
    return Reproduction(output, tuple(made))


def _expectation(jobs: Sequence[Sequence[Job]], workers: int | None) -> str:
    """Say before the first job how long it will be; what was done before is not left out."""
    processes = workers or os.cpu_count() or 1
    minutes = expected_seconds(job for each in jobs for job in each) / processes / 60
    about = "a minute or less" if minutes < 1 else f"about {minutes:.0f} min"
    if minutes > 90:
        about = f"about {minutes / 60:.1f} hours"
    return f"From the beginning this is {about} of {processes} quiet cores; it resumes."


def _without_name(tell: Tell) -> Callable[[str, int, int], None]:
    """Return a function that reports progress without the name of the experiment."""
    return lambda name, done, total: tell(done, total)


def _asked(text: str, usual: Any) -> tuple[str, int]:
    name, _, count = text.partition("=")
    if name not in CALIBRATORS or (count and not (count.isdecimal() and int(count) >= 1)):
        raise InvalidParameter(
            f"A --calibrator must be one of {', '.join(CALIBRATORS)}, or NAME=RUNS with at least 1 "
            f"run. Got {text!r}."
        )
    return name, int(count) if count else usual.get(name, 2)


def _command(
    names: Sequence[str],
    size: str,
    geolife: Path | None,
    counts: Mapping[str, int | None],
    calibrators: Sequence[str] | None,
    seed: int,
) -> str:
    """Return the command without the user's folders."""
    parts = ["python", "-m", "paper", *names]
    parts += ["--quick"] if size == "quick" else []
    parts += ["--geolife", "DIR"] if geolife is not None else []
    for name, count in counts.items():
        parts += [f"--{name.replace('_', '-')}", str(count)] if count is not None else []
    parts += [word for each in calibrators or () for word in ("--calibrator", each)]
    return shlex.join([*parts, "--seed", str(seed)])


app = typer.Typer(name="paper", pretty_exceptions_enable=False)
app.command()(command(reproduce))

if __name__ == "__main__":
    app(prog_name="python -m paper")
