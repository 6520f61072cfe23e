"""Make the pictures of docs/evidence/audits.md and its figures, benchmarks/results/audits.json.

Run ``python docs/pictures/make_audit_pictures.py``, then ``python -m benchmarks.pages``. Every
number comes from priste.audit with fixed seeds, so the files are the same on every run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
from priste.audit import (
    audit_procedure,
    averaging_attack,
    compare_guards,
    event_belief,
    sampled_leakage,
    smallest_excess,
)
from priste.audit.procedure import Procedure
from priste.randomness import bit_source
from priste.release import Certified

FOLDER = Path(__file__).parent.parent / "images"
RESULTS = FOLDER.parents[1] / "benchmarks" / "results" / "audits.json"
GUARDED, BARE, QUIET = "#0b6e6e", "#c8553d", "#8c98a4"
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)
CALIBRATORS = {"paper": "paper", "certified": Certified(guess=False)}


def line_of_six() -> dict[str, Any]:
    """The case of the table: six cells in a line, a region that is its two ends."""
    grid = Grid(rows=1, columns=6, cell_size=1.0)
    return {
        "model": MarkovModel.gaussian(grid, sigma=0.7),
        "events": {"ends": presence([0, 1, 5], steps=[2, 3])},
        "mech": PlanarLaplace(grid, alpha=1.0),
    }


def clinic() -> dict[str, Any]:
    """The case of the other pictures: a 10 km square, a clinic of nine cells in a corner."""
    grid = Grid(rows=10, columns=10, cell_size=1.0)
    cells = [row * 10 + column for row in range(3) for column in range(3)]
    return {
        "model": MarkovModel.gaussian(grid, sigma=1.0),
        "events": {"clinic": presence(cells, steps=range(3, 7))},
        "mech": PlanarLaplace(grid, alpha=2.0),
    }


def axes(width: float = 6.4, height: float = 3.4, columns: int = 1) -> Any:
    """Return a figure and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns)


def save(figure: Any, name: str) -> None:
    """Write a picture without a date or version in it."""
    figure.savefig(FOLDER / f"audit-{name}.png", dpi=120, metadata={"Software": None})


Rows = list[dict[str, Any]]


def true_leakage_picture() -> Rows:
    """Claimed ε against true leakage on the line, after one, two and three releases."""
    case = line_of_six()
    kept: Rows = []
    found: dict[tuple[str, str, int], list[float]] = {}
    for epsilon in EPSILONS:
        lines: dict[tuple[str, str], list[Any]] = {}
        for steps in (1, 2, 3):
            for row in audit_procedure(
                **case, epsilon=epsilon, steps=steps, calibrators=CALIBRATORS
            ):
                lines.setdefault((row.calibrator, row.sees), []).append(row)
                found.setdefault((row.calibrator, row.sees, steps), []).append(row.true)
        for (calibrator, sees), rows in lines.items():
            kept.append(
                {
                    "epsilon": epsilon,
                    "calibrator": calibrator,
                    "sees": sees,
                    "true": [round(row.true, 6) for row in rows],
                    "exceeding": round(rows[-1].exceeding, 6),
                }
            )
    figure, plot = axes()
    for steps, mark in ((1, "o"), (2, "s"), (3, "^")):
        label = f"{steps} release{'s' if steps > 1 else ''}"
        paper = found["paper", "outputs", steps]
        plot.plot(EPSILONS, paper, color=BARE, marker=mark, lw=1, label=f"paper, {label}")
    certified = found["certified", "outputs", 3]
    plot.plot(EPSILONS, certified, color=GUARDED, marker="^", lw=1, label="certified, 3 releases")
    plot.plot(EPSILONS, EPSILONS, color=QUIET, ls="--", lw=1, label="as claimed")
    plot.set(xscale="log", yscale="log", xlabel="claimed ε", ylabel="true leakage")
    plot.set_xticks(EPSILONS, [str(epsilon) for epsilon in EPSILONS])
    plot.minorticks_off()
    plot.set_yticks([0.1, 0.5, 1, 5], ["0.1", "0.5", "1", "5"])
    plot.legend(frameon=False, fontsize=8)
    save(figure, "true-leakage")
    return kept


def sampled_table() -> Rows:
    """The same on a hundred cells, along sampled streams."""
    case = clinic()
    kept: Rows = []
    for calibrator in ("paper", "certified"):
        p = Protector(
            case["model"], case["events"], case["mech"], 0.5, calibrator, adversary=AnyPrior()
        )
        row = sampled_leakage(p, steps=8, runs=20, rng=1)["clinic"]
        kept.append(
            {
                "calibrator": calibrator,
                "believed": round(row.nominal_value, 6),
                "true": round(row.value, 6),
                "exceeding": _interval(row.exceeding),
            }
        )
    return kept


def _interval(estimate: Any) -> list[float]:
    return [round(float(each), 6) for each in (estimate.value, estimate.low, estimate.high)]


def detection_table() -> Rows:
    """What a black-box check can find at a number of streams."""
    shares = (0.5, 0.1, 0.05, 0.01)
    kept: Rows = []
    for streams in (250, 500, 1000, 4000):
        found = [
            smallest_excess(0.5, streams_per_look=streams, probability=share) for share in shares
        ]
        excess = [round(each, 6) if each < float("inf") else None for each in found]
        kept.append({"streams": streams, "excess": excess})
    return kept


def belief_picture() -> None:
    """The adversary's belief over one stream, uncalibrated and guarded."""
    case = clinic()
    trajectory = case["model"].sample(10, 3, start=33)
    event = case["events"]["clinic"]
    figure, plots = axes(8.0, 3.2, columns=2)
    for plot, calibrator in zip(plots, ("uncalibrated", "certified"), strict=True):
        p = Protector(
            case["model"], case["events"], case["mech"], 0.5, calibrator, adversary=AnyPrior()
        )
        seen = Procedure(p).run(trajectory, bit_source(3)).likelihoods
        belief = event_belief(case["model"], event, seen)
        steps = np.arange(-1, len(seen))
        color = BARE if calibrator == "uncalibrated" else GUARDED
        plot.fill_between(
            steps, belief.lowest, belief.highest, color=color, alpha=0.15, lw=0, label="any prior"
        )
        plot.plot(steps, belief.given, color=color, label="uniform prior")
        plot.plot(steps, belief.worst, color=color, ls=":", label="worst prior")
        plot.set(title=calibrator, xlabel="after step", ylim=(-0.02, 1.02))
        plot.legend(frameon=False, fontsize=8, loc="center right")
    plots[0].set_ylabel("probability of the visit")
    save(figure, "beliefs")


def models_picture() -> Rows:
    """One stream's leakage if people move otherwise, and the price of guarding all of them."""
    case = clinic()
    grid = case["model"].grid
    family = {
        f"{sigma:g}": MarkovModel.gaussian(grid, sigma) for sigma in (0.5, 0.7, 1.0, 1.5, 2.0)
    }
    guards = compare_guards(
        [["1"], list(family)], family, case["events"], case["mech"], 2.0, 8,
        truth="1", runs=25, rng=5,
    )  # fmt: skip
    kept: Rows = []
    figure, plot = axes()
    for guard, color in zip(guards, (BARE, GUARDED), strict=True):
        values = [guard.leakage[name] for name in family]
        name = ", ".join(guard.guarded)
        kept.append(
            {
                "guarded": list(guard.guarded),
                "leakage": [round(value, 6) for value in values],
                "guess_km": _interval(guard.guess),
                "mean_budget": round(guard.mean_budget, 6),
            }
        )
        label = f"guarding σ = {name}: mean budget {guard.mean_budget:.3f}"
        plot.plot([float(n) for n in family], values, color=color, marker="o", label=label)
    plot.axhline(2.0, color=QUIET, ls="--", lw=1, label="ε")
    plot.set(xlabel="σ of the model of the adversary, km", ylabel="largest leakage")
    plot.set_ylim(bottom=0)
    plot.legend(frameon=False, fontsize=8)
    save(figure, "models")
    return kept


def averaging_picture() -> None:
    """How near repeated draws bring an adversary, for several mechanisms."""
    grid = clinic()["model"].grid
    draws = [1, 2, 5, 10, 20, 50, 100]
    figure, plot = axes()
    for alpha, color in ((0.5, GUARDED), (1.0, BARE), (2.0, "#7a3e9d")):
        mech = PlanarLaplace(grid, alpha=alpha)
        found = averaging_attack(mech, draws, runs=400, rng=1)
        low, high = [found[c].low for c in draws], [found[c].high for c in draws]
        plot.fill_between(draws, low, high, color=color, alpha=0.15, lw=0)
        values = [found[count].value for count in draws]
        plot.plot(draws, values, color=color, marker="o", label=f"α = {alpha:g} per km")
    plot.set(xscale="log", xlabel="independent draws at one place", ylabel="distance of guess, km")
    plot.set_xticks(draws, [str(count) for count in draws])
    plot.minorticks_off()
    plot.set_ylim(bottom=0)
    plot.legend(frameon=False, fontsize=8)
    save(figure, "averaging")


def main() -> None:
    """Make all pictures and keep the figures."""
    matplotlib.use("Agg")
    held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    held |= {
        "true_leakage": true_leakage_picture(),
        "sampled": sampled_table(),
        "detection": detection_table(),
        "models": models_picture(),
    }
    RESULTS.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    belief_picture()
    averaging_picture()


if __name__ == "__main__":
    main()
