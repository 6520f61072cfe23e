"""How the kernels are compiled: serial, without fast-math, cached where the disk allows."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def kernel(
    signature: str, *, inner: bool = False
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Mark a function that :func:`compile_kernels` is to compile for one ``signature``.

    One signature means one compilation; left to itself numba makes another one for every constant
    that is passed. ``inner`` functions are called by kernels alone, and have no way in from Python.
    """

    def mark(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        function.__dict__["kernel"] = signature, inner
        return function

    return mark


def compile_kernels(module: dict[str, Any]) -> None:
    """Put machine code in the place of every marked function of a module, in their order.

    The guarantees of the kernels rest on IEEE rounding, so no option that lets the
    compiler reorder or drop floating-point operations is ever set. A machine where
    nothing can be written compiles anew in each process instead of failing.
    """
    import numba

    for name, function in list(module.items()):
        if not isinstance(function, FunctionType) or "kernel" not in function.__dict__:
            continue
        signature, inner = function.__dict__["kernel"]
        options = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": inner}
        try:
            module[name] = numba.njit(signature, cache=True, **options)(function)
        except RuntimeError:  # numba found no directory in which to keep the machine code
            module[name] = numba.njit(signature, **options)(function)
