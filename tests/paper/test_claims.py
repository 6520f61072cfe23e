"""Verdicts on claims."""

import numpy as np
import pytest
from paper.experiments.claims import (
    Comparison,
    all_of,
    close,
    none_is_best,
    some_of,
)
from paper.experiments.experiment import Finding

from priste.errors import InvalidParameter


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


RUNS = np.random.default_rng(3).normal(10.0, 0.1, size=(6, 20))


def test_close_is_within_a_tenth() -> None:
    """Both within a tenth is close; surely further apart is not; an interval across is open."""
    one = RUNS[0]
    assert close("c", [("same", one, one + 0.2)]).verdict == "reproduced"
    assert close("c", [("apart", one, one + 5.0)]).verdict == "not reproduced"
    noisy = one + np.linspace(-20.0, 20.0, 20)
    assert close("c", [("noisy", one, noisy)]).verdict == "not decidable"
    assert close("c", [("same", one, one), ("apart", one, 2 * one)]).verdict == "not reproduced"
    assert close("c", []).verdict == "not decidable"


def test_none_is_best_when_the_order_turns() -> None:
    """A crossing shows it, one that always wins refutes it, and equals decide nothing."""
    low, high = RUNS[0], RUNS[1] + 3.0
    settings = ["ε = 1", "ε = 2"]
    crossing = none_is_best("c", {"a": [low, high], "b": [high, low]}, settings)
    assert crossing.verdict == "reproduced"
    assert "at ε = 2" in crossing.numbers
    always = none_is_best("c", {"a": [low, low], "b": [high, high]}, settings)
    assert always.verdict == "not reproduced"
    equal = none_is_best("c", {"a": [low, low], "b": [low, low]}, settings)
    assert equal.verdict == "not decidable"
    assert equal.numbers == "No difference is beyond chance."


def test_what_was_chosen_to_fit_is_said() -> None:
    """A setting that the text does not state stands in the verdict, if the claim holds with it."""
    assert Finding("c", "reproduced", "", given="σ = 10 km").said == "reproducible with σ = 10 km"
    assert Finding("c", "not reproduced", "", given="σ = 10 km").said == "not reproduced"
