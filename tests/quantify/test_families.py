"""Families of models: an adversary who holds one of them, and one who is unsure which."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.exact_adversaries import adversary_rows
from tests.oracles.exact_near import near_exceed, near_odds
from tests.oracles.exact_worst_prior import pairs_exceed, reversed_rows, whole_rows
from tests.quantify.strategies import LAST_STEP, distributions, events, likelihoods, matrices

from priste import (
    AnyPrior,
    BeliefBound,
    Grid,
    InvalidParameter,
    KnownPrior,
    LastSeen,
    MarkovModel,
    OddsBound,
    PriorsWithin,
    Quantifier,
    StartsIn,
)
from priste.events import at
from priste.quantify import PerModel

SLIGHTLY = 1 + Fraction(1, 2**40)
"""Above the slack of every verdict at the odds used here, far below what separates answers."""


def line(cells: int) -> Grid:
    return Grid(rows=1, columns=cells, cell_size=1.0)


@st.composite
def families(draw):
    """(models, event, columns, adversaries): two or three models, an adversary for each."""
    size = draw(st.integers(2, 3))
    count = draw(st.integers(2, 3))
    models = [MarkovModel(line(size), draw(matrices(size))) for _ in range(count)]
    positive = distributions(size).map(lambda row: [0.9 * x + 0.1 / size for x in row])
    kinds = {
        "any": st.builds(AnyPrior),
        "starts": st.builds(StartsIn, st.sets(st.integers(0, size - 1), min_size=1)),
        "priors": st.builds(KnownPrior, st.lists(distributions(size), min_size=1, max_size=3)),
        "last seen": st.builds(LastSeen, st.integers(0, 3)),
        "within": st.builds(PriorsWithin, positive, st.sampled_from([1.0, 1.5, 4.0])),
    }
    one = st.one_of(*kinds.values())
    adversaries = draw(st.one_of(one.map(lambda x: [x] * count), st.tuples(*[one] * count)))
    steps = draw(st.integers(1, LAST_STEP + 1))
    columns = [draw(likelihoods(size)) for _ in range(steps)]
    return models, draw(events(size)), columns, list(adversaries)


def quantifier(models, event, columns, adversaries, **options) -> Quantifier:
    same = all(each == adversaries[0] for each in adversaries)
    q = Quantifier(models, event, adversaries[0] if same else adversaries, **options)
    for column in columns:
        q.observe(column)
    return q


def exceeds(model, event, columns, adversary, r: Fraction, *, negated: bool = False) -> bool:
    """Whether some prior of the adversary, under one model, sees a ratio above r; in fractions."""
    rows = whole_rows(adversary_rows([model], event, columns, adversary, LAST_STEP + 1))
    rows = reversed_rows(rows) if negated else rows
    if isinstance(adversary, PriorsWithin):
        prior = [Fraction(float(x)) for x in adversary.prior]
        return near_exceed(rows, prior, Fraction(adversary.factor), r)
    return pairs_exceed(rows, r)


@examples(60)
@given(families(), st.sampled_from([0.05, 0.3, 1.0, 3.0]), st.booleans())
def test_each_passes_when_every_model_does(case, epsilon, one_sided):
    """A verdict of "each" is that of every model by itself, in fractions, for every adversary."""
    *history, last = case[2]
    models, event, columns, adversaries = case
    if last is None:
        return
    q = quantifier(models, event, history, adversaries, family="each")
    guarantee = OddsBound(epsilon, math.inf) if one_sided else epsilon
    verdict = bool(q.passes(np.array(last)[:, None], guarantee)[0])
    r = Fraction(math.exp(epsilon))
    directions = [False] if one_sided else [False, True]

    def any_above(bound: Fraction) -> bool:
        return any(
            exceeds(model, event, columns, adversary, bound, negated=negated)
            for model, adversary in zip(models, adversaries, strict=True)
            for negated in directions
        )

    if verdict:
        assert not any_above(r * SLIGHTLY)
    else:
        assert any_above(r / (1 + Fraction(1, 10**6)))


@examples(60)
@given(families())
def test_the_leakage_of_each_is_the_largest_of_the_models(case):
    """leakage() is never below any model's exact supremum, and reached under the named model."""
    models, event, columns, adversaries = case
    q = quantifier(models, event, columns, adversaries, family="each")
    found = q.leakage()
    alone = [
        quantifier([model], event, columns, [adversary])
        for model, adversary in zip(models, adversaries, strict=True)
    ]
    if not any(column is not None for column in columns):
        assert found.value == 0.0
        return
    assert found.value == pytest.approx(max(each.leakage().value for each in alone), abs=1e-9)
    column = np.linspace(0.1, 0.9, models[0].grid.size)[:, None]
    ahead = [float(each.leakage_if(column)[0]) for each in alone]
    assert q.leakage_if(column)[0] == pytest.approx(max(ahead), abs=1e-9)
    assert q.belief() == pytest.approx(max(each.belief() for each in alone), abs=1e-9)
    assert q.prior_belief() == pytest.approx(max(x.prior_belief() for x in alone), abs=1e-9)
    for reported, negated in ((found.for_event, False), (found.against_event, True)):
        if -20.0 < reported < 600.0:
            r = Fraction(math.exp(reported)) * (1 + Fraction(1, 2**50))
            pairs = zip(models, adversaries, strict=True)
            assert not any(exceeds(m, event, columns, a, r, negated=negated) for m, a in pairs)
    if found.model is not None:
        assert alone[found.model].leakage().value == pytest.approx(found.value, abs=1e-9)
        assert set(found.worst_models) == {found.model}


@examples(40)
@given(families(), st.sampled_from([0.1, 0.4, 0.8]))
def test_a_cap_on_beliefs_holds_under_each_model(case, cap):
    """A belief is capped under every model by itself: the largest odds of each, in fractions."""
    models, event, columns, adversaries = case
    *history, last = columns
    if last is None:
        return
    q = quantifier(models, event, history, adversaries, family="each")
    verdict = bool(q.passes(np.array(last)[:, None], BeliefBound(cap))[0])
    largest = []
    for model, adversary in zip(models, adversaries, strict=True):
        rows = whole_rows(adversary_rows([model], event, columns, adversary, LAST_STEP + 1))
        if isinstance(adversary, PriorsWithin):
            prior = [Fraction(float(x)) for x in adversary.prior]
            odds = None
            if any(row[2] or row[3] for row in rows):
                odds = near_odds(rows, prior, Fraction(adversary.factor))
                odds = math.inf if odds is None else odds
        else:
            possible = [(b, d) for _, _, b, d in rows if b or d]
            odds = max((Fraction(b, d) if d else math.inf for b, d in possible), default=None)
        largest += [] if odds is None else [odds]
    odds_of_cap = Fraction(cap) / (1 - Fraction(cap))
    if verdict:
        assert all(odds <= odds_of_cap for odds in largest)
    else:
        assert any(odds > odds_of_cap / (1 + Fraction(1, 10**6)) for odds in largest)


@examples(40)
@given(families())
def test_joint_is_at_least_as_strict_as_each(case):
    """An adversary who is unsure which model holds includes those who hold one of them."""
    models, event, columns, adversaries = case
    if any(isinstance(each, PriorsWithin) for each in adversaries):
        return  # its joint class is another one: odds between models are bounded too
    joint = quantifier(models, event, columns, adversaries, family="joint")
    each = quantifier(models, event, columns, adversaries, family="each")
    assert each.leakage().value <= joint.leakage().value + 1e-9
    rows = [
        row
        for model, adversary in zip(models, adversaries, strict=True)
        for row in adversary_rows([model], event, columns, adversary, LAST_STEP + 1)
    ]
    found = joint.leakage()
    if any(column is not None for column in columns) and -20.0 < found.for_event < 600.0:
        r = Fraction(math.exp(found.for_event)) * (1 + Fraction(1, 2**50))
        assert not pairs_exceed(whole_rows(rows), r)


def test_releases_that_tell_the_model_tell_nothing_to_one_who_holds_it():
    """What two models tell jointly, "each" leaves out: there the adversary knows the model."""
    grid = line(2)
    models = [
        MarkovModel(grid, [[0.9, 0.1], [0.9, 0.1]]),
        MarkovModel(grid, [[0.1, 0.9], [0.1, 0.9]]),
    ]
    likely = [0.9, 0.1]  # one step after the event, which the model then does not remember
    joint, each = (
        quantifier(models, at([0], 1), [None, None, likely], [AnyPrior()] * 2, family=family)
        for family in ("joint", "each")
    )
    assert joint.leakage().value > 1.0
    assert each.leakage().value < 1e-9
    assert len(joint.candidate_operators()) == 1
    assert [operator.rows for operator in each.candidate_operators()] == [2, 2]


def test_operators_of_groups_give_the_joint_probabilities_of_their_models():
    """Each group's operator times a likelihood is what its model by itself would have."""
    grid = line(3)
    models = [MarkovModel.gaussian(grid, sigma) for sigma in (0.5, 2.0)]
    adversaries = [KnownPrior([0.2, 0.3, 0.5]), KnownPrior([0.6, 0.3, 0.1])]
    column = np.array([0.7, 0.2, 0.1])
    q = quantifier(models, at([0], 1), [column], adversaries, family="each")
    for model, adversary, operator in zip(
        models, adversaries, q.candidate_operators(), strict=True
    ):
        alone = quantifier([model], at([0], 1), [column], [adversary])
        alone.observe(column)
        found = alone.leakage()
        b = operator.event @ column / operator.prior_event
        d = operator.complement @ column / operator.prior_complement
        assert float(np.log(b / d)[0]) == pytest.approx(found.for_event, abs=1e-9)


def test_what_does_not_fit_a_family_is_refused():
    """Unknown modes, another number of adversaries, and joint priors where there is no joint."""
    models = [MarkovModel.gaussian(line(2), sigma) for sigma in (0.5, 2.0)]
    event = at([0], 1)
    with pytest.raises(InvalidParameter, match="family"):
        Quantifier(models, event, family="both")
    with pytest.raises(InvalidParameter, match="each of 2 models"):
        Quantifier(models, event, [AnyPrior()])
    within = PriorsWithin([0.5, 0.5], 2.0)
    with pytest.raises(InvalidParameter, match="joint prior"):
        Quantifier(models, event, [within, within])
    with pytest.raises(InvalidParameter, match="models"):
        Quantifier(models, event, PriorsWithin([[0.3, 0.2], [0.1, 0.4]], 2.0), family="each")
    with pytest.raises(InvalidParameter, match="PerModel"):
        PerModel([])
    with pytest.raises(InvalidParameter, match="PerModel"):
        PerModel([PerModel([AnyPrior()])])
