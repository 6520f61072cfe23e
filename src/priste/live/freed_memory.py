"""Memory that nothing uses goes back to the system: a service runs for months."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache


@cache
def _trim() -> Callable[[int], object]:
    """Return glibc's malloc_trim, or what does nothing where there is none."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            return trim  # type: ignore[no-any-return]
    return lambda _: 0


def give_memory_back() -> None:
    """Return the free pages of the heap to the system.

    Choosing a table takes much more memory than keeping it, and glibc keeps what was freed in the
    midst of the heap.
    """
    _trim()(0)
