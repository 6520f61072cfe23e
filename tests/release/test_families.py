"""Streams that are guarded against each of several models, and against all of them jointly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.exact_adversaries import adversary_rows
from tests.oracles.exact_worst_prior import pairs_exceed, reversed_rows, whole_rows

from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, Quantifier
from priste.audit import true_leakage
from priste.events import presence
from priste.release import Optimal

LINE = Grid(rows=1, columns=4, cell_size=1.0)
MODELS = [
    MarkovModel.gaussian(LINE, sigma=1.0),
    MarkovModel(LINE, [[0.75, 0.25, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0.25, 0, 0, 0.75]]),
]
ADVERSARIES = [KnownPrior([0.25, 0.25, 0.25, 0.25]), KnownPrior([0.125, 0.125, 0.5, 0.25])]
EVENT = presence([0], [1, 2])
EPSILON = 1.0
STEPS = 4


def guarding(family: str, calibrator: str, **options) -> Protector:
    mechanism = PlanarLaplace(LINE, alpha=2.0)
    return Protector(
        MODELS,
        EVENT,
        mechanism,
        EPSILON,
        calibrator,
        adversary=ADVERSARIES,
        family=family,
        **options,
    )


def columns_of(protector: Protector, cells: list[int]) -> list[np.ndarray]:
    """The likelihoods of a whole stream, as the distribution of each step states them."""
    columns = []
    for cell in cells:
        table = protector.distribution().outputs()
        columns.append(table[:, protector.release(cell).cell])
    return columns


def exceeds(columns: list[np.ndarray], models: list[int], epsilon: float) -> bool:
    """Whether some mixture of the rows of these models sees a ratio above e**epsilon."""
    rows = [
        row
        for number in models
        for row in adversary_rows([MODELS[number]], EVENT, columns, ADVERSARIES[number], STEPS)
    ]
    bound = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**9))
    sides = whole_rows(rows), reversed_rows(whole_rows(rows))
    return any(pairs_exceed(side, bound) for side in sides)


@pytest.mark.parametrize("calibrator", [Optimal(pace=0.5), "certified"])
def test_every_stream_keeps_the_guarantee_under_each_model(calibrator):
    """Exact ratios of whole streams are within the bound under each model by itself."""
    informative = 0
    for seed in range(12):
        cells = [(seed + step * (1 + seed // 3)) % 4 for step in range(STEPS)]
        columns = columns_of(guarding("each", calibrator, rng=seed), cells)
        informative += any(len(np.unique(column)) > 1 for column in columns)
        for upto in range(1, STEPS + 1):
            assert not exceeds(columns[:upto], [0], EPSILON)
            assert not exceeds(columns[:upto], [1], EPSILON)
    assert informative > 0


@pytest.mark.parametrize("calibrator", [Optimal(pace=0.5), "certified"])
def test_the_true_leakage_of_each_is_within_the_guarantee(calibrator):
    """Enumerated over all histories, no adversary who holds one of the models learns more."""
    found = true_leakage(guarding("each", calibrator), steps=2)["event"]
    assert 0.01 < max(found.leakage) <= EPSILON + 1e-8


def test_a_family_is_kept_with_the_stream(tmp_path):
    """A journal says which mode a stream is guarded in, and a resumed stream goes on in it."""
    with guarding("each", "optimal", rng=1, journal=tmp_path / "today.journal") as protector:
        first = protector.release(0)
    with Protector.resume(tmp_path / "today.journal", rng=2) as again:
        assert again._record.terms.family == "each"
        assert again.release(0, step=0) == first
        again.release(1)
        values = again.leakage
        moved = again.with_policy({"other": presence([1], [3])}, EPSILON)
    assert moved._record.terms.family == "each"
    q = Quantifier(MODELS, EVENT, ADVERSARIES, family="each")
    assert q.family == "each"
    assert values[0] <= EPSILON
