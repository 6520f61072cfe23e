"""Jobs for tests of worker processes: a module that both sides can import."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from functools import partial
from pathlib import Path

from priste import PristeError
from priste.workers import finished, report


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


def die_at(bad: int, job: int) -> int:
    report()
    if job == bad:
        os.kill(os.getpid(), signal.SIGSEGV)
    return job


def too_much(job: int) -> int:
    """Ask for more memory than there is, as a map with too many cells does."""
    resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
    return len(bytearray(2**34))


def fail(job: int) -> int:
    raise PristeError(f"job {job}")


def stay(job: int) -> int:
    time.sleep(0.05)
    return job


def parents(_: int) -> tuple[int, int, bool]:
    """Return the process and its parent, and whether the compiled search was loaded before."""
    return os.getpid(), os.getppid(), "priste.batch.preloaded" in sys.modules


def tell_until_cancelled(_: int) -> None:
    while True:
        report("still here")
        time.sleep(0.01)


def threads(_: int) -> str | None:
    return os.environ.get("OPENBLAS_NUM_THREADS")


def tell_and_stay(place: Path, parent: int) -> None:
    place.write_text(str(os.getpid()))
    os.kill(parent, signal.SIGKILL)
    time.sleep(60)


if __name__ == "__main__":
    from tests import worker_jobs

    work = partial(worker_jobs.tell_and_stay, Path(sys.argv[1]))
    list(finished(work, [os.getpid()], workers=1))
