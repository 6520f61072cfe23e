"""Work in other processes: workers that begin warm, are replaced when they die, and end with us.

One process, the nursery, loads what the work needs and prepares it once. Every worker is a fork of
it: it begins at once, and shares the memory of what was prepared. A worker has one job at a time
and a pipe of its own, so one that dies (killed, out of memory, crashed) takes nothing with it but
that job, which another worker does again: jobs must be safe to do again. Nursery and workers end
with the process that started them, however that ended, and write nothing to its output. Each uses
one thread for linear algebra: the cores are for the workers.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import pkgutil
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from multiprocessing import reduction
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn, TypeVar

from priste.errors import PristeError

TRIES = 3
"""How many workers may die at one job before it is given up, and how many nurseries in a row."""

GRACE = 2.0
"""Seconds in which a nursery that nobody needs any more may end by itself."""

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

PREPARES = sys.platform == "linux"
"""Whether the nursery prepares anything: elsewhere system libraries do not bear a fork."""

Job = TypeVar("Job")
Result = TypeVar("Result")
Prepare = Callable[[], None]
OnTold = Callable[[int], None]
OnLost = Callable[[int, Any, str], None]


def finished(
    perform: Callable[[Job], Result],
    jobs: Iterable[Job],
    *,
    workers: int,
    on_told: OnTold | None = None,
) -> Iterator[tuple[int, Result]]:
    """Do jobs in worker processes; yield the number of each with its result as they finish.

    As :meth:`Nursery.finished`, with a nursery for this work alone.
    """
    with Nursery() as nursery:
        yield from nursery.finished(perform, jobs, workers=workers, on_told=on_told)


@dataclass(frozen=True)
class _Task:
    """A job with its number, and how many workers died at it."""

    number: int
    job: Any
    deaths: int = 0


@dataclass
class _Worker:
    """A worker as its employer sees it: a pipe, what it is at, and how much it told of that."""

    number: int
    pipe: Connection
    task: _Task = field(default_factory=lambda: _Task(-1, None))
    told: int = 0

    def begin(self, task: _Task) -> None:
        self.task, self.told = task, 0
        with suppress(OSError):  # it is dead, which is told when its answer is waited for
            self.pipe.send(task.job)


class Nursery:
    """The process that workers are forked from; use it in a ``with`` statement.

    It begins to load when the statement does, and calls ``loading`` then, the name of a function as
    "package.module:function": whoever has other things to do before there are jobs does them
    meanwhile, also loading that module here.

    It is a process of its own, or with ``sharing`` a fork of this one where :func:`may_fork` says
    so: then it has all that is loaded here at once, and whatever is open here is open there as
    well. So ask for that before files are opened or locked.
    """

    def __init__(self, loading: str | None = None, *, sharing: bool = False) -> None:
        self._loading = loading if PREPARES else None
        self._sharing = sharing
        self._context = multiprocessing.get_context("spawn")
        self._work = b""
        self._crew: dict[Connection, _Worker] = {}
        self._hatched = 0
        self._deaths = 0

    def __enter__(self) -> Nursery:
        self._open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._close(GRACE if kind is None else 0.0)

    def finished(
        self,
        perform: Callable[[Job], Result],
        jobs: Iterable[Job],
        *,
        workers: int,
        prepare: Prepare | None = None,
        on_told: OnTold | None = None,
        tries: int = TRIES,
        on_lost: OnLost | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """Do jobs in worker processes; yield the number of each with its result as they finish.

        ``perform`` is sent once, and jobs and results as they come: all must pickle. ``prepare``
        (best a method of ``perform``) is called once before the first worker begins, and what it
        leaves in memory all of them share. Jobs are taken from ``jobs`` one by one. ``on_told`` is
        told how often workers called :func:`tell`, and a negative number when a worker died and
        what it told of its job will be told again. An error that a job raises is raised here.

        ``on_lost(number, job, how)`` is told of a job at which ``tries`` workers died, and how the
        last of them did; the other jobs go on. Without it PristeError is raised then.
        """
        self._work = pickle.dumps((perform, prepare if PREPARES else None))
        try:
            self._control.send(("work", self._work))
        except OSError:
            self._renew()
        again: deque[_Task] = deque()
        waiting = (_Task(number, job) for number, job in enumerate(jobs))
        tell_on = on_told or (lambda count: None)
        done = 0
        try:
            while True:
                while len(self._crew) < workers and (task := _next(again, waiting)):
                    self._hatch().begin(task)
                if not self._crew:
                    return
                for worker, said, value in self._heard():
                    if said is _Said.TOLD:
                        worker.told += 1
                        tell_on(1)
                    elif said is _Said.NOTHING:
                        tell_on(-worker.told)
                        self._dismiss(worker)
                        self._do_again(worker, again, tries, on_lost, done)
                    else:
                        number = worker.task.number
                        # The next job first: whoever takes the result may take their time.
                        if task := _next(again, waiting):
                            worker.begin(task)
                        else:
                            self._dismiss(worker)
                        if said is _Said.FAILED:
                            raise value
                        done += 1
                        yield number, value
        finally:
            for worker in list(self._crew.values()):
                self._dismiss(worker)

    def _do_again(
        self, worker: _Worker, again: deque[_Task], tries: int, on_lost: OnLost | None, done: int
    ) -> None:
        """Put the job of a dead worker where it will be done again, or give it up."""
        how, task = self._fate(worker), worker.task
        if how is None:
            again.append(task)
            return
        task = _Task(task.number, task.job, task.deaths + 1)
        if task.deaths < tries:
            again.append(task)
        elif on_lost is not None:
            on_lost(task.number, task.job, how)
        else:
            raise PristeError(
                f"Workers died {tries} times at one job, the last {how}; {done} jobs are done. "
                "What was done is kept: run the same command again, with fewer workers if memory "
                "is short."
            )

    def _heard(self) -> Iterator[tuple[_Worker, _Said, Any]]:
        """Wait until workers say something, and yield it; a pipe that ends is a worker's death."""
        for pipe in wait(list(self._crew)):
            if isinstance(pipe, Connection) and pipe in self._crew:
                try:
                    said, value = pipe.recv()
                except (EOFError, OSError):
                    said, value = _Said.NOTHING, None
                yield self._crew[pipe], said, value

    # Processes

    def _open(self) -> None:
        self._control, theirs = self._context.Pipe()
        context: Any = self._context
        inherited: tuple[Connection, ...] = ()
        if self._sharing and may_fork():
            context, inherited = multiprocessing.get_context("fork"), (self._control,)
        self._process = context.Process(
            target=_nurse, args=(theirs, self._loading, *inherited), daemon=True
        )
        with theirs, _one_thread_each(), _deaf_to_interrupts():
            self._process.start()

    def _close(self, grace: float) -> None:
        """Let the nursery end and wait for it, so that its time and its workers' count as ours."""
        for worker in list(self._crew.values()):
            self._dismiss(worker)
        self._control.close()
        self._process.join(grace)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _renew(self) -> None:
        """Begin another nursery in the stead of one that died."""
        self._deaths += 1
        if self._deaths >= TRIES:
            raise PristeError(
                f"The process that workers are forked from died {TRIES} times. What was done is "
                "kept: run the same command again where there is more memory."
            )
        self._control.close()
        self._process.join()
        self._open()
        with suppress(OSError):  # that it died is told when a worker is asked for
            self._control.send(("work", self._work))

    def _hatch(self) -> _Worker:
        """Return a new worker."""
        while True:
            ours, theirs = self._context.Pipe()
            with theirs:
                self._hatched += 1
                try:
                    self._control.send(("hatch", self._hatched))
                    reduction.send_handle(self._control, theirs.fileno(), self._process.pid)
                except OSError:
                    ours.close()
                    self._renew()
                    continue
            self._crew[ours] = _Worker(self._hatched, ours)
            return self._crew[ours]

    def _dismiss(self, worker: _Worker) -> None:
        """Let a worker go: it ends with its pipe."""
        del self._crew[worker.pipe]
        worker.pipe.close()

    def _fate(self, worker: _Worker) -> str | None:
        """Say how a worker died; None where the nursery died with it: that is not for its job."""
        try:
            self._control.send(("fate", worker.number))
            return _how_it_died(self._control.recv())
        except (EOFError, OSError):
            self._renew()
            return None


def may_fork() -> bool:
    """Tell whether this process can be forked: on Linux, and with one thread, also of libraries."""
    return PREPARES and len(os.listdir("/proc/self/task")) == 1


def _next(again: deque[_Task], waiting: Iterator[_Task]) -> _Task | None:
    return again.popleft() if again else next(waiting, None)


def _how_it_died(code: int | None) -> str:
    """Say how a process with an exit code died; None if nobody knows.

    >>> _how_it_died(-9), _how_it_died(-11)
    ('was killed (SIGKILL), as systems do when memory is short', 'crashed (SIGSEGV)')
    """
    if code is None:
        return "died"
    if code >= 0:
        return f"ended with code {code}"
    name = signal.Signals(-code).name
    if code == -signal.SIGKILL:
        return f"was killed ({name}), as systems do when memory is short"
    return f"crashed ({name})"


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes started now use one thread for linear algebra; they read it when they start."""
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


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let processes started now never hear Ctrl-C: it is for us, and they end with us."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# In the nursery and its workers


class _Said(Enum):
    """What a worker says: that something is told, that a job is done or failed; or nothing more."""

    TOLD, DONE, FAILED, NOTHING = range(4)


def _nurse(control: Connection, loading: str | None, *inherited: Connection) -> None:
    """Load, then fork workers and tell how they died, until nobody asks any more."""
    for end in inherited:  # or the pipe would not end with the process that started this one
        end.close()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(2, 1)  # libraries print
    if loading is not None:
        _call(pkgutil.resolve_name(loading))
    work = b""
    perform: Callable[[Any], Any] | None = None
    born: dict[int, int] = {}
    with suppress(EOFError, OSError):
        while True:
            said, value = control.recv()
            if said == "work":
                work, perform = value, _prepared(value) if PREPARES else None
            elif said == "hatch":
                handle = reduction.recv_handle(control)
                born[value] = os.fork()
                if not born[value]:
                    control.close()
                    _serve(perform or _prepared(work), Connection(handle))
                os.close(handle)
            else:
                control.send(_exit_code(born.get(value)))
    with suppress(ChildProcessError):
        while True:  # they end with their pipes
            os.waitpid(-1, 0)


def _exit_code(process: int | None) -> int | None:
    """Return the exit code of a child that has died; None for one of an earlier nursery."""
    if process is None:
        return None
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _prepared(work: bytes) -> Callable[[Any], Any]:
    perform, prepare = pickle.loads(work)
    _call(prepare)
    gc.freeze()  # workers do not touch what they share
    found: Callable[[Any], Any] = perform
    return found


def _call(prepare: Prepare | None) -> None:
    if prepare is not None:
        with suppress(Exception):  # a job that meets it tells it
            prepare()


_mouth: Connection | None = None


def tell() -> None:
    """Tell the process that waits that something is done; nothing outside of a worker."""
    if _mouth is not None:
        with suppress(OSError):
            _mouth.send((_Said.TOLD, None))


def _serve(perform: Callable[[Any], Any], pipe: Connection) -> NoReturn:
    """Do one job after the other until the pipe ends."""
    global _mouth
    _mouth = pipe
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, jobs), daemon=True).start()
    try:
        while True:
            job = jobs.get()
            try:
                answer: tuple[_Said, Any] = _Said.DONE, perform(job)
            except Exception as problem:
                answer = _Said.FAILED, problem
            _send(pipe, answer)
    finally:
        os._exit(1)


def _send(pipe: Connection, answer: tuple[_Said, Any]) -> None:
    try:
        pipe.send(answer)
    except (pickle.PicklingError, TypeError, AttributeError):
        kind = type(answer[1]).__name__
        pipe.send((_Said.FAILED, PristeError(f"A worker could not send a {kind} back.")))


def _receive(pipe: Connection, jobs: queue.SimpleQueue[Any]) -> NoReturn:
    """Take in jobs, and end this process when the pipe does: no orphans, however that came."""
    with suppress(EOFError, OSError):
        while True:
            jobs.put(pipe.recv())
    os._exit(0)
