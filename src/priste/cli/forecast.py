"""``priste forecast``: what a policy will cost, and what its neighbours would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from priste.cli.console import notices, progress
from priste.cli.options import AS_IT_TELLS, Overwrite, Reading

if TYPE_CHECKING:
    from priste.audit.estimates import Estimate
    from priste.forecast import Forecast, Row, Suggestion


@dataclass(frozen=True)
class Foreseen:
    """What ``priste forecast`` found."""

    forecast: Forecast
    plot: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/how-to/forecast.md."""
        return {**self.forecast.to_dict(), "plot": None if self.plot is None else str(self.plot)}

    def show(self, out: Console) -> None:
        """Print the policy's own cost in a sentence, and a table of its neighbours."""
        from priste.cli.tables import forecast_table

        first = self.forecast.rows[0]
        if not self.forecast.complete:
            out.print("Stopped: this is what was simulated so far.\n")
        out.print(first.sentence())
        out.print(f"{first.basis()}\n")
        out.print(forecast_table(self.forecast.rows))
        _, _, against = first.guarantee.partition("; against ")
        for row in self.forecast.rows:
            what, _, whom = row.guarantee.partition("; against ")
            said = what if row is not first and whom == against else row.guarantee
            out.print(f"[bold]{row.name}[/bold]: {said}.")
        if self.plot is not None:
            out.print(f"\nWrote {self.plot}.", markup=False)


@dataclass(frozen=True)
class Suggested:
    """What ``priste forecast --at-most`` found."""

    suggestion: Suggestion

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/how-to/forecast.md."""
        return self.suggestion.to_dict()

    def show(self, out: Console) -> None:
        """Print the strongest guarantee of each kind, or that there is none."""
        from priste.cli.tables import forecast_table
        from priste.forecast.suggestion import WHERE_WORDS
        from priste.results import length

        found = self.suggestion
        wish = f"at most {length(found.metres)} {WHERE_WORDS[found.where]}"
        if not found.rows:
            out.print(
                f"No guarantee that was tried costs {wish}. Larger cells, a weaker adversary or "
                "fewer events would help."
            )
            return
        out.print(f"The strongest guarantees that cost {wish}:\n")
        out.print(forecast_table(found.rows))
        for row in found.rows:
            out.print(f"[bold]{row.name}[/bold]: {row.guarantee}.")


def interval(estimate: Estimate | None) -> str:
    """Say a mean, and where it lies in 80 of 100 cases, both in metres or both in kilometres.

    >>> from priste.audit.estimates import Estimate
    >>> interval(Estimate(965.0, 300.0, 1630.0)), interval(Estimate(430.0, 212.0, 861.0))
    ('1.0 km, 0.3 to 1.6', '430 m, 210 to 860')
    """
    if estimate is None:
        return "–"
    ends = (estimate.value, estimate.low, estimate.high)
    if max(ends) < 995:
        value, low, high = (f"{round(each, -1):.0f}" for each in ends)
        return f"{value} m, {low} to {high}"
    digits = 1 if estimate.value < 10_000 else 0
    value, low, high = (f"{each / 1000:.{digits}f}" for each in ends)
    return f"{value} km, {low} to {high}"


def forecast(
    policy: Annotated[Path, typer.Argument(help="The policy, a TOML file.")],
    trace: Annotated[
        Path | None,
        typer.Option(help="Your own trace: forecast on it. Its figures are private."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=2, help="How many streams to simulate for the policy itself.")
    ] = 8,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Follow only the first N steps, not those around events."),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="About how long to compute; in less time, fewer steps.")
    ] = 30.0,
    seed: Annotated[int, typer.Option(min=0, help="Makes the forecast repeatable.")] = 1,
    alone: Annotated[
        bool,
        typer.Option("--no-neighbours", help="Forecast the policy as it is, without variants."),
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw it: a page (.html) or a picture (.png, .pdf, .svg).")
    ] = None,
    overwrite: Overwrite = False,
    at_most: Annotated[
        float | None,
        typer.Option(help="Find the strongest guarantees that cost this many metres or less."),
    ] = None,
    where: Annotated[
        Literal["far", "near", "everywhere"],
        typer.Option(help="Which error --at-most limits: far from events, near, or all."),
    ] = "far",
    reading: Reading = AS_IT_TELLS,
) -> Foreseen | Suggested:
    """State what a policy will cost in metres, before any release."""
    from priste.forecast import forecast as foresee
    from priste.forecast import suggest
    from priste.forecast.picture import check_plot, save_forecast
    from priste.policy import load_policy

    if plot is not None:
        check_plot(plot, overwrite=overwrite)
    with progress("Reading the policy"):
        loaded = load_policy(policy)
    opened = None if trace is None else reading.open(trace).one()
    if at_most is not None:
        with progress("Trying guarantees", "settings") as tell:
            return Suggested(
                suggest(
                    loaded,
                    at_most,
                    trace=opened,
                    where=where,
                    runs=min(runs, 3),
                    seed=seed,
                    steps=steps,
                    on_progress=tell,
                )
            )
    with progress("Simulating", "releases") as tell:
        found = foresee(
            loaded,
            runs=runs,
            seed=seed,
            steps=steps,
            neighbours=not alone,
            seconds=seconds,
            trace=opened,
            on_progress=tell,
            on_row=_first_answer if notices().is_terminal else None,
        )
    if plot is not None:
        save_forecast(found.rows, plot, overwrite=overwrite)
    return Foreseen(found, plot)


def _first_answer(row: Row) -> None:
    notices().print(f"First answer, from {row.cost.runs} streams: {row.sentence()}\n")
