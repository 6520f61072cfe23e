"""Movement on a map whose border cells stand for everywhere off the map.

Judged by distance only, the border is as likely a target as any other row of cells, and since
people stay there for hours, most of them would end up off the map. So moves to the border are made
rarer by one factor, until the stationary distribution has the wanted share there. The moves stay a
product of rows and columns, and a person who comes back moves on like everybody on the map.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from priste.arguments import check_float
from priste.mobility.validation import FloatArray

Factors = tuple[FloatArray, FloatArray]
Leaving = Callable[[Factors], FloatArray]
"""From the moves along rows and columns to (m,) the chance that such a move is made at a step."""

STEPS_A_DECADE = 90
SMALLEST = 6 * STEPS_A_DECADE
"""The factors are 1, .99, .98, … .1, .099, …: two digits, so that last bits do not tell."""


def limit_off_map(factors: Factors, leaving: Leaving, share: float, owner: str) -> Factors:
    """Return the factors with rarer moves to the border, so that at most ``share`` are there.

    The moves must be reversible. The largest multiplier of two digits is taken that brings the
    stationary share of the border down to ``share``; where it is below that anyway, the moves are
    returned as they are.

    >>> even = np.full((4, 4), 0.25)
    >>> rows, columns = limit_off_map((even, even), lambda _: np.ones(16), 0.1, "the example")
    >>> round(float(off_map_share((rows, columns), np.ones(16))), 2)
    0.1
    """
    wanted = check_float(share, "off_map", owner, above=0, most=1)

    def enough(place: int) -> bool:
        made = _rarer(factors, place)
        return off_map_share(made, leaving(made)) <= wanted

    low, high = 0, SMALLEST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return _rarer(factors, low)


def off_map_share(factors: Factors, leaving: FloatArray) -> float:
    """Return the stationary share of the border cells, if each cell is left so often."""
    rows, columns = (_line_stationary(factor) for factor in factors)
    share = np.outer(rows, columns) / leaving.reshape(len(rows), len(columns))
    return 1.0 - float(share[1:-1, 1:-1].sum() / share.sum())


def _rarer(factors: Factors, place: int) -> Factors:
    """Return the factors with weights of the first and the last goal times that of a place."""
    if place == 0:
        return factors
    decade, digits = divmod(place - 1, STEPS_A_DECADE)
    times = (99 - digits) / 10.0 ** (decade + 2)
    made = []
    for factor in factors:
        weights = factor.copy()
        weights[:, [0, -1]] *= times
        made.append(weights / weights.sum(axis=1, keepdims=True))
    return made[0], made[1]


def _line_stationary(factor: FloatArray) -> FloatArray:
    """Return the stationary distribution of reversible moves along a line."""
    forth, back = np.diagonal(factor, 1), np.diagonal(factor, -1)
    share = np.concatenate([[1.0], np.cumprod(forth / back)])
    return np.asarray(share / share.sum())
