"""Work goes on when workers die, and no worker outlives the process that started it."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from tests import worker_jobs as jobs

from priste import PristeError
from priste.workers import TRIES, Message, Worker, finished, preload

ROOT = Path(__file__).parent.parent


def fork_server() -> int:
    """Return the process that workers are forked from: their parent."""
    ((_, (_, parent, _)),) = finished(jobs.parents, [0], workers=1)
    return parent


def test_every_job_is_done_once(capfd: pytest.CaptureFixture[str]) -> None:
    """Results come with the number of their job; what workers print is not on stdout."""
    assert dict(finished(jobs.doubled, range(5), workers=2)) == {n: 2 * n for n in range(5)}
    assert list(finished(jobs.doubled, [], workers=2)) == []
    assert capfd.readouterr().out == ""
    assert multiprocessing.active_children() == []


@pytest.mark.skipif(os.name == "nt", reason="no sockets with paths")
def test_a_long_temporary_folder_holds_no_socket(tmp_path: Path) -> None:
    """Addresses of sockets are short: workers begin whatever TMPDIR is, and leave nothing there."""
    folder = tmp_path / ("a-long-name-" * 10)
    folder.mkdir()
    code = (
        "from priste.workers import finished; from tests import worker_jobs as jobs; "
        "print(sorted(finished(jobs.doubled, [1, 2], workers=1)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    assert done.stdout == "[(0, 2), (1, 4)]\n", done.stderr
    assert list(folder.iterdir()) == []


def test_dead_workers_are_replaced(tmp_path: Path) -> None:
    """A job whose worker was killed is done by another."""
    assert dict(finished(partial(jobs.die_first, tmp_path), [7], workers=1)) == {0: 7}


def test_workers_that_keep_dying_end_in_an_error() -> None:
    """After a few deaths the work is given up, with how they died and what to do."""
    told = rf"died {TRIES} times.*SIGKILL.*; 0 jobs are done.*Run the same command"
    with pytest.raises(PristeError, match=told):
        list(finished(jobs.die, [1], workers=1))


def test_a_deadly_job_is_given_up_alone() -> None:
    """The others are done; how its workers died is told, and what they told is taken back."""
    lost: list[tuple[int, int, str]] = []
    told: list[int] = []
    made = finished(
        partial(jobs.die_at, 12), range(10, 15), workers=2, tries=2, on_done=told.append,
        on_lost=lambda number, job, how: lost.append((number, job, how)),
    )  # fmt: skip
    assert dict(made) == {number: number + 10 for number in (0, 1, 3, 4)}
    assert lost == [(2, 12, "crashed (SIGSEGV)")]
    assert (sum(told), told.count(-1)) == (4, 2)


@pytest.mark.skipif(sys.platform != "linux", reason="there may be no fork server elsewhere")
def test_what_is_loaded_once_all_workers_have() -> None:
    """Workers are forks of one process with one thread, which has loaded what was asked for."""
    code = (
        "import os\n"
        "from priste.workers import finished, preload\n"
        "from tests.worker_jobs import parents\n"
        "if __name__ == '__main__':\n"
        "    preload('priste.batch.preloaded')\n"
        "    found = [each for _, each in finished(parents, range(6), workers=2)]\n"
        "    (server,) = {parent for _, parent, _ in found}\n"
        "    print(server != os.getpid(), len({process for process, _, _ in found}),\n"
        "        all(loaded for *_, loaded in found), len(os.listdir(f'/proc/{server}/task')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True 2 True 1\n", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="there may be no fork server elsewhere")
def test_a_fork_server_that_dies_is_replaced() -> None:
    """Before the work, or at it with its workers: another one begins, and all is done."""
    os.kill(fork_server(), signal.SIGKILL)
    killed = False
    done = []
    for number, job in finished(jobs.stay, range(8), workers=2):
        assert number == job
        done.append(number)
        if not killed:
            killed = True
            workers = [child.pid or 0 for child in multiprocessing.active_children()]
            server = Path(f"/proc/{workers[0]}/stat").read_text().rsplit(")", 1)[1].split()[1]
            for process in [int(server), *workers]:
                os.kill(process, signal.SIGKILL)
    assert sorted(done) == list(range(8))


def test_an_error_of_a_job_is_raised() -> None:
    """It is not tried again."""
    with pytest.raises(PristeError, match="job 3"):
        list(finished(jobs.fail, [3], workers=1))


def test_a_cancelled_job_ends_and_its_worker_goes_on() -> None:
    """A job ends at its next word; the same process does the next job, which is not cancelled."""
    worker = Worker(pickle.dumps(jobs.tell_until_cancelled))
    process = worker._process.pid
    for _ in range(2):
        worker.begin(0)
        assert worker.receive() == (Message.REPORTED, "still here")
        worker.cancel()
        while (said := worker.receive()[0]) is Message.REPORTED:
            pass
        assert said is Message.CANCELLED
        worker.cancel()  # too late: the next job is not meant
    worker.begin(0)
    assert worker.receive() == (Message.REPORTED, "still here")
    assert worker._process.pid == process
    worker.kill()
    while (heard := worker.receive())[0] is Message.REPORTED:
        pass
    assert heard == (Message.DIED, "was killed (SIGKILL), as systems do when memory is short")
    worker.end()


def test_one_thread_is_for_workers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting reaches workers and is undone here."""
    for before in ("5", None):
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
        if before is None:
            monkeypatch.delenv("OPENBLAS_NUM_THREADS")
        preload("priste.workers")
        assert dict(finished(jobs.threads, [0], workers=1)) == {0: "1"}
        assert os.environ.get("OPENBLAS_NUM_THREADS") == before


def test_no_orphans(tmp_path: Path) -> None:
    """When the process that started them is killed, workers end."""
    place = tmp_path / "pid"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.worker_jobs", place], cwd=ROOT, env=environment, check=False
    )
    assert done.returncode == -signal.SIGKILL
    worker = int(place.read_text())
    for _ in range(300):
        try:
            state = Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:  # it is gone, maybe between opening and reading
            return
        if state == "Z":
            return
        time.sleep(0.1)
    pytest.fail("the worker is still there")


def test_a_worker_without_memory_says_so() -> None:
    """No memory for a job is an error of that job."""
    with pytest.raises(MemoryError):
        list(finished(jobs.too_much, [1, 2], workers=2))
