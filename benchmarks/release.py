"""The release loop: the paper's run, also with solvers deciding; map sizes; long streams.

Run with ``python -m benchmarks.release``, or with the names of some of its parts (first_release,
users, long, sizes, largest_memory, paper_run, against_solvers, whole_loop): the others keep their
figures.
Solvers (extra ``solvers``) are used where installed. Writes ``benchmarks/results/release.json``.
Times are CPU seconds of this process; compare them within one run only. Set OPENBLAS_NUM_THREADS=1
on a busy machine: threads that wait for a core burn time that is counted.

The paper's run is a 20 x 20 map, Gaussian transitions (σ = 1 km), PRESENCE on cells 0-9 at steps
3-7, ε = 0.5, 50 steps.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from paper.experiments.quadratic_programmes import is_installed, solver_check
from rich.console import Console
from tests.resident_memory import resident_megabytes

from benchmarks.arguments import asked_for
from benchmarks.circumstances import circumstances
from priste import AnyPrior, Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.quantify import Adversary, JointProbabilities
from priste.quantify.judges import EveryMixture
from priste.quantify.warm_up import warm_up
from priste.release import Calibrator, Certified, Optimal, Paper

RESULTS = Path(__file__).parent / "results" / "release.json"

EPSILON = 0.5
ALPHAS = (0.5, 1.0)
STEPS = 50
SEEDS = (1, 2, 3)
SOLVER_STEPS = 5
"""Solvers get the first steps of a walk only, two of the event among them."""

SOLVERS = (
    "copt lifted, first violation",
    "copt lifted",
    "cplex lifted",
    "scip lifted",
    "cplex dense",
)
"""The strongest first; "lifted" has three more variables. The last is the form of the paper."""

PACES = (1.0, 0.5, 0.2, 0.1, 0.05)

NO_LIMIT = 5.0
"""What "no limit" means for a solver here, in CPU seconds per programme: a lower bound."""

ANY_PRIOR = AnyPrior()
"""The paper's adversary, whom runs are against that name no other."""

LONG = 5_000
WINDOW = 500
SIDES = (10, 20, 30, 40, 50)
SIZE_STEPS = 6


def run(
    model: MarkovModel,
    alpha: float,
    calibrator: Calibrator,
    seed: int,
    steps: int = STEPS,
    journal: Path | None = None,
    adversary: Adversary = ANY_PRIOR,
) -> dict[str, Any]:
    """Release one sampled walk; the first step builds tables and is reported apart."""
    grid = model.grid
    protector = Protector(
        model,
        presence(range(10), range(3, 8)),
        PlanarLaplace(grid, alpha=alpha),
        EPSILON,
        calibrator,
        rng=seed,
        journal=journal,
        adversary=adversary,
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
        "budgets": budgets,
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


def deciding(engine: str, limit: float) -> Paper:
    """The paper's loop with a solver in the place of the exact check."""

    def decide(joint: JointProbabilities, epsilon: float, seconds: float | None) -> bool | None:
        violated = solver_check(engine, joint, epsilon, seconds or NO_LIMIT).violated
        return None if violated is None else not violated

    return Paper(check_seconds=limit, checker=decide)


def timed_exact_check(seconds: list[float]) -> Paper:
    """The paper's loop with the exact check, which notes what each verdict took."""

    def decide(joint: JointProbabilities, epsilon: float, _: float | None) -> bool:
        begin = time.process_time()
        kept = bool(EveryMixture().passes(joint, epsilon).all())
        seconds.append(time.process_time() - begin)
        return kept

    return Paper(checker=decide)


def paper_run(console: Console, seeds: tuple[int, ...] = SEEDS) -> list[dict[str, Any]]:
    """Both calibrators on the paper's run, whole."""
    model = MarkovModel.gaussian(Grid(rows=20, columns=20, cell_size=1.0), sigma=1.0)
    rows = []
    for alpha in ALPHAS:
        ways: dict[str, Calibrator] = {"paper": Paper()}
        ways |= {f"certified, pace {pace:g}": Certified(pace=pace) for pace in PACES}
        for name, calibrator in ways.items():
            row = mean_of([run(model, alpha, calibrator, seed) for seed in seeds])
            rows.append({"alpha": alpha, "calibrator": name, "runs": len(seeds), **row})
            console.print(rows[-1])
    return rows


def against_solvers(console: Console) -> list[dict[str, Any]]:
    """The paper's loop with the exact check and with solvers deciding, on the same walk."""
    model = MarkovModel.gaussian(Grid(rows=20, columns=20, cell_size=1.0), sigma=1.0)
    ways: dict[str, Calibrator] = {"exact check": Paper()}
    ways |= {name: deciding(name, NO_LIMIT) for name in SOLVERS if is_installed(name)}
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


def whole_loop(console: Console) -> list[dict[str, Any]]:
    """The paper's loop over all of its steps, the exact check next to the strongest solver.

    ``without_verdicts`` is how many times as long the solver's loop took as the loop with the exact
    check without its verdicts: no check could be further ahead.
    """
    model = MarkovModel.gaussian(Grid(rows=20, columns=20, cell_size=1.0), sigma=1.0)
    rows = []
    for alpha in ALPHAS:
        own, solver = (
            mean_of([run(model, alpha, calibrator, 1)])
            for calibrator in (Paper(), deciding(SOLVERS[0], NO_LIMIT))
        )
        verdicts: list[float] = []
        timed = run(model, alpha, timed_exact_check(verdicts), 1)["whole_run_s"]
        row = {
            "alpha": alpha,
            "deciding": SOLVERS[0],
            "steps": STEPS,
            "times_exact_check": solver["whole_run_s"] / own["whole_run_s"],
            "without_verdicts": solver["whole_run_s"] / (timed - sum(verdicts)),
            "verdicts_share": sum(verdicts) / timed,
        }
        rows.append(row | {"exact_check": own, **solver})
        console.print(rows[-1])
    return rows


LARGEST_MEMORY = """
import benchmarks.release as b
b.warm_up()
before = b.most_megabytes()
model = b.MarkovModel.gaussian(b.Grid(rows={side}, columns={side}, cell_size=1.0), sigma=1.0)
b.run(model, 0.5, b.{calibrator}, 1, steps=b.SIZE_STEPS, adversary=b.AnyPrior())
print(before, b.most_megabytes())
"""


def most_megabytes() -> float:
    """Return the largest memory of this process so far; Linux alone tells it without a parent's."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("This system does not tell the largest memory of a process.")


def largest_memory(console: Console, sides: Sequence[int] = SIDES) -> list[dict[str, Any]]:
    """Megabytes at the peak of a new Python that releases against any start, and before that."""
    rows = []
    for side, calibrator in product(sides, ("Certified(pace=0.1)", "Optimal()")):
        code = LARGEST_MEMORY.format(side=side, calibrator=calibrator)
        command = [sys.executable, "-c", code]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        before, peak = map(float, told)
        row = {"cells": side * side, "calibrator": calibrator}
        rows.append({**row, "imported_mb": before, "peak_mb": peak})
        console.print(rows[-1])
    return rows


def sizes(console: Console, sides: Sequence[int] = SIDES) -> list[dict[str, Any]]:
    """A step of each calibrator by the size of the map, the model as it is by default.

    Of the second stream of a process; the first one also makes the tables of all budgets it meets.
    """
    rows = []
    for side in sides:
        model = MarkovModel.gaussian(Grid(rows=side, columns=side, cell_size=1.0), sigma=1.0)
        public = KnownPrior(model.stationary())
        ways: list[tuple[str, Calibrator, Adversary]] = [
            ("certified, any start", Certified(pace=0.1), AnyPrior()),
            ("optimal, any start", Optimal(), AnyPrior()),
            ("optimal, one prior", Optimal(), public),
        ]
        for name, calibrator, adversary in ways:
            first, second = (
                run(model, 0.5, calibrator, 1, steps=SIZE_STEPS, adversary=adversary)
                for _ in range(2)
            )
            row = {"cells": side * side, "calibrator": name, **mean_of([second])}
            row["median_step_of_the_first_s"] = first["median_step_s"]
            rows.append(row)
            console.print(rows[-1])
    return rows


FIRST_RELEASE = """
import time
from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, presence
grid = Grid(rows={side}, columns={side}, cell_size=1.0)
model = MarkovModel.gaussian(grid, sigma=1.0)
event = presence(range(10), range(3, 8))
protector = Protector(model, event, PlanarLaplace(grid, alpha=0.5), 0.5, {calibrator!r},
                      rng=1, adversary=AnyPrior())
protector.release(5)
print(time.process_time())
"""


def first_release(console: Console, sides: Sequence[int] = (10, 20)) -> list[dict[str, Any]]:
    """CPU seconds of a new Python up to and with its first release.

    Without machine code of the kernels, as after an installation, and where ``make setup`` left it.
    """
    rows = []
    for side in sides:
        for calibrator in ("optimal", "certified"):
            code = FIRST_RELEASE.format(side=side, calibrator=calibrator)
            row: dict[str, Any] = {"cells": side * side, "calibrator": calibrator}
            with tempfile.TemporaryDirectory() as empty:
                for name, setting in (("fresh_s", {"NUMBA_CACHE_DIR": empty}), ("warm_s", {})):
                    command = [sys.executable, "-c", code]
                    times = [
                        float(subprocess.run(command, env={**os.environ, **setting}, check=True,
                                             capture_output=True, text=True).stdout)
                        for _ in range(2)
                    ]  # fmt: skip
                    row[name] = min(times)
            rows.append(row)
            console.print(row)
    return rows


def users(
    console: Console, sides: Sequence[int] = (10, 20), count: int = 8, steps: int = 24
) -> list[dict[str, Any]]:
    """User-steps per CPU second of many users under one policy, one after the other."""
    rows = []
    for side in sides:
        grid = Grid(rows=side, columns=side, cell_size=1.0)
        model = MarkovModel.gaussian(grid, sigma=1.0)
        event, mechanism = presence(range(10), range(3, 8)), PlanarLaplace(grid, alpha=0.5)
        for name, calibrator, adversary in (
            ("certified, any start", Certified(pace=0.1), AnyPrior()),
            ("optimal, any start", Optimal(), AnyPrior()),
            ("optimal, one prior", Optimal(), KnownPrior(model.stationary())),
        ):
            begin = time.process_time()
            for user in range(count):
                protector = Protector(
                    model, event, mechanism, EPSILON, calibrator, rng=user, adversary=adversary
                )
                for cell in model.sample(steps, rng=user):
                    protector.release(int(cell))
            rate = count * steps / (time.process_time() - begin)
            rows.append({"cells": grid.size, "calibrator": name, "user_steps_per_s": rate})
            console.print(rows[-1])
    return rows


def long_stream(side: int, calibrator: Calibrator, name: str, steps: int) -> dict[str, Any]:
    """Time and memory at the beginning and at the end of a long stream with a journal.

    Against somebody who knows the population: against anybody such a stream soon tells nothing,
    which is quick.
    """
    model = MarkovModel.gaussian(Grid(rows=side, columns=side, cell_size=1.0), sigma=1.0)
    adversary = KnownPrior(model.stationary())
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        result = run(model, 1.0, calibrator, 5, steps=steps, journal=journal, adversary=adversary)
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
        "share_that_tells_late": statistics.fmean(b > 0.0 for b in result["budgets"][-window:]),
        "median_step_s_early": statistics.median(seconds[window : 2 * window]),
        "median_step_s_late": statistics.median(seconds[-window:]),
        "megabytes_early": statistics.median(memory[window : 2 * window]),
        "megabytes_late": statistics.median(memory[-window:]),
        "journal_megabytes": size / 2**20,
        "load_s": load,
        "first_release_after_load_s": first,
    }


def long(console: Console, side: int = 20, steps: int = LONG) -> list[dict[str, Any]]:
    """Long streams of two calibrators."""
    rows = [
        long_stream(side, Optimal(), "optimal", steps),
        long_stream(side, Paper(), "paper", steps),
    ]
    console.print(rows)
    return rows


PARTS: dict[str, Callable[[Console], list[dict[str, Any]]]] = {
    "first_release": first_release,
    "users": users,
    "long": long,
    "sizes": sizes,
    "largest_memory": largest_memory,
    "paper_run": paper_run,
    "against_solvers": against_solvers,
    "whole_loop": whole_loop,
}


def main(arguments: Sequence[str] = (), *, quick: bool = False) -> dict[str, Any]:
    """Run some parts, or all, print, write and return them; ``quick`` is small, writes nothing."""
    parts = asked_for(arguments, __doc__, PARTS).parts
    console = Console(width=140)
    warm_up()  # compile before anything is timed
    if quick:
        return {
            "users": users(console, (5,), 1, 4),
            "long": long(console, 5, 40),
            "sizes": sizes(console, (5,)),
        }
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if parts else {}
    results |= {
        "solver_no_limit_means_s": NO_LIMIT,
        "solver_steps": SOLVER_STEPS,
    }
    for name in parts or PARTS:
        results[name] = PARTS[name](console)
        results.setdefault("measured", {})[name] = circumstances()
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


if __name__ == "__main__":
    main(sys.argv[1:])
