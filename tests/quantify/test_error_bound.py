"""The stated relative error counts what it says it counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from priste import Grid, MarkovModel, Quantifier
from priste.events import at
from priste.quantify.joint_probabilities import (
    EMISSION_ROW_SUM_ERROR,
    UNIT_ROUNDOFF,
    relative_error_bound,
)

SLACK_PER_STEP = 24
"""Roundings per step that the bound may add to those that can be counted by hand."""


@pytest.mark.parametrize("cells", [5, 60])
def test_each_observation_adds_its_roundings_and_row_sums(cells):
    """One more release adds m + 1 roundings, the model's row sum error and the mechanism's."""
    rng = np.random.default_rng(8)
    matrix = rng.dirichlet(np.ones(cells), size=cells)
    model = MarkovModel(Grid(rows=1, columns=cells, cell_size=1.0), matrix)
    q = Quantifier(model, at([0], 0))
    q.observe(rng.random(cells))
    before = q.joint_probabilities().relative_error
    q.observe(rng.random(cells))
    added = q.joint_probabilities().relative_error - before
    least = (cells + 1) * UNIT_ROUNDOFF + model.row_sum_error + EMISSION_ROW_SUM_ERROR
    assert least <= added <= least + SLACK_PER_STEP * UNIT_ROUNDOFF
    q.observe(None)
    silent = q.joint_probabilities().relative_error - before - added
    least = cells * UNIT_ROUNDOFF + model.row_sum_error
    assert least <= silent <= least + SLACK_PER_STEP * UNIT_ROUNDOFF


def test_the_final_sums_are_counted():
    """Even one release carries the sum over all states: at least worlds times cells roundings."""
    cells = 50
    model = MarkovModel(Grid(rows=1, columns=cells, cell_size=1.0), np.eye(cells))
    q = Quantifier(model, at([0], 0))
    q.observe(np.ones(cells))
    assert q.joint_probabilities().relative_error >= 2 * cells * UNIT_ROUNDOFF


def test_the_bound_of_many_roundings_is_rounded_up_and_gives_up_in_time():
    """n u / (1 - n u) at least; inf when the count says nothing any more."""
    n = 10**6
    assert relative_error_bound(n, 0.0, 0) >= n * UNIT_ROUNDOFF / (1 - n * UNIT_ROUNDOFF)
    assert relative_error_bound(0, math.log1p(1e-9), 0) >= 1e-9
    assert relative_error_bound(0, 0.0, 1000) >= 1000 * EMISSION_ROW_SUM_ERROR
    assert relative_error_bound(2**53, 0.0, 0) == math.inf
