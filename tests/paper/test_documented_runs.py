"""The documented runs come out of the documented seed, also where floats are computed otherwise."""

import csv
from pathlib import Path

import paper.experiments.budget_per_step as figure
import pytest
from paper.experiments.experiment import settings_for
from paper.experiments.release_runs import perform_together

DOCUMENTED = Path(__file__).parent / "documented_runs.csv"
"""Some runs of `python -m paper all --seed 2019`, as they came out in the documented run."""

SEED = 2019


@pytest.mark.parametrize(
    ("name", "delta", "curves", "which"),
    [
        ("fig-budget-presence-early", None, ("ε = 0.1", "1-PLM"), (0, 1)),
        # On a regular map many cells are equally likely to be in a location set. These runs
        # differed between processors while last bits decided which of them are.
        ("fig-budget-location-set", figure.DELTA, ("ε = 0.1",), (3, 9, 11)),
    ],
    ids=["early", "location set"],
)
def test_documented_runs_come_out(
    name: str, delta: float | None, curves: tuple[str, ...], which: tuple[int, ...]
) -> None:
    """Make some runs of some curves anew and hold them against the documented ones."""
    with DOCUMENTED.open(encoding="utf-8", newline="") as file:
        rows = {
            (row["curve"], int(row["run"])): row
            for row in csv.DictReader(file)
            if row["experiment"] == name
        }
    settings = settings_for("full", seed=SEED, runs=max(which) + 1, runs_with={}, truth_runs=0)
    jobs = {
        (label, run): job.parameters
        for panel in figure.panels(settings, [figure.EARLY], delta)
        for label, case in panel.cases
        if label in curves
        for run, job in enumerate(case.jobs(settings))
        if run in which
    }
    assert len(jobs) == len(which) * len(curves)
    for key, made in zip(jobs, perform_together(list(jobs.values())), strict=True):
        row = rows[key]
        steps = len(made["budgets"])
        assert sum(made["attempts"]) == float(row["attempts"])
        assert sum(made["budgets"]) / steps == pytest.approx(float(row["mean_budget"]), rel=1e-8)
        distance = sum(made["distances"]) / steps
        assert distance == pytest.approx(float(row["mean_distance_km"]), rel=1e-8)
        largest = max(max(step) for step in made["leakage"])
        assert largest == pytest.approx(float(row["stated_leakage"]), rel=1e-6)
