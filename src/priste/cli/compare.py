"""``priste compare``: what a policy and its alternatives reveal about events, and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import progress
from priste.cli.options import AS_IT_TELLS, Overwrite, Reading

if TYPE_CHECKING:
    from priste.forecast.alternatives_compared import Comparison


@dataclass(frozen=True)
class Compared:
    """What ``priste compare`` found."""

    comparison: Comparison
    plots: tuple[Path, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/how-to/compare.md."""
        return {**self.comparison.to_dict(), "plots": [str(path) for path in self.plots]}

    def show(self, out: Console) -> None:
        """Print the comparison in a sentence, and as a table."""
        from priste.cli.tables import comparison_table
        from priste.forecast.alternatives_page import shown_columns

        found = self.comparison
        out.print(found.sentence())
        out.print(f"{found.basis()}\n")
        for each in found.guarded:
            out.print(each, markup=False)
        out.print(f"Against {found.adversary}.\n", markup=False)
        out.print(comparison_table(found))
        for way in found.ways:
            out.print(f"[bold]{way.name}[/bold]: {way.words}.")
        out.print("\nodds: moved at most, for this adversary;")
        out.print("towards: only where releases speak for the event;")
        if "sure" in shown_columns(found):
            out.print("sure: the largest belief in the event, of this adversary;")
        out.print("any: for any prior over the first cell;")
        if found.opened:
            out.print("own: for an adversary who holds the person's other hours;")
        after = "belief" in shown_columns(found)
        streams = "after streams in which the event happens; " if after else ""
        out.print(
            f"belief: of one who knows the population, {streams}before any release "
            f"{self._before()}."
        )
        for path in self.plots:
            out.print(f"Wrote {path}.", markup=False)

    def _before(self) -> str:
        from priste.results import percent

        events = self.comparison.ways[0].events
        return ", ".join(dict.fromkeys(percent(figures.before) for figures in events.values()))


def compare(
    policy: Annotated[Path, typer.Argument(help="The policy, a TOML file.")],
    trace: Annotated[
        Path | None,
        typer.Argument(help="Your own trace: compare on it. Its figures are private."),
    ] = None,
    alternatives: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="KIND",
            help="An alternative, as kind or kind:number. May be repeated. [default: all of them]",
            show_default=False,
        ),
    ] = None,
    streams: Annotated[int, typer.Option(min=1, help="How many streams to make of each.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Makes the comparison repeatable.")] = 1,
    plot: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Draw it: a page (.html) or a picture (.png, .pdf, .svg); several times for both.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    reading: Reading = AS_IT_TELLS,
) -> Compared:
    """Compare a policy with its usual alternatives."""
    from priste.forecast.alternatives_compared import compare as measure
    from priste.forecast.alternatives_page import save_comparison
    from priste.forecast.picture import check_plot
    from priste.policy import load_policy

    plots = tuple(plot or ())
    for path in plots:
        check_plot(path, overwrite=overwrite)
    with progress("Reading the policy"):
        loaded = load_policy(policy)
    opened = None if trace is None else reading.open(trace).one()
    if opened is not None:
        loaded = loaded.for_user(opened)
    with progress("Comparing", "streams") as tell:
        found = measure(
            loaded,
            tuple(alternatives or ()),
            trace=opened,
            streams=streams,
            seed=seed,
            on_progress=tell,
        )
    for path in plots:
        save_comparison(found, path, overwrite=overwrite)
    return Compared(found, plots)
