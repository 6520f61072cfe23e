"""Makes the picture of docs/explanation/release-tables.md, and prints its table.

Run ``python docs/pictures/make_table_pictures.py``. Streams move by the model itself with fixed
seeds; distances are those expected under the model given the past, so few streams are enough.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from priste import Grid, Identity, KnownPrior, MarkovModel, Protector, presence
from priste.release import Certified, Optimal
from priste.release.calibrators.spending import sensitivity, share_by

FOLDER = Path(__file__).parent.parent / "images"
GUARDED, OTHER, QUIET = "#0b6e6e", "#c8553d", "#8c98a4"
STEPS, STREAMS, EPSILON = 60, 6, 1.0
CLINIC, HOURS = (14, 15, 20, 21), range(20, 24)


def town() -> tuple[Grid, MarkovModel]:
    """Return a town of 6 km where people mostly stay where they are."""
    grid = Grid(rows=6, columns=6, cell_size=1.0)
    near = MarkovModel.gaussian(grid, sigma=0.8).transition(0)
    moves = np.array([near.push(row) for row in np.eye(grid.size)])
    matrix = 0.85 * np.eye(grid.size) + 0.15 * moves
    return grid, MarkovModel(grid, matrix / matrix.sum(axis=1, keepdims=True))


def streams(calibrator: Any) -> tuple[Any, Any, Any, Any]:
    """Return (streams, steps) expected distances and leakages, the shares, and the terms."""
    grid, model = town()
    population = model.stationary()
    apart = np.hypot(*(grid.centers[:, None, :] - grid.centers[None, :, :]).transpose(2, 0, 1))
    distances, leakages = np.zeros((2, STREAMS, STEPS))
    for seed in range(STREAMS):
        p = Protector(model, presence(CLINIC, HOURS), Identity(grid), EPSILON, calibrator,
                      rng=seed, adversary=KnownPrior(population))  # fmt: skip
        for step, cell in enumerate(model.sample(STEPS, rng=seed, start=population)):
            state = p.state
            table = p.distribution().outputs()
            distances[seed, step] = state.predicted() @ (table * apart).sum(axis=1)
            leakages[seed, step] = p.release(int(cell)).leakage[0]
    terms = p.state.terms
    shares = [share_by(terms, 0, step) for step in range(STEPS)]
    return distances, leakages, shares, float((population @ apart).min())


def main() -> None:
    """Print the table and write the picture."""
    distances, leakages, shares, nothing = streams(Optimal())
    paced, _, _, _ = streams(Certified(pace=0.1))
    print("steps     optimal  certified  (expected distance over that of the constant point)")
    parts = {"before": slice(0, 20), "in the event": slice(20, 24), "after": slice(24, STEPS)}
    for name, part in parts.items():
        ours, theirs = distances[:, part].mean() / nothing, paced[:, part].mean() / nothing
        print(f"{name:12}  {ours:.2f}     {theirs:.2f}")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _, model = town()
    apart = sensitivity(model, presence(CLINIC, HOURS), model.stationary())[:STEPS]
    left.plot(apart, color=QUIET, label="how much a step can reveal")
    left.plot(EPSILON * np.array(shares), color=OTHER, label="may be used up by now")
    left.plot(leakages.T, color=GUARDED, alpha=0.5, lw=0.8)
    left.plot([], [], color=GUARDED, label="used by six streams")
    left.set(xlabel="step", ylabel="of ε = 1", ylim=(0, 1.03))
    right.axhline(1.0, color=QUIET, label="constant point")
    right.plot(paced.mean(axis=0) / nothing, color=OTHER, label="certified, pace 0.1")
    right.plot(distances.mean(axis=0) / nothing, color=GUARDED, label="optimal")
    right.set(xlabel="step", ylabel="distance over that of a constant point", ylim=(0, 1.1))
    for axes in (left, right):
        axes.axvspan(HOURS[0], HOURS[-1], color=QUIET, alpha=0.2, lw=0)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(FOLDER / "schedule.png", dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
