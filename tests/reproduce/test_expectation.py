"""What is said about the time before anything begins."""

from priste.reproduce import CATALOGUE, Settings, settings_for
from priste.reproduce.running.expectation import expected_seconds
from priste.reproduce.running.jobs import Job

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
