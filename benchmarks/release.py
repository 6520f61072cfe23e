"""The release loop: the paper's run, also with CPLEX deciding; a large map; long streams.

Run with ``python -m benchmarks.release``; CPLEX (extra ``solvers``) is used where it is installed.
Writes ``benchmarks/results/release.json``. Times are CPU seconds of this process; compare them
within one run only. Set OPENBLAS_NUM_THREADS=1 on a busy machine: threads that wait for
a core burn time that is counted.

The paper's run is a 20 x 20 map, Gaussian transitions (σ = 1 km), PRESENCE on cells 0-9 at steps
3-7, ε = 0.5, 50 steps.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from priste import Grid, MarkovModel, PlanarLaplace, Protector, presence
from priste.quantify import Moments
from priste.release import Calibrator, Certified, Paper
from priste.reproduce.experiments.quadratic_programmes import is_installed, solver_check

RESULTS = Path(__file__).parent / "results" / "release.json"

EPSILON = 0.5
ALPHAS = (0.5, 1.0)
STEPS = 50
SEEDS = (1, 2, 3)
SOLVER_STEPS = 5
"""CPLEX gets the first steps of a walk only, two of the event among them; a run takes an hour."""

PACES = (1.0, 0.5, 0.2, 0.1, 0.05)

NO_LIMIT = 5.0
"""What "no limit" means for CPLEX here, in CPU seconds per programme: a lower bound."""

LONG = 5_000
WINDOW = 500
LARGE_STEPS = 15
LARGE_PACES = (1.0, 0.1)


def resident_megabytes() -> float:
    """Return the memory of this process: now on Linux, its largest so far elsewhere."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(
    model: MarkovModel,
    alpha: float,
    calibrator: Calibrator,
    seed: int,
    steps: int = STEPS,
    journal: Path | None = None,
    cells: range = range(10),
) -> dict[str, Any]:
    """Release one sampled walk; the first step builds tables and is reported apart."""
    grid = model.grid
    protector = Protector(
        model,
        presence(cells, range(3, 8)),
        PlanarLaplace(grid, alpha=alpha),
        EPSILON,
        calibrator,
        rng=seed,
        journal=journal,
    )
    seconds, budgets, distances, undecided, conservative = [], [], [], 0, 0
    memory = []
    for cell in model.sample(steps, rng=seed):
        begin = time.process_time()
        release = protector.release(int(cell))
        seconds.append(time.process_time() - begin)
        budgets.append(release.budget)
        distances.append(float(np.hypot(*(grid.centers[release.cell] - grid.centers[cell]))))
        undecided += release.undecided
        conservative += release.undecided > 0
        memory.append(resident_megabytes())
    protector.close()
    return {
        "first_step_s": seconds[0],
        "whole_run_s": sum(seconds),
        "median_step_s": statistics.median(seconds[1:]),
        "worst_step_s": max(seconds[1:]),
        "mean_budget": statistics.fmean(budgets),
        "mean_distance_km": statistics.fmean(distances),
        "largest_leakage": max(max(r.leakage) for r in protector.ledger),
        "undecided_checks": undecided,
        "conservative_releases": conservative,
        "seconds": seconds,
        "megabytes": memory,
    }


def mean_of(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Average the plain numbers of several runs; the worst step and the leakage are maxima."""
    found = {}
    for name, value in runs[0].items():
        if isinstance(value, list):
            continue
        largest = name in ("worst_step_s", "largest_leakage")
        found[name] = (max if largest else statistics.fmean)(r[name] for r in runs)
    return found


def cplex(limit: float) -> Paper:
    """The paper's loop with CPLEX, dense form, in the place of the exact check."""

    def decide(moments: Moments, epsilon: float, seconds: float | None) -> bool | None:
        violated = solver_check("cplex dense", moments, epsilon, seconds or NO_LIMIT).violated
        return None if violated is None else not violated

    return Paper(check_seconds=limit, checker=decide)


def paper_run(console: Console, seeds: tuple[int, ...]) -> list[dict[str, Any]]:
    """Both calibrators on the paper's run, whole."""
    model = MarkovModel.gaussian(Grid(rows=20, columns=20, cell_size=1.0), sigma=1.0)
    run(model, 1.0, Paper(), 0, steps=3)  # compile before anything is timed
    rows = []
    for alpha in ALPHAS:
        ways: dict[str, Calibrator] = {"paper": Paper()}
        ways |= {f"certified, pace {pace:g}": Certified(pace=pace) for pace in PACES}
        for name, calibrator in ways.items():
            row = mean_of([run(model, alpha, calibrator, seed) for seed in seeds])
            rows.append({"alpha": alpha, "calibrator": name, "runs": len(seeds), **row})
            console.print(rows[-1])
    return rows


def against_cplex(console: Console) -> list[dict[str, Any]]:
    """The paper's loop with the exact check and with CPLEX deciding, on the same walk."""
    model = MarkovModel.gaussian(Grid(rows=20, columns=20, cell_size=1.0), sigma=1.0)
    ways: dict[str, Calibrator] = {"exact check": Paper()}
    if is_installed("cplex dense"):
        ways |= {"CPLEX, 1 s": cplex(1.0), "CPLEX, no limit": cplex(NO_LIMIT)}
    rows: list[dict[str, Any]] = []
    for alpha in ALPHAS:
        own = 0.0
        for name, calibrator in ways.items():
            row = mean_of([run(model, alpha, calibrator, 1, steps=SOLVER_STEPS)])
            own = own or row["whole_run_s"]
            ratio = row["whole_run_s"] / own
            rows.append({"alpha": alpha, "deciding": name, "times_exact_check": ratio, **row})
            console.print(rows[-1])
    return rows


def large_map(console: Console, side: int, steps: int) -> list[dict[str, Any]]:
    """Certified releases on a large map with a sparse model, the event in a corner or inland."""
    model = MarkovModel.gaussian(Grid(rows=side, columns=side, cell_size=1.0), sigma=1.0, reach=3.0)
    middle = side * side // 2 + side // 2
    places = {"corner": range(10), "inland": range(middle, middle + 10)}
    rows = []
    for place, cells in places.items():
        for pace in LARGE_PACES:
            found = run(model, 0.5, Certified(pace=pace), 1, steps=steps, cells=cells)
            row = {"cells": side * side, "event": place, "pace": pace, **mean_of([found])}
            rows.append({**row, "megabytes": max(found["megabytes"])})
            console.print(rows[-1])
    return rows


def long_stream(side: int, calibrator: Calibrator, name: str, steps: int) -> dict[str, Any]:
    """Time and memory at the beginning and at the end of a long stream with a journal."""
    model = MarkovModel.gaussian(Grid(rows=side, columns=side, cell_size=1.0), sigma=1.0)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        result = run(model, 1.0, calibrator, 5, steps=steps, journal=journal)
        size = journal.stat().st_size
        begin = time.process_time()
        again = Protector.load(journal)
        load = time.process_time() - begin
        again.release(0)
        first = time.process_time() - begin - load
    window = min(WINDOW, steps // 4)
    seconds, memory = result["seconds"], result["megabytes"]
    return {
        "cells": side * side,
        "calibrator": name,
        "steps": steps,
        "median_step_s_early": statistics.median(seconds[window : 2 * window]),
        "median_step_s_late": statistics.median(seconds[-window:]),
        "megabytes_early": statistics.median(memory[window : 2 * window]),
        "megabytes_late": statistics.median(memory[-window:]),
        "journal_megabytes": size / 2**20,
        "load_s": load,
        "first_release_after_load_s": first,
    }


def main(*, quick: bool = False) -> dict[str, Any]:
    """Run everything, print it, write and return it; ``quick`` is small and writes nothing."""
    console = Console(width=140)
    steps = 40 if quick else LONG
    results: dict[str, Any] = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
        "solver_no_limit_means_s": NO_LIMIT,
        "solver_steps": SOLVER_STEPS,
        "long": [
            long_stream(5 if quick else 20, Certified(), "certified", steps),
            long_stream(5 if quick else 20, Paper(), "paper", steps),
        ],
    }
    console.print(results["long"])
    if not quick:
        results["large_map"] = large_map(console, 50, LARGE_STEPS)
        results["paper_run"] = paper_run(console, SEEDS)
        results["against_cplex"] = against_cplex(console)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


if __name__ == "__main__":
    main()
