"""Where chunks are protected: in this process, or in a pool of processes on this machine.

What is done with a chunk is :func:`~priste.batch.groups.protect_group`, whatever the engine; so
all of them give the same bytes. :mod:`priste.batch.cluster` is one more, on many machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from priste import workers as pools
from priste.batch.draws import Key
from priste.batch.groups import OnUser, protect_group
from priste.batch.keyed_digests import Recognition
from priste.batch.own_places import Places
from priste.batch.parts import part_bytes
from priste.batch.worth import Worth
from priste.policy import Policy

OnTold = Callable[[int], None]
"""Told how many more users are done."""


@dataclass(frozen=True)
class Job:
    """One chunk to protect; ``earlier`` are the journals of those who have a stream already."""

    number: int
    fixes: str
    table: Any = field(repr=False)  # true locations
    places: Mapping[str | None, Places] = field(default_factory=dict, repr=False)
    earlier: Mapping[str | None, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Made:
    """What was made of a job: the content of its part, and what is told about it but not kept."""

    number: int
    fixes: str
    data: bytes = field(repr=False)
    users: int
    drawn: int
    worths: tuple[Worth, ...] = field(repr=False)


@dataclass(frozen=True)
class Work:
    """What workers are sent once, and keep: the policy with its models and tables, and the key."""

    policy: Policy = field(repr=False)
    key: Key = field(repr=False)
    recognition: Recognition = field(repr=False)

    def __call__(self, job: Job, on_user: OnUser | None = pools.tell) -> Made:
        """Protect the users of a job."""
        group = protect_group(
            job.table,
            self.policy,
            self.key,
            places=job.places,
            earlier=job.earlier,
            recognition=self.recognition,
            on_user=on_user,
        )
        return Made(
            job.number,
            job.fixes,
            part_bytes(group.outcomes),
            len(group.outcomes),
            sum(each.stream.drawn for each in group.outcomes),
            tuple(each.worth for each in group.outcomes if each.worth is not None),
        )


Engine = Callable[[Work, Iterable[Job], OnTold], Iterator[Made]]


def here(work: Work, jobs: Iterable[Job], on_told: OnTold) -> Iterator[Made]:
    """Protect chunk after chunk in this process."""
    for job in jobs:
        yield work(job, lambda: on_told(1))


def pool_of(workers: int) -> Engine:
    """Return the engine of so many processes on this machine; one process is this one."""
    if workers == 1:
        return here

    def run(work: Work, jobs: Iterable[Job], on_told: OnTold) -> Iterator[Made]:
        made = pools.finished(work, jobs, workers=workers, one_thread=True, on_told=on_told)
        return (each for _, each in made)

    return run
