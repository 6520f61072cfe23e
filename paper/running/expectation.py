"""How long jobs take, roughly, to be said before they begin.

The seconds were measured on one core of a shared server, on the paper's map of 400 cells over 50
steps; see docs/evidence/reproduction.md. On smaller maps a good part of them stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from paper.running.jobs import Job

PAPER, PAPER_IN_A_SET, PAPER_FOLLOWED, PAPER_IN_A_SET_FOLLOWED = 0.07, 0.2, 3.5, 3.0
"""A run of the paper's loop, together with others or followed by the adversary."""

CALIBRATORS = {"certified": 1.2, "optimal": 2.0}
"""A run of those that guarantee, for each event; others are taken to be like the slowest of
them."""

EVENT_TIMED = 0.09
"""One event of the runtime figure, ours and the naive sum."""

EXACT_CHECK = 0.8
SOLVERS = {"copt lifted": (5.0, 0.0), "cplex dense": (5.0, 10.0)}
"""A run of the solver table: with the exact check; with a solver, and for each second of its limit.
The quick solver is done before its limit, the paper's uses up all of it."""

_CELLS, _STEPS = 400, 50


def expected_seconds(jobs: Iterable[Job]) -> float:
    """Return about how many CPU seconds jobs take that are asked for together, each once."""
    return sum(_one(job) for job in {job.digest: job for job in jobs}.values())


def _one(job: Job) -> float:
    parameters = job.parameters
    if job.kind == "solver":
        run, by_limit = SOLVERS.get(parameters["engine"], (EXACT_CHECK, 0.0))
        seconds = run + by_limit * float(parameters["limit"] or 0.0)
        return _scaled(seconds, parameters["side"], parameters["steps"])
    if job.kind == "runtime":
        return EVENT_TIMED * float(parameters["events"])
    if job.kind == "procedure":  # every further release multiplies the sequences
        return 0.1 * 8.0 ** (int(parameters["steps"]) - 1)
    kind = parameters["calibrator"]["kind"]
    seconds = CALIBRATORS.get(kind, max(CALIBRATORS.values())) * len(parameters["events"])
    if kind == "paper":
        in_a_set = parameters["delta"] is not None
        if parameters["truth"]:
            seconds = PAPER_IN_A_SET_FOLLOWED if in_a_set else PAPER_FOLLOWED
        else:
            seconds = PAPER_IN_A_SET if in_a_set else PAPER
    return _scaled(seconds, parameters["world"]["side"], parameters["steps"])


def _scaled(seconds: float, side: int, steps: int) -> float:
    return seconds * (0.3 + 0.7 * side**2 / _CELLS) * steps / _STEPS
