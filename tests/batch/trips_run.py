"""One run over the trips of the small world."""

from pathlib import Path

from tests.cli.small_world import write_policy, write_trips

from priste.batch import (
    BatchReport,
    protect_file,
)
from priste.policy import load_policy
from priste.traces import read_traces


def run(folder: Path, name: str = "out.csv", **options: object) -> BatchReport:
    policy = load_policy(write_policy(folder))
    source = folder / "trips.csv"
    if not source.exists():
        write_trips(folder)
    return protect_file(policy, read_traces(source), folder / name, **options)  # type: ignore[arg-type]
