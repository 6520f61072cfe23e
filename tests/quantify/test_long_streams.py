"""Streams and maps on which plain floats would underflow, against mpmath and fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import sparse

from priste import Grid, KnownPrior, MarkovModel, Quantifier
from priste.events import at, presence
from priste.mobility import BlendedTransition, SeparableTransition
from priste.quantify.scaling import SMALLEST, ScaledRows, positive_minimum

LONG = 10_000
LONG_STREAM_GAMMA = 1e-10
"""What a stream of 10,000 releases may state as its error on four cells."""


def line(cells: int) -> Grid:
    return Grid(rows=1, columns=cells, cell_size=1.0)


def exact_presence(matrix, columns, region, steps):
    """(b, d) of every start, in 60 digits, from the last step back; b as a difference is safe."""
    m = len(matrix)
    exact = [[mpmath.mpf(float(x)) for x in row] for row in matrix]
    always = alive = [mpmath.mpf(1)] * m
    for step in reversed(range(len(columns))):
        if columns[step] is not None:
            seen = [mpmath.mpf(float(e)) for e in columns[step]]
            always = [p * e for p, e in zip(always, seen, strict=True)]
            alive = [p * e for p, e in zip(alive, seen, strict=True)]
        if step in steps:
            alive = [mpmath.mpf(0) if i in region else alive[i] for i in range(m)]
        if step:
            always = [mpmath.fdot(row, always) for row in exact]
            alive = [mpmath.fdot(row, alive) for row in exact]
    return [(a - d, d) for a, d in zip(always, alive, strict=True)]


@dataclass(frozen=True)
class LongStream:
    """What was released over a long time on four cells, and what it tells of one region."""

    matrix: np.ndarray
    columns: list[np.ndarray | None]
    region: set[int]
    steps: list[int]
    exact: list[tuple[mpmath.mpf, mpmath.mpf]]


@pytest.fixture(scope="module")
def long_stream() -> LongStream:
    """Ten thousand steps, some of them silent."""
    rng = np.random.default_rng(11)
    matrix = rng.dirichlet(np.full(4, 0.5), size=4)
    emission = rng.dirichlet(np.full(4, 0.7), size=4)
    outputs = rng.integers(0, 4, size=LONG)
    columns = [None if step % 97 == 5 else emission[:, o] for step, o in enumerate(outputs)]
    region, steps = {1}, [2, 3, 5_000, LONG - 1]
    with mpmath.workdps(60):
        exact = exact_presence(matrix, columns, region, set(steps))
    return LongStream(matrix, columns, region, steps, exact)


@pytest.mark.parametrize("method", ["forward", "replay"])
def test_ten_thousand_steps_neither_underflow_nor_drift(method, long_stream):
    """After 10,000 releases b and d, below 2**-10,000, are within the stated error of mpmath."""
    event = presence(long_stream.region, long_stream.steps)
    q = Quantifier(MarkovModel(line(4), long_stream.matrix), event, method=method)
    for column in long_stream.columns:
        q.observe(column)
    joint = q.joint_probabilities()
    assert joint.relative_error < LONG_STREAM_GAMMA
    assert joint.absolute_error == 0.0
    assert joint.exponent.max() < -LONG
    with mpmath.workdps(60):
        for start, true in enumerate(long_stream.exact):
            for mantissa, exact in zip(
                (joint.event[start], joint.complement[start]), true, strict=True
            ):
                got = mpmath.ldexp(mpmath.mpf(float(mantissa)), int(joint.exponent[start]))
                assert abs(got - exact) <= mpmath.mpf(joint.relative_error) * exact


@pytest.mark.parametrize("method", ["forward", "replay"])
def test_rows_that_releases_all_but_exclude_stay_accurate(method):
    """A start that each release makes e**-60 likely keeps its b and d, far below any float."""
    matrix = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]])
    column = [1.0, np.exp(-60.0), 0.5]
    q = Quantifier(MarkovModel(line(3), matrix), at([1], 30), method=method)
    for _ in range(40):
        q.observe(column)
    joint = q.joint_probabilities()
    assert joint.absolute_error == 0.0
    # From cell 1 nobody leaves: Pr(o) = column[1]**40 and the event is certain.
    exact = Fraction(column[1]) ** 40
    got = Fraction(float(joint.event[1])) * Fraction(2) ** int(joint.exponent[1])
    assert abs(got - exact) <= Fraction(joint.relative_error) * exact
    assert joint.complement[1] == 0.0
    # From cell 0 nobody reaches cell 2, so that the paths are few: leave at step k or stay.
    e0, e1, half = Fraction(1), Fraction(column[1]), Fraction(1, 2)
    leave = [half**k * e0**k * e1 ** (40 - k) for k in range(1, 40)]
    event = sum(leave[:30])
    complement = sum(leave[30:]) + half**39 * e0**40
    for mantissa, exact in ((joint.event[0], event), (joint.complement[0], complement)):
        got = Fraction(float(mantissa)) * Fraction(2) ** int(joint.exponent[0])
        assert abs(got - exact) <= Fraction(joint.relative_error) * exact


@pytest.mark.parametrize("method", ["forward", "replay"])
@pytest.mark.parametrize("kind", ["separable", "blended"])
def test_products_of_tiny_factors_survive(method, kind):
    """Moves of probability 1e-300 times 1e-300 keep their mass in separable transitions."""
    tiny = 1e-300
    factor = np.array([[1.0, tiny], [tiny, 1.0]])
    grid = Grid(rows=2, columns=2, cell_size=1.0)
    transition = SeparableTransition(factor, factor)
    weight = Fraction(1)
    if kind == "blended":
        weight = Fraction(0.5)
        stay = sparse.csr_array(0.5 * np.eye(4))
        transition = BlendedTransition(np.full(4, 0.5), transition, stay)
    model = MarkovModel(grid, transition)
    # Diagonal moves take tiny**2; the second release tells that one happened.
    q = Quantifier(model, at([3], 2), method=method)
    q.observe([1.0, 0.0, 0.0, 0.0])
    q.observe([0.0, 0.0, 0.0, 1.0])
    joint = q.joint_probabilities()
    exact = weight * Fraction(tiny) ** 2
    stays = weight * 1 + (1 - weight)
    for row in range(4):
        got = Fraction(float(joint.event[row])) * Fraction(2) ** int(joint.exponent[row])
        true = exact * stays if row == 0 else 0
        assert abs(got - true) <= Fraction(joint.relative_error) * true
    assert joint.exponent[0] < -1900


def test_underflow_of_prior_probabilities_is_stated():
    """An event of probability 1e-400 cannot be a float: the absolute error says so."""
    tiny = 1e-200
    matrix = [[1.0, tiny, 0.0], [0.0, 1.0, tiny], [0.0, 0.0, 1.0]]
    q = Quantifier(MarkovModel(line(3), matrix), at([2], 2))
    q.observe([0.5, 0.25, 0.25])
    joint = q.joint_probabilities()
    assert joint.prior_event[0] == 0.0
    assert 0.0 < joint.absolute_error < 1e-300
    near = Quantifier(MarkovModel(line(3), matrix), at([1], 1))
    near.observe([0.5, 0.25, 0.25])
    assert near.joint_probabilities().absolute_error == 0.0


def test_more_than_the_floats_range_between_event_and_negation_is_stated():
    """When d is 1e-400 of b it cannot share b's exponent: the absolute error says so."""
    q = Quantifier(MarkovModel(line(2), np.full((2, 2), 0.5)), at([0], 0), KnownPrior([0.5, 0.5]))
    for _ in range(2):
        q.observe([1.0, 1e-200])
    q_never_mixes = Quantifier(MarkovModel(line(2), np.eye(2)), at([0], 0), KnownPrior([0.5, 0.5]))
    for _ in range(2):
        q_never_mixes.observe([1.0, 1e-200])
    assert q.joint_probabilities().absolute_error == 0.0
    joint = q_never_mixes.joint_probabilities()
    assert joint.complement[0] == 0.0
    assert 0.0 < joint.absolute_error <= 2.0**-1074


def test_scaled_rows_hold_the_invariant_through_wild_factors():
    """Bands keep every number exactly under powers of two, between SMALLEST and 2**900."""
    rng = np.random.default_rng(3)
    exact = np.zeros((3, 40), dtype=np.int64)
    rows = ScaledRows.of(np.ones((3, 40)))
    for _ in range(30):
        powers = rng.integers(-1000, 3, size=40)
        factor = np.ldexp(1.0, powers)
        rows = rows.through(lambda values, factor=factor: values * factor)
        exact += powers
        for band in rows.bands:
            positive = band.values[band.values > 0.0]
            assert positive.min(initial=np.inf) >= SMALLEST
            assert positive.max(initial=0.0) <= 2.0**900
    mantissa, exponent = rows.entries()
    assert (mantissa == 0.5).all()
    np.testing.assert_array_equal(exponent - 1, exact)


def test_scaled_rows_add_bands():
    """Adding rows of far apart sizes keeps the larger, and adds those of the same size."""
    small = ScaledRows.of(np.array([[1.0, 0.0, 1.0]])).times_power(-5000)
    large = ScaledRows.of(np.array([[2.0, 3.0, 0.0]]))
    mantissa, exponent = large.plus(small).plus(small).entries()
    assert mantissa.tolist() == [[0.5, 0.75, 0.5]]
    assert exponent.tolist() == [[2, 2, -4998]]


def test_forward_work_is_constant_per_step():
    """Steps of a known prior keep one band and a normalised row: nothing piles up."""
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(5), size=5)
    q = Quantifier(MarkovModel(line(5), matrix), presence([0], [3]), KnownPrior(np.full(5, 0.2)))
    exponents = []
    for _ in range(200):
        q.observe(rng.random(5))
        exponents.append(int(q.joint_probabilities().exponent[0]))
    assert all(after <= before + 1 for before, after in pairwise(exponents))
    assert q.joint_probabilities().event[0] + q.joint_probabilities().complement[0] >= 0.5


@pytest.mark.parametrize(
    "values",
    [[[0.5, 2.0**-1074]], [[0.0, 3.0], [2.0**-1060, 1.0]], [[0.0, 0.0]], [[7.0]], [[]]],
)
def test_the_least_positive_entry(values: list[list[float]]) -> None:
    """Zeros do not count, subnormal numbers do; nothing at all is infinity."""
    positive = [value for row in values for value in row if value > 0.0]
    assert positive_minimum(np.array(values)) == min(positive, default=math.inf)
