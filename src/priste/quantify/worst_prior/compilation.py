"""How the kernels are compiled: serial, without fast-math, cached where the disk allows.

Without numba (the extra ``fast``) the same functions run as plain Python: the same operations in
the same order on the same doubles, so the same verdicts, some hundred times slower.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from functools import cache, wraps
from importlib.util import find_spec, module_from_spec
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, ParamSpec, TypeVar

import numpy as np

from priste.extras import install

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def kernel(
    signature: str, *, inner: bool = False
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Mark a function that :func:`compile_kernels` is to compile for one ``signature``.

    One signature means one compilation; left to itself numba makes another one for every constant
    that is passed. ``inner`` functions are called by kernels only, and have no way in from Python.
    """

    def mark(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        function.__dict__["kernel"] = signature, inner
        return function

    return mark


def compile_kernels(module: dict[str, Any]) -> None:
    """Put machine code in the place of every marked function of a module, in their order.

    The guarantees of the kernels rest on IEEE rounding, so no option that lets the
    compiler reorder or drop floating-point operations is ever set. A machine where
    nothing can be written compiles anew in each process instead of failing. A module loaded by
    :func:`plain_copy` is left as plain Python.
    """
    marked = [
        (name, function, *function.__dict__["kernel"])
        for name, function in module.items()
        if isinstance(function, FunctionType) and "kernel" in function.__dict__
    ]
    try:
        if _PLAIN in module:
            raise ImportError
        import numba
    except ImportError:
        if _PLAIN not in module:
            _warn_once()
        module["math"] = _AS_COMPILED
        for name, function, _, inner in marked:
            if not inner:
                module[name] = _quiet(function)
        return
    for name, function, signature, inner in marked:
        options = {"nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": inner}
        try:
            module[name] = numba.njit(signature, cache=True, **options)(function)
        except RuntimeError:  # numba found no directory in which to keep the machine code
            module[name] = numba.njit(signature, **options)(function)


_PLAIN = "__plain__"
_SPARED = "PRISTE_SPARE_MEMORY"


def spare_memory() -> None:
    """Let this process search a few priors without numba, for a service that mostly waits."""
    os.environ[_SPARED] = "1"


def is_memory_spared() -> bool:
    """Return whether :func:`spare_memory` was called, or the environment asks for it."""
    return bool(os.environ.get(_SPARED))


@cache
def plain_copy(name: str) -> ModuleType:
    """Return a module of kernels as plain Python, beside the compiled one; numba is not loaded.

    The same verdicts (see above), without the third of a second and the 110 MB that numba takes.
    ``searched`` is for its user, to count what it did.
    """
    found = find_spec(name)
    if found is None or found.loader is None:
        raise ModuleNotFoundError(name=name)
    module = module_from_spec(found)
    module.__dict__[_PLAIN] = True
    module.__dict__["searched"] = 0
    found.loader.exec_module(module)
    return module


@cache
def _warn_once() -> None:
    warnings.warn(
        "numba is not installed: the search for the worst prior runs as plain Python, right but "
        f"some hundred times slower. Install it with: {install('fast')}",
        RuntimeWarning,
        stacklevel=2,
    )


def _ldexp(x: float, shift: int) -> float:
    """Return x * 2**shift, infinite where it overflows, as machine code has it."""
    try:
        return math.ldexp(x, shift)
    except OverflowError:
        return math.copysign(math.inf, x)


_AS_COMPILED = SimpleNamespace(
    **{name: getattr(math, name) for name in ("inf", "sqrt", "floor", "frexp")},
    ldexp=_ldexp,
)
"""What kernels use of ``math``, with the results of machine code where Python would raise."""


def _quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that runs without numpy's warnings: infinities are among its results."""

    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return run
