"""Doing jobs on all cores, with what was done before left alone.

Every job runs in a worker process with one thread for linear algebra, however many workers there
are: so the result does not depend on their number, to the last bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from priste.reproduce.running.jobs import Job, Result, perform
from priste.reproduce.running.store import Store
from priste.workers import finished

OnProgress = Callable[[int, int], None]


def perform_all(
    jobs: Sequence[Job], store: Store, *, workers: int, on_progress: OnProgress | None = None
) -> None:
    """Do the jobs that the store does not have, and keep each result as it comes.

    ``on_progress(done, total)`` counts the jobs given, those found done included. If a job
    fails, its error is raised; what was done is kept.
    """
    total = len({job.digest for job in jobs})
    left = list(store.results.missing(jobs))
    done = total - len(left)
    if on_progress is not None:
        on_progress(done, total)
    for number, (result, seconds) in finished(_timed, left, workers=workers):
        store.add(left[number], result, seconds)
        done += 1
        if on_progress is not None:
            on_progress(done, total)


def _timed(job: Job) -> tuple[Result, float]:
    begin = time.process_time()
    result = perform(job)
    return result, time.process_time() - begin
