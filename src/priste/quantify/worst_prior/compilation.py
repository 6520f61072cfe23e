"""How the kernels are compiled: serial, without fast-math, cached where the disk allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compile ``function`` at its first call, and keep the machine code when possible.

    The guarantees of the kernels rest on IEEE rounding, so no option that lets the
    compiler reorder or drop floating-point operations is ever set. A machine where
    nothing can be written compiles anew in each process instead of failing.
    """
    try:
        kernel = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # numba found no directory in which to keep the machine code
        kernel = numba.njit(nogil=True)(function)
    return cast("Callable[Arguments, Result]", kernel)
