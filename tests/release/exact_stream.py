"""Slow, exact, obviously right: the leakage of release tables, by enumeration in fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from numbers import Rational

import mpmath
import numpy as np

from priste.events import Event

Column = Sequence[Fraction]


def exact_rows(table: np.ndarray) -> list[list[Fraction]]:
    """The table that is sampled: the floats of a row as weights, divided by their exact sum."""
    rows = []
    for row in table:
        weights = [Fraction(float(x)) for x in row]
        total = sum(weights)
        rows.append([w / total for w in weights])
    return rows


def exact_matrix(matrix: np.ndarray) -> list[list[Fraction]]:
    """The movement as the code has it, up to the missing 1e-16 of a row, which is put right."""
    return exact_rows(matrix)


def below_exp(epsilon: float) -> Fraction:
    """A fraction just below e**epsilon, by less than 1e-40."""
    with mpmath.workdps(60):
        return Fraction(str(mpmath.exp(mpmath.mpf(epsilon)))) - Fraction(1, 10**45)


JointProbabilities = list[tuple[Rational, Rational, Rational, Rational]]


@cache
def trajectories(
    matrix: tuple[tuple[Fraction, ...], ...], event: Event, length: int
) -> list[list[tuple[tuple[int, ...], Fraction, bool]]]:
    """For each first cell every possible trajectory, its chance, and whether the event happens."""
    cells = range(len(matrix))
    found = []
    for start in cells:
        paths = ((start, *rest) for rest in itertools.product(cells, repeat=length - 1))
        chances = (
            (
                path,
                math.prod((matrix[i][j] for i, j in itertools.pairwise(path)), start=Fraction(1)),
            )
            for path in paths
        )
        found.append([(path, chance, event.holds(path)) for path, chance in chances if chance])
    return found


def joint_of(
    matrix: list[list[Fraction]], event: Event, columns: Sequence[Column | None]
) -> JointProbabilities:
    """(a, ā, b, d) for each first cell, by walking every trajectory; None is silence."""
    last = event.automaton().layers[-1].step if event.automaton().layers else 0
    length = max(len(columns), last + 1)
    out = []
    for walked in trajectories(tuple(map(tuple, matrix)), event, length):
        a = abar = b = d = Fraction(0)
        for path, chance, happens in walked:
            seen = chance
            for column, cell in zip(columns, path, strict=False):
                if column is not None:
                    seen *= column[cell]
            if happens:
                a, b = a + chance, b + seen
            else:
                abar, d = abar + chance, d + seen
        out.append((a, abar, b, d))
    return out


def summed(parts: Sequence[JointProbabilities]) -> JointProbabilities:
    """The quantities of "one of these histories", by adding b and d."""
    return [
        (rows[0][0], rows[0][1], sum(r[2] for r in rows), sum(r[3] for r in rows))
        for rows in zip(*parts, strict=True)
    ]


def mixed(
    rows: JointProbabilities, distributions: Sequence[Sequence[Fraction]]
) -> JointProbabilities:
    """The quantities of each of these distributions of the first cell."""
    return [
        tuple(sum(w * row[k] for w, row in zip(weights, rows, strict=True)) for k in range(4))
        for weights in distributions
    ]


def negated(rows: JointProbabilities) -> JointProbabilities:
    """The quantities of the negation of the event."""
    return [(abar, a, d, b) for a, abar, b, d in rows]


def in_whole_numbers(rows: JointProbabilities) -> JointProbabilities:
    """The same but for a factor of all a and ā and one of all b and d, which ratios do not see."""
    before = math.lcm(*(x.denominator for row in rows for x in row[:2]))
    after = math.lcm(*(x.denominator for row in rows for x in row[2:]))
    return [
        (int(a * before), int(abar * before), int(b * after), int(d * after))
        for a, abar, b, d in rows
    ]


def speaks_for(rows: JointProbabilities, r: Fraction) -> bool:
    """Whether some mixture of rows has a likelihood ratio for the event above r (two rows do)."""
    over, under = r.numerator, r.denominator
    own = [under * b * abar - over * a * d for a, abar, b, d in rows]
    if any(f > 0 for f in own):
        return True
    for (i, p), (j, q) in itertools.combinations(enumerate(rows), 2):
        cross = under * (p[2] * q[1] + q[2] * p[1]) - over * (p[0] * q[3] + q[0] * p[3])
        if cross > 0 and cross * cross > 4 * own[i] * own[j]:
            return True
    return False


def exceeds(rows: JointProbabilities, r: Fraction) -> bool:
    """Whether some mixture of rows has a likelihood ratio above r, in either direction."""
    return speaks_for(rows, r) or speaks_for(negated(rows), r)


def exceeds_on_a_lattice(rows: JointProbabilities, r: Fraction, parts: int = 6) -> bool:
    """Whether a prior whose weights are multiples of 1/parts has a ratio above r. No theory."""
    rows, over, under = in_whole_numbers(rows), r.numerator, r.denominator
    for weights in itertools.product(range(parts + 1), repeat=len(rows)):
        if sum(weights) != parts:
            continue
        a, abar, b, d = (
            sum(w * row[k] for w, row in zip(weights, rows, strict=True)) for k in range(4)
        )
        if under * b * abar > over * a * d or under * d * a > over * abar * b:
            return True
    return False


def leakage(rows: JointProbabilities, digits: int = 40) -> float:
    """The natural logarithm of the largest ratio in either direction, by bisection (< 64 bits)."""
    rows = in_whole_numbers(rows)
    low, high = Fraction(1), Fraction(2) ** 40
    if exceeds(rows, high):
        return float("inf")
    for _ in range(digits + 40):
        middle = (low + high) / 2
        if exceeds(rows, middle):
            low = middle
        else:
            high = middle
    with mpmath.workdps(40):
        return float(mpmath.log(mpmath.mpf(high.numerator) / mpmath.mpf(high.denominator)))
