"""Doing jobs on all cores, with what was done before left alone.

Every job runs in a worker process with one thread for linear algebra, however many workers there
are, so that results do not depend on their number. Jobs that share their work are done
together; how many there are of them shows in last bits alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from priste.reproduce.running.jobs import Job, Result, loads, perform_load
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
    work = loads(left)
    for number, (results, seconds) in finished(_timed, work, workers=workers):
        load = work[number]
        for job, result in zip(load, results, strict=True):
            store.add(job, result, seconds / len(load))
        done += len(load)
        if on_progress is not None:
            on_progress(done, total)


def _timed(load: list[Job]) -> tuple[list[Result], float]:
    begin = time.process_time()
    results = perform_load(load)
    return results, time.process_time() - begin
