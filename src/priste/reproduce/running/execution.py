"""Doing jobs on all cores, with what was done before left alone.

Every job runs in a worker process with one thread for linear algebra, however many workers there
are: so the result does not depend on their number, to the last bit.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from priste.errors import PristeError
from priste.reproduce.running.jobs import Job, Result, perform
from priste.reproduce.running.store import Store
from priste.workers import end_with

OnProgress = Callable[[int, int], None]

TRIES = 3
"""How often a pool is built anew after a worker died."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def perform_all(
    jobs: Sequence[Job], store: Store, *, workers: int, on_progress: OnProgress | None = None
) -> None:
    """Do the jobs that the store does not have, and keep each result as it comes.

    ``on_progress(done, total)`` counts the jobs given, those found done included. If a job
    fails, its error is raised; what was done is kept.
    """
    total = len({job.digest for job in jobs})
    for _ in range(TRIES):
        left = list(store.results.missing(jobs))
        if on_progress is not None:
            on_progress(total - len(left), total)
        if not left:
            return
        try:
            for done, (job, result, seconds) in enumerate(_pooled(left, workers), start=1):
                store.add(job, result, seconds)
                if on_progress is not None:
                    on_progress(total - len(left) + done, total)
        except BrokenProcessPool:
            continue
    if any(store.results.missing(jobs)):
        raise PristeError(
            f"Workers died {TRIES} times. What was done is kept: run the same command again, with "
            "fewer workers if memory is short."
        )


def _pooled(jobs: Sequence[Job], workers: int) -> Iterator[tuple[Job, Result, float]]:
    with (
        _single_threaded_children(),
        ProcessPoolExecutor(
            max_workers=min(workers, len(jobs)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_worker,
            initargs=(os.getpid(),),
        ) as pool,
    ):
        futures: dict[Future[tuple[Result, float]], Job] = {
            pool.submit(_timed, job): job for job in jobs
        }
        try:
            while futures:
                finished, _ = wait(futures, return_when=FIRST_COMPLETED)
                for future in finished:
                    job = futures.pop(future)
                    yield job, *future.result()
        finally:
            for future in futures:
                future.cancel()


def _start_worker(parent: int) -> None:
    """End with the parent, and leave its output alone: solvers print notices of their own."""
    end_with(parent)
    os.dup2(2, 1)


def _timed(job: Job) -> tuple[Result, float]:
    begin = time.process_time()
    result = perform(job)
    return result, time.process_time() - begin


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
