"""The paper's worked example and its naive algorithm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from paper.experiments.naive import naive_pattern_joint

from priste import Grid, KnownPrior, MarkovModel, Quantifier
from priste.events import pattern, presence

EXAMPLE = [[0.1, 0.2, 0.7], [0.4, 0.1, 0.5], [0.0, 0.1, 0.9]]
"""The transition matrix of the paper's running example."""

ROUNDING = 1e-14
NAIVE_ROUNDING = 1e-12


def example_model() -> MarkovModel:
    return MarkovModel(Grid(rows=1, columns=3, cell_size=1.0), EXAMPLE)


def test_prior_probability_of_the_worked_example():
    """PRESENCE in cells 0, 1 at steps 2, 3 has prior probability π·[0.28, 0.298, 0.226]."""
    q = Quantifier(example_model(), presence([0, 1], [2, 3]))
    np.testing.assert_allclose(q.prior_by_start(), [0.28, 0.298, 0.226], rtol=ROUNDING)
    np.testing.assert_allclose(
        q.joint_probabilities().prior_complement, [0.72, 0.702, 0.774], rtol=ROUNDING
    )
    known = Quantifier(example_model(), presence([0, 1], [2, 3]), KnownPrior([0.5, 0.25, 0.25]))
    expected = 0.5 * 0.28 + 0.25 * 0.298 + 0.25 * 0.226
    assert known.posterior() == pytest.approx(expected, rel=ROUNDING)


def test_prior_probability_equals_the_product_of_the_lifted_matrices():
    """The appendix's 6x6 matrices, multiplied as printed, give the same prior."""
    inside = np.array(
        [
            [0, 0, 0.7, 0.1, 0.2, 0],
            [0, 0, 0.5, 0.4, 0.1, 0],
            [0, 0, 0.9, 0, 0.1, 0],
            [0, 0, 0, 0.1, 0.2, 0.7],
            [0, 0, 0, 0.4, 0.1, 0.5],
            [0, 0, 0, 0, 0.1, 0.9],
        ]
    )
    outside = np.kron(np.eye(2), EXAMPLE)
    column = outside @ inside @ inside @ np.array([0, 0, 0, 1, 1, 1.0])
    q = Quantifier(example_model(), presence([0, 1], [2, 3]))
    np.testing.assert_allclose(q.prior_by_start(), column[:3], rtol=ROUNDING)


@pytest.mark.parametrize("method", ["forward", "replay"])
def test_joint_probability_of_a_pattern_equals_the_naive_algorithm(method):
    """Pr(PATTERN, releases) is what appendix B's enumeration gives, in fractions."""
    regions = [[0, 1], [1, 2], [0, 1], [1, 2]]
    rng = np.random.default_rng(5)
    emission = rng.dirichlet(np.ones(3), size=3)
    prior = [0.2, 0.5, 0.3]
    releases = [2, 0, 1, 1]
    columns = [emission[:, o] for o in releases]
    q = Quantifier(
        example_model(), pattern(regions, [1, 2, 3, 4]), KnownPrior(prior), method=method
    )
    q.observe(None)
    for column in columns:
        q.observe(column)
    exact = naive_pattern_joint(
        [[Fraction(x) for x in row] for row in EXAMPLE],
        [Fraction(x) for x in prior],
        [[Fraction(float(x)) for x in column] for column in columns],
        regions,
    )
    found = q.joint_probabilities()
    joint = float(found.event[0]) * 2.0 ** float(found.exponent[0])
    assert joint == pytest.approx(float(exact), rel=NAIVE_ROUNDING)


def test_naive_algorithm_gives_the_prior_without_releases():
    """With emissions of ones the naive algorithm is the example's Pr(PATTERN)."""
    regions = [[0, 1], [1, 2], [0, 1], [1, 2]]
    ones = [[1.0] * 3] * 4
    q = Quantifier(example_model(), pattern(regions, [1, 2, 3, 4]))
    for cell in range(3):
        prior = [float(cell == i) for i in range(3)]
        naive = naive_pattern_joint(EXAMPLE, prior, ones, regions)
        assert q.prior_by_start()[cell] == pytest.approx(naive, rel=NAIVE_ROUNDING)
