"""The table of solver limits: programmes mean what the exact check decides; no solver, no crash."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper.experiments import solver_limits, solver_runs
from paper.experiments.experiment import settings_for
from paper.experiments.quadratic_programmes import (
    Answer,
    is_installed,
    programmes,
    solver_check,
)
from paper.experiments.solver_limits import ENGINES, EXPERIMENT, rows
from paper.experiments.solver_runs import WatchedSolver
from paper.experiments.solver_table import CLAIMS, NAMES
from paper.running.jobs import Results, perform
from tests.drawn_examples import examples
from tests.quantify.joint_cases import coarse, exact_joint, smooth

from priste.errors import InvalidParameter
from priste.quantify import leakages, passes

TINY = settings_for("tiny", steps=9)
NEAR = 0.05
"""Relative distance from the threshold within which a solver's tolerances may decide."""

PACKAGES = {"cplex dense": "cplex", "copt lifted": "coptpy"}
ROUNDING = 1e-12


def needs(engine: str):
    missing = not is_installed(engine)
    return pytest.mark.skipif(missing, reason=f"{engine} is not installed (extra 'solvers')")


INSTALLED = [pytest.param(engine, marks=needs(engine)) for engine in ENGINES]


def hide_solvers(monkeypatch) -> None:
    for package in PACKAGES.values():
        monkeypatch.setitem(sys.modules, package, None)


@examples(60)
@given(st.integers(0, 2**32), st.sampled_from([0.1, 0.5, 2.0]))
def test_programmes_are_positive_exactly_where_the_check_fails(seed, epsilon):
    """Over all pairs of cells, some F is positive iff the exact check refuses."""
    rng = np.random.default_rng(seed)
    rows_count = int(rng.integers(2, 6))
    joint = coarse(rng, rows_count) if seed % 2 else smooth(rng, rows_count, 0.5)
    largest = max(_largest_of_pairs(programme) for programme in programmes(joint, epsilon))
    if abs(largest) > ROUNDING:
        assert (largest > 0.0) == (not passes(joint, epsilon)[0])


def _largest_of_pairs(programme) -> float:
    """The maximum of w·Q·w over priors on two cells, in closed form on each edge."""
    q = programme.quadratic_form()
    best = -math.inf
    for i in range(len(q)):
        for j in range(len(q)):
            bend = q[i, i] - 2.0 * q[i, j] + q[j, j]
            weights = [0.0, 1.0]
            if bend < 0.0:
                weights.append(min(max((q[j, j] - q[i, j]) / bend, 0.0), 1.0))
            for w in weights:
                value = w * w * q[i, i] + 2.0 * w * (1.0 - w) * q[i, j] + (1.0 - w) ** 2 * q[j, j]
                best = max(best, value)
    return best


def test_programmes_do_not_depend_on_the_scale_of_the_releases():
    """Rows may be thousands of powers of two down: b and d are scaled to at most 1."""
    joint = smooth(np.random.default_rng(3), 4, 0.5)
    down = replace(joint, exponent=joint.exponent - 4000)
    for here, there in zip(programmes(joint, 0.5), programmes(down, 0.5), strict=True):
        assert np.array_equal(here.quadratic_form(), there.quadratic_form())
        assert max(here.b.max(), here.d.max()) == 1.0


def test_releases_that_no_cell_makes_violate_nothing():
    """All b and d zero: the form is 0, not a division by zero."""
    nothing = exact_joint([0.5, 0.5], [0.5, 0.5], [0.0, 0.0], [0.0, 0.0])
    assert all(not programme.quadratic_form().any() for programme in programmes(nothing, 0.5))


def test_several_candidates_are_refused():
    """A programme is about one candidate; the error says so."""
    twice = np.array([[0.25, 0.25], [0.5, 0.5]])
    joint = exact_joint([0.5, 0.5], [0.5, 0.5], twice, twice)
    with pytest.raises(InvalidParameter, match="one candidate at a time"):
        programmes(joint, 0.5)


@pytest.mark.parametrize("engine", INSTALLED)
def test_solvers_agree_with_the_exact_check_away_from_the_threshold(engine):
    """Five per cent beyond the exact ratio a solver accepts, five per cent before it refuses."""
    for seed in range(3):
        joint = smooth(np.random.default_rng(seed), 8, 0.4)
        leakage = float(leakages(joint)[0])
        above, below = leakage + math.log1p(NEAR), leakage - math.log1p(NEAR)
        assert solver_check(engine, joint, above, 10.0).violated is False
        assert solver_check(engine, joint, below, 10.0).violated is True


@pytest.mark.parametrize("engine", INSTALLED)
def test_a_solver_with_time_enough_releases_what_the_exact_check_does(engine):
    """On a small map with 10 s per programme, a solver's run is the exact check's run."""
    with_solver = _run(engine, 10.0)
    exact = _run(None, None)
    for name in ("budget", "distance", "largest_leakage", "conservative", "checks"):
        assert with_solver[name] == exact[name]
    assert with_solver["accepted"] == TINY.steps
    assert with_solver["accepted_over"] == with_solver["refused_within"] == 0


def _run(engine: str | None, limit: float | None) -> dict[str, float]:
    (row,) = [r for r in rows(TINY) if r.engine == engine][:1]
    (job,) = solver_limits.jobs_of(replace(row, limit=limit), TINY)
    return perform(job)


@pytest.mark.parametrize(
    ("violated", "private", "counted"),
    [
        (False, True, []),
        (True, False, []),
        (False, False, ["accepted_over"]),
        (True, True, ["refused_within"]),
        (None, True, ["undecided", "undecided_within"]),
        (None, False, ["undecided"]),
    ],
)
def test_wrong_and_open_verdicts_are_counted(monkeypatch, violated, private, counted):
    """The watched solver hands on its solver's verdict and counts where the exact one differs."""
    monkeypatch.setattr(solver_runs, "solver_check", lambda *given: Answer(violated, 0.25))
    joint = smooth(np.random.default_rng(1), 4, 0.4)
    epsilon = float(leakages(joint)[0]) + (NEAR if private else -NEAR)
    watched = WatchedSolver(ENGINES[0])
    assert watched(joint, epsilon, 1.0) == (None if violated is None else not violated)
    names = ("accepted_over", "refused_within", "undecided", "undecided_within")
    assert [name for name in names if getattr(watched, name)] == counted
    assert watched.solver_seconds == 0.25


def outcome_of(chosen):
    done = {job.digest: perform(job) for job in EXPERIMENT.jobs(chosen)}
    return EXPERIMENT.outcome(chosen, Results(done))


def test_without_solvers_the_exact_row_stands_and_the_way_to_install_is_told(monkeypatch):
    """No solver: no crash, our own row, every claim open, and the command that helps."""
    hide_solvers(monkeypatch)
    assert not any(is_installed(engine) for engine in ENGINES)
    outcome = outcome_of(TINY)
    (row,) = outcome.tables[0].rows
    assert row[1] == NAMES[None]
    assert [finding.verdict for finding in outcome.findings] == ["not decidable"] * 4
    for engine in ENGINES:
        (told,) = [each for each in outcome.remarks if NAMES[engine] in each]
        assert "pip install 'priste[solvers]'" in told
    assert len(outcome.pictures[0].draw().axes) == 4


def test_a_job_for_a_missing_solver_says_how_to_install_it(monkeypatch):
    """Asked for all the same, a missing solver is a clear error."""
    hide_solvers(monkeypatch)
    with pytest.raises(InvalidParameter, match=r"priste\[solvers\]"):
        _run(ENGINES[0], 1.0)


def test_an_unknown_engine_is_named():
    """A misspelt engine is refused with the known ones."""
    with pytest.raises(InvalidParameter, match="cplex dense"):
        is_installed("gurobi")


def test_tiny_experiment_has_a_row_per_solver_and_limit():
    """The tiny version runs whole with whatever solvers are there."""
    outcome = outcome_of(TINY)
    there = sum(is_installed(engine) for engine in ENGINES)
    assert len(outcome.tables[0].rows) == 1 + 2 * there
    assert len(outcome.findings) == 4
    assert len(outcome.pictures[0].draw().axes) == 4


def invented(chosen, seconds, conservative, budget, accepted_over=0):
    """Results as solvers would give whose numbers are these functions of the limit."""
    rng = np.random.default_rng(4)
    done = {}
    for row in rows(chosen):
        for job in solver_limits.jobs_of(row, chosen):
            limit = row.limit or 1.0
            done[job.digest] = {
                "seconds": seconds(limit) + 0.01 * rng.random(),
                "solver_seconds": 0.1,
                "checks": 60,
                "accepted": 50,
                "accepted_over": accepted_over,
                "refused_within": 0,
                "undecided": conservative(limit),
                "undecided_within": 0,
                "failed": 0,
                "conservative": conservative(limit) + 0.01 * rng.random(),
                "budget": budget(limit) + 0.001 * rng.random(),
                "distance": 2.0,
                "largest_leakage": 0.5,
            }
    return Results(done)


def test_findings_follow_the_numbers():
    """Numbers as in the paper are "reproduced"; the reverse is "not reproduced"."""
    chosen = settings_for("full")
    like_the_paper = invented(chosen, lambda t: 1 + t, lambda t: int(5 / t), lambda t: 0.1 + t)
    verdicts = [f.verdict for f in EXPERIMENT.outcome(chosen, like_the_paper).findings]
    assert verdicts == ["reproduced"] * 4
    reverse = invented(chosen, lambda t: 1 / t, lambda t: int(t), lambda t: 1 / t, accepted_over=1)
    verdicts = [f.verdict for f in EXPERIMENT.outcome(chosen, reverse).findings]
    assert verdicts == ["not reproduced"] * 4


def test_one_run_decides_no_trend():
    """With a single run per row the numbers are told and the trends stay open."""
    chosen = settings_for("full", solver_runs=1)
    numbers = invented(chosen, lambda t: 1 + t, lambda t: int(5 / t), lambda t: 0.1 + t)
    trends = EXPERIMENT.outcome(chosen, numbers).findings[: len(CLAIMS)]
    assert all(finding.verdict == "not decidable" for finding in trends)
    assert all("one run only" in finding.numbers for finding in trends)
