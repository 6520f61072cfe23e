"""How far from the truth each calibrator releases, at equal ε, with the true leakage beside it.

Run with ``python -m benchmarks.optimal``: 20 seeds, maps of 5 × 5, 10 × 10 and 20 × 20 cells, on
two processes. ``python -m benchmarks.optimal quick`` runs a few seeds at ε = 1. Both write
``benchmarks/results/optimal.json`` as they go.

All calibrators see the same walks, which begin anywhere on the map alike, as the public prior
says. Two means are over all steps of all walks, each with a 95 % interval over seeds:

- ``released``: the distance between the true cell and the released one;
- ``expected``: the same, expected given the releases before the step: over where the user may be
  then, and over what the law of the step may draw. It estimates the same mean with far less
  noise, as it leaves out which walk and which draw it happened to be.

The true leakage is exact along the released streams, for an adversary who knows the procedure
and sees the budgets. Seconds are CPU seconds of a step, the first of a walk left out. ``nothing``
releases the cell that is best on average without looking: what a release must beat to be of any
use to somebody who knows the model.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core each: before numpy is imported

import numpy as np
from rich.console import Console
from scipy.stats import t as student

from priste import Grid, MarkovModel, PlanarLaplace, pattern, presence
from priste.events import Event
from priste.quantify import Quantifier
from priste.randomness import BitSource, bit_source
from priste.release import (
    Calibrator,
    Certified,
    Draw,
    Law,
    Optimal,
    Paper,
    PublicState,
    Remap,
)
from priste.release.calibrators.remap.cost import Costs
from priste.release.prediction import Prediction
from priste.release.terms import make_terms

RESULTS = Path(__file__).parent / "results" / "optimal.json"

ALPHA = 1.0
PACE = 0.5
STEPS = 6
PROCESSES = 2
SECONDS = {5: None, 10: 0.8, 20: 0.8}
"""Per side of the map, how many CPU seconds ``optimal`` may look for a law; checks come on top."""

NAMES = ("paper", "certified", "remap", "optimal", "nothing")


@dataclass(frozen=True)
class Plan:
    """What is run: the sides of the maps, the values of ε, and how many seeds."""

    sides: tuple[int, ...] = (5, 10, 20)
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0)
    seeds: int = 20

    def settings(self) -> Iterator[tuple[int, str, float]]:
        """Yield side, kind of event and ε of every row of the table."""
        for side in self.sides:
            for kind in ("presence", "pattern"):
                for epsilon in self.epsilons:
                    yield side, kind, epsilon


FULL = Plan()
QUICK = Plan(epsilons=(1.0,), seeds=4)


class Nothing:
    """Release the best public output at every step."""

    promise = True

    def draw(self, state: PublicState, cell: int, bits: BitSource) -> Draw:
        """Return the output; the cell is not looked at."""
        output = int(self.law(state).joint[0, 0].argmax())
        return Draw(output, 0.0, likelihood=np.ones(state.mechanism.grid.size))

    def law(self, state: PublicState) -> Law:
        """Return certainty of one output."""
        mechanism, costs = state.mechanism, Costs("distance", "Nothing")
        best = costs.best_public_output(costs.matrix(mechanism), state.predicted())
        joint = np.zeros((1, mechanism.grid.size, mechanism.outputs))
        joint[:, :, best] = 1.0
        return Law((0.0,), joint)

    def describe(self) -> dict[str, Any]:
        """Return its name."""
        return {"kind": "nothing"}


def events(side: int) -> dict[str, Event]:
    """Return a PRESENCE and a PATTERN at steps 2 and 3, on part of the southern edge."""
    west, east = list(range(side // 2)), list(range(side // 2, side))
    return {"presence": presence(west, [2, 3]), "pattern": pattern([west, east], [2, 3])}


def calibrator(name: str, side: int) -> Calibrator:
    """Return a calibrator as it is measured."""
    if name == "optimal":
        # Seconds of this process: other programs do not change what is found.
        return Optimal(pace=PACE, seconds=SECONDS[side], clock=time.process_time)
    if name == "paper":
        return Paper()
    if name == "nothing":
        return Nothing()
    return Remap(pace=PACE) if name == "remap" else Certified(pace=PACE)


def stream(side: int, kind: str, epsilon: float, name: str, seed: int) -> dict[str, float]:
    """Release one walk; return its mean distances, its true leakage and the time of a step."""
    grid = Grid(rows=side, columns=side, cell_size=1.0)
    model, event = MarkovModel.gaussian(grid, sigma=1.0), events(side)[kind]
    way = calibrator(name, side)
    mech, apart, bits = PlanarLaplace(grid, ALPHA), grid.distances(), bit_source(seed)
    state = PublicState(make_terms(model, event, mech, epsilon, way, None))
    # What somebody who knows the procedure takes from the releases.
    adversary, prediction = Quantifier(model, event), Prediction(model, None)
    released, expected, seconds, leaked = [], [], [], 0.0
    for cell in model.sample(STEPS, rng=seed):
        begin = time.process_time()
        if isinstance(way, Optimal | Remap):
            choice = way.choose(state)
            drawn, law = choice.draw(int(cell), bits), choice.law()
            seconds.append(time.process_time() - begin)
        else:
            drawn = way.draw(state, int(cell), bits)
            seconds.append(time.process_time() - begin)
            law = way.law(state)
        known = np.array(law.joint[law.budgets.index(drawn.budget), :, drawn.output])
        assumed = drawn.likelihood
        if assumed is None:
            assumed = state.column(drawn.output, drawn.budget)
        expected.append(float(prediction.predicted() @ (law.outputs() * apart).sum(axis=1)))
        released.append(float(apart[cell, drawn.output]))
        adversary.observe(known)
        prediction.correct(known)
        leaked = max(leaked, float(adversary.leakage().value))
        state.advance(assumed, drawn.budget, hints=drawn.hints)
    return {
        "expected": statistics.fmean(expected),
        "released": statistics.fmean(released),
        "leakage": leaked,
        "seconds": statistics.median(seconds[1:]),
        "longest": max(seconds[1:]),
    }


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean distances with their half intervals, the largest leakage, the times."""
    found: dict[str, float] = {}
    factor = float(student.ppf(0.975, len(runs) - 1)) / len(runs) ** 0.5
    for what in ("expected", "released"):
        values = [run[what] for run in runs]
        found[f"{what}_km"] = statistics.fmean(values)
        found[f"{what}_half_interval_km"] = factor * statistics.stdev(values)
    found["largest_true_leakage"] = max(run["leakage"] for run in runs)
    found["median_step_s"] = statistics.median(run["seconds"] for run in runs)
    found["longest_step_s"] = max(run["longest"] for run in runs)
    return found


def main(*, plan: Plan = FULL) -> list[dict[str, Any]]:
    """Run everything, print every row, write the results as they come, and return them."""
    console = Console()
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for side, kind, epsilon in plan.settings():
            runs = {
                name: [
                    pool.submit(stream, side, kind, epsilon, name, seed)
                    for seed in range(plan.seeds)
                ]
                for name in NAMES
            }
            found = {name: summary([run.result() for run in runs[name]]) for name in NAMES}
            for name, row in found.items():
                rows.append(
                    {
                        "side": side,
                        "event": kind,
                        "epsilon": epsilon,
                        "calibrator": name,
                        "seeds": plan.seeds,
                        **row,
                        "of_paper": row["expected_km"] / found["paper"]["expected_km"],
                        "released_of_paper": row["released_km"] / found["paper"]["released_km"],
                    }
                )
                console.print_json(data=rows[-1], indent=None)
            write(rows)
    conclude(rows, console)
    return rows


def conclude(rows: list[dict[str, Any]], console: Console) -> None:
    """Print the table of the documentation, and what the goals are measured by."""
    for k in range(0, len(rows), len(NAMES)):
        some = {row["calibrator"]: row for row in rows[k : k + len(NAMES)]}
        first = rows[k]
        cells = [
            f"{some[n]['expected_km']:.2f} ± {some[n]['expected_half_interval_km']:.2f} "
            f"({some[n]['largest_true_leakage']:.2f})"
            for n in NAMES
        ]
        side, kind = first["side"], first["event"].upper()
        line = [f"{side} × {side}", kind, f"{first['epsilon']:g}", *cells]
        console.print("| " + " | ".join(line) + " |", soft_wrap=True)
    for name in NAMES:
        for side in sorted({row["side"] for row in rows}):
            mine = [r for r in rows if r["calibrator"] == name and r["side"] == side]
            console.print(
                f"{name} on {side} × {side}: "
                f"{statistics.fmean(r['of_paper'] for r in mine):.3f} of paper expected, "
                f"{statistics.fmean(r['released_of_paper'] for r in mine):.3f} "
                f"released, {statistics.median(r['median_step_s'] for r in mine):.3f} s a step, "
                f"at most {max(r['longest_step_s'] for r in mine):.3f} s",
                soft_wrap=True,
            )


def write(rows: list[dict[str, Any]]) -> None:
    """Write the rows so far, with what they were measured on."""
    made = {
        "alpha_per_km": ALPHA,
        "pace": PACE,
        "steps": STEPS,
        "machine": {"python": platform.python_version(), "cores": os.cpu_count()},
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(plan=QUICK if sys.argv[1:] == ["quick"] else FULL)
