"""Quantifiers against recursions in fractions."""

from __future__ import annotations

from fractions import Fraction

from priste import Quantifier
from priste.quantify import JointProbabilities

LARGEST_USEFUL_GAMMA = 1e-13
"""On these maps the stated error must be this small, or the bound would prove nothing."""


def exact_value(mantissa: float, exponent: int) -> Fraction:
    return Fraction(float(mantissa)) * Fraction(2) ** int(exponent)


def assert_within_bound(joint: JointProbabilities, exact: list[tuple[Fraction, ...]]) -> None:
    """Each of a, ā, b, d is within relative_error, exactly 0 where the truth is 0."""
    assert joint.relative_error < LARGEST_USEFUL_GAMMA
    assert joint.absolute_error == 0.0
    gamma = Fraction(joint.relative_error)
    for row, (a, complement, b, d) in enumerate(exact):
        computed = (
            Fraction(float(joint.prior_event[row])),
            Fraction(float(joint.prior_complement[row])),
            exact_value(joint.event[row], joint.exponent[row]),
            exact_value(joint.complement[row], joint.exponent[row]),
        )
        for got, true in zip(computed, (a, complement, b, d), strict=True):
            assert abs(got - true) <= gamma * true


def observed(q: Quantifier, columns: list[list[float] | None]) -> Quantifier:
    for column in columns:
        q.observe(column)
    return q
