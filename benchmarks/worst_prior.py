"""The worst prior: verdicts against the paper's solvers, map size, and all candidates at once.

Run with ``python -m benchmarks.worst_prior [PART ...]``; the solvers of the extra ``solvers``
(pinned in benchmarks/requirements.lock) are used where they are installed. Writes
``benchmarks/results/worst_prior.json``. Times are CPU seconds of one core; compare them
within one run only.

The instances are the checks of the paper's loop: a 20 x 20 map, Gaussian transitions,
planar Laplace with halving, PRESENCE on cells 0-9 at steps 3-7, 50 steps. A check is
both directions of one candidate; ours and the solvers stop at the first violation.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from paper.experiments.quadratic_programmes import ENGINES, is_installed, solver_check
from rich.console import Console
from rich.table import Table
from tests.oracles.exact_worst_prior import integer_rows, pairs_exceed, reversed_rows

from benchmarks.arguments import asked_for
from benchmarks.circumstances import circumstances
from priste import Grid, MarkovModel, PlanarLaplace, Quantifier, presence
from priste.quantify import JointProbabilities, leakages, passes
from priste.quantify.warm_up import warm_up

RESULTS = Path(__file__).parent / "results" / "worst_prior.json"

EPSILON = 0.5
SIGMAS = (0.5, 1.0, 3.0, 10.0)
ALPHAS = (0.1, 0.5, 2.0)
STEPS = 50
MOST_HALVINGS = 12

LIMITS = (0.01, 0.1, 1.0, 2.0, 5.0)
NO_LIMIT = 8.0
"""What "no limit" means here: CPU seconds per programme after which a solver is stopped."""

SAMPLE = 12
"""Checks given to the solvers, drawn from those of all runs."""

DENSE_COPT_SAMPLE = 2
"""COPT's dense form takes seconds a programme: a few are enough to show it."""

CLOSE = 0.01
CLOSE_SAMPLE = 5
"""Checks repeated with e^epsilon one per cent below the exact ratio."""


def seconds_of(work: Callable[[], object], repeats: int = 5, inner: int = 10) -> float:
    """CPU seconds of one call: the least mean among several runs of several calls."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(inner):
            work()
        times.append((time.process_time() - begin) / inner)
    return min(times)


def paper_checks(sigma: float, alpha: float, seed: int) -> list[JointProbabilities]:
    """Every check that one run of the paper's loop makes, one candidate each."""
    grid = Grid(rows=20, columns=20, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=sigma)
    quantifier = Quantifier(model, presence(range(10), range(3, 8)))
    levels = [PlanarLaplace(grid, alpha=alpha / 2**k) for k in range(MOST_HALVINGS)]
    rng = np.random.default_rng(seed)
    checks = []
    for cell in model.sample(STEPS, rng=seed):
        for mechanism in levels:
            table = mechanism.emission()
            column = table[:, rng.choice(grid.size, p=table[cell] / table[cell].sum())]
            joint = quantifier.candidate_joint(column[:, None])
            checks.append(joint)
            if passes(joint, EPSILON)[0]:
                break
        else:
            column = np.full(grid.size, 1.0 / grid.size)
        quantifier.observe(column)
    return checks


def exactly_violated(joint: JointProbabilities, epsilon: float) -> bool:
    """The verdict of exact arithmetic on the stored numbers."""
    from fractions import Fraction

    rows = integer_rows(joint, 0)
    r = Fraction(math.exp(epsilon))
    return pairs_exceed(rows, r) or pairs_exceed(reversed_rows(rows), r)


def _weakness(engine: str) -> tuple[bool, bool, str]:
    """Order engines, the strongest first."""
    return "first violation" not in engine, "lifted" not in engine, engine


def against_solvers(checks: Sequence[JointProbabilities], console: Console) -> dict[str, Any]:
    """Time and verdict of every engine on a sample of the checks."""
    rng = np.random.default_rng(2019)
    sample = [checks[k] for k in rng.choice(len(checks), size=SAMPLE, replace=False)]
    ours = [seconds_of(lambda m=m: passes(m, EPSILON)) for m in sample]
    verdicts = [not passes(m, EPSILON)[0] for m in sample]
    close = [(m, float(leakages(m)[0]) - math.log1p(CLOSE)) for m in sample]
    close = [(m, e) for m, e in close if 0.0 < e < 10.0][:CLOSE_SAMPLE]
    close_verdicts = [not passes(m, e)[0] for m, e in close]
    report: dict[str, Any] = {
        "checks": SAMPLE,
        "ours": {"median_s": statistics.median(ours), "worst_s": max(ours)},
        "violated": sum(verdicts),
        "called_private_one_percent_over": {
            "checks": len(close),
            "ours": close_verdicts.count(False),
        },
        "engines": {},
        "disagreements": [],
    }
    table = Table(
        "engine",
        "median s",
        "worst s",
        "undecided at .01/.1/1/2/5/none",
        "of them failed",
        "ratio to ours",
        "wrong",
    )
    table.add_row("ours", f"{statistics.median(ours):.2e}", f"{max(ours):.2e}", "", "", "1", "")
    for engine in sorted(ENGINES, key=_weakness):
        if not is_installed(engine):
            report["engines"][engine] = "not installed"
            continue
        few = engine == "copt dense"
        count = DENSE_COPT_SAMPLE if few else SAMPLE
        limit = LIMITS[-1] if few else NO_LIMIT
        outcomes = [solver_check(engine, m, EPSILON, limit) for m in sample[:count]]
        wrong = 0
        for k, outcome in enumerate(outcomes):
            if outcome.violated is not None and outcome.violated != verdicts[k]:
                exact = exactly_violated(sample[k], EPSILON)
                wrong += outcome.violated != exact
                report["disagreements"].append(
                    {
                        "engine": engine,
                        "epsilon": EPSILON,
                        "leakage": float(leakages(sample[k])[0]),
                        "solver_says_violated": outcome.violated,
                        "ours_says_violated": verdicts[k],
                        "exactly_violated": exact,
                    }
                )
        seconds = [o.seconds for o in outcomes]
        undecided = [
            sum(o.violated is None or o.seconds > bound for o in outcomes) for bound in LIMITS
        ]
        undecided.append(sum(o.violated is None for o in outcomes))
        ratio = statistics.median(seconds) / statistics.median(ours[:count])
        report["engines"][engine] = {
            "checks": count,
            "median_s": statistics.median(seconds),
            "worst_s": max(seconds),
            "limits_s": [*LIMITS, limit],
            "undecided": undecided,
            "failed": sum(o.failed for o in outcomes),
            "median_ratio_to_ours": ratio,
            "wrong": wrong,
        }
        if not few:
            private = sum(
                solver_check(engine, m, e, LIMITS[-1]).violated is False for m, e in close
            )
            report["called_private_one_percent_over"][engine] = private
        console.print(engine, report["engines"][engine])
        table.add_row(
            engine + (f" ({count} checks)" if few else ""),
            f"{statistics.median(seconds):.3f}",
            f"{max(seconds):.2f}",
            "/".join(map(str, undecided)),
            str(sum(o.failed for o in outcomes)),
            f"{ratio:,.0f}",
            str(wrong),
        )
    console.print(table)
    console.print("called private though 1 % over:", report["called_private_one_percent_over"])
    return report


def own_verdicts(checks: Sequence[JointProbabilities]) -> dict[str, Any]:
    """Every check of all runs by ours, and once more within 1e-6 of its own threshold.

    A check is undecided when it is refused although the leakage is within epsilon.
    """
    plain, tight = [], []
    doubtful = 0
    for joint in checks:
        plain.append(seconds_of(lambda m=joint: passes(m, EPSILON), 2, 5))
        value = float(leakages(joint)[0])
        doubtful += value <= EPSILON and not passes(joint, EPSILON)[0]
        if value < math.inf:
            tight.append(seconds_of(lambda m=joint, e=value + 1e-6: passes(m, e), 2, 5))
    return {
        "checks": len(checks),
        "undecided": int(doubtful),
        "median_s": statistics.median(plain),
        "worst_s": max(plain),
        "median_within_1e-6_s": statistics.median(tight),
        "worst_within_1e-6_s": max(tight),
    }


def growth(sides: Sequence[int]) -> list[dict[str, Any]]:
    """Verdict time up to 40,000 cells, easy and within 1e-6 of the threshold."""
    points = []
    for side in sides:
        grid = Grid(rows=side, columns=side, cell_size=20.0 / side)
        model = MarkovModel.gaussian(grid, sigma=1.0)
        quantifier = Quantifier(model, presence(range(side // 2), range(3, 8)))
        mechanism = PlanarLaplace(grid, alpha=0.2)
        rng = np.random.default_rng(1)
        for _ in range(4):
            quantifier.observe(mechanism.likelihood(int(rng.integers(grid.size))))
        joint = quantifier.joint_probabilities()
        value = float(leakages(joint)[0])
        size = grid.size
        times = {
            "plain_s": seconds_of(lambda m=joint: passes(m, EPSILON), 3, 3),
            "just_private_s": seconds_of(lambda m=joint, e=value + 1e-6: passes(m, e), 3, 3),
            "just_violated_s": seconds_of(lambda m=joint, e=value - 1e-6: passes(m, e), 3, 3),
            "leakage_s": seconds_of(lambda m=joint: leakages(m), 3, 3),
        }
        worst = max(times["plain_s"], times["just_private_s"], times["just_violated_s"])
        points.append(
            {
                "cells": size,
                "leakage": value,
                **times,
                "worst_verdict_ns_per_m_log2_m": worst / (size * math.log2(size)) * 1e9,
            }
        )
    return points


def all_candidates(sigma: float, alpha: float) -> dict[str, Any]:
    """All 400 columns of the mechanism at once, at several steps of a run."""
    grid = Grid(rows=20, columns=20, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=sigma)
    quantifier = Quantifier(model, presence(range(10), range(3, 8)))
    table = PlanarLaplace(grid, alpha=alpha).emission()
    gentle = PlanarLaplace(grid, alpha=alpha / 16).emission()
    rng = np.random.default_rng(3)
    verdicts, values = [], []
    for step in range(11):
        joint = quantifier.candidate_joint(table)
        if step % 2 == 0:
            verdicts.append(seconds_of(lambda m=joint: passes(m, EPSILON), 3, 2))
            values.append(seconds_of(lambda m=joint: leakages(m), 3, 2))
        quantifier.observe(gentle[:, int(rng.integers(grid.size))])
    return {
        "sigma": sigma,
        "alpha": alpha,
        "columns": table.shape[1],
        "verdicts_median_s": statistics.median(verdicts),
        "verdicts_worst_s": max(verdicts),
        "leakages_median_s": statistics.median(values),
        "leakages_worst_s": max(values),
    }


PARTS = ("own", "candidates", "growth", "solvers")


def main(arguments: Sequence[str] = ()) -> None:
    """Run some parts, or all; print, and keep them with what is there of the others."""
    parts = asked_for(arguments, __doc__, PARTS).parts
    console = Console(width=140)
    warm_up()  # compile before anything is timed
    report: dict[str, Any] = json.loads(RESULTS.read_text()) if parts else {}
    report["epsilon"] = EPSILON
    checks: list[JointProbabilities] = []
    for part in parts or PARTS:
        if part in ("own", "solvers") and not checks:
            checks = [
                joint
                for s, sigma in enumerate(SIGMAS)
                for a, alpha in enumerate(ALPHAS)
                for joint in paper_checks(sigma, alpha, 100 * s + a)
            ]
        begin = time.process_time()
        if part == "own":
            report[part] = own_verdicts(checks)
        elif part == "candidates":
            report[part] = [all_candidates(s, a) for s, a in ((1.0, 0.5), (3.0, 2.0))]
        elif part == "growth":
            report[part] = growth((20, 50, 100, 200))
        else:
            report[part] = against_solvers(checks, console)
        console.print(f"{part}:", report[part])
        report.setdefault("measured", {})[part] = circumstances()
        report.setdefault("seconds", {})[part] = time.process_time() - begin
        RESULTS.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
