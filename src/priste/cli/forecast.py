"""``priste forecast``: what a policy will cost, and what its neighbours would."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import progress

if TYPE_CHECKING:
    from priste.audit.estimates import Estimate
    from priste.forecast import Forecast, Row


@dataclass(frozen=True)
class Foreseen:
    """What ``priste forecast`` found."""

    forecast: Forecast

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/forecast.md."""
        return self.forecast.to_dict()

    def show(self, out: Console) -> None:
        """Print the policy's own cost in a sentence, and a table of its neighbours."""
        from priste.cli.tables import forecast_table

        first = self.forecast.rows[0]
        cost = first.cost
        out.print(sentence(first))
        out.print(
            f"From {cost.runs} simulated streams of {cost.steps} steps; nothing was released.\n"
        )
        out.print(forecast_table(self.forecast))
        _, _, against = first.promise.partition("; against ")
        for row in self.forecast.rows:
            what, _, whom = row.promise.partition("; against ")
            said = what if row is not first and whom == against else row.promise
            out.print(f"[bold]{row.name}[/bold]: {said}.")


@dataclass(frozen=True)
class Suggested:
    """What ``priste forecast --at-most`` found."""

    metres: float
    row: Row | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/forecast.md."""
        from dataclasses import asdict

        return {"at_most": self.metres, "setting": None if self.row is None else asdict(self.row)}

    def show(self, out: Console) -> None:
        """Print the strongest promise, or that there is none."""
        from priste.report import length

        if self.row is None:
            out.print(
                f"No promise that was tried costs at most {length(self.metres)} far from the "
                "events. Larger cells, a weaker observer or one direction only would help."
            )
            return
        out.print(f"The strongest promise at {length(self.metres)}: {self.row.name}.")
        out.print(f"{self.row.promise[0].upper()}{self.row.promise[1:]}.")
        out.print(sentence(self.row))


def sentence(row: Row) -> str:
    """Say what a setting costs."""
    from priste.report import length, percent

    cost = row.cost
    parts = [
        f"Expect releases {length(cost.released.all.value)} from the truth on average (the "
        f"mechanism alone {length(cost.alone.all.value)}, one constant cell "
        f"{length(cost.nothing.all.value)})"
    ]
    if cost.released.far is not None and cost.released.near is not None:
        parts.append(
            f"{length(cost.released.far.value)} far from the events, "
            f"{length(cost.released.near.value)} near them"
        )
    exact = cost.released.exact.value
    return "; ".join(parts) + f". {percent(exact)} of the steps are told as they are."


def interval(estimate: Estimate | None) -> str:
    """Say an estimate with half its 95 % interval, in lengths."""
    from priste.report import length

    if estimate is None:
        return "–"
    return f"{length(estimate.value)} ± {length((estimate.high - estimate.low) / 2)}"


def forecast(
    policy: Annotated[Path, typer.Argument(help="The policy, a TOML file.")],
    runs: Annotated[int, typer.Option(min=2, help="How many streams to simulate.")] = 5,
    steps: Annotated[
        int | None, typer.Option(min=1, help="How many steps; to a day after the last event.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Makes the forecast repeatable.")] = 1,
    alone: Annotated[
        bool, typer.Option("--no-neighbours", help="Only the policy as it is.")
    ] = False,
    at_most: Annotated[
        float | None,
        typer.Option(help="Find the strongest promise at this many metres far from the events."),
    ] = None,
) -> Foreseen | Suggested:
    """Tell what a policy will cost in metres, before anything is released."""
    from priste.forecast import forecast as foresee
    from priste.forecast import suggest
    from priste.policy import load_policy

    with progress("Reading the policy"):
        loaded = load_policy(policy)
    if at_most is not None:
        with progress("Trying promises") as tell:
            row = suggest(loaded, at_most, runs=runs, seed=seed, steps=steps, on_progress=tell)
        return Suggested(at_most, row)
    with progress("Simulating") as tell:
        found = foresee(
            loaded, runs=runs, seed=seed, steps=steps, neighbours=not alone, on_progress=tell
        )
    return Foreseen(found)
