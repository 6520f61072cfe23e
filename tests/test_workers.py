"""The pool outlives its workers, and no worker outlives the pool."""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from tests.cli.small_world import QUICK
from tests.worker_processes import worker_processes

from priste import PristeError
from priste.workers import TRIES, Nursery, finished, tell

ROOT = Path(__file__).parent.parent


def doubled(job: int) -> int:
    print("libraries talk")
    return 2 * job


def die_first(folder: Path, job: int) -> int:
    """Die the first time that the job is tried."""
    tried = folder / str(job)
    if not tried.exists():
        tried.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def die(job: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return job


def too_much(job: int) -> int:
    """Ask for more memory than there is, as a map with too many cells does."""
    resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
    return len(bytearray(2**34))


def fail(job: int) -> int:
    raise PristeError(f"job {job}")


def test_every_job_is_done_once(capfd: pytest.CaptureFixture[str]) -> None:
    """Results come with the number of their job; what workers print is not on stdout."""
    assert dict(finished(doubled, range(5), workers=2)) == {n: 2 * n for n in range(5)}
    assert list(finished(doubled, [], workers=2)) == []
    assert capfd.readouterr().out == ""


def test_dead_workers_are_replaced(tmp_path: Path) -> None:
    """A job whose worker was killed is done by another."""
    assert dict(finished(partial(die_first, tmp_path), [7], workers=1)) == {0: 7}


def test_workers_that_keep_dying_end_in_an_error() -> None:
    """After a few deaths the work is given up, with how they died and what to do."""
    told = rf"died {TRIES} times.*SIGKILL.*; 0 jobs are done.*run the same command"
    with pytest.raises(PristeError, match=told):
        list(finished(die, [1], workers=1))


def die_at(bad: int, job: int) -> int:
    tell()
    if job == bad:
        os.kill(os.getpid(), signal.SIGSEGV)
    return job


def test_a_deadly_job_is_given_up_alone(tmp_path: Path) -> None:
    """The others are done; how its workers died is told, and what they told is taken back."""
    lost: list[tuple[int, int, str]] = []
    told: list[int] = []
    with Nursery() as nursery:
        made = nursery.finished(
            partial(die_at, 12), range(10, 15), workers=2, tries=2, on_told=told.append,
            on_lost=lambda number, job, how: lost.append((number, job, how)),
        )  # fmt: skip
        assert dict(made) == {number: number + 10 for number in (0, 1, 3, 4)}
        assert dict(nursery.finished(doubled, [1], workers=1)) == {0: 2}  # another work
    assert lost == [(2, 12, "crashed (SIGSEGV)")]
    assert (sum(told), told.count(-1)) == (4, 2)


class Prepared:
    """A work that prepares what a run does, and knows in which process that was."""

    def __init__(self) -> None:
        from priste.batch.engines import Work  # not above: every worker would load it
        from priste.batch.keyed_digests import Recognition
        from priste.policy import read_policy

        self.where = self.threads = 0
        self.work = Work(read_policy(QUICK), 1, Recognition(bytes(32)))

    def prepare(self) -> None:
        self.work.prepare()
        self.where, self.threads = os.getpid(), len(os.listdir("/proc/self/task"))

    def __call__(self, job: int) -> tuple[int, int, int, int]:
        return self.where, self.threads, os.getppid(), os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is prepared elsewhere")
def test_what_is_prepared_once_all_workers_have() -> None:
    """Prepared in one process with one thread, as only such may fork; workers are its children."""
    work = Prepared()
    with Nursery("priste.batch.engines:load") as nursery:
        found = dict(nursery.finished(work, range(6), workers=2, prepare=work.prepare))
    places = {where for where, _, _, _ in found.values()}
    assert places == {parent for _, _, parent, _ in found.values()} != {os.getpid()}
    assert {threads for _, threads, _, _ in found.values()} == {1}
    assert len({worker for *_, worker in found.values()}) == 2


def stay(job: int) -> int:
    time.sleep(0.05)
    return job


def test_a_nursery_that_dies_is_replaced() -> None:
    """Before its work, or at it with its workers: another nursery begins, and all is done."""
    killed: list[int] = []
    with Nursery() as nursery:
        (loading,) = multiprocessing.active_children()
        loading.kill()
        loading.join()
        for number, job in nursery.finished(stay, range(8), workers=2):
            assert number == job
            if not killed:
                killed += [child.pid or 0 for child in multiprocessing.active_children()]
                for process in [*killed, *worker_processes()]:
                    os.kill(process, signal.SIGKILL)
    assert len(killed) == 1


def test_an_error_of_a_job_is_raised() -> None:
    """It is not tried again."""
    with pytest.raises(PristeError, match="job 3"):
        list(finished(fail, [3], workers=1))


def threads(_: int) -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def test_one_thread_is_for_workers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting reaches workers and is undone here."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    assert dict(finished(threads, [0], workers=1)) == {0: "1"}
    assert os.environ["OPENBLAS_NUM_THREADS"] == "5"
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    assert dict(finished(threads, [0], workers=1)) == {0: "1"}
    assert "OPENBLAS_NUM_THREADS" not in os.environ


ORPHAN = """
import os, signal, sys
from functools import partial
from pathlib import Path
from priste.workers import Nursery, may_fork
from tests.test_workers import tell_and_stay
if __name__ == "__main__":
    sharing = sys.argv[2] == "sharing" and sys.platform == "linux"
    assert may_fork() or not sharing
    with Nursery(sharing=sharing) as nursery:
        work = partial(tell_and_stay, Path(sys.argv[1]))
        list(nursery.finished(work, [os.getpid()], workers=1))
"""


def tell_and_stay(place: Path, parent: int) -> None:
    place.write_text(str(os.getpid()))
    os.kill(parent, signal.SIGKILL)
    time.sleep(60)


@pytest.mark.parametrize("kind", ["apart", "sharing"])
def test_no_orphans(tmp_path: Path, kind: str) -> None:
    """When the process that started them is killed, workers end; also forks of that process."""
    place = tmp_path / "pid"
    script = tmp_path / "main.py"
    script.write_text(ORPHAN)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, script, place, kind], env=environment, check=False)
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
    """No memory for a job is an error of that job; a worker that the system killed is replaced."""
    with pytest.raises(MemoryError):
        list(finished(too_much, [1, 2], workers=2))
