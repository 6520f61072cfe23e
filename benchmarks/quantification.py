"""Runtime of quantification: against the paper's naive algorithm, an uncalibrated product, and map
size.

Run with ``python -m benchmarks.quantification``, or with the names of some of its parts: the others
keep their figures. Prints tables and writes ``benchmarks/results/quantification.json``. Figures are
CPU seconds of this process, the best of several repeats; compare them within one run only. Set
OPENBLAS_NUM_THREADS=1: threads that wait for a core burn time that is counted.
"""

from __future__ import annotations

import json
import math
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from paper.experiments.naive import naive_pattern_joint
from rich.console import Console
from rich.table import Table
from scipy import sparse

from benchmarks.arguments import asked_for
from benchmarks.circumstances import circumstances
from priste import Grid, KnownPrior, MarkovModel, PriorsWithin, Quantifier
from priste.events import Event, pattern, presence
from priste.quantify.warm_up import warm_up

RESULTS = Path(__file__).parent / "results" / "quantification.json"

NAIVE_LIMIT = 400_000
"""Trajectories beyond which the naive algorithm is not run; it would take minutes to years."""

EVENTS = 3
"""Random events per point of the runtime figure."""


def best_seconds(work: Callable[[], object], repeats: int, inner: int = 1) -> float:
    """Return the least time of one call among ``repeats`` runs of ``inner`` calls."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(inner):
            work()
        times.append((time.process_time() - begin) / inner)
    return min(times)


def laplace_column(grid: Grid, cell: int, alpha: float = 0.2) -> np.ndarray:
    """An emission column in the shape of a planar Laplace; its scale does not matter here."""
    return np.exp(-alpha * grid.distances_from(cell))


def runtime_against_event(lengths: Sequence[int], widths: Sequence[int]) -> list[dict[str, Any]]:
    """Joint probability of a PATTERN under a known prior: ours and appendix B's algorithm."""
    grid = Grid(rows=20, columns=20, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    matrix = model.transition(0).toarray().tolist()
    rng = np.random.default_rng(2019)
    prior = np.full(grid.size, 1 / grid.size)
    points = []
    for length, width in [(n, 5) for n in lengths] + [(5, w) for w in widths]:
        ours, naive = [], []
        for _ in range(EVENTS):
            corner = int(rng.integers(0, grid.size - width))
            region = range(corner, corner + width)
            regions = [region] * length
            columns = [laplace_column(grid, int(rng.integers(grid.size))) for _ in range(length)]
            event = pattern(regions, range(1, length + 1))
            joint: list[float] = []

            def quantify(
                event: Event = event,
                columns: list[np.ndarray] = columns,
                joint: list[float] = joint,
            ) -> None:
                q = Quantifier(model, event, KnownPrior(prior))
                for column in [None, *columns]:
                    q.observe(column)
                found = q.joint_probabilities()
                joint.append(math.ldexp(found.event[0], int(found.exponent[0])))

            ours.append(best_seconds(quantify, repeats=3))
            if width**length <= NAIVE_LIMIT and len(naive) < 1 + (width**length < 20_000):
                lists = [column.tolist() for column in columns]
                begin = time.process_time()
                answer = naive_pattern_joint(matrix, prior.tolist(), lists, regions)
                naive.append(time.process_time() - begin)
                if not math.isclose(answer, joint[-1], rel_tol=1e-9):
                    raise RuntimeError(f"The two algorithms disagree: {answer} and {joint[-1]}.")
        points.append(
            {
                "length": length,
                "width": width,
                "trajectories": width**length,
                "ours_seconds": float(np.mean(ours)),
                "naive_seconds": float(np.mean(naive)) if naive else None,
            }
        )
    return points


def full_model(grid: Grid, sigma: float) -> MarkovModel:
    """A full matrix that is no product of two smaller ones, as one that was fitted."""
    gaussian = MarkovModel.gaussian(grid, sigma=sigma, form="dense").transition(0).toarray()
    moved = gaussian * np.random.default_rng(7).uniform(0.5, 1.5, gaussian.shape)
    return MarkovModel(grid, moved / moved.sum(axis=1, keepdims=True))


def known_prior_step(sides: Sequence[int]) -> list[dict[str, Any]]:
    """One step under a known prior, against ``alpha @ M`` with numpy, alpha (2, m): two worlds."""
    points = []
    for side in sides:
        grid = Grid(rows=side, columns=side, cell_size=1.0)
        m = grid.size
        model = full_model(grid, 1.0)
        matrix = model.transition(0).toarray()
        alpha = np.full((2, m), 0.5 / m)
        column = laplace_column(grid, m // 2)
        event = presence(range(5), range(2, 2000))
        q = Quantifier(model, event, KnownPrior(np.full(m, 1 / m)), method="forward")
        for _ in range(4):
            q.observe(column)
        inner = max(1, min(5, 1_000_000 // m**2))

        def step(q: Quantifier = q, column: np.ndarray = column) -> None:
            q.observe(column)
            q.joint_probabilities()

        def uncalibrated(alpha: np.ndarray = alpha, matrix: np.ndarray = matrix) -> np.ndarray:
            return alpha @ matrix

        uncalibrated_times, step_times = [], []
        for _ in range(60):  # taken in turns, so that other load meets both
            uncalibrated_times.append(best_seconds(uncalibrated, 1, inner))
            step_times.append(best_seconds(step, 1, inner))
        points.append(
            {
                "cells": m,
                "uncalibrated_seconds": min(uncalibrated_times),
                "step_seconds": min(step_times),
                "ratio": min(step_times) / min(uncalibrated_times),
            }
        )
    return points


def growth(sides: Sequence[int], kind: str) -> list[dict[str, Any]]:
    """All first cells: one forward step (dense), or eight releases replayed (large maps)."""
    points = []
    for side in sides:
        grid = Grid(rows=side, columns=side, cell_size=1.0)
        event = presence(range(2 * side, 2 * side + 5), range(3, 6))
        column = laplace_column(grid, 3 * side + 4)
        if kind == "dense":
            model = full_model(grid, 4.0)
            q = Quantifier(model, event, method="forward")
            for _ in range(7):
                q.observe(column)
            q.joint_probabilities()

            def work(q: Quantifier = q, column: np.ndarray = column) -> None:
                q.observe(column)
                q.joint_probabilities()
        else:
            options: dict[str, Any] = {"reach": 4.0} if kind == "sparse" else {}
            model = MarkovModel.gaussian(grid, sigma=4.0, **options)

            def work(
                model: MarkovModel = model, event: Event = event, column: np.ndarray = column
            ) -> None:
                q = Quantifier(model, event, method="replay")
                for _ in range(8):
                    q.observe(column)
                q.joint_probabilities()

        seconds = best_seconds(work, repeats=2)
        tracemalloc.start()
        work()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        points.append({"cells": grid.size, "seconds": seconds, "peak_megabytes": peak / 2**20})
    return points


def few_rows(sides: Sequence[int]) -> list[dict[str, Any]]:
    """One step against eight priors and their mixtures, with a verdict on three columns."""
    points = []
    for side in sides:
        grid = Grid(rows=side, columns=side, cell_size=1.0)
        model = MarkovModel.gaussian(grid, sigma=1.0, reach=3.0)
        priors = np.random.default_rng(0).dirichlet(np.ones(grid.size), size=8)
        event = presence(range(2 * side, 2 * side + 5), range(3, 40))
        columns = np.stack([laplace_column(grid, cell) for cell in (0, side, 3 * side)], axis=1)

        def stream(
            model: MarkovModel = model,
            event: Event = event,
            columns: np.ndarray = columns,
            priors: np.ndarray = priors,
        ) -> Quantifier:
            q = Quantifier(model, event, KnownPrior(priors), method="stream")
            for _ in range(4):
                q.passes(columns, 1.0)
                q.observe(columns[:, 0])
            return q

        tracemalloc.start()
        q = stream()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        def step(q: Quantifier = q, columns: np.ndarray = columns) -> None:
            q.passes(columns, 1.0)
            q.observe(columns[:, 0])
            q.leakage()

        seconds = best_seconds(step, repeats=5)
        points.append({"cells": grid.size, "seconds": seconds, "peak_megabytes": peak / 2**20})
    return points


def given_priors(counts: Sequence[int], side: int) -> list[dict[str, Any]]:
    """A step against K priors on a sparse map, with ten candidates, next to its uncalibrated
    products.

    The floor moves two worlds of each prior through the matrix, multiplies by a likelihood and by
    the ten candidates: no scaling, no bound on errors, no verdict.
    """
    grid = Grid(rows=side, columns=side, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0, reach=3.0)
    moves = sparse.csr_array(model.transition(0).matrix).T.tocsr()  # type: ignore[union-attr]
    event = presence(range(2 * side, 2 * side + 5), range(3, 40))
    columns = np.stack([laplace_column(grid, side * row) for row in range(10)], axis=1)
    points = []
    for count in counts:
        priors = np.random.default_rng(0).dirichlet(np.ones(grid.size), size=count)
        q = Quantifier(model, event, KnownPrior(priors), method="stream")
        for _ in range(4):
            q.observe(columns[:, 0])
        mass = np.repeat(priors, 2, axis=0)

        def step(q: Quantifier = q) -> None:
            q.passes(columns, 1.0)
            q.observe(columns[:, 0])

        def uncalibrated(mass: np.ndarray = mass) -> np.ndarray:
            moved = (moves @ mass.T) * columns[:, :1]
            return np.asarray(moved.T @ columns)

        times = [(best_seconds(step, 1), best_seconds(uncalibrated, 1)) for _ in range(8)]
        ours, floor = (min(column) for column in zip(*times, strict=True))
        points.append(
            {
                "priors": count,
                "cells": grid.size,
                "step_seconds": ours,
                "floor_seconds": floor,
                "ratio": ours / floor,
            }
        )
    return points


def near_verdicts(sides: Sequence[int]) -> list[dict[str, Any]]:
    """Verdicts and leakages of up to 400 columns over priors within a factor 3 of a given one.

    The bound is the median leakage of the columns, so that half of them pass.
    """
    points = []
    for side in sides:
        grid = Grid(rows=side, columns=side, cell_size=1.0)
        model = MarkovModel.gaussian(grid, sigma=1.0, reach=3.0)
        event = presence(range(side // 2), range(2, 5))
        q = Quantifier(model, event, PriorsWithin(model.stationary(), 3.0))
        for cell in (3 * side + 3, 4 * side + 4):
            q.observe(laplace_column(grid, cell))
        chosen = np.linspace(0, grid.size - 1, min(grid.size, 400)).astype(int)
        joint = q.candidate_joint(np.stack([laplace_column(grid, c) for c in chosen], axis=1))
        bound = float(np.median(q.judge.leakages(joint)))
        verdicts = best_seconds(partial(q.judge.passes, joint, bound), repeats=3)
        leakages = best_seconds(partial(q.judge.leakages, joint), repeats=3)
        points.append(
            {
                "cells": grid.size,
                "columns": len(chosen),
                "seconds": verdicts / len(chosen),
                "leakage_seconds": leakages / len(chosen),
            }
        )
    return points


def slope(points: list[dict[str, Any]], key: str) -> float:
    """Return the exponent p of ``key ~ cells**p`` over the last three points."""
    late = points[-3:]
    x = np.log([point["cells"] for point in late])
    return float(np.polyfit(x, np.log([point[key] for point in late]), 1)[0])


def show(console: Console, title: str, points: list[dict[str, Any]]) -> None:
    """Print measured points as a table."""
    table = Table(title=title)
    for name in points[0]:
        table.add_column(name, justify="right")
    for point in points:
        cells = []
        for value in point.values():
            cells.append("–" if value is None else f"{value:,.4g}")
        table.add_row(*cells)
    console.print(table)


PARTS: dict[str, tuple[str, Callable[[bool], list[dict[str, Any]]]]] = {
    "event": (
        "Runtime against event length and width (m = 400, known prior)",
        lambda quick: runtime_against_event(*[[5, 6] if quick else list(range(5, 16))] * 2),
    ),
    "known_prior_step": (
        "One step under a known prior against an uncalibrated alpha @ M",
        lambda quick: known_prior_step([5, 10] if quick else [5, 10, 20, 30, 40]),
    ),
    "dense_forward_step": (
        "All first cells: one forward step, dense model",
        lambda quick: growth([5, 10] if quick else [5, 10, 14, 20, 28, 40, 50], "dense"),
    ),
    "sparse_replay": (
        "All first cells: 8 releases replayed, sparse",
        lambda quick: growth(large(quick), "sparse"),
    ),
    "separable_replay": (
        "All first cells: 8 releases replayed, separable",
        lambda quick: growth(large(quick), "separable"),
    ),
    "few_rows": (
        "Eight priors: one step with three columns, sparse",
        lambda quick: few_rows(large(quick)),
    ),
    "given_priors": (
        "K priors: one step with ten columns, sparse",
        lambda quick: given_priors((1, 4, 16), 20 if quick else 200),
    ),
    "near_verdicts": (
        "Near a prior, factor 3: one column of many",
        lambda quick: near_verdicts([5, 10, 15] if quick else [10, 20, 40]),
    ),
}


def large(quick: bool) -> list[int]:
    """Return the sides of maps for what needs no array of cells times cells."""
    return [10, 20] if quick else [25, 50, 100, 141, 200]


GROWING = {
    **dict.fromkeys(
        ("dense_forward_step", "sparse_replay", "separable_replay"), ("seconds", "peak_megabytes")
    ),
    "near_verdicts": ("seconds",),
}
"""What is fitted by a power of the number of cells."""


def main(arguments: Sequence[str] = (), *, quick: bool = False) -> dict[str, Any]:
    """Run some parts, or all, print the tables, write and return the results.

    ``quick`` keeps to small sizes and writes nothing: to see that the benchmark works.
    """
    parts = asked_for(arguments, __doc__, PARTS).parts
    console = Console()
    warm_up()  # compile before anything is timed
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if parts else {}
    for name in parts or PARTS:
        title, measure = PARTS[name]
        results[name] = measure(quick)
        show(console, title, results[name])
        results.setdefault("measured", {})[name] = circumstances()
        if not quick:
            RESULTS.parent.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    results["slopes"] = {
        f"{name} {key}": slope(results[name], key)
        for name, keys in GROWING.items()
        for key in keys
        if name in results
    }
    for name, value in results["slopes"].items():
        console.print(f"growth with the number of cells, {name}: cells**{value:.2f}")
    if not quick:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


if __name__ == "__main__":
    main(sys.argv[1:])
