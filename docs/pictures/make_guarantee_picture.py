"""Make the picture of docs/explanation/adversaries.md about one-sided guarantees; print its table.

Run ``python docs/pictures/make_guarantee_picture.py``. Nothing is drawn at random: the shares are
read off the exact distribution of the release.
"""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib
import numpy as np

from priste import Grid, Identity, KnownPrior, MarkovModel, OddsBound, Protector, at
from priste.release import Optimal

FOLDER = Path(__file__).parent.parent / "images"
BOUNDS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
CLINIC = (6, 7)


def shares(up: float) -> tuple[float, float]:
    """Of days without the event: those shown to be without it, and those released exactly."""
    grid = Grid(rows=5, columns=5, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    population = model.stationary()
    table = Protector(
        model, at(CLINIC, 0), Identity(grid), OddsBound(up, math.inf), Optimal(pace=1.0),
        adversary=KnownPrior(population),
    ).distribution().outputs()  # fmt: skip
    without = np.array([0.0 if cell in CLINIC else population[cell] for cell in range(grid.size)])
    without /= without.sum()
    clears = ~table[list(CLINIC)].any(axis=0)
    return float(without @ table[:, clears].sum(axis=1)), float(without @ np.diag(table))


def main() -> None:
    """Print the table and write the picture."""
    found = {up: shares(up) for up in BOUNDS}
    print("ε up   at most   shown to be without it   released exactly")
    for up, (cleared, exact) in found.items():
        print(f"{up:4}   {1 - math.exp(-up):7.3f}   {cleared:22.3f}   {exact:16.3f}")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    line = np.linspace(0, max(BOUNDS), 200)
    axes.plot(line, 1 - np.exp(-line), color="#8c98a4", label="the limit 1 - e^-ε")
    axes.plot(BOUNDS, [c for c, _ in found.values()], "o", color="#c8553d", ms=11, mfc="none",
              label="ordinary days shown to be without the event")  # fmt: skip
    axes.plot(BOUNDS, [e for _, e in found.values()], "s", color="#0b6e6e",
              label="ordinary days released exactly")  # fmt: skip
    axes.set(xlabel="ε upwards (downwards free)", ylabel="share of ordinary days", ylim=(0, 1.03))
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(FOLDER / "upwards.png", dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
