"""``priste forecast``: what a policy will cost, and what its neighbours would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from priste.cli.console import progress
from priste.cli.options import Overwrite

if TYPE_CHECKING:
    from priste.audit.estimates import Estimate
    from priste.forecast import Forecast, Suggestion


@dataclass(frozen=True)
class Foreseen:
    """What ``priste forecast`` found."""

    forecast: Forecast
    plot: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/forecast.md."""
        return {**self.forecast.to_dict(), "plot": None if self.plot is None else str(self.plot)}

    def show(self, out: Console) -> None:
        """Print the policy's own cost in a sentence, and a table of its neighbours."""
        from priste.cli.tables import forecast_table

        first = self.forecast.rows[0]
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
        """Return plain values for JSON; see docs/forecast.md."""
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
    """Say an estimate with half its 95 % interval, both in metres or both in kilometres.

    >>> from priste.audit.estimates import Estimate
    >>> interval(Estimate(965.0, 300.0, 1630.0)), interval(Estimate(1100.0, 420.0, 1780.0))
    ('965 ± 665 m', '1.1 ± 0.7 km')
    """
    if estimate is None:
        return "–"
    half = (estimate.high - estimate.low) / 2
    if max(estimate.value, half) < 1000:
        return f"{estimate.value:.0f} ± {half:.0f} m"
    digits = 1 if max(estimate.value, half) < 10_000 else 0
    return f"{estimate.value / 1000:.{digits}f} ± {half / 1000:.{digits}f} km"


def forecast(
    policy: Annotated[Path, typer.Argument(help="The policy, a TOML file.")],
    runs: Annotated[int, typer.Option(min=2, help="How many streams to simulate.")] = 5,
    steps: Annotated[
        int | None, typer.Option(min=1, help="The first so many steps, not those around events.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="Stop after about so long with what there is.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Makes the forecast repeatable.")] = 1,
    alone: Annotated[
        bool, typer.Option("--no-neighbours", help="Only the policy as it is.")
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
        typer.Option(help="Where --at-most is about: far from the events, near, everywhere."),
    ] = "far",
) -> Foreseen | Suggested:
    """Tell what a policy will cost in metres, before anything is released."""
    from priste.forecast import forecast as foresee
    from priste.forecast import suggest
    from priste.forecast.picture import check_plot, save_forecast
    from priste.policy import load_policy

    if plot is not None:
        check_plot(plot, overwrite=overwrite)
    with progress("Reading the policy"):
        loaded = load_policy(policy)
    if at_most is not None:
        with progress("Trying guarantees", "releases") as tell:
            return Suggested(
                suggest(
                    loaded,
                    at_most,
                    where=where,
                    runs=runs,
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
            on_progress=tell,
        )
    if plot is not None:
        save_forecast(found.rows, plot, overwrite=overwrite)
    return Foreseen(found, plot)
