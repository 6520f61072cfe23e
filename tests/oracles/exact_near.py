"""Priors near a given one, in exact arithmetic: every edge of the box of their weights.

R = (w·b)(w·ā) / ((w·a)(w·d)) with w_i = p_i x_i, 1 <= x_i <= factor. Its supremum is reached where
at most one x_i is not at an end (docs/explanation/soundness-near.md), so all edges of the box are
tried; along an edge R > r is a question about one quadratic polynomial on [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from tests.oracles.exact_worst_prior import Row

Sums = tuple[int, int, int, int]


def edges(
    rows: Sequence[Row], weights: Sequence[Fraction], factor: Fraction
) -> Iterator[tuple[Sums, Sums]]:
    """The sums (a, ā, b, d) at both ends of every edge, but for factors.

    One is common to all a and ā and one to all b and d, which ratios do not see: with these all
    sums are whole numbers, which are added and multiplied much faster than fractions.
    """
    n = len(rows)
    low, high = factor.denominator, factor.numerator  # instead of 1 and the factor
    weighed = [[w * x for x in row] for row, w in zip(rows, weights, strict=True)]
    for pair in ((0, 1), (2, 3)):
        common = math.lcm(*(row[k].denominator for row in weighed for k in pair))
        for row in weighed:
            for k in pair:
                row[k] = row[k].numerator * (common // row[k].denominator)
    for free in range(n):
        for ends in product((low, high), repeat=n - 1):
            x = [*ends[:free], 0, *ends[free:]]
            fixed = [sum(x[i] * weighed[i][k] for i in range(n)) for k in range(4)]
            yield (
                tuple(f + low * m for f, m in zip(fixed, weighed[free], strict=True)),
                tuple(f + high * m for f, m in zip(fixed, weighed[free], strict=True)),
            )


def near_exceed(
    rows: Sequence[Row], weights: Sequence[Fraction], factor: Fraction, r: Fraction
) -> bool:
    """Whether R > r for some prior of the box."""
    return any(_edge_exceeds(one, other, r) for one, other in edges(rows, weights, factor))


def _edge_exceeds(one: Sums, other: Sums, r: Fraction) -> bool:
    a, c, b, d = one
    da, dc, db, dd = (y - x for x, y in zip(one, other, strict=True))
    # F(t) = (b + t db)(c + t dc) - r (a + t da)(d + t dd) = p t^2 + q t + s, times r's denominator
    over, under = r.numerator, r.denominator
    p = under * db * dc - over * da * dd
    q = under * (b * dc + c * db) - over * (a * dd + d * da)
    s = under * b * c - over * a * d
    if s > 0 or p + q + s > 0:
        return True
    return p < 0 and 0 < q < -2 * p and 4 * p * s < q * q  # at t = -q / 2p it is s - q^2 / 4p


def near_odds(
    rows: Sequence[Row], weights: Sequence[Fraction], factor: Fraction
) -> Fraction | None:
    """The largest Pr(EVENT, o) / Pr(not EVENT, o): at a vertex. None where d is 0."""
    best = Fraction(0)
    for one, other in edges(rows, weights, factor):
        for _, _, b, d in (one, other):
            if d == 0:
                return None
            best = max(best, Fraction(b, d))
    return best
