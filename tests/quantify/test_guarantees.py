"""Guarantees: each direction by itself, beliefs row by row, symmetric odds as a plain number."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.exact_worst_prior import integer_rows, pairs_exceed, reversed_rows
from tests.quantify.joint_cases import coarse, exact_joint, hostile_joint, smooth, two_answers

from priste import (
    BeliefBound,
    Grid,
    InvalidParameter,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    Quantifier,
)
from priste.events import presence
from priste.quantify import JointProbabilities, as_guarantee, guarantee_from_dict, leakages, passes
from priste.quantify.joint_probabilities import largest_belief
from priste.quantify.judges import EveryMixture

EXP_ERROR = Fraction(1, 2**50)
GUARANTEES = [
    OddsBound(1.0, 1.0),
    OddsBound(0.5, math.inf),
    OddsBound(math.inf, 0.0),
    OddsBound(1, 2),
    BeliefBound(0.2),
]


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_guarantees_survive_a_file(guarantee):
    """describe() is strict JSON and reads back to an equal guarantee, with words."""
    again = guarantee_from_dict(json.loads(json.dumps(guarantee.to_dict(), allow_nan=False)))
    assert again == guarantee
    assert hash(again) == hash(guarantee)
    assert as_guarantee(guarantee) is guarantee
    assert len(again.words()) > 20


def test_words_of_a_guarantee_to_nobody():
    """Both directions free is said plainly."""
    assert "nothing is guaranteed" in OddsBound(math.inf, math.inf).words()
    assert "e^800" in OddsBound(800.0, 900.0).words()


@pytest.mark.parametrize(
    "make",
    [
        lambda: OddsBound(-1.0, 1.0),
        lambda: OddsBound(1.0, math.nan),
        lambda: OddsBound("1", 1.0),
        lambda: OddsBound(True, 1.0),
        lambda: BeliefBound(0.0),
        lambda: BeliefBound(1.0),
        lambda: BeliefBound(math.nan),
        lambda: BeliefBound(20),
        lambda: BeliefBound(None),
        lambda: as_guarantee(-0.1),
        lambda: as_guarantee("0.1"),
        lambda: as_guarantee(None),
        lambda: guarantee_from_dict({}),
        lambda: guarantee_from_dict({"guarantee": "odds", "up": 1.0}),
        lambda: guarantee_from_dict({"guarantee": "odds", "up": 1.0, "down": "far"}),
        lambda: guarantee_from_dict({"guarantee": "belief", "at_most": None}),
        lambda: guarantee_from_dict(7),
    ],
)
def test_hostile_guarantees_are_refused(make):
    """Negative, NaN, text, percent instead of a share: refused with the rule."""
    with pytest.raises(InvalidParameter):
        make()


@examples(150)
@given(hostile_joint(), st.floats(0.0, 30.0), st.booleans())
def test_each_direction_is_judged_by_itself(joint: JointProbabilities, bound: float, upwards: bool):
    """A True verdict on one direction is exact, whatever the other one does."""
    guarantee = OddsBound(bound, math.inf) if upwards else OddsBound(math.inf, bound)
    rows = integer_rows(joint)
    rows = rows if upwards else reversed_rows(rows)
    ratio = Fraction(math.exp(bound))
    if passes(joint, guarantee)[0]:
        assert not pairs_exceed(rows, ratio * (1 + EXP_ERROR))
    else:
        assert pairs_exceed(rows, ratio * (1 - Fraction(1, 10**8)))
    both = passes(joint, OddsBound(bound, bound))
    apart = passes(joint, OddsBound(bound, math.inf)) & passes(joint, OddsBound(math.inf, bound))
    assert both == apart == passes(joint, bound)


@pytest.mark.parametrize("seed", range(20))
def test_symmetric_odds_are_the_plain_number_to_the_last_bit(seed):
    """passes flips at the same float for ε and for OddsBound(ε, ε)."""
    joint = smooth(np.random.default_rng(seed), 6, 0.5)
    value = float(leakages(joint)[0])
    low, high = value - 1e-9, value + 1e-9
    while np.nextafter(low, high) < high:
        middle = low + (high - low) / 2
        verdict = bool(passes(joint, middle)[0])
        assert verdict == bool(passes(joint, OddsBound(middle, middle))[0])
        low, high = (low, middle) if verdict else (middle, high)
    assert leakages(joint, high) == leakages(joint, OddsBound(high, high)) == leakages(joint)


@examples(150)
@given(hostile_joint(), st.floats(1e-6, 1.0 - 1e-6))
def test_beliefs_are_judged_exactly(joint: JointProbabilities, cap: float):
    """Belief passes iff every row's exact posterior is within the cap, up to rounding."""
    rows = integer_rows(joint)
    shares = [Fraction(b, b + d) for _, _, b, d in rows if b + d]
    largest = max(shares, default=Fraction(0))
    if passes(joint, BeliefBound(cap))[0]:
        assert largest <= Fraction(cap)
    else:
        odds = Fraction(cap) / (1 - Fraction(cap))
        assert any(b > odds * d * (1 - Fraction(1, 10**12)) for _, _, b, d in rows)
    bound = Fraction(largest_belief(joint))
    assert largest <= bound <= largest * (1 + Fraction(1, 10**12)) + Fraction(1, 2**1000)
    priors = [Fraction(a, a + c) for a, c, _, _ in rows]
    assert max(priors) <= Fraction(EveryMixture().prior_belief(joint)) <= 1


def test_doubt_fails_a_belief():
    """What the error bounds leave open counts against the guarantee."""
    even = exact_joint([0.5], [0.5], [0.5], [0.5])
    assert passes(even, BeliefBound(0.5 + 1e-9))[0]
    loose = two_answers(*(np.array([0.5]),) * 4, np.array([0]), 1e-6, 0.0)
    assert not passes(loose, BeliefBound(0.5 + 1e-9))[0]
    assert passes(loose, BeliefBound(0.5 + 1e-6))[0]
    assert 0.5 + 4e-7 < largest_belief(loose) < 0.5 + 6e-7
    hopeless = two_answers(*(np.array([0.5]),) * 4, np.array([0]), 0.7, 0.0)
    assert largest_belief(hopeless) == 1.0
    assert not passes(hopeless, BeliefBound(0.99))[0]
    in_doubt = two_answers(
        *(np.array([x]) for x in (0.5, 0.5, 0.0, 0.0)), np.array([0]), 0.0, 1e-300
    )
    assert largest_belief(in_doubt) == 1.0
    excluded = exact_joint([0.5], [0.5], [0.0], [0.0])
    assert largest_belief(excluded) == 0.0
    assert passes(excluded, BeliefBound(0.01))[0]


def test_a_quantifier_judges_guarantees():
    """passes, leakage_if, leakage, belief and prior_belief agree with each other on a stream."""
    grid = Grid(rows=3, columns=3, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    q = Quantifier(model, presence([0, 1], [1, 2]))
    columns = PlanarLaplace(grid, alpha=0.8).emission()
    q.observe(columns[:, 8])
    up, down = OddsBound(1.0, math.inf), OddsBound(math.inf, 1.0)
    for k in range(9):
        after = q.copy()
        after.observe(columns[:, k])
        found = after.leakage()
        assert q.leakage_if(columns, up)[k] == pytest.approx(found.for_event, abs=1e-9)
        assert q.leakage_if(columns, down)[k] == pytest.approx(found.against_event, abs=1e-9)
        assert found.over(up) == found.for_event == found.over(BeliefBound(0.5))
        assert found.over(1.0) == found.over(OddsBound(math.inf, math.inf)) == found.value
        belief = after.belief()
        cap = np.array([[x] for x in columns[:, k]])
        assert q.passes(cap, BeliefBound(min(belief + 1e-9, 1 - 1e-9)))[0]
        assert not q.passes(cap, BeliefBound(belief - 1e-9))[0]
        assert after.prior_belief() == pytest.approx(q.prior_by_start().max(), rel=1e-9)
    assert (q.passes(columns, up) & q.passes(columns, down) == q.passes(columns, 1.0)).all()
    assert q.passes(columns, math.inf).all()


def test_coarse_rows_agree_in_both_directions():
    """Ties, zeros, certain and impossible events: the two directions make the plain verdict."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        joint = coarse(rng, int(rng.integers(1, 6)))
        bound = float(rng.choice([0.0, 0.5, math.log(2), 2.0]))
        apart = passes(joint, OddsBound(bound, math.inf)) & passes(
            joint, OddsBound(math.inf, bound)
        )
        assert apart == passes(joint, bound)
