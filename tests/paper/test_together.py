"""Runs that advance together are the runs that are made one after another."""

import numpy as np
import pytest
from paper.experiments.budget_per_step import synthetic_world
from paper.experiments.experiment import Settings, settings_for
from paper.experiments.many_histories import ManyHistories
from paper.experiments.release_runs import (
    Case,
    Window,
    perform,
    perform_together,
    shared_work,
)
from paper.experiments.witnesses import Witnesses
from paper.running.jobs import LARGEST_LOAD, loads

from priste.events import pattern, presence
from priste.maps import Grid
from priste.mechanisms import PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import AnyPrior, KnownPrior, Quantifier, leakages

TINY = settings_for("tiny", runs=2, truth_runs=0, runs_with={"paper-normalised": 2})
SHORT = settings_for("tiny", runs=2, truth_runs=0, runs_with={"paper-normalised": 2}, steps=12)
EARLY, LATE = Window("presence", 3, 7), Window("pattern", 15, 19)
EARLY_PATTERN = Window("pattern", 3, 7)
CITY = [{"kind": "city", "seed": 1, "side": 6, "days": 20}]


@pytest.mark.parametrize(
    ("worlds", "events", "settings"),
    [
        ([synthetic_world(TINY)], [EARLY, LATE], TINY),
        (CITY, [EARLY], SHORT),
        (CITY, [EARLY_PATTERN], SHORT),
    ],
    ids=["plane, two events", "city, presence", "city, pattern"],
)
def test_together_is_one_after_another(worlds: list, events: list, settings: Settings) -> None:
    """Budgets, cells and attempts are the same, and leakages up to rounding."""
    base = Case.on(worlds, *events, epsilon=0.2, alpha=1.0)
    cases = [
        base,
        base.but(epsilon=1.0, alpha=0.5),
        base.but(calibrator="paper-normalised"),
        base.but(delta=0.3),
        base.but(delta=0.3, outside="excluded"),
    ]
    jobs = [job.parameters for case in cases for job in case.jobs(settings)]
    assert len({shared_work(each) for each in jobs}) == 1
    rejected = 0
    for parameters, found in zip(jobs, perform_together(jobs), strict=True):
        alone = perform(parameters)
        for exact in ("budgets", "attempts", "distances", "uniform", "constant", "true_leakage"):
            assert found[exact] == alone[exact]
        np.testing.assert_allclose(found["leakage"], alone["leakage"], rtol=1e-9, atol=1e-12)
        rejected += sum(alone["attempts"]) - len(alone["attempts"])
    assert rejected > 0, "no draw was ever rejected, so that nothing was tried"


def test_moments_are_those_of_a_quantifier_each() -> None:
    """Every stream sees its own releases: also far beyond what a float holds."""
    grid = Grid(rows=2, columns=3, cell_size=1.0)
    model = MarkovModel.gaussian(grid, 0.4)
    sharp = PlanarLaplace(grid, 200.0).emission()
    vague = PlanarLaplace(grid, 0.3).emission()
    for event in (presence([0, 1], [1, 2]), pattern([[0, 1], [2]], [1, 3])):
        many = ManyHistories(model, event, count=3)
        alone = [Quantifier(model, event, AnyPrior()) for _ in range(3)]
        for step in range(9):
            columns = np.stack([vague[:, step % 6], sharp[:, 0], np.full(6, 0.25)], axis=1)
            found = leakages(many.joint_if(columns, np.array([0, 1, 2])))
            for stream, quantifier in enumerate(alone):
                quantifier.observe(columns[:, stream])
                expected = quantifier.leakage().value
                assert found[stream] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            one = leakages(many.joint_if(columns[:, 1:2], np.array([1])))
            assert one[0] == pytest.approx(float(found[1]), rel=1e-9, abs=1e-9)
            many.observe(columns)


def test_witnesses_refuse_only_what_the_whole_check_refuses() -> None:
    """Whatever priors are carried along, a refusal is a leakage beyond ε, and many are caught."""
    grid = Grid(rows=2, columns=3, cell_size=1.0)
    model = MarkovModel.gaussian(grid, 0.7)
    rng = np.random.default_rng(11)
    tables = [PlanarLaplace(grid, alpha).emission() for alpha in (3.0, 1.0, 0.3)]
    limits = np.array([0.1, 0.5, 1.0])
    refused = over = 0
    for event in (presence([0, 1], [2, 3]), pattern([[0, 1], [0, 1]], [0, 2])):
        many = ManyHistories(model, event, count=3)
        witnesses = Witnesses(many, count=3)
        everybody = np.arange(3)
        for step in range(8):
            for table in tables:
                columns = table[:, rng.integers(6, size=3)]
                found = leakages(many.joint_if(columns, everybody))
                said = witnesses.refuse(columns, everybody, limits)
                assert (found[said] > limits[said]).all()
                refused += int(said.sum())
                over += int((found > limits).sum())
            taken = rng.permutation(3)[: step % 3 + 1]
            witnesses.take(taken, rng.dirichlet(np.full(6, 0.3), size=len(taken)))
            many.observe(tables[1][:, rng.integers(6, size=3)])
            witnesses.follow()
    assert 0.3 * over < refused <= over


def test_witnesses_know_what_a_quantifier_knows() -> None:
    """A prior taken late is where it would be had it been carried along from the start."""
    grid = Grid(rows=1, columns=4, cell_size=1.0)
    model = MarkovModel.gaussian(grid, 0.6)
    event = presence([0], [1, 3])
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    vague = PlanarLaplace(grid, 0.8).emission()
    for taken_at in range(5):
        many = ManyHistories(model, event, count=1)
        witnesses = Witnesses(many, count=1)
        quantifier = Quantifier(model, event, KnownPrior(prior))
        for step in range(6):
            if step == taken_at:
                witnesses.take(np.array([0]), prior[None, :])
            column = vague[:, [step % 4]]
            quantifier.observe(column[:, 0])
            if step >= taken_at:
                value = quantifier.leakage().value
                for limit, expected in ((value * (1 - 1e-4), True), (value * (1 + 1e-4), False)):
                    assert witnesses.refuse(column, np.array([0]), np.array([limit])) == [expected]
            many.observe(column)
            witnesses.follow()


def test_runs_that_decided_the_event_are_followed_no_further() -> None:
    """Where the literal set excluded the event, all draws are refused, and the numbers stay."""
    settings = settings_for("tiny", runs=4, truth_runs=0, runs_with={}, steps=12)
    case = Case.on([synthetic_world(settings)], EARLY, epsilon=0.5, alpha=1.0)
    jobs = [job.parameters for job in case.but(delta=0.5, outside="excluded").jobs(settings)]
    together = perform_together(jobs)
    decided = [np.isinf(np.max(each["leakage"])) for each in together]
    assert any(decided)
    for parameters, found in zip(jobs, together, strict=True):
        alone = perform(parameters)
        assert (found["budgets"], found["attempts"]) == (alone["budgets"], alone["attempts"])
        np.testing.assert_allclose(found["leakage"], alone["leakage"], rtol=1e-9, atol=1e-12)


def test_releases_that_cannot_be_made_are_refused() -> None:
    """A column of zeros, or one for too few streams, changes nothing."""
    grid = Grid(rows=1, columns=2, cell_size=1.0)
    many = ManyHistories(MarkovModel.gaussian(grid, 1.0), presence([0], [1]), count=2)
    for wrong in (np.array([[0.5, 0.0], [0.5, 0.0]]), np.array([[0.5], [0.5]])):
        with pytest.raises(ValueError, match="2 streams"):
            many.observe(wrong)


def test_loads_keep_every_job_once() -> None:
    """Jobs with an adversary or another calibrator are done alone, the others in loads."""
    runs = LARGEST_LOAD + 20
    settings = settings_for("tiny", runs=runs, truth_runs=1, runs_with={"certified": 2})
    case = Case.on([synthetic_world(settings)], EARLY, epsilon=1.0, alpha=1.0)
    jobs = [*case.jobs(settings), *case.but(calibrator="certified").jobs(settings)]
    made = loads(jobs)
    assert sorted(job.digest for load in made for job in load) == sorted(j.digest for j in jobs)
    assert sorted(map(len, made)) == [1, 1, 1, 19, LARGEST_LOAD]
