"""Where chunks are protected: in this process, or in worker processes on this machine.

What is done with a chunk is :func:`~priste.batch.groups.protect_group`, whatever the engine; so
all of them give the same bytes. :mod:`priste.batch.cluster` is one more, on many machines, and
:mod:`priste.batch.engine_table` lists them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from priste import workers as pools
from priste.batch.draws import Key
from priste.batch.groups import OnUser, Outcome, protect_group, stretches, without_a_stream
from priste.batch.own_places import Places
from priste.batch.parts import part_bytes
from priste.policy import Policy
from priste.register import Recognition
from priste.results import PersonErrors

TRIES = 2
"""How many workers may die at a chunk before its users are tried one by one, and at one user
before nothing is released for them."""

PRELOADED = "priste.batch.preloaded"
"""The module that workers of these engines load first."""

OnTold = Callable[[int], None]
"""Called with how many more users are done."""


@dataclass(frozen=True)
class Job:
    """One chunk to protect; ``earlier`` are the journals of those who have a stream already."""

    number: int
    fixes: str
    table: Any = field(repr=False)  # true locations
    places: Mapping[str | None, Places] = field(default_factory=dict, repr=False)
    earlier: Mapping[str | None, bytes] = field(default_factory=dict, repr=False)

    def one_by_one(self) -> list[Job]:
        """Return a job for each user, in the order of names."""
        return [
            replace(self, table=self.table.take(rows)) for rows in stretches(self.table).values()
        ]


@dataclass(frozen=True)
class Made:
    """What was made of a job: the content of its part, and what is reported but not kept."""

    number: int
    fixes: str
    data: bytes = field(repr=False)
    users: int
    drawn: int
    errors: tuple[PersonErrors, ...] = field(repr=False)

    @classmethod
    def of(cls, job: Job, outcomes: Sequence[Outcome]) -> Made:
        """Put together what became of the users of a job, in the order of their names."""
        return cls(
            job.number,
            job.fixes,
            part_bytes(outcomes),
            len(outcomes),
            sum(each.stream.drawn for each in outcomes),
            tuple(each.errors for each in outcomes if each.errors is not None),
        )


@dataclass(frozen=True)
class Work:
    """What workers are sent once, and keep: the policy with its models and tables, and the key."""

    policy: Policy = field(repr=False)
    key: Key = field(repr=False)
    recognition: Recognition = field(repr=False)

    def __call__(self, job: Job, on_user: OnUser | None = pools.report) -> Made:
        """Protect the users of a job."""
        return Made.of(job, self.outcomes(job, on_user))

    def outcomes(self, job: Job, on_user: OnUser | None = pools.report) -> tuple[Outcome, ...]:
        """Protect the users of a job, and return what became of each."""
        return protect_group(
            job.table,
            self.policy,
            self.key,
            places=job.places,
            earlier=job.earlier,
            recognition=self.recognition,
            on_user=on_user,
        ).outcomes

    def lost(self, job: Job, how: str) -> Outcome:
        """Report that working on the only user of a job ended the process."""
        (user,) = stretches(job.table)
        problem = (
            "Working on this user ended the process, also when there was nobody else in it: it "
            f"{how}. Nothing was released; run it again to try again."
        )
        return replace(without_a_stream(user, self.policy, problem), lost=True)

    def prepare(self) -> None:
        """Compute what all users share, so that workers begin with it."""
        # Other calibrators choose when they know the cell, and personal events differ.
        if self.policy.calibrator.guaranteed and self.policy.is_placed:
            _ = self.policy.protector(rng=0).node.rule


Engine = Callable[[Work, Iterable[Job], OnTold], Iterator[Made]]
"""Yields what was made of every job, in any order, and tells how many more users are done."""


@dataclass(frozen=True)
class EngineKind:
    """One kind of engine; ``open`` connects to the one at an address, as ``processes://4``."""

    open: Callable[[str], AbstractContextManager[Engine]]


def here(work: Work, jobs: Iterable[Job], on_done: OnTold) -> Iterator[Made]:
    """Protect chunk after chunk in this process."""
    for job in jobs:
        yield work(job, lambda: on_done(1))


def pool_of(workers: int) -> Engine:
    """Return the engine of this many processes on this machine, which begin to load now."""
    pools.preload(PRELOADED)

    def run(work: Work, jobs: Iterable[Job], on_done: OnTold) -> Iterator[Made]:
        deadly: list[Job] = []
        for _, made in pools.finished(
            _WithoutPandas(work),
            jobs,
            workers=workers,
            on_done=on_done,
            tries=TRIES,
            on_lost=lambda number, job, how: deadly.append(job),
        ):
            yield made
        for job in deadly:  # when nobody else needs memory
            yield _one_by_one(work, job, on_done)

    return run


def _one_by_one(work: Work, job: Job, on_done: OnTold) -> Made:
    """Protect the users of a chunk at which workers died, without those at whom they die again."""
    found: dict[int, tuple[Outcome, ...]] = {}

    def lose(number: int, single: Job, how: str) -> None:
        found[number] = (work.lost(single, how),)
        on_done(1)

    for number, outcomes in pools.finished(
        work.outcomes, job.one_by_one(), workers=1, on_done=on_done, tries=TRIES, on_lost=lose
    ):
        found[number] = outcomes
    return Made.of(job, [each for number in sorted(found) for each in found[number]])


@dataclass(frozen=True)
class _WithoutPandas:
    """Work in which Arrow finds no pandas.

    Where pandas is installed, Arrow loads it to see whether arrays are of it: 40 MB and half a
    second for each worker. It looks once in a process. Others who look for pandas find it.
    """

    work: Work

    def __call__(self, job: Job) -> Made:
        import pyarrow as pa

        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(_NoPandas)
        return self.work(job)


class _NoPandas:
    """Says that pandas is missing, and nothing of other modules."""

    @classmethod
    def find_spec(cls, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def load() -> None:
    """Load what every worker needs.

    Not Arrow, which starts a thread, and a process with threads must not fork. Not the compiled
    search either: it takes 140 MB, and few priors do without it. The first job loads whatever else
    the policy needs.
    """
    import pyproj  # noqa: F401
