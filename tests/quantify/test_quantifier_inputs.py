"""What a Quantifier refuses, and that a refusal changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from priste import (
    Grid,
    InvalidParameter,
    KnownPrior,
    LastSeen,
    MarkovModel,
    PriorsWithin,
    Quantifier,
    StartsIn,
)
from priste.events import at, presence
from priste.quantify import JointProbabilities

NAN, INF = float("nan"), float("inf")


@pytest.fixture
def model() -> MarkovModel:
    return MarkovModel(
        Grid(rows=1, columns=3, cell_size=1.0),
        [[0.1, 0.2, 0.7], [0.4, 0.1, 0.5], [0.0, 0.1, 0.9]],
    )


@pytest.fixture
def q(model: MarkovModel) -> Quantifier:
    return Quantifier(model, presence([0, 1], [2, 3]))


BAD_LIKELIHOODS = [
    ([0.1, 0.2], "shape"),
    ([[0.1, 0.2, 0.7]], "shape"),
    (0.5, "shape"),
    ([0.1, NAN, 0.2], "finite"),
    ([0.1, INF, 0.2], "finite"),
    ([0.1, -0.1, 0.2], ">= 0"),
    ([0.0, 0.0, 0.0], "positive for some cell"),
    (["a", "b", "c"], "real numbers"),
    ([0.1, 0.2j, 0.3], "real numbers"),
    ([[0.1], [0.2, 0.3], [0.1]], "array of numbers"),
    ([True, False, True], "real numbers"),
    ([1e308, 1e-300, 0.0], "span"),
]


@pytest.mark.parametrize(("likelihood", "rule"), BAD_LIKELIHOODS)
def test_a_refused_observation_changes_nothing(q, likelihood, rule):
    """Each broken rule is named, and step and answers stay as they were."""
    q.observe([0.2, 0.3, 0.5])
    before = q.joint_probabilities()
    with pytest.raises(InvalidParameter, match=rule):
        q.observe(likelihood)
    assert q.step == 1
    assert q.joint_probabilities() is before


def test_steps_beyond_the_model_are_refused():
    """A sequence of two matrices carries three observations and no fourth."""
    model = MarkovModel(Grid(rows=1, columns=2, cell_size=1.0), [np.eye(2)] * 2)
    q = Quantifier(model, at([0], 1))
    for _ in range(3):
        q.observe([0.5, 0.25])
    before = q.joint_probabilities()
    with pytest.raises(InvalidParameter):
        q.observe([0.5, 0.25])
    with pytest.raises(InvalidParameter):
        q.candidate_joint([[0.5], [0.25]])
    with pytest.raises(InvalidParameter):
        q.candidate_operators()
    assert q.step == 3
    assert q.joint_probabilities() is before


def test_inputs_are_copied_and_results_read_only(q):
    """Changing an array after observing it, or a result, changes no answer."""
    column = np.array([0.2, 0.3, 0.5])
    q.observe(column)
    column[:] = 1.0
    twin = q.copy()
    twin.observe([0.9, 0.05, 0.05])
    fresh = Quantifier(q._streams[0].chain.model, presence([0, 1], [2, 3]))
    fresh.observe([0.2, 0.3, 0.5])
    np.testing.assert_array_equal(q.joint_probabilities().event, fresh.joint_probabilities().event)
    assert (q.step, twin.step) == (1, 2)
    for array in (
        q.joint_probabilities().event,
        q.prior_by_start(),
        q.joint_probabilities().prior_event,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_priors_are_copied(model):
    """Changing the array of priors afterwards changes no answer."""
    priors = np.array([[0.5, 0.5, 0.0]])
    q = Quantifier(model, at([0], 1), KnownPrior(priors))
    priors[:] = [[0.0, 0.0, 1.0]]
    q.observe([0.2, 0.3, 0.5])
    assert q.joint_probabilities().prior_event[0] == pytest.approx(0.25, rel=1e-15)


BAD_PRIORS = [
    ([0.5, 0.5], "shape|one number for each"),
    ([0.5, 0.5, 0.5], "sum to 1"),
    ([0.5, 0.6, -0.1], ">= 0"),
    ([NAN, 0.5, 0.5], "finite"),
    ([], "shape|sum to 1"),
    ("abc", "real numbers|shape"),
]


@pytest.mark.parametrize(("prior", "rule"), BAD_PRIORS)
def test_bad_priors_are_refused_everywhere(model, q, prior, rule):
    """The constructor and the answers check a prior alike."""
    with pytest.raises(InvalidParameter, match=rule):
        Quantifier(model, at([0], 1), KnownPrior(prior))
    for answer in (q.posterior, q.leakage, q.log_likelihoods, q.location_posterior):
        with pytest.raises(InvalidParameter, match=rule):
            answer(prior)


def test_answers_need_a_prior_unless_one_is_known(model, q):
    """Without one known prior, posterior asks for a prior over the cells."""
    with pytest.raises(InvalidParameter, match="give a 'prior'"):
        q.posterior()
    with pytest.raises(InvalidParameter, match="shape"):
        q.posterior([[0.2, 0.3, 0.5]])
    two = Quantifier(model, at([0], 1), KnownPrior([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    two.observe([0.5, 0.25, 0.25])
    known = Quantifier(model, at([0], 1), KnownPrior([0.5, 0.5, 0.0]))
    known.observe([0.5, 0.25, 0.25])
    assert two.posterior([0.5, 0.5, 0.0]) == pytest.approx(known.posterior(), rel=1e-14)
    np.testing.assert_allclose(
        two.location_posterior([0.5, 0.5, 0.0], 0), known.location_posterior(step=0), rtol=1e-14
    )
    with pytest.raises(InvalidParameter, match="shape"):
        two.posterior([0.5, 0.5])  # one weight for each given prior


@pytest.mark.parametrize(
    "adversary",
    [
        StartsIn([2, 0]),
        KnownPrior([0.2, 0.3, 0.5]),
        KnownPrior([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0]]),  # as many as cells
        LastSeen(2),
        PriorsWithin([0.5, 0.0, 0.5], 3.0),
    ],
    ids=repr,
)
def test_a_prior_is_over_cells_whatever_the_adversary(model, adversary):
    """Posteriors under a prior over cells are those of a quantifier against any prior."""
    event = presence([0, 1], [2, 3])
    q, anyone = Quantifier(model, event, adversary), Quantifier(model, event)
    forgetful = Quantifier(model, event, adversary, method="forward", history=False)
    for each in (q, anyone, forgetful):
        each.observe([0.5, 0.25, 0.25])
        each.observe([0.1, 0.2, 0.7])
    for prior in ([0.25, 0.0, 0.75], [0.5, 0.25, 0.25]):
        assert q.posterior(prior) == pytest.approx(anyone.posterior(prior), rel=1e-12)
        assert q.log_likelihoods(prior) == pytest.approx(anyone.log_likelihoods(prior), rel=1e-12)
        assert q.leakage(prior).for_event == pytest.approx(
            anyone.leakage(prior).for_event, rel=1e-9
        )
        np.testing.assert_allclose(
            q.location_posterior(prior, 1), anyone.location_posterior(prior, 1), rtol=1e-12
        )
    with pytest.raises(InvalidParameter, match="history=True"):
        forgetful.posterior([0.5, 0.25, 0.25])


def test_the_worst_prior_names_what_its_rows_are(model):
    """Given priors and cells in which the user was seen are never taken for first cells."""
    event = presence([0, 1], [2, 3])
    priors = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0]])
    for adversary, named in (
        (StartsIn([1, 2]), "worst_prior"),
        (KnownPrior(priors), "worst_given"),
        (LastSeen(2), "worst_last_seen"),
    ):
        q = Quantifier(model, event, adversary)
        q.observe([0.5, 0.25, 0.25])
        found = q.leakage()
        assert [
            name
            for name in ("worst_prior", "worst_given", "worst_last_seen")
            if getattr(found, name)
        ] == [named]
        assert sum(getattr(found, named).values()) == pytest.approx(1.0)
    ((model_number, number),) = list(
        Quantifier(model, event, KnownPrior(priors[:1])).leakage().worst_given
    )
    assert (model_number, number) == (0, 0)


def test_constructor_names_the_broken_rule(model):
    """Unknown methods, cells outside the map, rows that are no adversary: each has its message."""
    event = at([0], 1)
    with pytest.raises(InvalidParameter, match="'method'"):
        Quantifier(model, event, method="fast")
    with pytest.raises(InvalidParameter, match=r"'adversary'.*Got list"):
        Quantifier(model, event, [1.0, 0.0, 0.0])
    with pytest.raises(InvalidParameter, match="cells 0 to 2"):
        Quantifier(model, at([3], 1))
    with pytest.raises(InvalidParameter, match="cells 0 to 2"):
        Quantifier(model, event, StartsIn([1, 7]))
    with pytest.raises(InvalidParameter):
        Quantifier(model, event, StartsIn([]))


@pytest.mark.parametrize("step", [-1, 2, 1.0, "1", True])
def test_location_posterior_refuses_other_steps(q, step):
    """Only observed steps and the next one have a location posterior."""
    q.observe([0.5, 0.25, 0.25])
    with pytest.raises(InvalidParameter, match="'step'"):
        q.location_posterior([0.2, 0.3, 0.5], step)


def test_location_posterior_before_any_release(q):
    """Before any release step 0 is the prior and there are no rows for observed steps."""
    prior = [0.25, 0.25, 0.5]
    assert q.location_posterior(prior, 0).tolist() == prior
    assert q.location_posterior(prior).shape == (0, 3)


@pytest.mark.parametrize("method", ["forward", "replay"])
def test_candidates_are_checked_and_zero_columns_allowed(model, method):
    """Candidate columns are validated; a release that is never made gives zeros."""
    q = Quantifier(model, presence([0, 1], [2, 3]), method=method)
    q.observe([0.5, 0.25, 0.25])
    for bad in ([0.1, 0.2, 0.3], np.ones((2, 2)), np.ones((3, 0)), np.full((3, 1), -1.0)):
        with pytest.raises(InvalidParameter, match="likelihoods"):
            q.candidate_joint(bad)
        with pytest.raises(InvalidParameter, match="likelihoods"):
            q.leakage_if(bad)
    joint = q.candidate_joint(np.zeros((3, 2)))
    assert not joint.event.any()
    assert not joint.complement.any()
    assert q.passes(np.zeros((3, 1)), 0.1).tolist() == [True]
    assert q.step == 1


def test_answers_about_candidates_equal_those_after_observing(q):
    """leakage_if and passes say what leakage says once the candidate is observed."""
    q.observe([0.5, 0.25, 0.25])
    candidates = np.array([[0.6, 0.2, 0.3], [0.3, 0.2, 0.3], [0.1, 0.2, 0.3]])
    values = q.leakage_if(candidates)
    for k in range(3):
        after = q.copy()
        after.observe(candidates[:, k])
        assert values[k] == pytest.approx(after.leakage().value, abs=1e-8)
        assert q.passes(candidates[:, [k]], values[k] + 1e-6).tolist() == [True]
        assert q.passes(candidates[:, [k]], max(values[k] - 1e-6, 0.0)).tolist() == [False]


def test_nothing_observed_leaks_nothing(q):
    """Before any release, and after silence alone, every leakage is exactly 0."""
    for _ in range(3):
        leakage = q.leakage()
        assert (leakage.value, leakage.for_event, leakage.against_event) == (0.0, 0.0, 0.0)
        assert sum(leakage.worst_prior.values()) == 1.0
        assert q.leakage([0.2, 0.3, 0.5]).value == 0.0
        q.observe(None)


def test_a_refused_moments_names_the_rule():
    """JointProbabilities check shapes, signs and bounds once."""
    both, zero = np.ones((2, 1)), np.zeros(1, dtype=np.int64)
    with pytest.raises(InvalidParameter, match="shapes"):
        JointProbabilities(both, np.ones((2, 2)), zero, 0.0, 0.0)
    with pytest.raises(InvalidParameter, match="'joint'"):
        JointProbabilities(both, -both, zero, 0.0, 0.0)
    with pytest.raises(InvalidParameter, match="'relative_error'"):
        JointProbabilities(both, both, zero, NAN, 0.0)
