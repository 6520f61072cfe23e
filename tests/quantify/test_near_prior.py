"""Priors near a given one: against every edge of the box in fractions, and as an adversary."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.exact_adversaries import adversary_rows
from tests.oracles.exact_near import near_exceed, near_odds
from tests.oracles.exact_worst_prior import integer_rows, ratio, reversed_rows, whole_rows
from tests.quantify.exact_recursions import observed
from tests.quantify.joint_cases import coarse, curved, far_apart, hostile_joint, smooth, two_answers
from tests.quantify.strategies import LAST_STEP, distributions, events, likelihoods, matrices

from priste import (
    AnyPrior,
    BeliefBound,
    Grid,
    InvalidParameter,
    KnownPrior,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    PriorsWithin,
    Quantifier,
    StartsIn,
)
from priste.events import at, presence
from priste.quantify import JointProbabilities, passes, worst_prior_leakage
from priste.quantify.near_prior import near_beliefs, near_leakage, near_leakages, near_passes
from priste.quantify.worst_prior.verdicts import LEAST_LOGARITHM

SLACK = 1e-8
"""What a reported ratio may be above the exact supremum, relatively."""

EXP_ERROR = Fraction(1, 2**49)

FAMILIES = {
    "coarse": lambda rng, rows: coarse(rng, rows),
    "smooth": lambda rng, rows: smooth(rng, rows, 1.0),
    "nearly uninformative": lambda rng, rows: smooth(rng, rows, 10.0 ** -rng.integers(2, 8)),
    "curved": lambda rng, rows: curved(rng, rows, 0.5),
    "far apart": lambda rng, rows: far_apart(rng, rows),
}
FACTORS = (1.0, 1.0000001, 1.5, 3.0, 50.0, 1e3, 1e6)
SHARP_FACTOR = 1e4
"""Up to here the bound is as sharp as documented for whatever numbers; beyond, for plain ones."""


def slack(rows: int, factor: float) -> float:
    """What is documented: rounding is felt where a row may weigh ``factor`` times as much."""
    return SLACK + (rows + 32) * factor * 2.0**-50


def exact_exp(log: float, rounding: int) -> Fraction:
    return Fraction(math.exp(log)) * (1 + rounding * EXP_ERROR)


def check_direction(
    reported: float, rows, weights, factor: Fraction, *, sharp: bool = True
) -> None:
    """Nothing in the box is above the report; if it is sharp, something is above it less SLACK."""
    if reported == math.inf:
        assert near_exceed(rows, weights, factor, Fraction(10) ** 300)
        return
    if reported < 700.0:
        assert not near_exceed(rows, weights, factor, exact_exp(reported, 1))
    if sharp and -34.0 < reported < 700.0:
        below = reported - slack(len(rows), float(factor))
        assert near_exceed(rows, weights, factor, exact_exp(below, -1))


def check_leakage(
    joint: JointProbabilities, weights: np.ndarray, factor: float, *, sharp: bool = True
) -> None:
    """Both directions against all edges, and a worst prior that lies in the box and comes close."""
    found = near_leakage(joint, weights, factor)
    rows = integer_rows(joint)
    exact = [Fraction(float(w)) for w in weights]
    if not found.worst_rows:
        assert found.value == 0.0
        for side in (rows, reversed_rows(rows)):
            assert not near_exceed(side, exact, Fraction(factor), Fraction(0))
        return
    around = Fraction(factor)
    check_direction(found.for_event, rows, exact, around, sharp=sharp)
    check_direction(found.against_event, reversed_rows(rows), exact, around, sharp=sharp)
    assert found.value == max(found.for_event, found.against_event)
    prior = np.array([found.worst_rows[i] for i in range(len(weights))])
    shares = prior / weights
    assert shares.max() <= shares.min() * factor * (1 + 1e-12)
    assert prior.sum() == pytest.approx(1.0, rel=1e-12)
    side = rows if found.for_event >= found.against_event else reversed_rows(rows)
    if -30.0 < found.value < 600.0:
        learnt = ratio(side, {i: Fraction(float(w)) for i, w in enumerate(prior)})
        assert learnt is not None
        assert Fraction(learnt) >= exact_exp(found.value - 1e-6, -1)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("factor", FACTORS)
def test_leakage_is_exact_on_every_edge(family, factor):
    """Never below the largest ratio of all edges, and above it by at most SLACK."""
    rng = np.random.default_rng([len(family), int(factor)])
    for _ in range(12):
        count = int(rng.integers(1, 6))
        joint = FAMILIES[family](rng, count)
        check_leakage(joint, rng.dirichlet(np.full(count, 0.7)) + 1e-9, factor)


@examples(150)
@given(
    hostile_joint(),
    st.sampled_from(FACTORS),
    st.lists(st.sampled_from([1.0, 0.3, 1e-5, 1e-200]), min_size=4, max_size=4),
)
def test_hostile_numbers_are_judged_exactly(joint, factor, weights):
    """Numbers down to 2**-950, exponents of thousands, weights of 1e-200."""
    sharp = factor <= SHARP_FACTOR
    check_leakage(joint, np.array(weights[: joint.rows]), factor, sharp=sharp)


def test_a_million_times_around_a_prior_the_bound_is_sharp():
    """The releases speak for the event alone: against it there is nothing, and 0 is reported."""
    joint = two_answers(
        np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0]),
        np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3, dtype=np.int64), 0.0, 0.0,
    )  # fmt: skip
    weights = np.array([1.0, 1e-5, 1.0])
    check_leakage(joint, weights, 1e6)


@examples(200)
@given(
    st.integers(0, 2**32),
    st.sampled_from(sorted(FAMILIES)),
    st.sampled_from(FACTORS),
    st.sampled_from([-1e-3, -1e-6, -1e-7, 1e-7, 1e-6, 1e-3]),
    st.sampled_from(["both", "up", "down"]),
)
def test_verdicts_flip_at_the_supremum(seed, family, factor, away, direction):
    """A True is exact on every edge; a False 1e-7 away from the bound is no rounding."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    joint = FAMILIES[family](rng, count)
    weights = rng.dirichlet(np.ones(count)) + 1e-6
    found = near_leakage(joint, weights, factor)
    value = {"both": found.value, "up": found.for_event, "down": found.against_event}[direction]
    if not -30.0 < value < 600.0 or not found.worst_rows or abs(away) < slack(count, factor):
        return
    bound = max(value + away, 0.0)
    guarantee = {
        "both": bound,
        "up": OddsBound(bound, math.inf),
        "down": OddsBound(math.inf, bound),
    }[direction]
    verdict = bool(near_passes(joint, weights, factor, guarantee)[0])
    assert verdict == (bound > value)
    rows, exact = integer_rows(joint), [Fraction(float(w)) for w in weights]
    sides = [rows] * (direction != "down") + [reversed_rows(rows)] * (direction != "up")
    if verdict:
        assert not any(near_exceed(s, exact, Fraction(factor), exact_exp(bound, 1)) for s in sides)


@examples(100)
@given(
    hostile_joint(),
    st.sampled_from(FACTORS),
    st.lists(st.sampled_from([1.0, 0.3, 1e-5]), min_size=4, max_size=4),
    st.floats(1e-6, 1.0 - 1e-6),
)
def test_beliefs_are_one_signed_sum(joint, factor, weights, cap):
    """The largest belief and the verdict of a cap against every vertex of the box."""
    given_weights = np.array(weights[: joint.rows])
    exact = [Fraction(float(w)) for w in given_weights]
    odds = near_odds(integer_rows(joint), exact, Fraction(factor))
    bound = Fraction(float(near_beliefs(joint, given_weights, factor)[0]))
    passed = bool(near_passes(joint, given_weights, factor, BeliefBound(cap))[0])
    if odds is None:  # no prior leaves room for the negation
        assert bound in (0, 1)
        if joint.event.any():
            assert bound == 1
            assert not passed
        return
    belief = odds / (1 + odds)
    assert belief <= bound <= belief * (1 + Fraction(1, 10**9)) + Fraction(1, 2**1000)
    limit = Fraction(cap) / (1 - Fraction(cap))
    if passed:
        assert odds <= limit
    else:
        assert odds > limit * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("seed", range(6))
def test_between_the_known_prior_and_any_prior(seed):
    """Factor 1 is Priors; leakage and belief grow with the factor; a huge one is any start."""
    rng = np.random.default_rng(seed)
    grid = Grid(rows=4, columns=4, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0)
    table = PlanarLaplace(grid, alpha=0.8).emission()
    columns = [table[:, c] for c in rng.integers(16, size=4)]
    event = presence([5, 6], [1, 2])
    prior = rng.dirichlet(np.ones(16))
    prior[rng.integers(16)] = 0.0
    prior /= prior.sum()

    def quantified(adversary):
        return observed(Quantifier(model, event, adversary), columns)

    known = quantified(KnownPrior(prior))
    anyone = quantified(StartsIn(np.flatnonzero(prior)))
    near = [
        quantified(PriorsWithin(prior, factor)) for factor in (1.0, 1.3, 2.0, 5.0, 40.0, 1e3, 1e6)
    ]
    leaks = [q.leakage().value for q in near]
    assert leaks[0] == pytest.approx(known.leakage().value, abs=SLACK)
    assert leaks[-1] == pytest.approx(anyone.leakage().value, abs=1e-2)
    assert all(small <= large + SLACK for small, large in itertools.pairwise(leaks))
    beliefs = [q.belief() for q in near]
    assert beliefs[0] == pytest.approx(known.belief(), rel=1e-9)
    assert beliefs[-1] == pytest.approx(anyone.belief(), rel=1e-2)
    assert all(small <= large * (1 + SLACK) for small, large in itertools.pairwise(beliefs))
    assert near[0].prior_belief() == pytest.approx(known.prior_belief(), rel=1e-9)
    assert near[-1].prior_belief() == pytest.approx(anyone.prior_belief(), rel=1e-2)
    # the same answers from a quantifier of all first cells
    everywhere = quantified(AnyPrior())
    for q, value in zip(near, leaks, strict=True):
        assert everywhere.leakage(adversary=q.adversary).value == pytest.approx(value, abs=1e-9)
    # candidates one by one, and the verdicts about them
    after = near[3].leakage_if(table)
    for epsilon in (float(np.median(after)) + 1e-6, 0.3):
        np.testing.assert_array_equal(near[3].passes(table, epsilon), after <= epsilon)
    one = near[3].copy()
    one.observe(table[:, 3])
    assert one.leakage().value == pytest.approx(after[3], abs=SLACK)
    worst = one.leakage().worst_prior
    assert set(worst) == set(np.flatnonzero(prior).tolist())
    under_it = np.zeros(16)
    under_it[list(worst)] = list(worst.values())
    assert one.leakage(prior=under_it).value == pytest.approx(one.leakage().value, abs=1e-6)


@st.composite
def near_streams(draw):
    """(models, event, columns, adversary): a joint prior, zeros and tiny weights among them."""
    size = draw(st.integers(2, 3))
    grid = Grid(rows=1, columns=size, cell_size=1.0)
    models = [MarkovModel(grid, draw(matrices(size))) for _ in range(draw(st.integers(1, 2)))]
    count = draw(st.integers(1, LAST_STEP + 1))
    columns = [draw(likelihoods(size)) for _ in range(count)]
    joint = len(models) > 1 and draw(st.booleans())
    prior = np.array(draw(distributions(size * len(models) if joint else size)))
    prior = prior.reshape(-1, size) if joint else prior
    adversary = PriorsWithin(prior, draw(st.sampled_from([1, 2.5, 40])))
    return models, draw(events(size)), columns, adversary


@examples(100)
@given(near_streams())
def test_streams_agree_with_path_enumeration(case):
    """Leakage and belief of random events, models and releases, on every edge in fractions."""
    models, event, columns, adversary = case
    q = observed(Quantifier(models, event, adversary), columns)
    exact = adversary_rows(models, event, columns, adversary, LAST_STEP + 1)
    joint = np.broadcast_to(adversary.prior, (len(models), models[0].grid.size)).ravel()
    used = [i for i, weight in enumerate(joint) if weight > 0.0]
    rows = whole_rows([exact[i] for i in used])
    weights = [Fraction(float(joint[i])) for i in used]
    factor = Fraction(adversary.factor)
    found = q.leakage()
    if not any(column is not None for column in columns) or not found.worst_rows:
        assert found.value == 0.0
    else:
        check_direction(found.for_event, rows, weights, factor)
        check_direction(found.against_event, reversed_rows(rows), weights, factor)
    odds = near_odds(rows, weights, factor)
    if odds is not None:
        belief = odds / (1 + odds)
        assert belief <= Fraction(q.belief()) <= belief * (1 + Fraction(1, 10**9))


def test_a_prior_outside_the_class_learns_more():
    """What is guaranteed against priors near the public one is not guaranteed against others."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    model = MarkovModel(grid, [[0.8, 0.2, 0.0], [0.2, 0.6, 0.2], [0.0, 0.2, 0.8]])
    public = np.array([0.3, 0.4, 0.3])
    q = Quantifier(model, at([0], 1), PriorsWithin(public, 2.0))
    q.observe([0.5, 0.3, 0.2])
    inside = q.leakage().value
    outside = q.leakage(prior=[0.4, 0.01, 0.59]).value
    assert inside < 0.59 < 0.7 < outside < q.leakage(adversary=AnyPrior()).value


def test_before_any_release_nothing_is_leaked():
    """Silence leaks exactly 0, with a prior of the class; an impossible event has none."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    model = MarkovModel(grid, np.eye(3))
    prior = np.array([0.25, 0.0, 0.75])
    q = Quantifier(model, at([0], 1), PriorsWithin(prior, 3.0))
    q.observe(None)
    assert q.leakage().value == 0.0
    assert q.leakage().worst_prior == {0: 0.25, 2: 0.75}
    assert q.prior_belief() == pytest.approx(0.5, rel=1e-9)  # 0.25 * 3 against 0.75
    impossible = Quantifier(model, at([1], 1), PriorsWithin(prior, 3.0))
    assert impossible.leakage().worst_prior == {}
    impossible.observe([0.5, 0.2, 0.3])
    assert impossible.leakage().value == 0.0
    assert impossible.belief() == 0.0
    assert impossible.passes(np.eye(3), 0.0).all()


def test_several_models_share_one_prior_or_have_a_joint_one():
    """(m,) weighs models alike; (n, m) is the joint prior; odds hold between any two pairs."""
    grid = Grid(rows=1, columns=2, cell_size=1.0)
    models = [
        MarkovModel(grid, [[0.9, 0.1], [0.9, 0.1]]),
        MarkovModel(grid, [[0.1, 0.9], [0.1, 0.9]]),
    ]
    event, columns = at([0], 1), [None, None, [0.9, 0.1]]

    def leak(adversary):
        return observed(Quantifier(models, event, adversary), columns).leakage()

    alike, joint = PriorsWithin([0.5, 0.5], 2.0), PriorsWithin([[0.25, 0.25], [0.25, 0.25]], 2.0)
    assert leak(alike).value == pytest.approx(leak(joint).value, abs=SLACK)
    assert leak(PriorsWithin([[0.5, 0.5], [0.0, 0.0]], 2.0)).value < 1e-9  # the model is known
    anyone = leak(AnyPrior()).value
    assert (
        leak(alike).value < leak(PriorsWithin([0.5, 0.5], 1e6)).value + SLACK <= anyone + 2 * SLACK
    )
    found = leak(joint)
    assert set(found.worst_joint) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    shares = np.array(list(found.worst_joint.values()))
    assert shares.max() <= 2.0 * shares.min() * (1 + 1e-12)
    with pytest.raises(InvalidParameter, match="3 models"):
        Quantifier(models, event, PriorsWithin(np.full((3, 2), 1 / 6), 2.0))
    with pytest.raises(InvalidParameter, match="one number for each"):
        Quantifier(models, event, PriorsWithin([0.2, 0.3, 0.5], 2.0))


def test_rounding_counts_against_the_guarantee():
    """A relative error of joint probabilities widens the report and fails what it leaves open."""
    rng = np.random.default_rng(5)
    exact = smooth(rng, 30, 0.5)
    weights = rng.dirichlet(np.ones(30))
    loose = two_answers(
        exact.prior_event, exact.prior_complement, exact.event, exact.complement,
        exact.exponent, 1e-6, 0.0,
    )  # fmt: skip
    value = near_leakage(exact, weights, 4.0).value
    assert near_leakage(loose, weights, 4.0).value == pytest.approx(value + 4e-6, abs=1e-8)
    assert near_passes(exact, weights, 4.0, value + 1e-6)[0]
    assert not near_passes(loose, weights, 4.0, value + 1e-6)[0]
    hopeless = two_answers(
        exact.prior_event, exact.prior_complement, exact.event, exact.complement,
        exact.exponent, 0.6, 0.0,
    )  # fmt: skip
    assert near_leakages(hopeless, weights, 4.0).tolist() == [math.inf]
    assert near_beliefs(hopeless, weights, 4.0).tolist() == [1.0]
    assert not near_passes(hopeless, weights, 4.0, 50.0)[0]
    assert near_passes(hopeless, weights, 4.0, math.inf)[0]


@pytest.mark.parametrize("family", ["smooth", "curved", "nearly uninformative"])
@pytest.mark.parametrize("factor", [1.5, 4.0, 1e3])
def test_many_rows_are_decided_close_to_the_bound(family, factor):
    """On 300 rows the verdict flips within SLACK of the leakage, and random priors stay below."""
    rng = np.random.default_rng(7)
    joint = FAMILIES[family](rng, 300)
    weights = rng.dirichlet(np.ones(300))
    found = near_leakage(joint, weights, factor)
    assert near_passes(joint, weights, factor, found.value + SLACK)[0]
    assert not near_passes(joint, weights, factor, found.value - SLACK)[0]
    b = joint.event * np.exp2(joint.exponent.astype(float))
    d = joint.complement * np.exp2(joint.exponent.astype(float))
    w = weights * factor ** rng.choice([0.0, 1.0], size=(500, 300))
    logs = np.log((w @ b) * (w @ joint.prior_complement) / ((w @ joint.prior_event) * (w @ d)))
    assert logs.max() <= found.for_event + 1e-12
    assert -logs.min() <= found.against_event + 1e-12


@examples(60)
@given(hostile_joint(), st.sampled_from([2e3, 1e5, 1e6]), st.floats(0.0, 3.0))
def test_a_wide_class_never_reports_more_than_every_mixture(joint, factor, epsilon):
    """Fewer priors never learn more, in reports and in verdicts, where levels are far apart too."""
    weights = np.full(joint.rows, 1.0 / joint.rows)
    near, every = near_leakage(joint, weights, factor), worst_prior_leakage(joint)
    if every.worst_rows:
        assert near.for_event <= max(every.for_event, LEAST_LOGARITHM)
        assert near.against_event <= max(every.against_event, LEAST_LOGARITHM)
    assert near_passes(joint, weights, factor, epsilon)[0] >= passes(joint, epsilon)[0]


def test_releases_that_tell_nothing_leak_nothing_to_a_wide_class():
    """With the same likelihood everywhere the leakage is 0 up to rounding, whatever the factor."""
    grid = Grid(rows=1, columns=30, cell_size=1.0)
    model = MarkovModel.gaussian(grid, 4.0)
    prior = np.linspace(1.0, 1e4, 30)
    q = Quantifier(model, presence([3], [2, 4]), PriorsWithin(prior / prior.sum(), 1e6))
    for _ in range(6):
        q.observe(np.full(30, 0.3))
    assert 0.0 <= q.leakage().value < 1e-9
    assert q.passes(np.full((30, 1), 0.2), 1e-9)[0]
