"""Engines and deaths change nothing: the same bytes from one process, a cluster, after kills."""

import json
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.batch.deadly_work import Deadly
from tests.batch.trips_run import run
from tests.cli.small_world import PATHS, STEPS, write_policy, write_trips

from priste import PristeError
from priste.batch import (
    ledger_of,
    protect_group,
    protection,
    workspace_of,
)
from priste.batch.parts import journals_in
from priste.batch.workspace import SECRET
from priste.cli.console import QUARANTINED
from priste.policy import load_policy
from priste.register import KeptStream
from priste.traces import read_traces

ROOT = Path(__file__).parent.parent.parent
SEED = 5


def written(folder: Path, name: str = "out.csv") -> tuple[bytes, ...]:
    """Return everything that a run leaves: result, ledger and parts."""
    parts = sorted(workspace_of(folder / name).glob("part-*"))
    files = [folder / name, ledger_of(folder / name), *parts]
    return tuple(path.read_bytes() for path in files)


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[], tuple[bytes, ...]]:
    """Return what one process writes that nothing happens to, under the state of the moment."""
    made: dict[str, tuple[bytes, ...]] = {}

    def of_this_state() -> tuple[bytes, ...]:
        state = os.environ["PRISTE_STATE"]
        if state not in made:
            folder = tmp_path_factory.mktemp("undisturbed")
            run(folder, seed=SEED)
            made[state] = written(folder)
        return made[state]

    return of_this_state


# The driver dies

KILLED = """
import json, os, signal, sys
from pathlib import Path
from priste import Protector
from priste.batch.engines import load
from tests.batch.trips_run import run

load()
left = 0
def counted(call):
    def made(*given, **named):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*given, **named)
    return made

os.fsync = counted(os.fsync)
Protector.release = counted(Protector.release)
ends = []
for folder, left, seed in json.loads(sys.argv[1]):
    process = os.fork()
    if process == 0:
        run(Path(folder), seed=seed)
        os._exit(0)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
print(json.dumps(ends))
"""


@dataclass(frozen=True)
class Killed:
    """Runs that were killed at a release or a write, under a state of their own."""

    state: Path
    seeded: Path
    secret: Path
    ends: list[bool]
    """Whether they were, in order: three with a seed, and one without."""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Run in processes that are killed.

    They are forked from one process, which has loaded what they need and bears a fork.
    """
    state, seeded, secret = (tmp_path_factory.mktemp(name) for name in ("state", "seeded", "not"))
    draw = random.Random(11)
    runs = [(str(seeded), draw.randrange(5, 30), SEED) for _ in range(3)]
    done = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps([*runs, (str(secret), 3 + STEPS + 7, None)])],
        cwd=ROOT, check=True, capture_output=True, text=True,
        env={**os.environ, "PRISTE_STATE": str(state / "priste")},
    )  # fmt: skip
    ends = json.loads(done.stdout)
    assert set(ends) <= {0, -signal.SIGKILL}
    return Killed(state / "priste", seeded, secret, [end != 0 for end in ends])


def test_kills_of_the_driver_at_random_points(
    killed: Killed,
    undisturbed: Callable[[], tuple[bytes, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kill -9 before a release or a write, drawn at random, thrice; then the run is ended."""
    monkeypatch.setenv("PRISTE_STATE", str(killed.state))
    assert sum(killed.ends[:3]) > 1
    if not (killed.seeded / "out.csv").exists():
        run(killed.seeded, seed=SEED)
    assert written(killed.seeded) == undisturbed()


def test_a_killed_run_goes_on_with_its_secret(
    killed: Killed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a seed: what is drawn after the kill is what the secret of the run gives, for all."""
    monkeypatch.setenv("PRISTE_STATE", str(killed.state))
    folder = killed.secret
    assert killed.ends[3]
    place = workspace_of(folder / "out.csv")
    secret = (place / SECRET).read_bytes()
    assert stat.S_IMODE((place / SECRET).stat().st_mode) == 0o600
    finished = {path.name: path.read_bytes() for path in place.glob("part-*")}
    report = run(folder)
    assert not (place / SECRET).exists()
    for name, content in finished.items():
        assert (place / name).read_bytes() == content
    assert 0 < report.drawn_now <= 3 * STEPS
    policy = load_policy(folder / "policy.toml")
    table = read_table(folder / "trips.csv")
    assert report.cells == {
        each.user: each.stream.cells for each in protect_group(table, policy, secret).outcomes
    }


def read_table(path: Path) -> object:
    import pyarrow as pa

    traces = list(read_traces(path))
    return pa.table(
        {
            "user": [trace.user for trace in traces for _ in range(len(trace))],
            "time": [int(time) for trace in traces for time in trace.times],
            "lat": [float(lat) for trace in traces for lat in trace.lat],
            "lon": [float(lon) for trace in traces for lon in trace.lon],
        }
    )


def test_a_new_secret_for_new_steps(tmp_path: Path) -> None:
    """The secret is gone with the run; new steps are drawn with another, old ones stay."""
    short = {user: path[:4] for user, path in PATHS.items()}
    write_paths(tmp_path, short)
    first = run(tmp_path).cells
    before = kept_journals(tmp_path)
    write_paths(tmp_path, PATHS)
    second = run(tmp_path, overwrite=True)
    assert second.drawn_now == 3 * (STEPS - 4)
    assert {user: cells[:4] for user, cells in second.cells.items()} == first
    after = kept_journals(tmp_path)
    for user, stream in before.items():
        assert after[user].stream == stream.stream
        assert after[user].records[:4] == stream.records


def write_paths(folder: Path, paths: dict[str, list[int]]) -> None:
    from tests.cli.small_world import trace_of

    from priste.traces import write_traces

    traces = [trace_of(user, path) for user, path in paths.items()]
    write_traces(traces, folder / "trips.csv", overwrite=True)


def kept_journals(folder: Path) -> dict[str | None, KeptStream]:
    return {
        user: KeptStream.read(journal, path)
        for path in workspace_of(folder / "out.csv").glob("part-*")
        for user, journal in journals_in(path.read_bytes()).items()
    }


# A user at whom workers die


def test_a_user_at_whom_workers_die_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real kills: the others are as ever, also in the same chunk; the next run tries again."""
    expected = run(tmp_path, "whole.csv", seed=SEED).cells
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(protection, "chunks_for", lambda users, fixes: 1)
    with monkeypatch.context() as patch:
        patch.setattr(protection, "Work", Deadly)
        made = run(
            tmp_path, seed=SEED, workers=2,
            on_progress=lambda done, total: told.append((done, total)),
        )  # fmt: skip
    assert list(made.problems) == ["ben"]
    assert "SIGKILL" in made.problems["ben"]
    assert made.cells == {user: cells for user, cells in expected.items() if user != "ben"}
    assert told[-1] == (3, 3)
    again = run(tmp_path, seed=SEED, overwrite=True)
    assert (again.cells, again.drawn_now) == (expected, STEPS)
    assert not again.problems


def test_one_worker_that_dies_does_not_take_the_command_along(tmp_path: Path) -> None:
    """The whole command, killed at a user: they are left out, and the exit code says so."""
    command = ["protect", write_trips(tmp_path), "-p", write_policy(tmp_path), "--seed", str(SEED)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.batch.deadly_work", *command, "-o", tmp_path / "out.csv"],
        cwd=ROOT, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == QUARANTINED, done.stderr
    assert "for 1 user:" in done.stdout
    assert "SIGKILL" in done.stdout
    left = read_traces(tmp_path / "out.csv")
    assert [trace.user for trace in left] == ["ada", "cleo"]


# Dask


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_bytes_although_workers_are_killed(
    tmp_path: Path,
    undisturbed: Callable[[], tuple[bytes, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two workers of a real cluster, of which one dies when the first user is done.

    Then a user takes every worker along that works on them: the others are released.
    """
    import dask
    from distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    expected = undisturbed()
    # Workers come and go: they are forked from a process that has loaded what they need.
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", "tests.batch.loaded_ahead"])
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as there,
        Client(there, set_as_default=False) as client,
    ):
        workers = list(client.run(os.getpid).values())
        told = []

        def kill_one(done: int, total: int) -> None:
            told.append((done, total))
            if workers:
                os.kill(workers.pop(), signal.SIGKILL)
                workers.clear()

        run(tmp_path, seed=SEED, cluster=there.scheduler_address, on_progress=kill_one)
        assert set(client.run(kept_works).values()) == {0}
        there.scheduler.allowed_failures = 0  # one death is enough to be blamed
        monkeypatch.setattr(protection, "chunks_for", lambda users, fixes: 1)
        monkeypatch.setattr(protection, "Work", Deadly)
        without = run(tmp_path, "other.csv", seed=SEED, cluster=there.scheduler_address)
    assert list(without.problems) == ["ben"]
    assert "took worker after worker" in without.problems["ben"]
    assert told[-1] == (3, 3)
    assert not workers
    assert written(tmp_path) == expected
    lines = (tmp_path / "out.csv").read_text().splitlines()
    others = [line for line in lines if "ben" not in line]
    assert (tmp_path / "other.csv").read_text().splitlines() == others


def kept_works() -> int:
    """Return how much a worker still keeps: nothing after a run."""
    from priste.batch import cluster

    return len(cluster._kept)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers, or not what was meant: an error in words, and nothing is drawn."""
    from priste.batch import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    for address in ("tcp://127.0.0.1:1", "nonsense"):
        with pytest.raises(PristeError, match="No scheduler"):
            run(tmp_path, cluster=address)
    assert not list(tmp_path.rglob("part-*"))
