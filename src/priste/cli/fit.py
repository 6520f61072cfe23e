"""``priste fit``: a mobility model from traces, with how well it predicts people it did not see."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import progress
from priste.cli.options import AS_IT_TELLS, Cycle, Overwrite, PolicyFile, Reading

if TYPE_CHECKING:
    from priste.policy import HeldOut


@dataclass(frozen=True)
class Fitting:
    """What was fitted and how good it is; ``path`` is the model's as seen from the policy."""

    model: Path
    path: str
    fingerprint: str
    cells: int
    people: int
    cycle: str | None
    held_out: HeldOut | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/cli.md."""
        return {
            "model": str(self.model),
            "path": self.path,
            "fingerprint": self.fingerprint,
            "cells": self.cells,
            "people": self.people,
            "cycle": self.cycle,
            "held_out": None if self.held_out is None else asdict(self.held_out),
        }

    def show(self, out: Console) -> None:
        """Print where the model is and how well it predicts."""
        out.print(f"Wrote {self.model}, fitted on {self.people} people over {self.cells} cells.")
        score = self.held_out
        if score is None:
            out.print("Too little data to hold any of it out: how well it predicts is unknown.")
        else:
            out.print(
                f"On {score.moves} moves of people held out it loses {score.nats_per_move:.2f} "
                f"nats a move, as if choosing among {math.exp(score.nats_per_move):.1f} cells; a "
                f"model that knows nothing loses {score.uniform_nats:.2f}."
            )
        out.print(f'In the policy: [mobility] kind = "saved", path = "{self.path}"', markup=False)


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
    reading: Reading = AS_IT_TELLS,
    overwrite: Overwrite = False,
) -> Fitting:
    """Fit a mobility model on traces, on the map and clock of a policy."""
    from priste.policy import cell_sequences, fitted_model, held_out_score, load_ground
    from priste.whole_files import check_apart, check_writable

    check_writable(output, overwrite=overwrite)
    check_apart({"model": output}, {"traces": traces, "policy": policy})
    ground = load_ground(policy)
    with progress("Fitting"):
        sequences = cell_sequences(
            reading.open(traces),
            ground.grid,
            ground.timeline,
            rule=ground.rule,
            cycle=cycle,
            outside=ground.beyond,
        )
        score = held_out_score(ground.grid, ground.timeline, sequences, cycle=cycle, sigma=sigma)
        model = fitted_model(ground.grid, ground.timeline, sequences, cycle=cycle, sigma=sigma)
    model.save(output)
    path = os.path.relpath(output, policy.parent)
    return Fitting(
        output, path, model.fingerprint(), ground.grid.size, len(sequences), cycle, score
    )
