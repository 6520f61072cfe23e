"""Verdicts on claims."""

import pytest

from priste.errors import InvalidParameter
from priste.reproduce.experiments.claims import Comparison, all_of, some_of


def test_pairs_must_be_pairs() -> None:
    """Runs are compared one by one, so both sides have as many."""
    with pytest.raises(InvalidParameter, match="as many on both sides"):
        Comparison.of("x", [1.0, 2.0, 3.0], [1.0, 2.0])


LARGER = Comparison.of("larger", [3.0, 3.1, 2.9], [1.0, 1.1, 1.0])
SMALLER = Comparison.of("smaller", [1.0, 1.1, 1.0], [3.0, 3.1, 2.9])
OPEN = Comparison.of("open", [1.0, 3.0, 2.0], [2.0, 2.0, 2.1])
EQUAL = Comparison.of("equal", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


def test_a_comparison_has_three_verdicts() -> None:
    """Above 0, below 0, and undecided; no difference at all speaks neither for nor against."""
    assert LARGER.verdict == "reproduced"
    assert SMALLER.verdict == "not reproduced"
    assert OPEN.verdict == EQUAL.verdict == "not decidable"


def test_rounding_is_no_difference() -> None:
    """Values that differ in their last digits alone are equal."""
    nearly = Comparison.of("nearly", [0.2 + 3e-17, 0.2 + 6e-17, 0.1 + 0.2], [0.2, 0.2, 0.3])
    assert nearly.difference.low == nearly.difference.high == 0.0


def test_a_claim_about_all_needs_all() -> None:
    """One clear exception refutes, one open case leaves open, none at all decides nothing."""
    assert all_of("c", [LARGER, LARGER]).verdict == "reproduced"
    assert all_of("c", [LARGER, OPEN]).verdict == "not decidable"
    assert all_of("c", [LARGER, OPEN, SMALLER]).verdict == "not reproduced"
    assert all_of("c", []).verdict == "not decidable"


def test_a_claim_about_some_needs_one_beyond_chance() -> None:
    """The best of many must still be clear when it is known to be the best of many."""
    assert some_of("c", [SMALLER, LARGER]).verdict == "reproduced"
    assert some_of("c", [SMALLER, SMALLER]).verdict == "not reproduced"
    assert some_of("c", [SMALLER, OPEN]).verdict == "not decidable"
    assert some_of("c", []).verdict == "not decidable"
    faint = Comparison.of("faint", [1.2, 1.4, 1.3], [0.9, 0.9, 0.9])
    assert faint.verdict == "reproduced"
    assert some_of("c", [faint] + [OPEN] * 20).verdict == "not decidable"
