"""The worst prior against exact arithmetic: never below, never called safe, never far above."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.exact_worst_prior import (
    faces_exceed,
    integer_rows,
    log_fraction,
    pairs_exceed,
    ratio,
    reversed_rows,
    supremum,
)
from tests.quantify.joint_cases import (
    coarse,
    curved,
    exact_joint,
    far_apart,
    hostile_joint,
    smooth,
    two_answers,
)

from priste.quantify.joint_probabilities import JointProbabilities
from priste.quantify.worst_prior import (
    SLACK,
    leakages,
    passes,
    verdicts,
    worst_prior_leakage,
)

LOG_ERROR = 1e-15
EXP_ERROR = Fraction(1, 2**50)
"""More than the relative error of math.log and math.exp, and of the oracle's own logarithm."""

LOWEST_LOG = -34.0
HIGHEST_LOG = 620.0
"""Outside these a direction is reported as a bound only (as documented)."""

FAMILIES = {
    "coarse": lambda rng, rows: coarse(rng, rows),
    "smooth": lambda rng, rows: smooth(rng, rows, 1.0),
    "nearly uninformative": lambda rng, rows: smooth(rng, rows, 10.0 ** -rng.integers(2, 10)),
    "curved": lambda rng, rows: curved(rng, rows, 0.5),
    "far apart": lambda rng, rows: far_apart(rng, rows),
}


def exponential(log: float, rounding: int) -> Fraction:
    """e**log, moved up (1) or down (-1) by more than the error of math.exp."""
    return Fraction(math.exp(log)) * (1 + rounding * EXP_ERROR)


def check_direction(reported: float, rows: list) -> None:
    """One direction's report: no prior is above it, and some prior is above it less SLACK."""
    if reported == math.inf:
        assert pairs_exceed(rows, exponential(HIGHEST_LOG, 1))
        return
    assert not pairs_exceed(rows, exponential(reported, 1))
    if reported > LOWEST_LOG:
        assert pairs_exceed(rows, exponential(reported - SLACK, -1))


def check(joint: JointProbabilities) -> None:
    """Both directions, the batch, and verdicts on both sides of the threshold."""
    rows = integer_rows(joint)
    comparable = any(pairs_exceed(r, Fraction(0)) for r in (rows, reversed_rows(rows)))
    found = worst_prior_leakage(joint)
    assert leakages(joint).tolist() == [found.value]
    if not comparable:
        assert (found.value, found.worst_rows) == (0.0, {})
        return
    check_direction(found.for_event, rows)
    check_direction(found.against_event, reversed_rows(rows))
    assert found.value == max(found.for_event, found.against_event)
    if found.value == math.inf:
        assert not passes(joint, HIGHEST_LOG)[0]
    elif found.value > 2 * SLACK:
        assert passes(joint, found.value + SLACK)[0]
        assert not passes(joint, found.value - 2 * SLACK)[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_leakage_and_verdicts_agree_with_exact_arithmetic(family: str) -> None:
    """On hundreds of random cases per family the answers are exact up to SLACK, from above."""
    rng = np.random.default_rng(20)
    for _ in range(600):
        check(FAMILIES[family](rng, int(rng.integers(1, 6))))


def test_few_rows_have_the_verdicts_of_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs in numpy and the search of the kernels agree, also a billionth from the bound."""
    rng = np.random.default_rng(21)
    seen = set()
    for family in FAMILIES.values():
        for _ in range(60):
            joint = family(rng, int(rng.integers(1, verdicts.FEW_ROWS + 1)))
            worst = worst_prior_leakage(joint).value
            bounds = [0.1, 1.0, *(worst * (1.0 + off) for off in (-3e-9, 3e-9))]
            for bound in (bound for bound in bounds if 0.0 < bound < HIGHEST_LOG):
                with monkeypatch.context() as patch:
                    few = passes(joint, bound)
                    patch.setattr(verdicts, "FEW_ROWS", 0)
                    assert np.array_equal(passes(joint, bound), few)
                    seen.add((joint.rows, bool(few[0])))
    assert len(seen) == 2 * verdicts.FEW_ROWS


def test_the_supremum_of_one_row_is_that_of_the_kernels() -> None:
    """Under one prior the ratio is computed without the search, and is the same to the bit."""
    rng = np.random.default_rng(22)
    found = 0
    for family in FAMILIES.values():
        for _ in range(200):
            joint = family(rng, 1)
            if rng.random() < 0.2:
                joint = replace(joint, absolute_error=1e-20)
            if rng.random() < 0.2:
                zero = np.array(joint.joint)
                zero[int(rng.integers(2))] = 0.0
                joint = replace(joint, joint=zero)
            ours = verdicts._one_row_suprema(joint)
            if ours is None:
                continue
            found += 1
            ratios, pairs = verdicts._searched(joint, None, raising=True)
            assert np.array_equal(ours[0], ratios)
            assert np.array_equal(ours[1], pairs)
    assert found > 300


@examples(250)
@given(hostile_joint())
def test_hostile_dynamic_range(joint: JointProbabilities) -> None:
    """Zeros, 2**-950 and exponents thousands apart in one problem change nothing."""
    check(joint)


@examples(150)
@given(hostile_joint(), st.floats(0.0, 5.0))
def test_never_passes_where_fractions_say_violated(
    joint: JointProbabilities, epsilon: float
) -> None:
    """A verdict of True is never given where exact arithmetic finds a prior above e^epsilon."""
    rows = integer_rows(joint)
    at_least_e = exponential(epsilon, 1)
    violated = pairs_exceed(rows, at_least_e) or pairs_exceed(reversed_rows(rows), at_least_e)
    if passes(joint, epsilon)[0]:
        assert not violated


def test_thresholds_within_a_billionth() -> None:
    """For rational suprema known exactly, the verdict flips within 1e-9 of the threshold."""
    rng = np.random.default_rng(5)
    for _ in range(400):
        joint = smooth(rng, int(rng.integers(2, 5)), float(rng.choice([0.1, 1.0])))
        rows = integer_rows(joint)
        suprema = [supremum(rows), supremum(reversed_rows(rows))]
        threshold = max(log_fraction(above) for _, above in suprema)
        assert passes(joint, threshold + 1e-9)[0]
        assert not passes(joint, threshold - 1e-9)[0]


def test_two_cells_are_enough() -> None:
    """The pair test agrees with stationary points on every face, just around the threshold."""
    rng = np.random.default_rng(11)
    decided = 0
    for k in range(120):
        joint = coarse(rng, 4) if k % 2 else smooth(rng, 4, 1.0)
        rows = integer_rows(joint)
        exact = supremum(rows)
        if exact is None or exact == math.inf:
            assert (
                not faces_exceed(rows, Fraction(0))
                if exact is None
                else faces_exceed(rows, Fraction(10**12))
            )
            continue
        for r in (exact[0] * (1 - Fraction(1, 10**9)), exact[1] * (1 + Fraction(1, 10**9))):
            assert faces_exceed(rows, r) == pairs_exceed(rows, r)
            decided += 1
    assert decided > 100


def test_no_prior_beats_the_report() -> None:
    """Random priors on any number of cells never exceed the reported leakage."""
    rng = np.random.default_rng(3)
    for _ in range(100):
        joint = smooth(rng, 6, 1.0)
        rows = integer_rows(joint)
        found = worst_prior_leakage(joint)
        for weights in rng.dirichlet(np.full(6, 0.3), size=20):
            exact = ratio(rows, {i: Fraction(float(w)) for i, w in enumerate(weights)})
            assert -found.against_event - LOG_ERROR <= log_fraction(exact)
            assert log_fraction(exact) <= found.for_event + LOG_ERROR


def test_larger_maps_agree_with_exact_arithmetic() -> None:
    """The search on up to 120 rows of every family is exact up to SLACK."""
    rng = np.random.default_rng(9)
    for k in range(25):
        check(FAMILIES[list(FAMILIES)[k % len(FAMILIES)]](rng, int(rng.integers(13, 120))))


@examples(100)
@given(hostile_joint())
def test_reversed_event_gives_the_same_value(joint: JointProbabilities) -> None:
    """Exchanging the event and its negation exchanges the directions, to the bit."""
    reverse = two_answers(
        joint.prior_complement,
        joint.prior_event,
        joint.complement,
        joint.event,
        joint.exponent,
        0.0,
        0.0,
    )
    found, other = worst_prior_leakage(joint), worst_prior_leakage(reverse)
    assert found.value == other.value
    assert (found.for_event, found.against_event) == (other.against_event, other.for_event)


@pytest.mark.parametrize("family", FAMILIES)
def test_worst_prior_comes_close_to_the_value(family: str) -> None:
    """The prior that is reported has the leakage that is reported."""
    rng = np.random.default_rng(13)
    for _ in range(60):
        joint = FAMILIES[family](rng, int(rng.integers(1, 30)))
        found = worst_prior_leakage(joint)
        if not found.worst_rows:
            assert found.value == 0.0
            continue
        assert 1 <= len(found.worst_rows) <= 2
        assert math.fsum(found.worst_rows.values()) == pytest.approx(1.0, abs=1e-15)
        weights = {row: Fraction(weight) for row, weight in found.worst_rows.items()}
        if min(weights.values()) < Fraction(1, 2**1060):
            continue  # the weights that are meant are below the smallest doubles
        rows = integer_rows(joint)
        if found.against_event > found.for_event:
            rows = reversed_rows(rows)
        exact = ratio(rows, weights)
        if found.value == math.inf:
            assert exact == math.inf or exact > 2**40
        else:
            assert log_fraction(exact) == pytest.approx(found.value, abs=1e-8)


def test_stored_errors_are_covered() -> None:
    """Whatever numbers the error bounds allow behind the stored ones, none leaks more."""
    rng = np.random.default_rng(17)
    for _ in range(150):
        gamma = 10.0 ** -int(rng.integers(3, 8))
        exact = smooth(rng, 3, 1.0)
        shaken = [
            column * (1.0 + gamma * (1 - 1e-6) * rng.choice([-1.0, 1.0], 3))
            for column in (
                exact.prior_event,
                exact.prior_complement,
                exact.event,
                exact.complement,
            )
        ]
        stored = two_answers(*shaken, exact.exponent, gamma, 0.0)
        rows = integer_rows(exact)
        truth = max(log_fraction(supremum(r)[1]) for r in (rows, reversed_rows(rows)))
        found = worst_prior_leakage(stored).value
        assert truth - SLACK / 1000 <= found <= truth + SLACK + 8.1 * gamma
        assert not passes(stored, truth - SLACK)[0]
        assert passes(stored, truth + SLACK + 8.1 * gamma)[0]


def test_worst_case_of_the_stored_errors() -> None:
    """With every stored number at its end of the allowed range the bound is reached, not passed."""
    gamma = 1e-4
    a, b = np.array([0.5, 0.25]), np.array([0.25, 0.2])
    truth = exact_joint(a, 1 - a, b, 0.5 * (1 - a))
    inside = 1 - 1e-9
    stored = two_answers(
        a * (1 + gamma * inside),
        (1 - a) * (1 - gamma * inside),
        b * (1 - gamma * inside),
        0.5 * (1 - a) * (1 + gamma * inside),
        truth.exponent,
        gamma,
        0.0,
    )
    exact = log_fraction(supremum(integer_rows(truth))[1])
    reported = worst_prior_leakage(stored).for_event
    assert exact <= reported <= exact + 1e-9


def test_absolute_error_is_taken_at_its_worst() -> None:
    """Numbers may be off by the absolute error in either direction, zeros included."""
    rng = np.random.default_rng(19)
    for _ in range(200):
        absolute = 2.0**-20
        exact = smooth(rng, 3, 0.3)
        plain = [exact.prior_event, exact.prior_complement, exact.event, exact.complement]
        shaken = [np.maximum(x + absolute * rng.choice([-1.0, 1.0], 3), 0.0) for x in plain]
        stored = two_answers(*shaken, exact.exponent, 0.0, absolute * (1 + 2**-20))
        rows = integer_rows(exact)
        truth = max(log_fraction(supremum(r)[0]) for r in (rows, reversed_rows(rows)))
        assert worst_prior_leakage(stored).value >= truth
        assert not passes(stored, max(truth - SLACK, 0.0))[0]
