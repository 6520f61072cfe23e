"""The level that a table really has, against the definition written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.maps import Grid
from priste.mechanisms import EmissionTable, mechanism
from priste.mechanisms.mechanism import measured_alpha

RELATIVE_TOLERANCE = 1e-12


def by_definition(table, centers):
    """The largest |ln E[l, o] - ln E[k, o]| / d(l, k), one number after another."""
    worst = 0.0
    for one in range(len(table)):
        for other in range(len(table)):
            for left, right in zip(table[one], table[other], strict=True):
                if left == right:
                    continue
                if left == 0 or right == 0:
                    return math.inf
                distance = math.dist(centers[one], centers[other])
                worst = max(worst, abs(math.log(left / right)) / distance)
    return worst


@given(st.data())
@examples(100)
def test_measured_level_is_the_definition(data):
    """Random tables, some with zeros, give what the definition gives."""
    grid = Grid(data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)), 0.5)
    outputs = data.draw(st.integers(1, 4))
    weights = st.sampled_from([0.0, 1e-200, 1e-9, 0.2, 0.5, 1.0, 3.0])
    positive = st.sampled_from([1e-200, 1e-9, 0.2, 0.5, 1.0, 3.0])
    rows = [
        [data.draw(positive), *(data.draw(weights) for _ in range(outputs - 1))]
        for _ in range(grid.size)
    ]
    table = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    mechanism_made = EmissionTable(grid, table)
    expected = by_definition(mechanism_made.emission().tolist(), grid.centers.tolist())
    assert mechanism_made.smallest_alpha() == pytest.approx(expected, rel=RELATIVE_TOLERANCE)


def test_blocks_do_not_change_the_result(monkeypatch):
    """A block of one row at a time gives the same level as the whole."""
    table = np.random.default_rng(0).dirichlet(np.ones(7), size=12)
    centers = Grid(3, 4, 1.0).centers
    whole = measured_alpha(table, centers)
    monkeypatch.setattr(mechanism, "_BLOCK_ENTRIES", 1)
    assert measured_alpha(table, centers) == whole > 0


def test_one_place_with_two_laws_is_unbounded():
    """Different rows at one and the same place have no finite level; equal rows have level 0."""
    centers = np.zeros((2, 2))
    assert measured_alpha(np.array([[0.5, 0.5], [0.4, 0.6]]), centers) == math.inf
    assert measured_alpha(np.array([[0.5, 0.5], [0.5, 0.5]]), centers) == 0.0
