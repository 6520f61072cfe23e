"""How far floating point can be from the exact quantities: the bound of every ``Moments``.

Every quantity is a sum of products of nonnegative floats, computed without a
subtraction. A rounding changes a nonnegative number by a factor within ``1 ± u``,
``u = 2**-53``, and sums of nonnegative numbers keep such factors. So with N roundings
on the way from the inputs to a result, in whatever order a matrix product adds, the
result is the exact one times a factor within ``1 ± N u / (1 - N u)``. Fused
multiply-adds only round less.

Two more factors separate the floats we were given from the laws that are meant: a
transition means its rows divided by their exact sums (``row_sum_error`` each step), and a
release is drawn from the column's rows divided by theirs (``EMISSION_ROW_SUM_ERROR``
each observation). The three multiply::

    1 + relative_error
        = (1 + N u / (1 - N u)) * prod(1 + row_sum_error) * (1 + 2**-50)**observations
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from priste.errors import InvalidParameter
from priste.mobility.structured import BlendedTransition, SeparableTransition

if TYPE_CHECKING:
    from priste.mobility.transitions import Transition
    from priste.quantify.moments import Floats

UNIT_ROUNDOFF = 2.0**-53

EMISSION_ROW_SUM_ERROR = 2.0**-50
"""What the rows of a mechanism's emission may miss 1 by."""

_EVALUATION = 1.0 + 2.0**-40
"""Covers the roundings of evaluating the bound itself."""


def relative_error_bound(roundings: int, row_sums: float, observations: int) -> float:
    """Bound the relative error; ``row_sums`` is the sum of log1p of the row sum errors.

    ``inf`` when there are so many roundings (2**52) that nothing is left to promise.

    >>> relative_error_bound(1000, 0.0, 0) < 1.2e-13
    True
    """
    spent = roundings * UNIT_ROUNDOFF
    if spent >= 0.5:
        return math.inf
    logarithm = (
        math.log1p(spent / (1.0 - spent))
        + row_sums
        + observations * math.log1p(EMISSION_ROW_SUM_ERROR)
    )
    return math.expm1(logarithm) * _EVALUATION


def check_products(transition: Transition) -> None:
    """Refuse a transition whose products of several stages could underflow unseen.

    Dense and sparse transitions multiply by one float, which the scaling of rows allows
    for. Separable and blended ones multiply by two or three; nothing is lost as long as
    the product of their least positive factors is at least the least positive float.
    """
    if isinstance(transition, SeparableTransition):
        factors: tuple[Floats, ...] = transition.factors
    elif isinstance(transition, BlendedTransition):
        weights, prior, _ = transition.parts
        factors = (weights, *prior.factors)
    else:
        return
    exponent = 0
    for factor in factors:
        least = float(np.min(factor, where=factor > 0.0, initial=1.0))
        exponent += math.frexp(least)[1] - 1
    if exponent < -1074:
        raise InvalidParameter(
            "The factors of a separable transition must not multiply to less than 2**-1074, or "
            f"moves would vanish by underflow. The least positive ones give 2**{exponent}. Set "
            "factors below 2**-500 to 0."
        )
