"""Checks of arguments: integers, floats, choices and arrays.

Each returns the value as a plain Python object, or raises :class:`InvalidParameter` with its fields
set: ``parameter``, ``owner`` (a class or function, may be empty), the rule, the value and the hint.
A bool is never a number; numpy's numbers are. NaN is never a number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter, NoValue

_Choice = TypeVar("_Choice")
Floats = NDArray[np.float64]

SUM_TOLERANCE = 1e-9
"""A distribution that is given must sum to 1 within this. It is used as given, never rescaled."""


def is_int(value: object) -> bool:
    """Return whether a value is an integer of Python or numpy; a bool is not, nor is 1.0.

    >>> is_int(3), is_int(True), is_int(3.0)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_float(value: object) -> float | None:
    """Return a real number of Python or numpy as a float, else None (bool, NaN, text, too large).

    Infinities are numbers here.

    >>> as_float(2), as_float(float("nan")), as_float("2"), as_float(True)
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return None if math.isnan(found) else found


def check_int(
    value: object,
    parameter: str,
    owner: str = "",
    *,
    least: int = 0,
    most: int | None = None,
    why: str = "",
    hint: str = "",
    secret: bool = False,
) -> int:
    """Return a whole number in ``[least, most]``.

    ``why`` explains the rule within the sentence, ``hint`` is a sentence of its own at the end.
    With ``secret`` the value, which may be a true location, is kept out of the error.

    >>> check_int(3, "runs", "an audit", least=1)
    3
    >>> check_int(0, "runs", "an audit", least=1)
    Traceback (most recent call last):
    ...
    priste.errors.InvalidParameter: The 'runs' of an audit must be a whole number >= 1. Got 0.
    """
    if is_int(value):
        found: int = operator.index(value)  # type: ignore[arg-type]  # whole, as just checked
        if least <= found and (most is None or found <= most):
            return found
    range_text = f">= {least}" if most is None else f"from {least} to {most}"
    raise InvalidParameter(
        _rule(f"must be a whole number {range_text}", why),
        parameter=parameter,
        owner=owner,
        value=NoValue.SECRET if secret else value,
        hint=hint,
    )


def check_float(
    value: object,
    parameter: str,
    owner: str = "",
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    why: str = "",
    hint: str = "",
) -> float:
    """Return a finite number within the bounds, given at most one a side.

    It is > ``above`` or >= ``least``, and < ``below`` or <= ``most``. ``most=math.inf`` lets
    infinity through.

    >>> check_float(1, "pace", "Certified", above=0, most=1)
    1.0
    >>> check_float(0.0, "pace", "Certified", above=0, most=1)
    Traceback (most recent call last):
    ...
    priste.errors.InvalidParameter: The 'pace' of Certified must be a number in (0, 1]. Got 0.0.
    """
    found = as_float(value)
    if (
        found is not None
        and (math.isfinite(found) or found == most)
        and (above is None or found > above)
        and (least is None or found >= least)
        and (below is None or found < below)
        and (most is None or found <= most)
    ):
        return found
    rule = _number_rule(above, least, below, most)
    raise InvalidParameter(
        _rule(f"must be {rule}", why), parameter=parameter, owner=owner, value=value, hint=hint
    )


def check_choice(
    value: object, choices: Iterable[_Choice], parameter: str, owner: str = "", *, hint: str = ""
) -> _Choice:
    """Return the choice that equals ``value``, of the same type.

    >>> check_choice("first", ("first", "majority"), "rule")
    'first'
    >>> check_choice("last", ("first", "majority"), "rule")
    Traceback (most recent call last):
    ...
    priste.errors.InvalidParameter: The 'rule' must be one of 'first', 'majority'. Got 'last'.
    """
    known = tuple(choices)
    for choice in known:
        if isinstance(value, type(choice)) and value == choice:
            return choice
    names = ", ".join(repr(choice) for choice in known)
    raise InvalidParameter(
        f"must be one of {names}", parameter=parameter, owner=owner, value=value, hint=hint
    )


def as_floats(values: object, parameter: str, owner: str = "") -> Floats:
    """Return real numbers as a float64 array, without a copy of one that is."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidParameter(
            "must be an array of numbers; its rows differ in length",
            parameter=parameter,
            owner=owner,
        ) from error
    if array.dtype.kind not in "fiu":
        raise InvalidParameter(
            "must hold real numbers", parameter=parameter, owner=owner, got=f"dtype {array.dtype}"
        )
    return array.astype(np.float64, copy=False)


def check_array(
    values: object,
    parameter: str,
    owner: str = "",
    shape: tuple[int | None, ...] | None = None,
) -> Floats:
    """Return numbers that are finite and >= 0 as float64, without a copy of such an array.

    ``shape`` is what they must have; None in it matches any length.

    >>> check_array([0.5, -0.5], "prior", "KnownPrior")
    Traceback (most recent call last):
    ...
    priste.errors.InvalidParameter: The 'prior' of KnownPrior must be finite and >= 0 everywhere. \
Got -0.5 at 1.
    """
    array = as_floats(values, parameter, owner)
    if shape is not None and not (
        array.ndim == len(shape)
        and all(wanted in (None, got) for wanted, got in zip(shape, array.shape, strict=True))
    ):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise InvalidParameter(
            f"must have shape ({wanted}{',' if len(shape) == 1 else ''})",
            parameter=parameter,
            owner=owner,
            value=array.shape,
        )
    if not (array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < math.inf):  # or NaN
        first = tuple(np.argwhere(~((array >= 0.0) & (array < math.inf)))[0].tolist())
        place = first[0] if len(first) == 1 else first
        raise InvalidParameter(
            "must be finite and >= 0 everywhere",
            parameter=parameter,
            owner=owner,
            got=f"{float(array[first])!r} at {place}",
        )
    return array


def check_distribution(
    values: object,
    parameter: str,
    owner: str = "",
    shape: tuple[int | None, ...] | None = (None,),
    *,
    tolerance: float = SUM_TOLERANCE,
) -> Floats:
    """Return a read-only copy of numbers >= 0 that sum to 1 in all, within ``tolerance``."""
    array = check_array(values, parameter, owner, shape).copy()
    largest = float(array.max(initial=0.0))
    total = math.fsum(array.ravel()) if largest <= 2.0 else largest  # no sum overflows
    if not abs(total - 1.0) <= tolerance:
        raise InvalidParameter(
            f"must sum to 1 within {tolerance:g}", parameter=parameter, owner=owner, value=total
        )
    array.flags.writeable = False
    return array


def _number_rule(
    above: float | None, least: float | None, below: float | None, most: float | None
) -> str:
    low = f"> {above:g}" if above is not None else f">= {least:g}" if least is not None else ""
    high = f"< {below:g}" if below is not None else f"<= {most:g}" if most is not None else ""
    if most == math.inf:
        return f"a number {low}" if low else "a number"
    if low and high:
        return (
            f"a number in {'[' if above is None else '('}{low.split()[1]}, "
            f"{high.split()[1]}{']' if below is None else ')'}"
        )
    return f"finite and {low or high}" if low or high else "a finite number"


def _rule(rule: str, why: str) -> str:
    return f"{rule} ({why})" if why else rule
