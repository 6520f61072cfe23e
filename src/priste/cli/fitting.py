"""``priste fit``: a mobility model from traces, with how well it predicts people it did not see."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console

from priste.cli.console import progress
from priste.cli.sources import Reading
from priste.errors import TraceError

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


def fit_model(
    policy: Path,
    source: Path,
    output: Path,
    reading: Reading,
    *,
    cycle: Literal["day", "week"] | None,
    sigma: float | None,
    overwrite: bool,
) -> Fitting:
    """Fit on all traces, score on people held out, and save the model."""
    from priste.policy import cell_sequences, fitted_model, held_out_score, load_ground

    if output.exists() and not overwrite:
        raise TraceError(
            f"There is already a file {str(output)!r}. Choose another name, or --overwrite."
        )
    ground = load_ground(policy)
    with progress("Fitting"):
        sequences = cell_sequences(
            reading.open(source), ground.grid, ground.timeline, rule=ground.rule, cycle=cycle
        )
        score = held_out_score(ground.grid, ground.timeline, sequences, cycle=cycle, sigma=sigma)
        model = fitted_model(ground.grid, ground.timeline, sequences, cycle=cycle, sigma=sigma)
    model.save(output)
    path = os.path.relpath(output, policy.parent)
    return Fitting(
        output, path, model.fingerprint(), ground.grid.size, len(sequences), cycle, score
    )


def show(made: Fitting, out: Console) -> None:
    """Print where the model is and how well it predicts."""
    out.print(f"Wrote {made.model}, fitted on {made.people} people over {made.cells} cells.")
    score = made.held_out
    if score is None:
        out.print("Too little data to hold any of it out: how well it predicts is unknown.")
    else:
        out.print(
            f"On {score.moves} moves of people held out it loses {score.nats_per_move:.2f} nats a "
            f"move, as if choosing among {math.exp(score.nats_per_move):.1f} cells; a model that "
            f"knows nothing loses {score.uniform_nats:.2f}."
        )
    out.print(f'In the policy: [mobility] kind = "saved", path = "{made.path}"', markup=False)
