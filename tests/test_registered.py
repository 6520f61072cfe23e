"""Another package adds parts by entry points: one is installed here, and used by the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.small_world import GRID, PATHS, POLICY, write_policy, write_trips

import priste
from priste.errors import PristeError
from priste.registered import Registered

ROOT = Path(__file__).parent.parent

THIRD_PARTY = '''
"""Parts of another package, one of each kind."""
import math
from contextlib import nullcontext
from datetime import datetime

import numpy as np

from priste import Mechanism
from priste.batch.engines import EngineKind
from priste.mechanisms import NamedMechanism
from priste.release.calibrators import NamedCalibrator
from priste.traces import TraceFormat
from priste.traces.cleaning import RawFix


class Response(Mechanism):
    def __init__(self, grid, odds):
        super().__init__(grid, outputs=grid.size, budget=odds)

    claimed_alpha = property(lambda self: self.budget / self.grid.cell_size)

    def with_budget(self, budget):
        return Response(self.grid, self._checked_budget(budget))

    def describe(self):
        return {"kind": "response", "odds": self.budget}

    def _make_table(self):
        cells = self.grid.size
        other = 1.0 / (cells - 1 + math.exp(self.budget))
        table = np.full((cells, cells), other)
        np.fill_diagonal(table, 1.0 - (cells - 1) * other)
        return table


class Silent:
    guaranteed = True

    def __init__(self, always=0):
        self._always = always

    def propose(self, state):
        return state.constant(output=self._always, cost=math.nan)

    def describe(self):
        return {"kind": "silent", "always": self._always}


def backwards(work, jobs, on_done):
    for job in reversed(list(jobs)):
        yield work(job, lambda: on_done(1))


def read(file, options, tally):
    with file.open() as opened:
        for line in opened.read().decode().splitlines()[1:]:
            user, time, lat, lon = line.split()
            when = int(datetime.fromisoformat(time).timestamp()) * 1_000_000
            yield user, RawFix(when, float(lat), float(lon))


RESPONSE = NamedMechanism(
    "response", {"odds"}, lambda grid, saved: Response(grid, saved["odds"]), make=Response,
    parameters={"odds": "against each other cell"}, words=lambda made: "answers at random")
SILENT = NamedCalibrator(Silent, True, "Nothing is told.", {"always": "the output"})
BACKWARDS = EngineKind(lambda address: nullcontext(backwards))
DIARY = TraceFormat("diary", "a line DIARY", lambda head: head.data[:5] == b"DIARY", read,
                    names_users=True)
NONE = "nothing of use"
'''

ENTRY_POINTS = """
[priste.mechanisms]
response = third_parts:RESPONSE
[priste.calibrators]
silent = third_parts:SILENT
[priste.engines]
backwards = third_parts:BACKWARDS
[priste.trace_formats]
diary = third_parts:DIARY
"""

RESPONSES = POLICY.replace(
    'kind = "planar-laplace"\nalpha = 1.5', 'kind = "response"\nodds = 2.0'
).replace("pace = 0.3", 'calibrator = "certified"\npace = 0.3')


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Install a package with parts of every kind, and return where."""
    place = tmp_path / "site"
    (place / "third-1.0.dist-info").mkdir(parents=True)
    (place / "third-1.0.dist-info" / "METADATA").write_text("Name: third\nVersion: 1.0\n")
    (place / "third-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    (place / "third_parts.py").write_text(THIRD_PARTY)
    return place


def run(site: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a module where the package is installed."""
    source = Path(priste.__file__).parent.parent
    path = os.pathsep.join(map(str, (site, source, ROOT)))
    return subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_commands_use_parts_of_another_package(site: Path, tmp_path: Path) -> None:
    """Its mechanism draws in a policy and is restored from journals, on its engine, from its files.

    The engine changes no byte, as no engine does.
    """
    policy = write_policy(tmp_path, RESPONSES)
    trips = write_trips(tmp_path)
    lines = ["DIARY"]
    for user, path in PATHS.items():
        for step, cell in enumerate(path):
            lat, lon = GRID.latlon(cell)
            lines.append(f"{user} 2026-03-04T{step:02}:30:00+00:00 {lat!r} {lon!r}")
    diary = tmp_path / "week.txt"
    diary.write_text("\n".join(lines))
    told = {}
    for name, source, more in (
        ("here", trips, ()),
        ("there", trips, ("--cluster", "backwards://")),
        ("diary", diary, ("--format", "diary", "--cluster", "backwards://")),
    ):
        out = tmp_path / f"{name}.csv"
        done = run(
            site, "priste", "protect", source, "-p", policy, "-o", out, "--seed", "3",
            "--compare", "0", "--json", *more,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told[name] = json.loads(done.stdout)
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()
    ledgers = [Path(told[name]["ledger"]).read_text() for name in ("here", "diary")]
    assert ledgers[0] == ledgers[1]
    explained = run(site, "priste", "explain", policy)
    assert "The mechanism answers at random" in " ".join(explained.stdout.split())


def test_a_calibrator_of_another_package(site: Path, tmp_path: Path) -> None:
    """A policy names it, with a parameter of its own; the same policy is refused without it."""
    policy = write_policy(tmp_path, POLICY.replace("pace = 0.3", 'calibrator = "silent"'))
    out = tmp_path / "out.csv"
    asked = (
        "priste", "protect", write_trips(tmp_path), "-p", policy, "-o", out, "--seed", "3",
        "--compare", "0", "--json",
    )  # fmt: skip
    without = run(tmp_path, *asked)
    assert without.returncode == 2
    assert "silent" not in without.stdout
    done = run(site, *asked)
    assert done.returncode == 0, done.stderr
    events = json.loads(done.stdout)["events"]
    assert [each["max"] for each in events.values()] == [0.0, 0.0]


def test_an_experiment_of_another_package(site: Path) -> None:
    """It is listed behind no other work than its entry point."""
    (site / "third_figure.py").write_text(
        "from paper.experiments.experiment import Experiment\n"
        "MINE = Experiment('mine', 'A figure of mine', '', '', lambda s: [], lambda s, r: None)\n"
    )
    with (site / "third-1.0.dist-info" / "entry_points.txt").open("a") as file:
        file.write("[priste.experiments]\nmine = third_figure:MINE\n")
    listed = run(site, "paper", "--list", "--json")
    assert json.loads(listed.stdout)["mine"] == "A figure of mine"


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("third_parts:NONE", "must name a int whose name no other has"),
        ("third_parts:GONE", r"cannot be loaded \(AttributeError\)"),
        ("third_numbers:ONE", "must name a int whose name no other has"),
    ],
)
def test_what_cannot_be_registered(
    site: Path, monkeypatch: pytest.MonkeyPatch, named: str, words: str
) -> None:
    """Something else, something that is not there, or a name that is taken: said with its name."""
    (site / "third_numbers.py").write_text("ONE = 1\n")
    (site / "third-1.0.dist-info" / "entry_points.txt").write_text(
        f"[priste.examples]\none = {named}\n"
    )
    monkeypatch.syspath_prepend(str(site))
    table = Registered("priste.examples", int, {"one": 1})
    assert table["one"] == 1
    with pytest.raises(PristeError, match=f"'one' of 'priste.examples' {words}"):
        list(table)
