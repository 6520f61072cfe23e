"""Sessions: one per tab, each with its own source, jobs and private folder."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from priste.atomic_files import scratch_folder
from priste.studio.following import RunMade
from priste.studio.job_queue import Job, Jobs
from priste.studio.opening import Source
from priste.studio.wire import Refused

Answer = TypeVar("Answer")

MOST_SESSIONS = 16
"""When one more tab opens, the session that was idle longest ends."""

LINGER = 600.0
"""Seconds for which the work of a closed tab is kept: Back, and a reload, find it again."""

MOST_RUNS = 6
"""How many runs of a session are kept; the oldest goes first."""


class Session:
    """What one tab works on. Nothing of it is shared."""

    def __init__(self, folder: Path, jobs: Jobs) -> None:
        self.id = secrets.token_urlsafe(16)
        self.folder = folder / secrets.token_hex(8)
        self.folder.mkdir(mode=0o700)
        self.jobs = jobs
        self.source: Source | None = None
        self.reading: dict[str, str | None] = {}
        self.runs: OrderedDict[str, Job] = OrderedDict()
        self.forecast: Job | None = None
        self.exports: dict[tuple[str, str], bytes] = {}
        self.watches: dict[str, object] = {}
        self.work: dict[str, Any] = {}
        self.left: asyncio.TimerHandle | None = None
        self._turn = asyncio.Lock()
        self._newest: dict[str, object] = {}

    async def newest(self, what: str, work: Callable[[], Answer]) -> Answer:
        """Return what a piece of work comes to, done next to the server and one after the other.

        Of questions of a kind that wait, only the newest is answered; others are Refused.
        """
        mine = self._newest[what] = object()
        async with self._turn:
            if self._newest[what] is not mine:
                raise Refused(409, "A newer question has taken the place of this one.")
            return await asyncio.to_thread(work)

    def opened(self) -> Source:
        """Return the source; Refused as long as nothing was opened."""
        if self.source is None:
            raise Refused(409, "Nothing is open yet.", "Open the town or a file first.")
        return self.source

    def take(self, source: Source) -> None:
        """Work on another source: what was made of the former one is over."""
        self.cancel_all()
        self.runs.clear()
        self.exports.clear()
        self.work = {}
        self.source = source

    def job(self, number: str) -> Job:
        """Return a job by its id."""
        if self.forecast is not None and self.forecast.id == number:
            return self.forecast
        return self.run(number)

    def run(self, number: str) -> Job:
        """Return a run by its id."""
        if number not in self.runs:
            raise Refused(404, "There is no such run in this tab any more.", "Run it again.")
        return self.runs[number]

    def made(self, number: str) -> RunMade:
        """Return what a finished run made."""
        found = self.run(number).result
        if not isinstance(found, RunMade):
            raise Refused(409, "This run did not come to its end.", "Wait for it, or run it again.")
        return found

    def add_run(self, job: Job) -> None:
        """Keep a run, and drop the oldest if there are too many."""
        self.runs[job.id] = job
        while len(self.runs) > MOST_RUNS:
            _, oldest = self.runs.popitem(last=False)
            self.jobs.cancel(oldest)
            for key in [key for key in self.exports if key[0] == oldest.id]:
                del self.exports[key]

    def cancel_all(self) -> None:
        """End everything that is still continuing."""
        for job in [*self.runs.values(), *([self.forecast] if self.forecast else [])]:
            self.jobs.cancel(job)

    def close(self) -> None:
        """End the session, and leave nothing."""
        self.cancel_all()
        if self.left is not None:
            self.left.cancel()
        self.watches.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


class Sessions:
    """All sessions of a server, and the private folder that holds theirs."""

    def __init__(self, jobs: Jobs) -> None:
        self._kept = ExitStack()
        self.folder = self._kept.enter_context(scratch_folder())
        self._jobs = jobs
        self._all: OrderedDict[str, Session] = OrderedDict()

    def begin(self) -> Session:
        """Return a new session."""
        while len(self._all) >= MOST_SESSIONS:
            self._all.popitem(last=False)[1].close()
        session = Session(self.folder, self._jobs)
        self._all[session.id] = session
        return session

    def session(self, number: str) -> Session:
        """Return a session by its id."""
        if number not in self._all:
            raise Refused(404, "This tab's session is over.", "Reload the page.")
        self._all.move_to_end(number)
        found = self._all[number]
        if found.left is not None:
            found.left.cancel()
            found.left = None
        return found

    def leave(self, number: str) -> None:
        """End a session after a while, unless it is used before."""
        session = self.session(number)
        session.left = asyncio.get_running_loop().call_later(LINGER, self.end, number)

    def end(self, number: str) -> None:
        """End a session; one that is over already is fine."""
        session = self._all.pop(number, None)
        if session is not None:
            session.close()

    def close(self) -> None:
        """End every session and remove the folder."""
        for number in list(self._all):
            self.end(number)
        self._kept.close()
