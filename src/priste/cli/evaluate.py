"""``priste evaluate``: how useful released locations are, in the measures of the field."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import progress
from priste.cli.options import AS_IT_TELLS, Reading, RunPolicy, open_input

if TYPE_CHECKING:
    from priste.results import Evaluation


@dataclass(frozen=True)
class Evaluated:
    """What ``priste evaluate`` found."""

    evaluation: Evaluation
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/how-to/evaluate.md."""
        return {**self.evaluation.to_dict(), "users_left_out": self.left_out}

    def show(self, out: Console) -> None:
        """Print one table: the measures down, the ways of releasing across."""
        from priste.cli.tables import worth_table

        found = self.evaluation
        people = "1 person" if found.people == 1 else f"{found.people} people"
        out.print(
            f"{found.steps:,} steps of {people}; {found.coverage:.0%} of the true steps have a "
            "release."
        )
        if self.left_out:
            out.print(f"{self.left_out} users are in one of the files only and were left out.")
        out.print(worth_table({name: way.lines() for name, way in found.rows().items()}))
        out.print(
            "Errors are from the true fix to the released point. uncalibrated is one draw of the "
            "policy's mechanism without priste; constant is the point that is best for this very "
            "truth. docs/how-to/evaluate.md defines each line. All are made from true locations: "
            "keep them to yourself."
        )


def evaluate(
    released: Annotated[Path, typer.Argument(help="What was released: a file or a folder.")],
    truth: Annotated[
        Path | None,
        typer.Option(help="What was protected.  [default: that of the run]", show_default=False),
    ] = None,
    policy: RunPolicy = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the uncalibrated draw.")] = 1,
    reading: Reading = AS_IT_TELLS,
) -> Evaluated:
    """Measure how useful releases are, next to two baselines.

    The baselines are the uncalibrated mechanism and a constant point. The figures are made from
    true locations: keep them private.
    """
    from priste.batch import files_of_run
    from priste.policy import load_policy
    from priste.randomness import bit_source
    from priste.results.evaluation import evaluate_traces

    run = files_of_run(released)
    with progress("Reading"):
        loaded = load_policy(run.policy(policy))
        told = {each.user: each for part in run.parts() for each in reading.open(part)}
        true = {each.user: each for each in open_input(run, truth, reading)}
    with progress("Measuring"):
        found = evaluate_traces(loaded, true, told, bit_source(seed))
    return Evaluated(found, len(set(true) ^ set(told)))
