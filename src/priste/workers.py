"""Work in other processes: a pool that outlives its workers, and workers that do not outlive it.

A worker that dies (killed, or out of memory) takes its pool with it. :func:`finished` then builds a
new pool for the jobs that are left, a few times, so that jobs must be safe to do again. Workers
end with the process that started them, however that ended, and write nothing to its output.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from priste.errors import PristeError

TRIES = 3
"""How many pools are built before the work is given up."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

Job = TypeVar("Job")
Result = TypeVar("Result")


def finished(
    perform: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    workers: int,
    one_thread: bool = False,
) -> Iterator[tuple[int, Result]]:
    """Do jobs in worker processes; yield the number of each with its result as they finish.

    ``perform`` is sent to each worker once, when it starts, and jobs and results as they
    come: all must pickle. With ``one_thread`` a worker uses one thread for linear algebra. An
    error that a job raises is raised here; PristeError is raised when ``TRIES`` pools have died.
    """
    left = dict(enumerate(jobs))
    for _ in range(TRIES):
        try:
            for number, result in _pooled(perform, left, workers, one_thread):
                del left[number]
                yield number, result
        except BrokenProcessPool:
            continue
        return
    raise PristeError(
        f"Workers died {TRIES} times; {len(jobs) - len(left)} of {len(jobs)} jobs are done. What "
        "was done is kept: run the same command again, with fewer workers if memory is short."
    )


def _pooled(
    perform: Callable[[Job], Result], jobs: dict[int, Job], workers: int, one_thread: bool
) -> Iterator[tuple[int, Result]]:
    if not jobs:
        return
    context = multiprocessing.get_context("spawn")
    # Nothing is ever sent: the pipe ends when we do, or when nobody waits for the workers any more.
    end, lifeline = context.Pipe(duplex=False)
    with (
        end,
        lifeline,
        _single_threaded_children() if one_thread else nullcontext(),
        ProcessPoolExecutor(
            max_workers=min(workers, len(jobs)),
            mp_context=context,
            initializer=_start,
            initargs=(perform, end),
        ) as pool,
    ):
        futures: dict[Future[Result], int] = {
            pool.submit(_perform, job): number for number, job in jobs.items()
        }
        try:
            while futures:
                done, _ = wait(futures, return_when=FIRST_COMPLETED)
                for future in done:
                    yield futures.pop(future), future.result()
        finally:
            for future in futures:
                future.cancel()
            lifeline.close()


_work: Callable[[Any], Any] | None = None


def _start(perform: Callable[[Any], Any], end: Connection) -> None:
    """Remember the work, end when told to, and leave the output alone: libraries print."""
    global _work
    _work = perform
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which tells us
    threading.Thread(target=_end_with, args=(end,), daemon=True).start()
    os.dup2(2, 1)


def _perform(job: Any) -> Any:
    if _work is None:
        raise PristeError("A worker was used before it was started.")
    return _work(job)


def _end_with(end: Connection) -> None:
    """End this process when the pipe does: no orphans, however the parent ended."""
    with suppress(EOFError, OSError):
        end.recv_bytes()
    os._exit(1)


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Let processes started now use one thread for linear algebra; they read it when they start."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
