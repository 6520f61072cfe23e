"""``priste reproduce``: the paper's evaluation, made again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from priste.cli.console import Tell, progress
from priste.errors import InvalidParameter

if TYPE_CHECKING:
    from priste.reproduce import Reproduced
    from priste.reproduce.experiments.experiment import Size

_STYLES = {"reproduced": "green", "not reproduced": "red", "not decidable": "yellow"}


def experiments() -> dict[str, Any]:
    """Return the names and titles of all experiments, for JSON."""
    from priste.reproduce import CATALOGUE

    return {name: experiment.title for name, experiment in CATALOGUE.items()}


def show_list(out: Console) -> None:
    """Print the names and titles of all experiments."""
    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("what it shows")
    for name, title in experiments().items():
        table.add_row(name, title)
    out.print(table)


def make(
    names: Sequence[str],
    folder: Path,
    *,
    size: Size,
    geolife: Path | None,
    runs: int | None,
    truth_runs: int | None,
    calibrators: Sequence[str] | None,
    workers: int | None,
    seed: int,
) -> list[Reproduced]:
    """Run experiments with a bar for each."""
    from priste.reproduce import reproduce, settings_for
    from priste.reproduce.catalogue import chosen

    asked_for = {"runs": runs, "truth_runs": truth_runs}
    changes: dict[str, Any] = {name: n for name, n in asked_for.items() if n is not None}
    settings = settings_for(size, seed=seed, geolife=geolife, **changes)
    if calibrators is not None:
        asked = dict(_asked(each, settings.runs_with) for each in calibrators)
        changes["runs_with"] = {name: count for name, count in asked.items() if name != "paper"}
        settings = settings_for(size, seed=seed, geolife=geolife, **changes)
    made = []
    for experiment in chosen(names):
        with progress(experiment.name) as tell:
            made += reproduce(
                [experiment.name],
                folder,
                settings,
                workers=workers,
                command=_command(names, size, geolife, asked_for, calibrators, seed),
                on_progress=_without_name(tell),
            )
    return made


def _without_name(tell: Tell) -> Callable[[str, int, int], None]:
    """Return what tells a bar that knows its experiment already."""
    return lambda name, done, total: tell(done, total)


def _asked(text: str, usual: Any) -> tuple[str, int]:
    from priste.reproduce.experiments.release_runs import CALIBRATORS

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
    """Return the command without what is the user's own affair: folders."""
    parts = ["priste", "reproduce", *names]
    parts += ["--quick"] if size == "quick" else []
    parts += ["--geolife", "DIR"] if geolife is not None else []
    for name, count in counts.items():
        parts += [f"--{name.replace('_', '-')}", str(count)] if count is not None else []
    parts += [word for each in calibrators or () for word in ("--calibrator", each)]
    return shlex.join([*parts, "--seed", str(seed)])


def show(made: Sequence[Reproduced], folder: Path, out: Console) -> None:
    """Print the verdicts, and where everything is."""
    for each in made:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column("here", no_wrap=True, min_width=max(map(len, _STYLES)))
        table.add_column("the paper says")
        for finding in each.findings:
            table.add_row(f"[{_STYLES[finding.verdict]}]{finding.verdict}[/]", finding.claim)
        out.print(f"[bold]{each.experiment.name}[/bold]")
        out.print(Padding(table, (0, 0, 0, 2)))
    spent = sum(each.cpu_seconds for each in made)
    page = folder / "index.html"
    out.print(f"\n{spent:,.0f} CPU seconds of work. The page: {page}", soft_wrap=True)
