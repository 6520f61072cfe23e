"""Unused memory goes back to the system, because a service runs for months."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import ParamSpec, TypeVar

from priste.errors import PristeError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_CHILD = """
import os, pickle, sys
answer = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # what the work prints is no answer
from priste.errors import PristeError
work, given, named = pickle.load(sys.stdin.buffer)
try:
    result = work(*given, **named)
except PristeError as problem:
    result = problem
with answer:
    pickle.dump(result, answer)
"""


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

    For reading recordings, whose libraries take 110 MB. Arguments, result and errors of priste
    are copied. Where the process fails otherwise the function runs here.
    """
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=pickle.dumps((work, given, named)),
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode != 0:
        return work(*given, **named)
    result = pickle.loads(done.stdout)
    if isinstance(result, PristeError):
        raise result
    return result  # type: ignore[no-any-return]


def give_memory_back() -> None:
    """Return the free pages of the heap to the system.

    Choosing a table takes much more memory than keeping it, and glibc keeps what was freed in the
    midst of the heap.
    """
    _trim()(0)
