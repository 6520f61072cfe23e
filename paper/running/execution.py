"""Doing jobs on all cores, with what was done before left alone.

Every job runs in a worker process with one thread for linear algebra, however many workers there
are: so the result does not depend on their number, to the last bit. Jobs that share their work are
done together; which these are follows from the jobs that were asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from paper.running.expectation import expected_seconds
from paper.running.jobs import Job, Result, loads, perform_load
from paper.running.store import Store
from priste.workers import finished, preload

OnProgress = Callable[[int, int], None]


def perform_all(
    jobs: Sequence[Job], store: Store, *, workers: int, on_progress: OnProgress | None = None
) -> None:
    """Do the jobs that the store does not have, and keep each result as it comes.

    ``on_progress(done, total)`` counts the CPU seconds that the jobs given are expected to take,
    rounded up, those found done included: jobs differ too much to be counted. If a job fails, its
    error is raised; what was done is kept.
    """
    once = {job.digest: job for job in jobs}
    left = {job.digest for job in store.results.missing(jobs)}
    seconds = {digest: expected_seconds([job]) for digest, job in once.items()}
    total = math.ceil(sum(seconds.values()))

    def tell() -> None:
        if on_progress is not None:
            rest = sum(seconds[digest] for digest in left)
            on_progress(total - math.ceil(rest), total)

    tell()
    # A load is made whole also where a part of it is there: its size shows in last bits.
    work = [load for load in loads(once.values()) if any(job.digest in left for job in load)]
    if not work:
        return  # no process is begun for nothing
    preload("paper.experiments.release_runs")
    for number, (results, taken) in finished(_timed, work, workers=workers):
        load = work[number]
        for job, result in zip(load, results, strict=True):
            if job.digest in left:
                store.add(job, result, taken / len(load))
                left.remove(job.digest)
        tell()


def _timed(load: list[Job]) -> tuple[list[Result], float]:
    begin = time.process_time()
    results = perform_load(load)
    return results, time.process_time() - begin
