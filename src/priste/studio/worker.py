"""The other side of a pipe: a process that does one job after the other, and can be ended.

A job that is cancelled ends at its next word to the page. A process that does not come to that is
killed by the server; so a crash, or the end of all memory, ends a job and never the page.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from priste.errors import PristeError
from priste.studio.wire import Refused, text_of

Tell = Callable[[str, Any], None]


MOST_MEMORY = 8 * 2**30
"""Bytes that a process may take, or half of the machine's if that is less: a map that is too fine,
or a file that unpacks to more than anybody has, must end in words, not in the end of something else
on this machine."""


class Cancelled(Exception):
    """The job is no longer wanted."""


def work(pipe: Connection) -> None:
    """Do the jobs that come through a pipe, until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which tells us
    os.dup2(2, 1)  # libraries print
    bound_memory()
    jobs: queue.Queue[tuple[str, str, Any]] = queue.Queue()
    unwanted: set[str] = set()
    threading.Thread(target=_listen, args=(pipe, jobs, unwanted), daemon=True).start()
    from priste.quantify.warm_up import warm_up
    from priste.studio.jobs_at_work import PERFORM

    warm_up()
    while True:
        number, kind, given = jobs.get()

        def tell(event: str, value: Any, job: str = number) -> None:
            if job in unwanted:
                raise Cancelled
            pipe.send((job, event, text_of(value), None))

        try:
            tell("started", {})
            last, result = PERFORM[kind](given, tell)
            pipe.send((number, "done", text_of(last), result))
        except Cancelled:
            pipe.send((number, "cancelled", "{}", None))
        except Refused as refusal:
            _fail(pipe, number, refusal.message, refusal.hint)
        except PristeError as error:
            _fail(pipe, number, str(error), "")
        except MemoryError:
            _fail(pipe, number, "There is not enough memory for this.", "Choose larger cells.")
        except Exception as problem:
            # Its text could hold a true location.
            what = type(problem).__name__
            _fail(pipe, number, f"The work ended unexpectedly ({what}).", "The page goes on.")


def most_memory() -> int:
    """Return the bytes that a process of the studio may take on this machine."""
    with suppress(OSError, ValueError):  # where the machine does not tell
        return min(MOST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    return MOST_MEMORY


def bound_memory() -> None:
    """Let this process, and those it starts, take no more than that."""
    with suppress(ImportError, OSError, ValueError):  # where there is no such bound
        import resource

        resource.setrlimit(
            resource.RLIMIT_DATA, (most_memory(), resource.getrlimit(resource.RLIMIT_DATA)[1])
        )


def _fail(pipe: Connection, number: str, message: str, hint: str) -> None:
    pipe.send((number, "failed", text_of({"message": message, "hint": hint}), None))


def _listen(pipe: Connection, jobs: queue.Queue[tuple[str, str, Any]], unwanted: set[str]) -> None:
    """Take in jobs and cancellations; end with the server, however that ended."""
    with suppress(EOFError, OSError):
        while True:
            kind, *rest = pipe.recv()
            if kind == "job":
                jobs.put((rest[0], rest[1], rest[2]))
            else:
                unwanted.add(rest[0])
    os._exit(1)
