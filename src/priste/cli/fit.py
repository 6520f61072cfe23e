"""``priste fit``: a mobility model from traces, with how well it predicts people it did not see."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from priste.cli.console import progress
from priste.cli.options import AS_IT_TELLS, Overwrite, PolicyFile, Reading

if TYPE_CHECKING:
    from priste.mobility import HomeHabits, PopulationChoice

MEMORY_WORDS = {
    "plain": "counts as they are, all hours alike",
    "none": "all hours alike",
    "parts": "by part of the day",
    "hours": "by hour of the day",
    "week": "by part of the day, weekdays and weekends apart",
}


@dataclass(frozen=True)
class Fitting:
    """What was fitted and how good it is; ``path`` is the model's as seen from the policy."""

    model: Path
    path: str
    fingerprint: str
    cells: int
    people: int
    choice: PopulationChoice
    home_habits: HomeHabits

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        choice = self.choice
        held_out = {
            "moves": choice.moves,
            "nats_per_move": choice.nats_per_move,
            "uniform_nats": choice.uniform_nats,
            "memories": [asdict(score) for score in choice.scores],
        }
        return {
            "model": str(self.model),
            "path": self.path,
            "fingerprint": self.fingerprint,
            "cells": self.cells,
            "people": self.people,
            "memory": choice.memory,
            "held_out": held_out if choice.scores else None,
            "home_habits": self._home_keys(),
        }

    def show(self, out: Console) -> None:
        """Print where the model is, how well it predicts, and what it was compared to."""
        persons = "1 person" if self.people == 1 else f"{self.people} people"
        out.print(f"Wrote {self.model}, fitted on {persons} over {self.cells} cells.")
        nats = self.choice.nats_per_move
        if nats is None:
            out.print("Too little data to hold any of it out: how well it predicts is unknown.")
        else:
            who = "people" if self.people > 1 else "days"
            out.print(
                f"It moves {MEMORY_WORDS[self.choice.memory]}. On {self.choice.moves} moves of "
                f"{who} left out it loses {nats:.3f} nats per move, as if choosing among "
                f"{math.exp(nats):.1f} cells; a model that knows nothing loses "
                f"{self.choice.uniform_nats:.2f}."
            )
            out.print(self._comparison())
        out.print(f'In the policy: [mobility] kind = "saved", path = "{self.path}"', markup=False)
        keys = ", ".join(f"{name} = {value}" for name, value in self._home_keys().items())
        out.print(f'For a person whose home is known, also: home = "REGION", {keys}', markup=False)

    def _home_keys(self) -> dict[str, float]:
        """Return how these people's homes draw them, by the keys of a policy."""
        habits = self.home_habits
        found = {
            "stay_home": habits.stay,
            "back_home": habits.back,
            "stay_home_at_night": habits.stay_at_night,
            "back_home_at_night": habits.back_at_night,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _comparison(self) -> Table:
        table = Table("memory", "matrices", "nats per move", "", box=None, pad_edge=False)
        for score in self.choice.scores:
            mark = "chosen" if score.memory == self.choice.memory else ""
            words = MEMORY_WORDS[score.memory]
            table.add_row(
                f"{score.memory}: {words}", str(score.phases), f"{score.nats_per_move:.3f}", mark
            )
        return table


def fit(
    traces: Annotated[Path, typer.Argument(help="Traces of people, a file or a folder.")],
    policy: PolicyFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The model file to write (.npz).")
    ] = Path("model.npz"),
    memory: Annotated[
        Literal["auto", "none", "parts", "hours", "week"],
        typer.Option(
            help="How much of the clock the model knows; auto chooses by cross-validation."
        ),
    ] = "auto",
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="These people are never released: also read the hours that the events guard.",
        ),
    ] = False,
    reading: Reading = AS_IT_TELLS,
    overwrite: Overwrite = False,
) -> Fitting:
    """Fit a mobility model on traces, on a policy's map and clock.

    The hours that the events of the policy guard are left out, for all people and on all days.
    """
    from priste.atomic_files import check_apart, check_writable
    from priste.mobility import home_habits_of
    from priste.policy import cell_sequences, chosen_memory, load_ground, population_model
    from priste.policy.formula_models import nights
    from priste.policy.model_choice import check_enough, without_windows
    from priste.policy.windows import NO_WINDOWS

    check_writable(output, overwrite=overwrite)
    check_apart({"model": output}, {"traces": traces, "policy": policy})
    ground = load_ground(policy)
    grid, timeline = ground.grid, ground.timeline
    with progress("Fitting"):
        people = cell_sequences(
            without_windows(reading.open(traces), NO_WINDOWS if public else ground.windows),
            grid,
            timeline,
            rule=ground.rule,
            outside=ground.beyond,
        )
        if not public:
            check_enough(people)
        choice = chosen_memory(grid, timeline, people, memory)
        model = population_model(grid, timeline, people, choice)
        habits = home_habits_of(grid, ([person.cells] for person in people), nights(timeline))
    model.save(output)
    path = os.path.relpath(output, policy.parent)
    return Fitting(output, path, model.fingerprint(), grid.size, len(people), choice, habits)
