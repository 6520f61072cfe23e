"""Priors near a given one, in exact arithmetic: every edge of the box of their weights.

R = (w·b)(w·ā) / ((w·a)(w·d)) with w_i = p_i x_i, 1 <= x_i <= factor. Its supremum is reached where
at most one x_i is not at an end (docs/soundness.md), so all edges of the box are tried; along
an edge R > r is a question about one quadratic polynomial on [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from tests.oracles.exact_worst_prior import Row

Sums = tuple[Fraction, Fraction, Fraction, Fraction]


def edges(
    rows: Sequence[Row], weights: Sequence[Fraction], factor: Fraction
) -> Iterator[tuple[Sums, Sums]]:
    """The sums (a, ā, b, d) at both ends of every edge."""
    n = len(rows)
    weighed = [tuple(w * x for x in row) for row, w in zip(rows, weights, strict=True)]
    for free in range(n):
        for ends in product((Fraction(1), factor), repeat=n - 1):
            x = [*ends[:free], Fraction(0), *ends[free:]]
            fixed = [sum((x[i] * weighed[i][k] for i in range(n)), Fraction(0)) for k in range(4)]
            yield (
                tuple(f + m for f, m in zip(fixed, weighed[free], strict=True)),
                tuple(f + factor * m for f, m in zip(fixed, weighed[free], strict=True)),
            )


def near_exceed(
    rows: Sequence[Row], weights: Sequence[Fraction], factor: Fraction, r: Fraction
) -> bool:
    """Whether R > r for some prior of the box."""
    return any(_edge_exceeds(one, other, r) for one, other in edges(rows, weights, factor))


def _edge_exceeds(one: Sums, other: Sums, r: Fraction) -> bool:
    a, c, b, d = one
    da, dc, db, dd = (y - x for x, y in zip(one, other, strict=True))
    # F(t) = (b + t db)(c + t dc) - r (a + t da)(d + t dd) = p t^2 + q t + s
    p = db * dc - r * da * dd
    q = b * dc + c * db - r * (a * dd + d * da)
    s = b * c - r * a * d
    if s > 0 or p + q + s > 0:
        return True
    return p < 0 and 0 < q < -2 * p and s - q * q / (4 * p) > 0


def near_odds(
    rows: Sequence[Row], weights: Sequence[Fraction], factor: Fraction
) -> Fraction | None:
    """The largest Pr(EVENT, o) / Pr(not EVENT, o): at a vertex. None where d is 0."""
    best = Fraction(0)
    for one, other in edges(rows, weights, factor):
        for _, _, b, d in (one, other):
            if d == 0:
                return None
            best = max(best, b / d)
    return best
