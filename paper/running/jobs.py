"""Jobs: the pieces of work of which an experiment consists, and what came of them.

A job is a kind and its parameters, plain values alone. Its result is a pure function of
these (times, where a job measures any, excepted), so jobs can run in any order, in any process,
and a job that was done once need not be done again.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from priste.errors import InvalidParameter

Result = dict[str, Any]

PERFORMERS = {
    "procedure": "paper.experiments.enumerated_releases",
    "stream": "paper.experiments.release_runs",
    "runtime": "paper.experiments.event_timing",
    "solver": "paper.experiments.solver_runs",
}
"""The module whose ``perform(parameters)`` does the jobs of a kind."""


@dataclass(frozen=True)
class Job:
    """One piece of work: a kind, and parameters as canonical JSON.

    >>> job = Job.of("stream", {"run": 3, "alpha": 0.2})
    >>> job.parameters
    {'alpha': 0.2, 'run': 3}
    >>> job == Job.of("stream", {"alpha": 0.2, "run": 3})
    True
    """

    kind: str
    text: str

    @classmethod
    def of(cls, kind: str, parameters: Mapping[str, Any]) -> Job:
        """Return the job of a kind with these parameters, which must be plain JSON values."""
        if kind not in PERFORMERS:
            raise InvalidParameter(f"The 'kind' must be one of {sorted(PERFORMERS)}. Got {kind!r}.")
        text = json.dumps(dict(parameters), sort_keys=True, allow_nan=False)
        return cls(kind, text)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, as a fresh dictionary."""
        parsed: dict[str, Any] = json.loads(self.text)
        return parsed

    @property
    def digest(self) -> str:
        """A short name for the job that no other job has."""
        return hashlib.sha256(f"{self.kind} {self.text}".encode()).hexdigest()[:24]


def perform(job: Job) -> Result:
    """Do a job here and now; the result holds plain JSON values."""
    module = importlib.import_module(PERFORMERS[job.kind])
    work: Callable[[dict[str, Any]], Result] = module.perform
    return work(job.parameters)


LARGEST_LOAD = 200
"""How many jobs are done in one go at most: more would hardly be quicker, and nothing is kept of
a load that is stopped."""


def loads(jobs: Iterable[Job]) -> list[list[Job]]:
    """Put jobs together that share their work; their order is kept among those that do."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        module = importlib.import_module(PERFORMERS[job.kind])
        asks: Callable[[dict[str, Any]], str | None] | None = getattr(module, "shared_work", None)
        shared = None if asks is None else asks(job.parameters)
        groups.setdefault(shared or job.digest, []).append(job)
    return [
        group[first : first + LARGEST_LOAD]
        for group in groups.values()
        for first in range(0, len(group), LARGEST_LOAD)
    ]


def perform_load(load: Sequence[Job]) -> list[Result]:
    """Do the jobs of one of the :func:`loads`; the results are in their order."""
    if len(load) == 1:
        return [perform(load[0])]
    module = importlib.import_module(PERFORMERS[load[0].kind])
    work: Callable[[list[dict[str, Any]]], list[Result]] = module.perform_together
    return work([job.parameters for job in load])


@dataclass(frozen=True, eq=False)
class Results:
    """The results of finished jobs, by job."""

    by_digest: Mapping[str, Result]

    def __getitem__(self, job: Job) -> Result:
        return self.by_digest[job.digest]

    def of(self, jobs: Iterable[Job]) -> list[Result]:
        """Return the results of jobs in their order."""
        return [self[job] for job in jobs]

    def missing(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Yield the jobs that are not finished, each once."""
        seen = set(self.by_digest)
        for job in jobs:
            if job.digest not in seen:
                seen.add(job.digest)
                yield job


def seed_of(*parts: int | str) -> int:
    """Return a seed that belongs to these parts alone, as (experiment's seed, purpose, run).

    >>> seed_of(1, "walk", 0) == seed_of(1, "walk", 0) != seed_of(1, "noise", 0)
    True
    """
    text = json.dumps(parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
