"""Sums of rows in twice the working precision, and rows brought to sum to 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.mechanisms import ROW_SUM_TOLERANCE
from priste.mechanisms.mechanism import exact_row_excess, normalise_rows

EXCESS_TOLERANCE = 2.0**-80
# Scaling to a sum of 1 and moving the rest to the largest of n entries: n ulps at most.
ENTRY_TOLERANCE = 60 * 2.0**-52


def rows_near_one(draw_floats):
    return st.lists(draw_floats, min_size=1, max_size=40).filter(lambda row: sum(row) > 1e-3)


@given(rows_near_one(st.floats(min_value=0.0, max_value=1.0)))
@examples(200)
def test_excess_is_exact_to_twice_the_precision(row):
    """The excess over 1 agrees with the sum in fractions."""
    scaled = np.array(row) / sum(row)
    exact = sum(map(Fraction, scaled.tolist())) - 1
    assert abs(Fraction(float(exact_row_excess(scaled[None, :])[0])) - exact) <= EXCESS_TOLERANCE


@given(rows_near_one(st.floats(min_value=0.0, max_value=1.0)), st.floats(-1e-9, 1e-9))
@examples(200)
def test_settled_rows_sum_to_one_and_keep_their_proportions(row, off):
    """Settled rows meet the tolerance; zeros stay zero and entries move by rounding alone."""
    given_row = np.array(row) / sum(row) * (1.0 + off)
    settled = normalise_rows(given_row[None, :])[0]
    assert abs(sum(map(Fraction, settled.tolist())) - 1) <= ROW_SUM_TOLERANCE
    assert ((settled == 0) == (given_row == 0)).all()
    np.testing.assert_allclose(settled, given_row / given_row.sum(), rtol=ENTRY_TOLERANCE, atol=0)


def test_rows_within_tolerance_are_untouched_and_inputs_not_mutated():
    """A row that already sums to 1 keeps its bits; others are changed in a copy."""
    table = np.array([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7 + 1e-10]])
    before = table.copy()
    settled = normalise_rows(table)
    assert np.array_equal(table, before)
    assert np.array_equal(settled[0], table[0])
    assert not np.array_equal(settled[1], table[1])
