"""Jobs in processes of their own, their messages so far, and their results.

Everything here runs in the server's event loop but the threads that wait for processes.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import queue
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from priste.errors import PristeError
from priste.studio.wire import Refused, text_of
from priste.studio.worker import perform
from priste.workers import Message, Worker, preload

MOST_WAITING = 12
"""The most jobs that wait; the page is asked to try again later."""

GRACE = 2.0
"""Seconds in which a cancelled job may end by itself before its process is killed."""

HEARTBEAT = 15.0
"""Seconds after which a stream of messages says that it is still there."""

ENDS = ("done", "failed", "cancelled")


class Job:
    """One job: all of its messages, and its result. Messages are (event, JSON text)."""

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


class _Slot:
    """Room for one job: a worker process, and two threads that wait for it."""

    def __init__(self, jobs: Jobs) -> None:
        self.job: Job | None = None
        self._worker: Worker | None = None
        self._outbox: queue.SimpleQueue[Callable[[Worker], None]] = queue.SimpleQueue()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._start, args=(loop, jobs), daemon=True).start()

    def _start(self, loop: asyncio.AbstractEventLoop, jobs: Jobs) -> None:
        """Start the process, then send what is to be sent; neither lets the page wait."""
        try:
            worker = self._worker = Worker(pickle.dumps(perform))
        except PristeError:
            _soon(loop, jobs.lost, self)
            return
        threading.Thread(target=self._listen, args=(worker, loop, jobs), daemon=True).start()
        while True:
            self._outbox.get()(worker)

    def _listen(self, worker: Worker, loop: asyncio.AbstractEventLoop, jobs: Jobs) -> None:
        message = Message.REPORTED
        while message is not Message.DIED:
            try:
                message, value = worker.receive()
            except Exception:  # the message cannot be read: the end of this worker too
                message, value = Message.DIED, None
            if message is Message.DIED:
                worker.end(grace=0.0)
                _soon(loop, jobs.lost, self)
            else:
                _soon(loop, jobs.heard, self, message, value)

    def begin(self, job: Job, given: Any) -> None:
        self.job = job
        self._outbox.put(lambda worker: worker.begin((job.kind, given)))

    def cancel(self) -> None:
        self._outbox.put(Worker.cancel)

    def kill(self) -> None:
        if self._worker is not None:
            self._worker.kill()  # the other thread tells


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *given: Any) -> None:
    with suppress(RuntimeError):  # the loop is closed: the server is ending
        loop.call_soon_threadsafe(call, *given)


class Jobs:
    """The jobs of all sessions, on as many processes as there are cores, two at least."""

    def __init__(self, most_processes: int | None = None) -> None:
        self._most = most_processes or max(2, os.cpu_count() or 1)
        self._slots: list[_Slot] = []
        self._waiting: deque[tuple[Job, Any]] = deque()
        self._closed = False

    def warm(self) -> None:
        """Start a process before it is needed: the first forecast then does not wait for it."""
        preload("priste.studio.studio_preloaded")
        if not self._slots:
            self._slots.append(_Slot(self))

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
            free = next((each for each in self._slots if each.job is None), None)
            if free is None:
                ending = sum(each.job is not None and each.job.unwanted for each in self._slots)
                # A process whose job was cancelled is free at its next word, with models that
                # it has made already; a new one takes seconds to wake up.
                if len(self._slots) >= self._most or len(self._waiting) <= ending:
                    return
                free = _Slot(self)
                self._slots.append(free)
            free.begin(*self._waiting.popleft())

    def heard(self, slot: _Slot, message: Message, value: Any) -> None:
        """Take a message of a worker: one of its job, or the job's result."""
        job = slot.job
        if job is None:
            return
        if message is Message.REPORTED:
            job.add(*value)
            return
        slot.job = None
        event, text, job.result = value if message is Message.DONE else ("cancelled", "{}", None)
        if job.unwanted and event == "done":
            event, text = "cancelled", "{}"
        job.add(event, text)
        self._go_on()

    def lost(self, slot: _Slot) -> None:
        """Take in the end of a process: its job failed, unless it was cancelled."""
        if slot in self._slots:
            self._slots.remove(slot)
        job, slot.job = slot.job, None
        if job is not None and not job.ended:
            if job.unwanted:
                job.add("cancelled", "{}")
            else:
                message = "The process that did this has died, perhaps for lack of memory."
                hint = "Everything else is as it was: try again, or choose larger cells."
                job.add("failed", text_of({"message": message, "hint": hint}))
        self._go_on()

    def cancel(self, job: Job) -> None:
        """End a job at its next step, or end its process if that takes too long."""
        if job.ended or job.unwanted or self._closed:
            return
        job.unwanted = True
        for waiting in list(self._waiting):
            if waiting[0] is job:
                self._waiting.remove(waiting)
                job.add("cancelled", "{}")
                return
        slot = next((each for each in self._slots if each.job is job), None)
        if slot is not None:
            slot.cancel()
            asyncio.get_running_loop().call_later(GRACE, self._kill, slot, job)

    def _kill(self, slot: _Slot, job: Job) -> None:
        if slot.job is job and not job.ended:
            slot.kill()

    def close(self) -> None:
        """End every process."""
        self._closed = True
        for slot in self._slots:
            slot.kill()
