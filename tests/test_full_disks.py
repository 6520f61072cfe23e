"""Disks that are really full or read-only: a small file system of its own for each test.

Mounting needs root and a kernel that lets it; elsewhere these tests are skipped with the reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.small_world import write_policy, write_trips
from tests.small_disks import mounted, why_not


@pytest.fixture(autouse=True)
def _needs_a_disk() -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)


def test_a_journal_on_a_full_disk(tmp_path: Path) -> None:
    """The release that finds no room is not made; all before it are there, and it goes on later."""
    script = """
from priste import AnyPrior, Grid, MarkovModel, PlanarLaplace, Protector, StateError, presence
from priste.release.stream_file import checkpoint
checkpoint.EVERY = 5
grid = Grid(rows=3, columns=3, cell_size=1.0)
model = MarkovModel.gaussian(grid, sigma=1.0)
p = Protector(model, presence([0], [1]), PlanarLaplace(grid, 1.0), 0.5, "uncalibrated",
              journal=place / "j", adversary=AnyPrior())
filler = fill(leaving=16384)
made = []
try:
    for step in range(400):
        made.append(p.release(step % 9))
    raise SystemExit("the disk was not full")
except StateError as problem:
    assert "Nothing was released" in str(problem), problem
assert 2 < len(made) < 400, len(made)
filler.unlink()
with Protector.resume(place / "j") as again:
    assert list(again.ledger) == made
    again.release(0)
names = {path.name for path in place.iterdir()}
assert names <= {"j", "j.checkpoint"}, names
assert len(list(Protector.load(place / "j").ledger)) == len(made) + 1
"""
    mounted(script, tmp_path / "disk")


def test_results_on_a_full_disk(tmp_path: Path) -> None:
    """A result that does not fit is told, and neither it nor a draft is left."""
    script = """
import numpy as np
from priste import OutputError
from priste.release import Ledger, Release, write_ledgers
from priste.traces import Trace, write_traces
from priste.atomic_files import write_file
releases = [Release(step, 0, 1.0, (0.0,), 1) for step in range(20_000)]
times = np.arange(20_000) * 10**6
writers = {
    "ledger": lambda: write_ledgers(place / "x", ["e"], {"ada": Ledger(("e",), releases)}),
    "result": lambda: write_traces([Trace("a", times, times * 0.0, times * 0.0)], place / "x.csv"),
    "page": lambda: write_file(place / "x.html", "x" * 600_000),
}
for what, write in writers.items():
    try:
        write()
        raise SystemExit(f"the disk was not full: {what}")
    except OutputError as problem:
        assert "cannot be written" in str(problem) and "No space" in str(problem), (what, problem)
    assert not list(place.iterdir()), (what, list(place.iterdir()))
"""
    mounted(script, tmp_path / "disk")


def test_protect_on_a_full_disk_goes_on_later(tmp_path: Path) -> None:
    """Exit code 2, no half file; with room again, the same command keeps what was drawn.

    The page of a report, which is a result like others, is told in the same way.
    """
    policy, trips = write_policy(tmp_path), write_trips(tmp_path)
    script = """
from typer.testing import CliRunner
from priste.cli.application import app
policy, trips = sys.argv[2:]

def priste(*words):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, [str(word) for word in words])

command = ["protect", trips, "-p", policy, "-o", place / "o.csv", "--seed", 4]
filler = fill(leaving=40_960)
first = priste(*command)
assert first.exit_code == 2, (first.exit_code, first.stderr)
assert not (place / "o.csv").exists()
filler.unlink()
again = priste(*command)
assert again.exit_code == 0, again.stderr
assert (place / "o.csv").exists()
assert not [p.name for p in place.rglob("*.part")]
fill(leaving=4_096)
page = priste("report", place / "o.csv", "-p", policy, "-o", place / "r.html")
assert page.exit_code == 2, page.stderr
assert "No space left" in page.stderr, page.stderr
assert not [p.name for p in place.iterdir() if "r.html" in p.name]
"""
    mounted(script, tmp_path / "disk", str(policy), str(trips), size="4m")


def test_a_disk_that_is_read_only(tmp_path: Path) -> None:
    """Streams can be looked at, not continued; nothing can be written, and that is said first."""
    policy, trips = write_policy(tmp_path), write_trips(tmp_path)
    script = """
import subprocess
from priste import AnyPrior, Grid, MarkovModel, OutputError, PlanarLaplace, Protector
from priste import StateError, presence
from priste.atomic_files import write_file
grid = Grid(rows=3, columns=3, cell_size=1.0)
model = MarkovModel.gaussian(grid, sigma=1.0)
with Protector(model, presence([0], [1]), PlanarLaplace(grid, 1.0), 0.5, "uncalibrated",
               journal=place / "j", adversary=AnyPrior()) as p:
    made = p.release(4)
subprocess.run(["mount", "-o", "remount,ro", place], check=True)
assert list(Protector.load(place / "j").ledger) == [made]
for act in (lambda: Protector.resume(place / "j"), lambda: p.save(place / "k")):
    try:
        act()
        raise SystemExit("it was written to")
    except StateError as problem:
        pass
try:
    write_file(place / "x", "x")
    raise SystemExit("it was written to")
except OutputError as problem:
    assert "cannot be written to" in str(problem), problem
policy, trips = sys.argv[2:]
done = subprocess.run(
    [sys.executable, "-m", "priste", "protect", trips, "-p", policy, "-o", str(place / "o.csv")],
    capture_output=True, text=True,
)
assert done.returncode == 2, done.stderr
assert "cannot be written to" in " ".join(done.stderr.replace("│", " ").split()), done.stderr
"""
    mounted(script, tmp_path / "disk", str(policy), str(trips))
