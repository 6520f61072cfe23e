"""Work in other processes: a pool that outlives its workers, and workers that do not outlive it.

A worker that dies (killed, or out of memory) takes its pool with it. :func:`finished` then builds a
new pool for the jobs that are left, so that jobs must be safe to do again. Workers end with the
process that started them, however that ended, and write nothing to its output.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext, suppress
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from priste.errors import PristeError

TRIES = 3
"""How many pools in a row may die without finishing a job before the work is given up."""

AHEAD = 2
"""How many jobs per worker are handed out at a time: none waits, and few are in memory."""

LISTENING = 0.2
"""Seconds between looks at what workers tell."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

Job = TypeVar("Job")
Result = TypeVar("Result")
OnTold = Callable[[int], None]


def finished(
    perform: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int,
    one_thread: bool = False,
    on_told: OnTold | None = None,
) -> Iterator[tuple[int, Result]]:
    """Do jobs in worker processes; yield the number of each with its result as they finish.

    ``perform`` is sent to each worker once, when it starts, and jobs and results as they
    come: all must pickle. Jobs are taken from ``jobs`` a few at a time. With ``one_thread`` a
    worker uses one thread for linear algebra. ``on_told`` is told how often workers called
    :func:`tell` since it was told last. An error that a job raises is raised here; PristeError is
    raised when ``TRIES`` pools in a row have died.
    """
    waiting = enumerate(jobs)
    left: dict[int, Job] = {}
    done = died = 0
    while True:
        left |= dict(islice(waiting, max(0, AHEAD * workers - len(left))))
        if not left:
            return
        try:
            for number, result in _pooled(perform, left, waiting, workers, one_thread, on_told):
                done, died = done + 1, 0
                yield number, result
        except BrokenProcessPool:
            died += 1
            if died == TRIES:
                raise PristeError(
                    f"Workers died {TRIES} times; {done} jobs are done. What was done is kept: run "
                    "the same command again, with fewer workers if memory is short."
                ) from None


def _pooled(
    perform: Callable[[Job], Result],
    left: dict[int, Job],
    waiting: Iterator[tuple[int, Job]],
    workers: int,
    one_thread: bool,
    on_told: OnTold | None,
) -> Iterator[tuple[int, Result]]:
    """Do the jobs that are left, and those that wait, in one pool; ``left`` has those not done."""
    context = multiprocessing.get_context("spawn")
    # Nothing is ever sent: the pipe ends when we do, or when nobody waits for the workers any more.
    end, lifeline = context.Pipe(duplex=False)
    ear, mouth = context.Pipe(duplex=False)
    with (
        end,
        lifeline,
        mouth,
        _Listener(ear) as listener,
        _single_threaded_children() if one_thread else nullcontext(),
        ProcessPoolExecutor(
            max_workers=min(workers, len(left)),
            mp_context=context,
            initializer=_start,
            initargs=(perform, end, mouth),
        ) as pool,
    ):
        futures: dict[Future[Result], int] = {
            pool.submit(_perform, job): number for number, job in left.items()
        }
        try:
            while futures:
                done, _ = wait(
                    futures,
                    timeout=None if on_told is None else LISTENING,
                    return_when=FIRST_COMPLETED,
                )
                if on_told is not None and (told := listener.heard()):
                    on_told(told)
                for future in done:
                    number = futures.pop(future)
                    result = future.result()
                    del left[number]
                    for following, job in islice(waiting, 1):
                        left[following] = job
                        futures[pool.submit(_perform, job)] = following
                    yield number, result
        finally:
            for future in futures:
                future.cancel()
            lifeline.close()


class _Listener:
    """Counts what workers tell, on a thread: whoever wants to know asks."""

    def __init__(self, ear: Connection) -> None:
        self._ear = ear
        self._count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> _Listener:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing: the thread ends with the last worker, and the pipe with it."""

    def _listen(self) -> None:
        with self._ear, suppress(EOFError, OSError):
            while True:
                self._ear.recv_bytes()
                with self._lock:
                    self._count += 1

    def heard(self) -> int:
        """Return how often workers told something since this was asked last."""
        with self._lock:
            count, self._count = self._count, 0
        return count


_work: Callable[[Any], Any] | None = None
_mouth: Connection | None = None


def tell() -> None:
    """Tell the process that waits that something is done; nothing outside of a worker.

    A few bytes in one write, which the system does not mix with those of other workers, also when
    one of them is killed.
    """
    if _mouth is not None:
        with suppress(OSError):
            _mouth.send_bytes(b".")


def _start(perform: Callable[[Any], Any], end: Connection, mouth: Connection) -> None:
    """Remember the work, end when told to, and leave the output alone: libraries print."""
    global _work, _mouth
    _work, _mouth = perform, mouth
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
