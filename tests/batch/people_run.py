"""One run over a table of people."""

from pathlib import Path

from tests.cli.small_world import QUICK, policy_of, write_policy

from priste.batch import BatchReport, protect_file
from priste.traces import read_traces

STILL = (
    QUICK.replace("steps = 12", "steps = 4")
    .replace('"05:00-08:00"', "1..2")
    .replace("pattern(home@1, home@11)", "pattern(home@1, home@3)")
)
"""Few steps: for runs of many users."""


def run(folder: Path, source: Path, name: str = "released", **options: object) -> BatchReport:
    text = str(options.pop("policy", STILL))
    write_policy(folder, text)
    return protect_file(policy_of(text), read_traces(source), folder / name, **options)  # type: ignore[arg-type]
