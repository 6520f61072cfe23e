"""Worker processes: they begin warm, are replaced when they die, and end with this process.

The processes are those of :mod:`multiprocessing`. Where there is its fork server, that server loads
what the work needs once (:func:`preload`), and every worker is a fork of it: it begins at once and
shares the memory of what was loaded. Otherwise each worker loads for itself.

A worker has one job at a time and a pipe of its own; it shares no lock and no queue with others. So
a worker that dies (killed, out of memory, crashed) takes nothing with it but that job, and it is
known which job that was. Workers end when their pipe does, so with the process that started them,
however that ended. They write nothing to its output, and use one thread for linear algebra: the
cores are for the workers.
"""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.util
import os
import pickle
import queue
import signal
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn, TypeVar

from priste.errors import PristeError

TRIES = 3
"""How many workers may die at one job before it is given up."""

GRACE = 2.0
"""Seconds that a worker which is not needed any more has to end by itself."""

RETRY_AFTER = 0.1
"""Seconds after which a process is started again: a fork server that was killed takes so long to
be known as dead."""

LONGEST_FOLDER = 60
"""Bytes of a temporary folder in which the fork server listens: the address of a socket has at most
104 on some systems, and 40 are taken by the names in that folder."""

SHORT_FOLDER = "/tmp"
"""Where it listens otherwise, in a private folder of its own."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

_FORK_SERVER = "forkserver" in multiprocessing.get_all_start_methods()
_CONTEXT: Any = multiprocessing.get_context("forkserver" if _FORK_SERVER else "spawn")

Job = TypeVar("Job")
Result = TypeVar("Result")
OnReports = Callable[[int], None]
OnLost = Callable[[int, Any, str], None]


class Cancelled(Exception):
    """The job of this worker is no longer wanted."""


class Message(Enum):
    """What a worker sends about its job: progress, how it ended, or that the worker died."""

    REPORTED, DONE, FAILED, CANCELLED, DIED = range(5)


def preload(module: str) -> None:
    """Begin to load a module for all workers to come, while this process does something else.

    The first call counts: there is one fork server in a process. The module must not start threads,
    since a fork does not keep them.
    """
    if _FORK_SERVER:
        from multiprocessing.forkserver import ensure_running

        _CONTEXT.set_forkserver_preload([module])
        with _for_new_processes():
            ensure_running()


def finished(
    perform: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int,
    on_done: OnReports | None = None,
    tries: int = TRIES,
    on_lost: OnLost | None = None,
) -> Iterator[tuple[int, Result]]:
    """Do jobs in worker processes; yield the number of each with its result as they finish.

    ``perform`` is sent to each worker once, and jobs and results as they come: all must pickle.
    Jobs are taken from ``jobs`` one by one, and must be safe to do again: another worker does the
    job of one that died. ``on_done`` gets how often workers called :func:`report`, and a negative
    number when a worker died and what it reported of its job will be reported again. An error that
    a job raises is raised here.

    ``on_lost(number, job, how)`` is called for a job at which ``tries`` workers died, and how the
    last of them did; the other jobs go on. Without it PristeError is raised then.
    """
    work = pickle.dumps(perform)
    again: deque[_Task] = deque()
    waiting = (_Task(number, job) for number, job in enumerate(jobs))
    busy: dict[Connection, tuple[Worker, _Task]] = {}
    on_report = on_done or (lambda count: None)
    done = 0

    def next_task() -> _Task | None:
        return again.popleft() if again else next(waiting, None)

    def begin(worker: Worker, task: _Task) -> None:
        task.reported = 0
        busy[worker.pipe] = worker, task
        worker.begin(task.job)

    try:
        while True:
            while len(busy) < workers and (task := next_task()):
                begin(Worker(work), task)
            if not busy:
                return
            for pipe in wait(list(busy)):
                worker, task = busy[pipe]  # type: ignore[index]
                message, value = worker.receive()
                if message is Message.REPORTED:
                    task.reported += 1
                    on_report(1)
                    continue
                del busy[worker.pipe]
                if message is Message.DIED:
                    on_report(-task.reported)
                    worker.end()
                    if (task := task.after_death(tries, value, done, on_lost)) is not None:
                        again.append(task)
                    continue
                # The next job first: the caller may take its time with the result.
                if following := next_task():
                    begin(worker, following)
                else:
                    worker.end()
                if message is not Message.DONE:
                    raise value
                done += 1
                yield task.number, value
    finally:
        for worker, _ in busy.values():
            worker.end(grace=0.0)


@dataclass
class _Task:
    """A job with its number, how often its worker reported, and how many workers died at it."""

    number: int
    job: Any
    reported: int = 0
    deaths: int = 0

    def after_death(self, tries: int, how: str, done: int, on_lost: OnLost | None) -> _Task | None:
        """Return the task to be done again; None if it is given up and goes to ``on_lost``."""
        self.deaths += 1
        if self.deaths < tries:
            return self
        if on_lost is None:
            raise PristeError(
                f"Workers died {tries} times at one job, the last {how}; {done} jobs are done. "
                "What was done is kept.",
                hint="Run the same command again, with fewer workers if memory is short.",
            )
        on_lost(self.number, self.job, how)
        return None


class Worker:
    """A process that does jobs of one kind, one at a time, and the pipe to it.

    ``work`` is the pickled function that does them. Starting it waits until the fork server has
    loaded.
    """

    def __init__(self, work: bytes) -> None:
        for left in reversed(range(TRIES)):
            self.pipe, theirs = _CONTEXT.Pipe()
            self._process = _CONTEXT.Process(target=_run_jobs, args=(theirs,), daemon=True)
            with theirs, _for_new_processes():
                try:
                    self._process.start()
                    break
                except (EOFError, OSError):  # the fork server died; the next try starts another
                    self.pipe.close()
                    if not left:
                        raise PristeError(
                            f"No worker process could be started in {TRIES} tries. What was done "
                            "is kept.",
                            hint="Run the same command again where there is more memory.",
                        ) from None
            time.sleep(RETRY_AFTER)
        self.begin(work)  # an argument of the process would be kept for as long as it runs

    def begin(self, job: Any) -> None:
        """Send a job; that the worker is dead is reported by :meth:`receive`."""
        with suppress(OSError):
            self.pipe.send((job,))

    def cancel(self) -> None:
        """Let the job end at its next :func:`report`; of no effect when it has ended."""
        with suppress(OSError):
            self.pipe.send(None)

    def receive(self) -> tuple[Message, Any]:
        """Wait for the next message of the worker; with DIED comes how it died, in words."""
        try:
            received: tuple[Message, Any] = self.pipe.recv()
            return received
        except (EOFError, OSError, pickle.UnpicklingError):
            self._process.join(GRACE)
            return Message.DIED, _how_it_died(self._process.exitcode)

    def kill(self) -> None:
        """End the process now, whatever it does; :meth:`receive` then returns DIED."""
        self._process.kill()

    def end(self, grace: float = GRACE) -> None:
        """Let the process end, or make it, and wait for it."""
        self.pipe.close()
        self._process.join(grace)
        self._process.kill()
        self._process.join()


def _how_it_died(code: int | None) -> str:
    """Say how a process with an exit code died; None or 255 if that is unknown.

    >>> _how_it_died(-9), _how_it_died(-11)
    ('was killed (SIGKILL), as systems do when memory is short', 'crashed (SIGSEGV)')
    """
    if code is None or code == 255:  # what is known of the workers of a fork server that died
        return "died"
    if code >= 0:
        return f"ended with code {code}"
    name = signal.Signals(-code).name
    if name == "SIGKILL":
        return f"was killed ({name}), as systems do when memory is short"
    return f"crashed ({name})"


@contextmanager
def _for_new_processes() -> Iterator[None]:
    """Let processes started now use one thread for linear algebra, and ignore Ctrl-C.

    They read the number of threads when they start. Ctrl-C is for this process; they end with it.
    """
    _listen_in_a_short_folder()
    masks = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else set()
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _listen_in_a_short_folder() -> None:
    """Let this process choose the folder of its sockets now, where the usual one is too long."""
    if not _FORK_SERVER or len(os.fsencode(tempfile.gettempdir())) <= LONGEST_FOLDER:
        return
    before, tempfile.tempdir = tempfile.tempdir, SHORT_FOLDER
    try:
        multiprocessing.util.get_temp_dir()
    finally:
        tempfile.tempdir = before


# In a worker


_to_parent: Connection | None = None
_cancelled = threading.Event()


def report(value: Any = None) -> None:
    """Send the waiting process a report about this job; does nothing outside of a worker.

    Cancelled is raised if that process does not want the job any more.
    """
    if _cancelled.is_set():
        raise Cancelled
    if _to_parent is not None:
        with suppress(OSError):
            _to_parent.send((Message.REPORTED, value))


def _run_jobs(pipe: Connection) -> NoReturn:
    """Do one job after the other until the pipe ends."""
    global _to_parent
    _to_parent = pipe
    gc.freeze()  # workers do not touch what they share
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(2, 1)  # libraries print
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, jobs), daemon=True).start()
    perform: Callable[[Any], Any] | None = None
    work = jobs.get()
    try:
        while True:
            job = jobs.get()
            try:
                if perform is None:
                    perform, work = pickle.loads(work), b""
                answer: tuple[Message, Any] = Message.DONE, perform(job)
            except Cancelled as end:
                answer = Message.CANCELLED, end
            except Exception as problem:
                answer = Message.FAILED, problem
            _send(pipe, answer)
    finally:
        os._exit(1)


def _send(pipe: Connection, answer: tuple[Message, Any]) -> None:
    try:
        pipe.send(answer)
    except (pickle.PicklingError, TypeError, AttributeError):
        kind = type(answer[1]).__name__
        pipe.send(
            (
                Message.FAILED,
                PristeError(
                    f"A worker could not send a {kind} back.", hint="Return what can be pickled."
                ),
            )
        )


def _receive(pipe: Connection, jobs: queue.SimpleQueue[Any]) -> NoReturn:
    """Receive jobs and cancellations; end this process when the pipe ends."""
    with suppress(EOFError, OSError):
        while True:
            received = pipe.recv()
            if received is None:
                _cancelled.set()
            else:
                _cancelled.clear()
                jobs.put(received[0])
    os._exit(0)
