"""The worst prior on real models: releases of a planar Laplace on a small map."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.exact_worst_prior import integer_rows, pairs_exceed, reversed_rows

from priste.events import presence
from priste.maps import Grid
from priste.mechanisms import PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import KnownPrior, Quantifier, StartsIn, leakages, passes
from priste.quantify.worst_prior import SLACK

EXP_ERROR = Fraction(1, 2**50)


def released(sigma: float, alpha: float, **adversary: object) -> Quantifier:
    """A 6 x 6 map after eight releases; PRESENCE in three cells at steps 2 to 4."""
    grid = Grid(rows=6, columns=6, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=sigma)
    quantifier = Quantifier(model, presence([0, 1, 2], [2, 3, 4]), **adversary)
    mechanism = PlanarLaplace(grid, alpha=alpha)
    for output in (7, 8, 2, 1, 14, 20, 21, 35):
        quantifier.observe(mechanism.likelihood(output))
    return quantifier


@pytest.mark.parametrize("sigma", [0.5, 1.0, 5.0])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 2.0])
def test_the_search_is_exact_on_models(sigma: float, alpha: float) -> None:
    """On the numbers of a model the search brackets the exact supremum from above."""
    joint = released(sigma, alpha).joint_probabilities()
    rows = integer_rows(joint)
    allowed = SLACK + 8.1 * joint.relative_error
    value = float(leakages(joint)[0])
    above, below = (
        any(
            pairs_exceed(r, Fraction(math.exp(log)) * (1 + sign * EXP_ERROR))
            for r in (rows, reversed_rows(rows))
        )
        for log, sign in ((value, 1), (value - allowed, -1))
    )
    assert not above
    assert below
    assert passes(joint, value + allowed)[0]
    assert not passes(joint, value - allowed)[0]


def test_weaker_adversaries_learn_less() -> None:
    """Fewer starts, mixtures of given priors and one known prior never leak more."""
    everyone = released(1.0, 0.5).leakage()
    rng = np.random.default_rng(0)
    priors = rng.dirichlet(np.full(36, 0.5), size=4)
    some_starts = released(1.0, 0.5, adversary=StartsIn([3, 9, 20])).leakage()
    mixtures = released(1.0, 0.5, adversary=KnownPrior(priors)).leakage()
    known = released(1.0, 0.5, adversary=KnownPrior(priors[0])).leakage()
    assert some_starts.value <= everyone.value + SLACK
    assert set(some_starts.worst_prior) <= {3, 9, 20}
    assert known.value - SLACK <= mixtures.value <= everyone.value + SLACK
    assert known.value > 0.0


def test_candidates_equal_observations() -> None:
    """The value of a candidate column is the leakage after observing it."""
    quantifier = released(1.0, 0.5)
    grid = Grid(rows=6, columns=6, cell_size=1.0)
    table = PlanarLaplace(grid, alpha=0.3).emission()
    before = leakages(quantifier.candidate_joint(table[:, :5]))
    for column, expected in zip(table.T[:5], before, strict=True):
        after = quantifier.copy()
        after.observe(column)
        assert after.leakage().value == pytest.approx(expected, abs=SLACK)
