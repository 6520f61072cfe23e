"""Runs of the paper's loop in which a solver decides, with the exact check next to it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from paper.experiments.quadratic_programmes import NO_LIMIT, solver_check
from paper.running.jobs import Result, seed_of
from priste.events import presence
from priste.maps import Grid
from priste.mechanisms import PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import AnyPrior, JointProbabilities, passes
from priste.release import Paper, Protector

EVENT_STEPS = range(3, 8)


class WatchedSolver:
    """A solver as the checker of the paper's loop, with the exact check next to it."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self.checks = 0
        self.accepted = 0
        self.accepted_over = 0
        self.refused_within = 0
        self.undecided = 0
        self.undecided_within = 0
        self.failed = 0
        self.solver_seconds = 0.0
        self.beside_seconds = 0.0

    def __call__(
        self, joint: JointProbabilities, epsilon: float, seconds: float | None
    ) -> bool | None:
        answer = solver_check(self._engine, joint, epsilon, seconds or NO_LIMIT)
        begin = time.process_time()
        private = bool(passes(joint, epsilon)[0])
        self.checks += 1
        self.accepted += answer.violated is False
        self.accepted_over += answer.violated is False and not private
        self.refused_within += answer.violated is True and private
        self.undecided += answer.violated is None
        self.undecided_within += answer.violated is None and private
        self.failed += answer.failed
        self.solver_seconds += answer.seconds
        self.beside_seconds += time.process_time() - begin
        return None if answer.violated is None else not answer.violated


def perform(parameters: dict[str, Any]) -> Result:
    """Release one walk with the paper's loop, a solver or the exact check deciding.

    ``seconds`` is the CPU time of the whole run: drawing, quantifying, building the programmes,
    solving them. Raises ``InvalidParameter`` when the solver is not installed.
    """
    side, seed, run = parameters["side"], parameters["seed"], parameters["run"]
    grid = Grid(rows=side, columns=side, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=parameters["sigma"])
    walk = model.sample(parameters["steps"], rng=seed_of(seed, "walk", run))
    noise = seed_of(seed, "noise", run)
    engine = parameters["engine"]
    solver = None if engine is None else WatchedSolver(engine)
    event = presence(range(side // 2), EVENT_STEPS)
    # The first release compiles; it must not count as any checker's time.
    small = PlanarLaplace(grid, parameters["alpha"])
    Protector(
        model, event, small, parameters["epsilon"], Paper(), rng=noise, adversary=AnyPrior()
    ).release(int(walk[0]))
    protector = Protector(
        model,
        event,
        PlanarLaplace(grid, parameters["alpha"]),
        parameters["epsilon"],
        Paper(checker=solver, check_seconds=parameters["limit"]),
        rng=noise,
        adversary=AnyPrior(),
    )
    begin = time.process_time()
    releases = [protector.release(int(cell)) for cell in walk]
    seconds = time.process_time() - begin
    released = [release.cell for release in releases if release.cell is not None]
    distances = np.hypot(*(grid.centers[released] - grid.centers[walk]).T)
    return {
        "seconds": seconds - (solver.beside_seconds if solver else 0.0),
        "solver_seconds": solver.solver_seconds if solver else None,
        "checks": solver.checks
        if solver
        else sum(r.attempts - (r.budget == 0.0) for r in releases),
        "accepted": solver.accepted if solver else None,
        "accepted_over": solver.accepted_over if solver else 0,
        "refused_within": solver.refused_within if solver else 0,
        "undecided": solver.undecided if solver else 0,
        "undecided_within": solver.undecided_within if solver else 0,
        "failed": solver.failed if solver else 0,
        "conservative": sum(release.undecided > 0 for release in releases),
        "budget": float(np.mean([release.budget for release in releases])),
        "distance": float(distances.mean()),
        "largest_leakage": max(release.leakage[0] for release in releases),
    }
