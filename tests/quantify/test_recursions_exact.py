"""The four recursions against path enumeration in fractions, within the bound they state."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.path_enumeration import PathEnumeration
from tests.quantify.exact_recursions import (
    LARGEST_USEFUL_GAMMA,
    assert_within_bound,
    exact_value,
    observed,
)
from tests.quantify.joint_cases import two_answers
from tests.quantify.strategies import LAST_STEP, distributions, instances, likelihoods

from priste import InvalidParameter, KnownPrior, Quantifier, StartsIn
from priste.events import at
from priste.maps import Grid
from priste.mobility import MarkovModel


def oracle(model, event, columns, *, normalise=True):
    steps = max(len(columns), LAST_STEP + 1)
    return PathEnumeration(model, steps, normalise=normalise).joint(event, columns)


@pytest.mark.parametrize("method", ["forward", "replay", "auto"])
@examples(60)
@given(instances())
def test_all_first_cells_agree_with_path_enumeration(method, instance):
    """Every method gives a, ā, b, d of every first cell within the stated bound of the truth."""
    model, event, columns = instance
    columns = columns[: LAST_STEP + 1]
    q = observed(Quantifier(model, event, method=method), columns)
    assert_within_bound(q.joint_probabilities(), oracle(model, event, columns))


@examples(40)
@given(instances())
def test_the_bound_covers_stored_matrices_too(instance):
    """The bound holds whether rows are meant as stored or divided by their exact sums."""
    model, event, columns = instance
    columns = columns[: LAST_STEP + 1]
    q = observed(Quantifier(model, event, method="forward"), columns)
    assert_within_bound(q.joint_probabilities(), oracle(model, event, columns, normalise=False))


@pytest.mark.parametrize("method", ["forward", "replay"])
@examples(40)
@given(st.data())
def test_given_priors_agree_with_path_enumeration(method, data):
    """Rows for K given priors are the mixtures of the exact rows of the first cells."""
    model, event, columns = data.draw(instances())
    columns = columns[: LAST_STEP + 1]
    priors = data.draw(st.lists(distributions(model.grid.size), min_size=1, max_size=3))
    q = observed(Quantifier(model, event, KnownPrior(np.array(priors)), method=method), columns)
    by_cell = oracle(model, event, columns)
    exact = [
        tuple(
            sum((Fraction(w) * row[k] for w, row in zip(prior, by_cell, strict=True)), Fraction(0))
            for k in range(4)
        )
        for prior in priors
    ]
    assert_within_bound(q.joint_probabilities(), exact)


@pytest.mark.parametrize("method", ["forward", "replay"])
@examples(40)
@given(st.data())
def test_candidates_equal_observing_them(method, data):
    """candidate_joint of a column is, within the bound, what observing that column gives."""
    model, event, columns = data.draw(instances())
    columns = columns[:LAST_STEP]
    q = observed(Quantifier(model, event, method=method), columns)
    size = model.grid.size
    candidates = data.draw(
        st.lists(likelihoods(size).filter(lambda c: c is not None), min_size=1, max_size=3)
    )
    joint = q.candidate_joint(np.array(candidates).T)
    assert joint.candidates == len(candidates)
    for k, candidate in enumerate(candidates):
        one = two_answers(
            joint.prior_event,
            joint.prior_complement,
            joint.event[:, k],
            joint.complement[:, k],
            joint.exponent,
            joint.relative_error,
            joint.absolute_error,
        )
        assert_within_bound(one, oracle(model, event, [*columns, candidate]))
    assert q.step == len(columns)
    (operator,) = q.candidate_operators()
    by_event, by_complement, exponent = operator.event, operator.complement, operator.exponent
    for candidate in candidates:
        exact = oracle(model, event, [*columns, candidate])
        for row in range(size):
            for weights, true in ((by_event, exact[row][2]), (by_complement, exact[row][3])):
                got = exact_value(weights[row] @ np.array(candidate), exponent[row])
                assert abs(got - true) <= Fraction(LARGEST_USEFUL_GAMMA) * true


@examples(40)
@given(st.data())
def test_starts_are_the_rows_of_their_cells(data):
    """StartsIn(cells) gives exactly the rows of those cells."""
    model, event, columns = data.draw(instances())
    columns = columns[: LAST_STEP + 1]
    size = model.grid.size
    starts = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    q = observed(Quantifier(model, event, StartsIn(starts)), columns)
    exact = oracle(model, event, columns)
    assert_within_bound(q.joint_probabilities(), [exact[cell] for cell in sorted(starts)])


@examples(60)
@given(st.data())
def test_posterior_and_likelihoods_under_a_prior(data):
    """posterior, log_likelihoods and leakage(prior) are the exact ones; impossible cases raise."""
    tolerance = 1e-9
    model, event, columns = data.draw(instances())
    columns = columns[: LAST_STEP + 1]
    prior = data.draw(distributions(model.grid.size))
    q = observed(Quantifier(model, event), columns)
    rows = oracle(model, event, columns)
    a, complement, b, d = (
        sum((Fraction(w) * row[k] for w, row in zip(prior, rows, strict=True)), Fraction(0))
        for k in range(4)
    )
    if b + d == 0:
        with pytest.raises(InvalidParameter, match="impossible under this prior"):
            q.posterior(prior)
    else:
        assert q.posterior(prior) == pytest.approx(float(b / (b + d)), rel=tolerance)
    if a == 0 or complement == 0:
        with pytest.raises(InvalidParameter, match="must leave the answer"):
            q.log_likelihoods(prior)
        assert q.leakage(prior).value == 0.0
        return
    happened, did_not = q.log_likelihoods(prior)
    for got, true in ((happened, b / a), (did_not, d / complement)):
        assert np.exp(got) == pytest.approx(float(true), rel=tolerance, abs=0.0)
    leakage = q.leakage(prior)
    if b and d:
        ratio = float(b * complement / (a * d))
        assert np.exp(leakage.for_event) == pytest.approx(ratio, rel=tolerance)
        assert leakage.for_event == -leakage.against_event
    elif b or d:
        assert leakage.value == np.inf


@examples(40)
@given(st.data())
def test_location_posterior_is_the_smoothed_one(data):
    """The location at each step given all releases equals the sum over paths."""
    tolerance = 1e-12
    model, event, columns = data.draw(instances())
    columns = columns[: LAST_STEP + 1]
    prior = data.draw(distributions(model.grid.size))
    q = observed(Quantifier(model, event), columns)
    paths = PathEnumeration(model, max(len(columns) + 1, 1))
    exact_prior = [Fraction(x) for x in prior]
    everywhere = None
    for step in range(len(columns) + 1):
        weights = paths.location(exact_prior, columns, step)
        if not any(weights):
            with pytest.raises(InvalidParameter, match="impossible under this prior"):
                q.location_posterior(prior, step)
            continue
        got = q.location_posterior(prior, step)
        expected = [float(w / sum(weights)) for w in weights]
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=0.0)
        if step < len(columns):
            everywhere = q.location_posterior(prior) if everywhere is None else everywhere
            np.testing.assert_allclose(everywhere[step], got, rtol=tolerance, atol=0.0)


def test_constant_events_have_exact_priors():
    """An event that always or never happens has a = 1, ā = 0 (or 0, 1) to the bit."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    model = MarkovModel(grid, np.full((3, 3), 1 / 3))
    somewhere = at([0], 2)
    for method in ("forward", "replay"):
        always = Quantifier(model, somewhere | ~somewhere, method=method)
        never = Quantifier(model, somewhere & ~somewhere, method=method)
        for q, a in ((always, 1.0), (never, 0.0)):
            q.observe([0.5, 0.25, 0.0])
            q.observe([0.5, 0.25, 0.0])
            joint = q.joint_probabilities()
            assert joint.prior_event.tolist() == [a] * 3
            assert joint.prior_complement.tolist() == [1.0 - a] * 3
            assert q.posterior([0.5, 0.5, 0.0]) == a
            impossible_side = joint.complement if a else joint.event
            assert not impossible_side.any()
            assert q.leakage().value == 0.0
