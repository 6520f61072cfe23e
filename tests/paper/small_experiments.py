"""An experiment that is small enough to be run in a test, and in a process that is killed."""

from __future__ import annotations

import sys
from pathlib import Path

from paper.catalogue import CATALOGUE
from paper.experiments.experiment import Settings, settings_for
from paper.running.execution import perform_all
from paper.running.store import Store

FIRST = "fig-budget-presence-early"
FEW = settings_for("tiny", steps=9, runs_with={"certified": 1}, truth_runs=1)


def make_results(folder: Path, settings: Settings, workers: int) -> None:
    """Do the jobs of the first experiment, and draw nothing."""
    with Store(folder) as store:
        perform_all(CATALOGUE[FIRST].jobs(settings), store, workers=workers)


if __name__ == "__main__":
    make_results(Path(sys.argv[1]), FEW, 2)
