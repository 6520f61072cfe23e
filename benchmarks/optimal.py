"""How far from the truth each calibrator releases, at equal ε, with the true leakage beside it.

Run with ``python -m benchmarks.optimal``, or ``python -m benchmarks.optimal full`` for 20 seeds on
every map (hours). Writes ``benchmarks/results/optimal.json``. All calibrators see the same
walks. The mean distance is over all steps of a walk; the interval is 95 % over seeds. The true
leakage is exact along the released streams, for an adversary who knows the procedure and sees the
budgets. Seconds are CPU seconds of this process per step, the first step of a walk left out.
``nothing`` releases the cell that is best on average without looking: what a release must beat
to be of any use to somebody who knows the model.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

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
    Situation,
)
from priste.release.remap_cost import Costs
from priste.release.terms import make_terms

RESULTS = Path(__file__).parent / "results" / "optimal.json"

ALPHA = 1.0
PACE = 0.3
STEPS = 6
EPSILONS = (0.5, 1.0, 2.0)
FULL_SEEDS = 20
SHORT: tuple[tuple[int, int, tuple[float, ...], float | None], ...] = (
    (5, 20, EPSILONS, None),
    (10, 3, EPSILONS, 0.3),
    (20, 2, (1.0,), 0.5),
)
"""Side of the map, seeds, ε, and the seconds that the programme of ``optimal`` may take a step."""


class Nothing:
    """Release the best public output at every step."""

    def draw(self, situation: Situation, cell: int, bits: BitSource) -> Draw:
        """Return the output; the cell is not looked at."""
        output = int(self.law(situation).joint[0, 0].argmax())
        return Draw(output, 0.0, likelihood=np.ones(situation.mechanism.grid.size))

    def law(self, situation: Situation) -> Law:
        """Return certainty of one output."""
        mechanism, costs = situation.mechanism, Costs("distance", "Nothing")
        best = costs.best_public_output(costs.matrix(mechanism), situation.predicted())
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


def stream(
    model: MarkovModel, event: Event, epsilon: float, calibrator: Calibrator, seed: int
) -> dict[str, float]:
    """Release one walk; return its mean distance, its true leakage and the time of a step."""
    grid, bits = model.grid, bit_source(seed)
    mech = PlanarLaplace(grid, ALPHA)
    state = PublicState(make_terms(model, event, mech, epsilon, calibrator, None))
    adversary = Quantifier(model, event)
    distances, seconds, leaked = [], [], 0.0
    for cell in model.sample(STEPS, rng=seed):
        begin = time.process_time()
        if isinstance(calibrator, Optimal | Remap):
            choice = calibrator.choose(state)
            drawn, law = choice.draw(int(cell), bits), choice.law()
            seconds.append(time.process_time() - begin)
        else:
            drawn = calibrator.draw(state, int(cell), bits)
            seconds.append(time.process_time() - begin)
            law = calibrator.law(state)
        known = np.array(law.joint[law.budgets.index(drawn.budget), :, drawn.output])
        assumed = state.column(drawn.output, drawn.budget)
        if drawn.likelihood is not None:
            assumed = drawn.likelihood
        adversary.observe(known)
        leaked = max(leaked, float(adversary.leakage().value))
        state.advance(assumed, drawn.budget, hints=drawn.hints)
        distances.append(float(np.hypot(*(grid.centers[drawn.output] - grid.centers[cell]))))
    return {
        "distance": statistics.fmean(distances),
        "leakage": leaked,
        "seconds": statistics.median(seconds[1:]),
    }


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean distance with its half interval, the largest leakage, the usual time."""
    distances = [run["distance"] for run in runs]
    spread = statistics.stdev(distances) if len(distances) > 1 else 0.0
    return {
        "mean_distance_km": statistics.fmean(distances),
        "half_interval_km": 1.96 * spread / len(distances) ** 0.5,
        "largest_true_leakage": max(run["leakage"] for run in runs),
        "median_step_s": statistics.median(run["seconds"] for run in runs),
    }


def main(*, full: bool = False) -> list[dict[str, Any]]:
    """Run everything, print every row, write the results as they come, and return them."""
    console = Console()
    rows: list[dict[str, Any]] = []
    for side, seeds, epsilons, seconds in SHORT:
        seeds, epsilons = (FULL_SEEDS, EPSILONS) if full else (seeds, epsilons)
        model = MarkovModel.gaussian(Grid(rows=side, columns=side, cell_size=1.0), sigma=1.0)
        ways: dict[str, Calibrator] = {
            "paper": Paper(),
            "certified": Certified(pace=PACE),
            "remap": Remap(pace=PACE),
            "optimal": Optimal(pace=PACE, seconds=seconds),
            "nothing": Nothing(),
        }
        for kind, event in events(side).items():
            for epsilon in epsilons:
                for name, calibrator in ways.items():
                    runs = [stream(model, event, epsilon, calibrator, k) for k in range(seeds)]
                    row = {
                        "side": side,
                        "event": kind,
                        "epsilon": epsilon,
                        "calibrator": name,
                        "seeds": seeds,
                        **summary(runs),
                    }
                    rows.append(row)
                    console.print_json(data=row, indent=None)
                paper = rows[-len(ways)]["mean_distance_km"]
                for row in rows[-len(ways) :]:
                    row["of_paper"] = row["mean_distance_km"] / paper
                write(rows)
    return rows


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
    main(full=sys.argv[1:] == ["full"])
