"""Chunks protected on a Dask cluster that is there already (extra ``cluster``).

True locations, the policy and the key of the run go to its workers: it must be your own, and its
connections private (``tls://``, or a network of your own). Workers need the same version of priste.
A worker keeps the policy, with its models and tables, from the first chunk to the last; one that
joins later gets it when it joins, and the chunks of one that dies go to others. If workers die
repeatedly at a chunk, its users are tried one by one.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import priste
from priste.batch.engines import Engine, Job, Made, OnTold, Work, load
from priste.batch.groups import Outcome
from priste.errors import PristeError
from priste.extras import need

PATIENCE = 15.0
"""Seconds in which a scheduler must answer."""

RETRIES = 3
"""How often a chunk is tried again after an error of the cluster."""

AHEAD, FEWEST_AHEAD = 2, 4
"""How many chunks per worker, and at least, are handed out at a time, so that no worker waits."""

LISTENING = 0.2
"""Seconds between two readings of what workers report."""

_kept: dict[str, Work] = {}
_hands = ThreadPoolExecutor(max_workers=1, thread_name_prefix="priste")
"""One thread of a worker does all chunks, one at a time: tables are shared. It is not one of Dask's
threads, because Dask inspects these a hundred times a second, which took up to a tenth of the
time."""


@contextmanager
def cluster_at(address: str) -> Iterator[Engine]:
    """Connect to the cluster whose scheduler is at an address, as tcp://host:8786."""
    need("cluster", "A cluster")
    with _connected(address) as client:
        _check_versions(client, address)

        def run(work: Work, jobs: Iterable[Job], on_done: OnTold) -> Iterator[Made]:
            with _kept_by_workers(client, work, on_done) as (name, heard):
                deadly: list[Job] = []
                yield from _finished(client, name, jobs, heard, deadly)
                for job in deadly:
                    yield _one_by_one(client, name, work, job, on_done)

        yield run


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    import distributed

    connect: Callable[..., Any] = distributed.Client
    try:
        client = connect(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as problem:
        raise PristeError(
            f"No scheduler of a Dask cluster answers at {address!r} ({type(problem).__name__})",
            hint="Is it running, and is the address as it prints it, as tcp://host:8786?",
        ) from None
    try:
        yield client
    finally:
        client.close()


def _check_versions(client: Any, address: str) -> None:
    found = set(client.run(_version).values())
    if not found:
        raise PristeError(
            f"The cluster at {address!r} has no workers", hint="Start some, then go on."
        )
    if found != {priste.__version__}:
        raise PristeError(
            f"The workers at {address!r} have priste {', '.join(sorted(map(str, found)))}; "
            f"this is {priste.__version__}",
            hint="Install the same version everywhere.",
        )


def _version() -> str:
    return priste.__version__


@contextmanager
def _kept_by_workers(
    client: Any, work: Work, on_done: OnTold
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Let every worker, also one that joins later, keep the work; yield its name and a listener.
    The listener calls ``on_done`` with what workers reported, on the thread that calls it.
    """
    from distributed import WorkerPlugin

    class Keeping(WorkerPlugin):
        idempotent = True

        def __init__(self, name: str, data: bytes) -> None:
            self.name, self.data = name, data

        def setup(self, worker: Any) -> None:
            from priste.batch import cluster

            cluster.keep(self.name, self.data)

        def teardown(self, worker: Any) -> None:
            from priste.batch import cluster

            cluster.let_go(self.name)

    name = f"priste-{secrets.token_hex(8)}"
    told: list[int] = []
    client.register_plugin(Keeping(name, pickle.dumps(work)))
    client.subscribe_topic(name, lambda event: told.append(1))

    def heard() -> None:
        count = len(told)
        if count:
            del told[:count]
            on_done(count)

    try:
        yield name, heard
    finally:
        with suppress(Exception):  # the cluster may be gone: then so is what it kept
            client.unsubscribe_topic(name)
            client.unregister_worker_plugin(name)


def keep(name: str, data: bytes) -> None:
    """Keep the work in this worker, and prepare it for the first chunk."""
    _kept[name] = pickle.loads(data)
    _hands.submit(_make_ready, _kept[name])


def _make_ready(work: Work) -> None:
    """Load the compiled code, and compute what all users share."""
    with suppress(Exception):  # a chunk that meets it tells it
        load()
        work.prepare()


def let_go(name: str) -> None:
    """Forget a work that this worker kept."""
    _kept.pop(name, None)


def _perform(name: str, job: Job) -> Made:
    """Protect a chunk in a worker."""
    from distributed import get_worker

    worker = get_worker()
    return _hands.submit(_kept[name], job, lambda: worker.log_event(name, 1)).result()


def _perform_alone(name: str, job: Job) -> tuple[Outcome, ...]:
    """Protect the one user of a job in a worker; the caller that waits for it reports it."""
    return _hands.submit(_kept[name].outcomes, job, None).result()


def _finished(
    client: Any, name: str, jobs: Iterable[Job], heard: Callable[[], None], deadly: list[Job]
) -> Iterator[Made]:
    """Yield what was made of jobs; those at which workers died too often go to ``deadly``."""
    import distributed
    from distributed.scheduler import KilledWorker

    wait: Callable[..., Any] = distributed.wait

    waiting = iter(jobs)
    ahead = max(FEWEST_AHEAD, AHEAD * sum(client.nthreads().values()))

    def submitted(count: int) -> dict[Any, Job]:
        return {
            client.submit(
                _perform, name, job, key=f"{name}-{job.number}", pure=False, retries=RETRIES
            ): job
            for job in islice(waiting, count)
        }

    futures = submitted(ahead)
    try:
        while futures:
            done: set[Any] = set()
            with suppress(TimeoutError), client.as_current():
                done = wait(list(futures), timeout=LISTENING, return_when="FIRST_COMPLETED").done
            heard()
            for future in done:
                job = futures.pop(future)
                futures |= submitted(1)
                try:
                    made: Made = future.result()
                except KilledWorker:
                    deadly.append(job)
                    continue
                future.release()
                yield made
    finally:
        if futures:
            with suppress(Exception):
                client.cancel(list(futures))


def _one_by_one(client: Any, name: str, work: Work, job: Job, on_done: OnTold) -> Made:
    """Protect the users of a chunk one after the other; one whose work ends a process is left out.

    One at a time, because the scheduler blames everything that a worker had when it died.
    """
    from distributed.scheduler import KilledWorker

    outcomes: list[Outcome] = []
    for number, single in enumerate(job.one_by_one()):
        key = f"{name}-{job.number}-{number}"
        future = client.submit(_perform_alone, name, single, key=key, pure=False, retries=RETRIES)
        try:
            outcomes += future.result()
        except KilledWorker:
            outcomes.append(work.lost(single, "took worker after worker of the cluster with it"))
        future.release()
        on_done(1)
    return Made.of(job, outcomes)
