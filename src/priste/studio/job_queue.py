"""Long work: jobs in processes of their own, what they have said so far, and their end.

Everything here runs in the server's event loop but the threads that read the pipes.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import queue
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from priste.studio.wire import Refused, text_of
from priste.studio.worker import work

MOST_WAITING = 12
"""More jobs than that do not wait: the page is told to come again."""

GRACE = 2.0
"""Seconds in which a cancelled job may end by itself before its process is killed."""

HEARTBEAT = 15.0
"""Seconds after which a stream of messages says that it is still there."""

ENDS = ("done", "failed", "cancelled")


class Job:
    """One job: all it has said, and what it came to. Messages are (event, JSON text)."""

    def __init__(self, kind: str) -> None:
        self.id = secrets.token_urlsafe(12)
        self.kind = kind
        self.messages: list[tuple[str, str]] = []
        self.result: Any = None
        self.unwanted = False
        self._changed = asyncio.Event()
        self.add("queued", "{}")

    @property
    def state(self) -> str:
        """``queued``, ``running``, or how it ended."""
        last = self.messages[-1][0]
        return last if last in (*ENDS, "queued") else "running"

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to come."""
        return self.messages[-1][0] in ENDS

    def add(self, event: str, text: str) -> None:
        """Take in what the job says, and wake who listens."""
        self.messages.append((event, text))
        self._changed.set()
        self._changed = asyncio.Event()

    async def finished(self) -> None:
        """Wait for the end."""
        while not self.ended:
            await self._changed.wait()

    async def stream(self, after: int = -1) -> AsyncIterator[bytes]:
        """Yield server-sent events: what was said after message ``after``, and what comes."""
        number = after + 1
        while True:
            changed = self._changed
            while number < len(self.messages):
                event, text = self.messages[number]
                yield f"id: {number}\nevent: {event}\ndata: {text}\n\n".encode("utf-8", "replace")
                number += 1
            if self.ended:
                return
            try:
                await asyncio.wait_for(changed.wait(), HEARTBEAT)
            except TimeoutError:
                yield b": still here\n\n"


class _Worker:
    """A process, the pipe to it, and the job it is at."""

    def __init__(self, jobs: Jobs) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.job: Job | None = None
        self._outbox: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop, jobs), daemon=True).start()
        threading.Thread(target=self._send, daemon=True).start()

    def _listen(self, loop: asyncio.AbstractEventLoop, jobs: Jobs) -> None:
        with suppress(RuntimeError):  # the loop is closed: the server is ending
            try:
                while True:
                    said = self._pipe.recv()
                    loop.call_soon_threadsafe(jobs.heard, self, *said)
            except Exception:
                # A dead process, or half a message of one: both are the end of this worker.
                loop.call_soon_threadsafe(jobs.lost, self)

    def _send(self) -> None:
        """Send what is to be sent; a process that is still waking up lets nobody else wait."""
        with suppress(OSError):  # a dead process: the other thread tells
            while True:
                self._pipe.send(self._outbox.get())

    def begin(self, job: Job, given: Any) -> None:
        self.job = job
        self._outbox.put(("job", job.id, job.kind, given))

    def cancel(self, job: Job) -> None:
        self._outbox.put(("cancel", job.id))

    def end(self) -> None:
        with suppress(OSError):
            self._pipe.close()
        self.process.kill()


class Jobs:
    """The jobs of all sessions, on as many processes as there are cores, two at least."""

    def __init__(self, most_processes: int | None = None) -> None:
        self._most = most_processes or max(2, os.cpu_count() or 1)
        self._workers: list[_Worker] = []
        self._waiting: deque[tuple[Job, Any]] = deque()
        self._closed = False

    def warm(self) -> None:
        """Start a process before it is needed: the first forecast then does not wait for it."""
        if not self._workers:
            self._workers.append(_Worker(self))

    def start(self, kind: str, given: Any) -> Job:
        """Return a new job; Refused if too many wait already. ``given`` is sent to its process."""
        if len(self._waiting) >= MOST_WAITING:
            raise Refused(
                429, "Too much is waiting already.", "Cancel something, or wait a little."
            )
        job = Job(kind)
        self._waiting.append((job, given))
        self._go_on()
        return job

    def _go_on(self) -> None:
        while self._waiting and not self._closed:
            free = next((each for each in self._workers if each.job is None), None)
            if free is None:
                ending = sum(each.job is not None and each.job.unwanted for each in self._workers)
                # A process whose job was cancelled is free at its next word, with models that
                # it has made already; a new one takes seconds to wake up.
                if len(self._workers) >= self._most or len(self._waiting) <= ending:
                    return
                free = _Worker(self)
                self._workers.append(free)
            free.begin(*self._waiting.popleft())

    def heard(self, worker: _Worker, number: str, event: str, text: str, result: Any) -> None:
        """Take in a message of a worker."""
        job = worker.job
        if job is None or job.id != number:
            return
        if event in ENDS:
            worker.job = None
            job.result = result
            if job.unwanted and event == "done":
                event, text = "cancelled", "{}"
        job.add(event, text)
        self._go_on()

    def lost(self, worker: _Worker) -> None:
        """Take in the end of a process: its job failed, unless it was cancelled."""
        worker.end()
        if worker in self._workers:
            self._workers.remove(worker)
        job, worker.job = worker.job, None
        if job is not None and not job.ended:
            if job.unwanted:
                job.add("cancelled", "{}")
            else:
                message = "The process that did this has died, perhaps for lack of memory."
                hint = "Everything else is as it was: try again, or choose larger cells."
                job.add("failed", text_of({"message": message, "hint": hint}))
        self._go_on()

    def cancel(self, job: Job) -> None:
        """End a job: at its next step, or with its process when it takes longer than that."""
        if job.ended or job.unwanted:
            return
        job.unwanted = True
        for waiting in list(self._waiting):
            if waiting[0] is job:
                self._waiting.remove(waiting)
                job.add("cancelled", "{}")
                return
        worker = next((each for each in self._workers if each.job is job), None)
        if worker is not None:
            worker.cancel(job)
            asyncio.get_running_loop().call_later(GRACE, self._kill, worker, job)

    def _kill(self, worker: _Worker, job: Job) -> None:
        if worker.job is job and not job.ended:
            worker.process.kill()  # the pipe closes, and lost() tells

    def close(self) -> None:
        """End every process."""
        self._closed = True
        for worker in self._workers:
            worker.end()
