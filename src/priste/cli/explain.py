"""``priste explain``: a policy in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from priste.cli.console import progress
from priste.errors import PristeError

if TYPE_CHECKING:
    from priste.policy import Explanation, Policy


@dataclass(frozen=True)
class Explained:
    """What a policy says, to be printed."""

    explanation: Explanation
    cost: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        return {**self.explanation.to_dict(), "cost": list(self.cost)}

    def show(self, out: Console) -> None:
        """Print what is guaranteed, what is not, each event's numbers and each region's drawing."""
        from priste.policy.adversary_choice import ASSUMED
        from priste.results import percent
        from priste.results.wording import believed_words

        explained = self.explanation
        _paragraphs(out, "In short", explained.summary)
        if explained.guaranteed:
            _paragraphs(out, "What is guaranteed", (explained.against, *explained.guaranteed))
        else:
            nothing = ("Nothing: this calibrator keeps no guarantee.",)
            _paragraphs(out, "What is guaranteed", nothing, style="red")
        _paragraphs(out, "What is not guaranteed", (*explained.not_guaranteed, ASSUMED))
        if explained.unguarded:
            _paragraphs(out, "What is not guarded", explained.unguarded, style="yellow")
        if self.cost:
            _paragraphs(out, "What it will cost", self.cost)
        out.print("[bold]The events[/bold]")
        for event in explained.events:
            out.print()
            out.print(Text.assemble("  ", (event.name, "bold"), f"   {event.formula}"))
            first, last = event.first_time, event.last_time
            when = first if event.steps == 1 else f"{first} to {last}"
            steps = f"{event.steps} step{'s' if event.steps != 1 else ''}"
            out.print(f"    speaks of {steps}, {when}; {event.worlds} worlds")
            low, high = percent(event.lowest), percent(event.highest)
            likely = f"{low} to {high}, depending on" if low != high else f"{low}, whatever"
            what = "its probability"
            if len(event.answers) > 2:
                what = f"the probability {believed_words(event.answers)}"
            out.print(f"    before any release {what} is {likely} the start")
        for name, drawing in explained.drawings.items():
            out.print(f"\n[bold]Region {name}[/bold]")
            out.print(Padding(Text(drawing), (0, 0, 0, 2)))


def explain(
    policy: Annotated[Path, typer.Argument(help="The policy, a TOML file.")],
    foretold: Annotated[
        bool,
        typer.Option("--forecast/--no-forecast", help="Also state the expected errors."),
    ] = True,
) -> Explained:
    """State in plain words what a policy guarantees, and its cost."""
    from priste.policy import explain_policy, load_policy

    with progress("Reading the policy"):
        loaded = load_policy(policy)
        explained = explain_policy(loaded)
    return Explained(explained, cost_words(loaded) if foretold else ())


def cost_words(policy: Policy) -> tuple[str, ...]:
    """Return the short form of a forecast, or why there is none."""
    from priste.forecast import quick_forecast

    with progress("Simulating", "releases") as tell:
        try:
            row = quick_forecast(policy, on_progress=tell)
        except PristeError as error:
            return (f"This cannot be foretold: {error}",)
    return row.sentence(), f"{row.basis()} More with: priste forecast"


def _paragraphs(
    out: Console, title: str, lines: tuple[str, ...], *, style: str | None = None
) -> None:
    out.print(f"[bold]{title}[/bold]")
    for line in lines:
        mark = Text("•", style=style or "cyan")
        out.print(Padding(Text.assemble(mark, " ", line), (0, 0, 0, 2)))
    out.print()
