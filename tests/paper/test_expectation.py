"""What is said about the time before anything begins."""

from paper.catalogue import CATALOGUE
from paper.experiments.experiment import Settings, settings_for
from paper.experiments.solver_limits import ENGINES
from paper.running.expectation import SOLVERS, expected_seconds
from paper.running.jobs import Job

CORES = 2


def everything(settings: Settings) -> list[Job]:
    return [job for experiment in CATALOGUE.values() for job in experiment.jobs(settings)]


def test_sizes_are_what_they_are_said_to_be() -> None:
    """By the estimate the whole evaluation is a matter of two hours, the smoke test of minutes."""
    whole, quick, tiny = (
        expected_seconds(everything(settings_for(size))) / CORES
        for size in ("full", "quick", "tiny")
    )
    assert 1.0 < whole / 3600 < 2.5
    assert quick / 60 < 8
    assert tiny < quick


def test_every_job_counts_once_and_more_runs_take_longer() -> None:
    """A job of two experiments is done once; every kind of job takes some time."""
    jobs = everything(settings_for("tiny"))
    assert expected_seconds([*jobs, *jobs]) == expected_seconds(jobs)
    assert all(expected_seconds([job]) > 0 for job in jobs)
    more = everything(settings_for("tiny", runs=3))
    assert expected_seconds(more) > expected_seconds(jobs)


def test_a_solver_takes_longer_with_a_longer_limit_where_it_uses_it() -> None:
    """Rows of the solver table, whether or not its solvers are installed."""
    row = {"side": 20, "steps": 50, "run": 0, "engine": None, "limit": None}

    def seconds(engine: str | None, limit: float | None) -> float:
        return expected_seconds([Job.of("solver", {**row, "engine": engine, "limit": limit})])

    assert seconds(None, None) < seconds("copt lifted", 1.0) == seconds("copt lifted", 20.0)
    assert seconds("cplex dense", 1.0) < seconds("cplex dense", 20.0)
    assert set(SOLVERS) == set(ENGINES)
