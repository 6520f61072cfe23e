"""How far floating point can be from the exact quantities: the bound of joint probabilities.

Every quantity is a sum of products of nonnegative floats, computed without a
subtraction. A rounding changes a nonnegative number by a factor within ``1 ± u``,
``u = 2**-53``, and sums of nonnegative numbers keep such factors. So with N roundings
on the way from the inputs to a result, in whatever order a matrix product adds, the
result is the exact one times a factor within ``1 ± N u / (1 - N u)``. Fused
multiply-adds only round less.

Two more factors separate the floats we were given from the probabilities that are meant: a
transition means its rows divided by their exact sums (``row_sum_error`` each step), and a
release is drawn from the column's rows divided by theirs (``EMISSION_ROW_SUM_ERROR``
each observation). A likelihood that comes with a relative error of its own, because another
machine computed it, brings that as a third. They multiply::

    1 + relative_error
        = (1 + N u / (1 - N u)) * prod(1 + row_sum_error) * (1 + EMISSION_ROW_SUM_ERROR)**releases
          / prod(1 - likelihood_error)
"""

from __future__ import annotations

import math

from priste.mechanisms import ROW_SUM_TOLERANCE

UNIT_ROUNDOFF = 2.0**-53

EMISSION_ROW_SUM_ERROR = ROW_SUM_TOLERANCE
"""What the rows of a mechanism's emission may miss 1 by."""

_EVALUATION = 1.0 + 2.0**-40
"""Covers the roundings of evaluating the bound itself."""


def relative_error_bound(roundings: int, factors: float, observations: int) -> float:
    """Bound the relative error; ``factors`` is the logarithm of all factors but the roundings.

    ``inf`` when there are so many roundings (2**52) that nothing is left to guarantee.

    >>> relative_error_bound(1000, 0.0, 0) < 1.2e-13
    True
    """
    spent = roundings * UNIT_ROUNDOFF
    if spent >= 0.5:
        return math.inf
    logarithm = (
        math.log1p(spent / (1.0 - spent))
        + factors
        + observations * math.log1p(EMISSION_ROW_SUM_ERROR)
    )
    return math.expm1(logarithm) * _EVALUATION
