"""Memory that nothing uses goes back to the system: a service runs for months."""

from __future__ import annotations

import ctypes
import multiprocessing
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cache
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@cache
def _trim() -> Callable[[int], object]:
    """Return glibc's malloc_trim, or what does nothing where there is none."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            return trim  # type: ignore[no-any-return]
    return lambda _: 0


def in_a_child(
    work: Callable[Arguments, Result], *given: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """Return what a function returns, and leave nothing else: it runs in a process that ends.

    For reading policies and recordings, whose libraries take up to 120 MB. Arguments, result and
    errors are copied. Where a process cannot be forked safely (other threads, other systems), or
    was killed, the function runs here.
    """
    if sys.platform == "linux" and threading.active_count() == 1:
        forked = multiprocessing.get_context("fork")
        with suppress(BrokenProcessPool), ProcessPoolExecutor(1, mp_context=forked) as child:
            return child.submit(work, *given, **named).result()
    return work(*given, **named)


def give_memory_back() -> None:
    """Return the free pages of the heap to the system.

    Choosing a table takes much more memory than keeping it, and glibc keeps what was freed in the
    midst of the heap.
    """
    _trim()(0)
