"""Make a picture of docs/evidence/audits.md, and its figures in benchmarks/results/audits.json.

Run ``python docs/pictures/make_adversary_pictures.py``, then ``python -m benchmarks.pages``. Seeds
are fixed, so the files are the same on every run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from priste import (
    AnyPrior,
    Grid,
    MarkovModel,
    PlanarLaplace,
    PriorsWithin,
    Protector,
    Quantifier,
    presence,
)
from priste.release import Certified

FOLDER = Path(__file__).parent.parent / "images"
RESULTS = FOLDER.parents[1] / "benchmarks" / "results" / "audits.json"
LEAKAGE, DISTANCE, QUIET = "#c8553d", "#0b6e6e", "#8c98a4"
FACTORS = (1.0, 1.5, 2.0, 4.0, 10.0, 100.0, 1e4, 1e6)
RUNS, STEPS = 12, 8


def town() -> dict[str, Any]:
    """An 8 km square, a clinic of four cells, noise of 1 per km."""
    grid = Grid(rows=8, columns=8, cell_size=1.0)
    return {
        "grid": grid,
        "model": MarkovModel.gaussian(grid, sigma=1.0),
        "event": presence([9, 10, 17, 18], range(2, 5)),
        "mech": PlanarLaplace(grid, alpha=1.0),
    }


def leakage(case: dict[str, Any], adversary: Any, walks: list[np.ndarray]) -> float:
    """The mean leakage of uncalibrated releases of the true cells, drawn with fixed seeds."""
    found = []
    for seed, walk in enumerate(walks):
        rng = np.random.default_rng(seed)
        q = Quantifier(case["model"], case["event"], adversary)
        table = case["mech"].emission()
        for cell in walk:
            q.observe(table[:, rng.choice(len(table), p=table[cell] / table[cell].sum())])
        found.append(q.leakage().value)
    return float(np.mean(found))


def distance(case: dict[str, Any], adversary: Any, walks: list[np.ndarray]) -> float:
    """The mean distance (km) of certified releases at ε = 1 against an adversary."""
    found = []
    for seed, walk in enumerate(walks):
        guard = Protector(
            case["model"], {"clinic": case["event"]}, case["mech"], 1.0,
            calibrator=Certified(), rng=seed, adversary=adversary,
        )  # fmt: skip
        for cell in walk:
            found.append(case["grid"].distances_from(int(cell))[guard.release(int(cell)).cell])
    return float(np.mean(found))


def main() -> None:
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    case = town()
    prior = case["model"].stationary()
    walks = [case["model"].sample(STEPS, rng=seed, start=prior) for seed in range(RUNS)]
    adversaries = [PriorsWithin(prior, factor) for factor in FACTORS]
    rows = [
        (leakage(case, adversary, walks), distance(case, adversary, walks))
        for adversary in (*adversaries, AnyPrior())
    ]
    held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    held["adversaries"] = [
        {"factor": factor, "leakage": round(leaked, 6), "km": round(far, 6)}
        for factor, (leaked, far) in zip((*FACTORS, None), rows, strict=True)
    ]
    RESULTS.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    figure = Figure(figsize=(7.6, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    places = (*FACTORS, FACTORS[-1] * 30)
    for axes, column, colour, label in (
        (left, 0, LEAKAGE, "leakage of uncalibrated releases"),
        (right, 1, DISTANCE, "mean km, certified at ε = 1"),
    ):
        values = [row[column] for row in rows]
        axes.plot(places[:-1], values[:-1], "o-", color=colour, markersize=4)
        axes.plot(places[-1], values[-1], "D", color=colour)
        axes.axhline(values[-1], color=QUIET, linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_xticks([1, 1e2, 1e4, places[-1]], ["known", "100", "10⁴", "any"])
        axes.set_xlabel("odds within this factor of the known prior")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "adversaries.png", dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
