"""What a worker process of the studio does with a job, and how it ends.

A cancelled job ends at its next message to the page. If it takes too long, the server kills its
process. So a crash, or a lack of memory, ends a job and never the page.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from priste.errors import PristeError
from priste.studio.wire import Refused, text_of
from priste.workers import Cancelled, report

Tell = Callable[[str, Any], None]
End = tuple[str, str, Any]
"""How a job ended, what is said of it (JSON), and its result."""


MOST_MEMORY = 8 * 2**30
"""Bytes that a process may take, or half of the machine's if that is less: a map that is too fine,
or a file that unpacks to too much, must end with an error and not end other programs."""


def perform(order: tuple[str, Any]) -> End:
    """Do a job of a kind; an error ends it with a message."""
    from priste.studio.jobs_at_work import PERFORM

    bound_memory()
    kind, given = order
    try:
        tell("started", {})
        last, result = PERFORM[kind](given, tell)
        return "done", text_of(last), result
    except Cancelled:
        raise
    except Refused as refusal:
        return _failed(refusal.message, refusal.hint)
    except PristeError as error:
        return _failed(str(error), "")
    except MemoryError:
        return _failed("There is not enough memory for this.", "Choose larger cells.")
    except Exception as problem:
        # Its text could hold a true location.
        what = type(problem).__name__
        return _failed(f"The work ended unexpectedly ({what}).", "The page goes on.")


def tell(event: str, value: Any) -> None:
    """Send a message to the page; Cancelled if the job was cancelled."""
    report((event, text_of(value)))


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


def _failed(message: str, hint: str) -> End:
    return "failed", text_of({"message": message, "hint": hint}), None
