"""How the kernels are compiled: serial, without fast-math, cached where the disk allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def compiled(
    signature: str, *, inner: bool = False
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Compile a function for one ``signature`` when its module is imported, and keep the result.

    One signature means one compilation; left to itself numba makes another one for every constant
    that is passed. ``inner`` functions are called by kernels alone, and have no way in from Python.

    The guarantees of the kernels rest on IEEE rounding, so no option that lets the
    compiler reorder or drop floating-point operations is ever set. A machine where
    nothing can be written compiles anew in each process instead of failing.
    """
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": inner}

    def compile_now(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        try:
            kernel = numba.njit(signature, cache=True, **options)(function)
        except RuntimeError:  # numba found no directory in which to keep the machine code
            kernel = numba.njit(signature, **options)(function)
        return cast("Callable[Arguments, Result]", kernel)

    return compile_now
