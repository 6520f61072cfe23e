"""The worst prior in exact arithmetic: slow, and independent of the code under test.

A row is (a, ā, b, d) as exact numbers. ``R(w) = (w·b)(w·ā) / ((w·a)(w·d))`` does not
change when all b and d, or all a and ā, are multiplied by one number, so rows of
floats become rows of integers without loss; ratios are ``Fraction``.

Two deciders of "is some prior above r?" are kept. :func:`pairs_exceed` is the pair test in
integers. :func:`faces_exceed` does not know that two cells are enough: it solves for
the stationary points of the quadratic form on every face of the simplex of priors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from priste.quantify.joint_probabilities import JointProbabilities

Row = tuple[int, int, int, int]

ABOVE_ALL_FINITE = Fraction(2) ** 20000
"""No finite supremum of rows of floats with exponents up to 4000 reaches this."""


def integer_rows(joint: JointProbabilities, column: int | None = None) -> list[Row]:
    """The stored numbers of one column, as they are, in integers."""
    b = joint.event if column is None else joint.event[:, column]
    d = joint.complement if column is None else joint.complement[:, column]
    priors = [
        (Fraction(float(a)), Fraction(float(c)))
        for a, c in zip(joint.prior_event, joint.prior_complement, strict=True)
    ]
    joints = [
        (Fraction(float(x)) * Fraction(2) ** int(e), Fraction(float(y)) * Fraction(2) ** int(e))
        for x, y, e in zip(b, d, joint.exponent, strict=True)
    ]
    return [(a, c, x, y) for (a, c), (x, y) in zip(_whole(priors), _whole(joints), strict=True)]


def whole_rows(exact: Sequence[tuple[Fraction, Fraction, Fraction, Fraction]]) -> list[Row]:
    """Rows (a, ā, b, d) of fractions, in integers."""
    priors = _whole([(a, c) for a, c, _, _ in exact])
    joints = _whole([(b, d) for _, _, b, d in exact])
    return [(a, c, x, y) for (a, c), (x, y) in zip(priors, joints, strict=True)]


def _whole(pairs: Sequence[tuple[Fraction, Fraction]]) -> list[tuple[int, int]]:
    common = math.lcm(*(x.denominator for pair in pairs for x in pair))
    return [(int(x * common), int(y * common)) for x, y in pairs]


def reversed_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of the event's negation."""
    return [(c, a, d, b) for a, c, b, d in rows]


def form(rows: Sequence[Row], r: Fraction) -> list[list[int]]:
    """The symmetric matrix of 2 F_r(w), times the denominator of r."""
    p, q = r.numerator, r.denominator
    return [
        [q * (b1 * c2 + b2 * c1) - p * (a1 * d2 + a2 * d1) for (a2, c2, b2, d2) in rows]
        for (a1, c1, b1, d1) in rows
    ]


def pairs_exceed(rows: Sequence[Row], r: Fraction) -> bool:
    """Whether F_r(w) > 0 for some prior w, by the pair test."""
    matrix = form(rows, r)
    n = len(rows)
    if any(matrix[i][i] > 0 for i in range(n)):
        return True
    return any(
        matrix[i][j] > 0 and matrix[i][j] ** 2 > matrix[i][i] * matrix[j][j]
        for i in range(n)
        for j in range(i + 1, n)
    )


def faces_exceed(rows: Sequence[Row], r: Fraction) -> bool:
    """Whether F_r(w) > 0 for some prior w, by the stationary points of every face.

    The form has a maximum on the simplex. Among the maximisers take one with the fewest
    positive weights; on its face it is the only stationary point (otherwise the maximum
    would be constant along a line that leaves the face), so solving the stationarity
    equations of every face finds it.
    """
    matrix = form(rows, r)
    for size in range(1, len(rows) + 1):
        for face in combinations(range(len(rows)), size):
            solution = _stationary([[Fraction(matrix[i][j]) for j in face] for i in face])
            if solution is not None and solution[-1] > 0 and min(solution[:-1]) > 0:
                return True
    return False


def _stationary(matrix: list[list[Fraction]]) -> list[Fraction] | None:
    """Solve matrix·w = μ 1, 1·w = 1 for (w, μ); None when the solution is not unique."""
    n = len(matrix)
    system = [[*row, Fraction(-1), Fraction(0)] for row in matrix]
    system.append([*([Fraction(1)] * n), Fraction(0), Fraction(1)])
    for k in range(n + 1):
        pivot = next((i for i in range(k, n + 1) if system[i][k] != 0), None)
        if pivot is None:
            return None
        system[k], system[pivot] = system[pivot], system[k]
        system[k] = [x / system[k][k] for x in system[k]]
        for i in range(n + 1):
            if i != k and system[i][k] != 0:
                factor = system[i][k]
                system[i] = [x - factor * y for x, y in zip(system[i], system[k], strict=True)]
    return [row[-1] for row in system]


def ratio(rows: Sequence[Row], weights: dict[int, Fraction]) -> Fraction | float | None:
    """R(w): inf where only the denominator is 0, None where the prior compares nothing."""
    a, c, b, d = (sum(w * rows[i][k] for i, w in weights.items()) for k in range(4))
    if b * c == 0:
        return None if a * d == 0 else Fraction(0)
    return math.inf if a * d == 0 else Fraction(b * c) / Fraction(a * d)


def supremum(rows: Sequence[Row], bits: int = 46) -> tuple[Fraction, Fraction] | float | None:
    """Bracket sup R within 2**-bits relatively; inf if unbounded; None if no prior counts.

    No prior counts (F is never positive, at any r) when R is 0 or undefined everywhere.
    """
    if not pairs_exceed(rows, Fraction(0)):
        return None
    if pairs_exceed(rows, ABOVE_ALL_FINITE):
        return math.inf
    low, high = -20000, 20000  # exponents of two
    while high - low > 1:
        middle = (low + high) // 2
        if pairs_exceed(rows, Fraction(2) ** middle):
            low = middle
        else:
            high = middle
    below, above = Fraction(2) ** low, Fraction(2) ** high
    for _ in range(bits):
        between = (below + above) / 2
        if pairs_exceed(rows, between):
            below = between
        else:
            above = between
    return below, above


def log_fraction(x: Fraction) -> float:
    """ln x for fractions beyond the range of doubles, good to a few ulps."""
    shift = x.numerator.bit_length() - x.denominator.bit_length()
    return math.log(float(x / Fraction(2) ** shift)) + shift * math.log(2)
