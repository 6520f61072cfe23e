"""Attacks reach what theory gives in closed form, and never beat the bound."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste import (
    AnyPrior,
    BeliefBound,
    EmissionTable,
    Grid,
    Identity,
    InvalidParameter,
    KnownPrior,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    Protector,
    Quantifier,
    Uniform,
    at,
    presence,
)
from priste.audit import (
    averaging_attack,
    event_attack,
    exact_accuracy,
    expected_error,
    largest_accuracy,
    largest_area,
    localisation_attack,
)
from priste.audit.attacks import EventAttack
from priste.audit.estimates import Estimate

TOLERANCE = 1e-12
SURE = 0.9999  # intervals that a correct attack leaves once in 10,000 tests

PAIR = Grid(rows=1, columns=2, cell_size=1.0)
MIXING = MarkovModel(PAIR, [[0.5, 0.5], [0.5, 0.5]])
LINE = Grid(rows=1, columns=4, cell_size=1.0)
SLOW = MarkovModel.gaussian(LINE, sigma=0.6)
FAST = MarkovModel.gaussian(LINE, sigma=3.0)
EVENT = presence([0], steps=[1, 2])


def coin(p, epsilon=None):
    """A mechanism that keeps one of two cells with probability p; leakage ln(p / (1 - p))."""
    table = EmissionTable(PAIR, [[p, 1 - p], [1 - p, p]])
    bound = math.log(p / (1 - p)) if epsilon is None else epsilon
    return Protector(
        MIXING, at([0], 0), table, bound, calibrator="uncalibrated", adversary=AnyPrior()
    )


@pytest.mark.parametrize("p", [0.6, 0.75, 0.9])
def test_coin_reaches_the_bound_in_closed_form(p) -> None:
    """One flip gives accuracy and area p: exactly what a leakage of ln(p / (1 - p)) allows."""
    epsilon = math.log(p / (1 - p))
    assert exact_accuracy(coin(p), 1) == pytest.approx(p, abs=TOLERANCE)
    assert largest_accuracy(epsilon, 0.5) == pytest.approx(p, abs=TOLERANCE)
    assert largest_area(epsilon) == pytest.approx(p, abs=TOLERANCE)
    attack = event_attack(coin(p), 1, runs=600, rng=5, confidence=SURE)
    assert attack.accuracy.low <= p <= attack.accuracy.high
    assert attack.area.low <= p <= attack.area.high
    assert attack.advantage.value == pytest.approx(attack.accuracy.value - 0.5)
    assert attack.accuracy_bound == attack.area_bound == pytest.approx(p)


@given(
    st.floats(0.01, 3.0),
    st.floats(0.01, 0.99),
    st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.001, 1.0)), min_size=2, max_size=6),
)
@examples(200)
def test_no_channel_within_epsilon_beats_the_bounds(epsilon, prior, shape) -> None:
    """Any pair of tables with ratios within e**±ε has accuracy and area within the bounds."""
    given_event = np.array([weight * math.exp(epsilon * (s - 0.5)) for s, weight in shape])
    given_other = np.array([weight * math.exp(-epsilon * (s - 0.5)) for s, weight in shape])
    given_event, given_other = given_event / given_event.sum(), given_other / given_other.sum()
    ratios = np.log(given_event / given_other)
    largest = float(np.abs(ratios).max())
    right = np.maximum(prior * given_event, (1 - prior) * given_other).sum()
    above = ratios[:, None] > ratios[None, :]
    level = ratios[:, None] == ratios[None, :]
    area = given_event @ (above + 0.5 * level) @ given_other
    assert right <= largest_accuracy(largest, prior) + TOLERANCE
    assert area <= largest_area(largest) + TOLERANCE


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("prior", [None, [0.4, 0.1, 0.1, 0.4], [0.55, 0.0, 0.0, 0.45]])
def test_no_attack_on_certified_beats_epsilon(epsilon, prior) -> None:
    """The best attack on certified streams, computed exactly, stays within the bound."""
    p = Protector(SLOW, EVENT, PlanarLaplace(LINE, alpha=2.0), epsilon, adversary=AnyPrior())
    start = np.full(4, 0.25) if prior is None else np.array(prior)
    share = Quantifier(SLOW, EVENT).posterior(start)
    best = exact_accuracy(p, 2, prior=prior)
    assert max(share, 1 - share) - TOLERANCE <= best
    assert best <= largest_accuracy(epsilon, share) + TOLERANCE


def test_attack_agrees_with_its_exact_value() -> None:
    """Over many runs the adversary is right as often as the enumeration says."""
    p = Protector(
        SLOW,
        EVENT,
        PlanarLaplace(LINE, alpha=3.0),
        3.0,
        calibrator="uncalibrated",
        adversary=AnyPrior(),
    )
    exact = exact_accuracy(p, 2)
    attack = event_attack(p, 2, runs=400, rng=2, confidence=SURE)
    assert attack.accuracy.low <= exact <= attack.accuracy.high
    assert attack.accuracy.value > max(attack.prior_belief, 1 - attack.prior_belief)


def test_a_wrong_model_wins_no_more_and_a_better_one_no_less() -> None:
    """The adversary with the true model does at least as well as one who assumes another."""
    mech = PlanarLaplace(LINE, alpha=1.5)
    p = Protector(FAST, EVENT, mech, 5.0, calibrator="uncalibrated", adversary=AnyPrior())
    wrong = event_attack(p, 3, runs=600, rng=4, truth=SLOW)
    better = event_attack(p, 3, runs=600, rng=4, truth=SLOW, adversary_model=SLOW)
    assert better.accuracy.value >= wrong.accuracy.value
    assert better.area.value >= wrong.area.value
    assert better.prior_belief == wrong.prior_belief


def test_an_adversary_who_knows_less_runs_the_same_streams() -> None:
    """Believing the nominal table instead of the true one changes the guesses, not the streams."""
    p = Protector(
        SLOW, EVENT, PlanarLaplace(LINE, alpha=3.0), 0.5, calibrator="paper", adversary=AnyPrior()
    )
    naive = event_attack(p, 2, runs=100, rng=9, knows_code=False)
    aware = event_attack(p, 2, runs=100, rng=9)
    assert isinstance(naive, EventAttack)
    assert naive.prior_belief == aware.prior_belief
    assert naive.area != aware.area


def test_same_seed_same_attack() -> None:
    """A seed repeats an attack to the bit; another event name is refused."""
    p = coin(0.75)
    assert event_attack(p, 1, runs=50, rng=1) == event_attack(p, 1, runs=50, rng=1)
    with pytest.raises(InvalidParameter, match="must be one of"):
        event_attack(p, 1, event="nothing")
    with pytest.raises(InvalidParameter, match="runs"):
        event_attack(p, 1, runs=1)


def test_expected_error_in_closed_form() -> None:
    """An exact release leaves no error, an uninformative one that of the prior, a coin 1 - p."""
    assert expected_error(Identity(LINE)) == 0.0
    assert expected_error(Uniform(LINE)) == pytest.approx(1.0)  # (1 + 0 + 1 + 2) / 4
    flip = EmissionTable(PAIR, [[0.7, 0.3], [0.3, 0.7]])
    assert expected_error(flip) == pytest.approx(0.3)
    assert expected_error(flip, prior=[0.9, 0.1]) == pytest.approx(0.1)


def test_localisation_of_one_release_is_the_exact_sum() -> None:
    """Over many runs of one step the adversary's distance is the exact expected error."""
    mech = PlanarLaplace(LINE, alpha=1.0)
    p = Protector(SLOW, EVENT, mech, 9.0, calibrator="uncalibrated", adversary=AnyPrior())
    found = localisation_attack(p, 1, runs=400, rng=6, confidence=SURE)
    assert found.error[0].low <= expected_error(mech) <= found.error[0].high
    assert found.blind == pytest.approx((1.0,))
    assert found.overall == found.error[0]


def test_protection_keeps_the_adversary_away() -> None:
    """Protected streams leave a larger error than the uncalibrated mechanism, and at most the
    blind one."""
    mech = PlanarLaplace(LINE, alpha=3.0)
    uncalibrated = Protector(
        SLOW, EVENT, mech, 0.2, calibrator="uncalibrated", adversary=AnyPrior()
    )
    guarded = Protector(SLOW, EVENT, mech, 0.2, adversary=AnyPrior())
    near = localisation_attack(uncalibrated, 2, runs=60, rng=1)
    far = localisation_attack(guarded, 2, runs=60, rng=1)
    assert near.overall.high < far.overall.low
    assert all(e.low <= blind for e, blind in zip(far.error, far.blind, strict=True))


def test_averaging_repeated_draws_finds_the_place() -> None:
    """The error shrinks with the number of draws; with one it is the exact expected error."""
    mech = PlanarLaplace(LINE, alpha=0.7)
    found = averaging_attack(mech, [1, 5, 40], runs=150, rng=3, confidence=SURE)
    assert found[1].low <= expected_error(mech) <= found[1].high
    assert found[1].value > found[5].value > found[40].value
    assert found[40].value < 0.2
    with pytest.raises(InvalidParameter, match="draws"):
        averaging_attack(mech, [0])


def test_estimates_print_with_their_interval() -> None:
    """An estimate says its interval whenever it is printed."""
    assert str(Estimate(0.5, 0.4, 0.6)) == "0.500 [0.400, 0.600]"


@pytest.mark.parametrize(
    ("guarantee", "adversary"),
    [
        (OddsBound(0.5, math.inf), AnyPrior()),
        (BeliefBound(0.99), KnownPrior(np.full(3, 1 / 3))),
        (0.5, KnownPrior(np.full(3, 1 / 3))),
    ],
    ids=["one direction", "belief", "one adversary"],
)
def test_what_is_not_bounded_both_ways_for_anybody_bounds_no_attack(guarantee, adversary) -> None:
    """Only odds both ways against any prior bound every attack; otherwise the bound is 1."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    guarded = Protector(
        MarkovModel.gaussian(grid, 0.7),
        presence([0], [1]),
        PlanarLaplace(grid, 1.0),
        guarantee,
        adversary=adversary,
    )
    found = event_attack(guarded, 1, runs=2, rng=1)
    assert found.accuracy_bound == found.area_bound == 1.0
