"""Adversaries: values that describe themselves, rows in exact arithmetic, classes that include."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.oracles.exact_adversaries import adversary_rows
from tests.oracles.exact_worst_prior import pairs_exceed, reversed_rows, whole_rows
from tests.quantify.exact_recursions import assert_within_bound, observed
from tests.quantify.strategies import LAST_STEP, distributions, events, likelihoods, matrices

from priste import (
    AnyPrior,
    Grid,
    InvalidParameter,
    KnownPrior,
    LastSeen,
    MarkovModel,
    PlanarLaplace,
    PriorsWithin,
    Quantifier,
    StartsIn,
)
from priste.events import at, presence
from priste.quantify import PerModel, adversary_from_dict

NOISE = 1e-12
"""Far above the rounding of these small cases, far below what is compared."""


def line(cells: int) -> Grid:
    return Grid(rows=1, columns=cells, cell_size=1.0)


ADVERSARYS = [
    AnyPrior(),
    StartsIn([4, 1]),
    StartsIn([3]),
    KnownPrior([0.1, 0.2, 0.7]),
    KnownPrior([[1.0, 0.0], [1 / 3, 2 / 3]]),
    LastSeen(0),
    LastSeen(steps=7),
    PriorsWithin([0.1, 0.2, 0.7], factor=2.5),
    PriorsWithin([[0.1, 0.4], [0.2, 0.3]], 1),
    PerModel([KnownPrior([0.1, 0.9]), LastSeen(2)]),
]


@pytest.mark.parametrize("adversary", ADVERSARYS, ids=repr)
def test_adversaries_survive_a_file(adversary):
    """describe() is JSON, adversary_from_dict gives the same adversary to the bit, with words."""
    text = json.dumps(adversary.to_dict(), allow_nan=False)
    again = adversary_from_dict(json.loads(text))
    assert again == adversary
    assert hash(again) == hash(adversary)
    assert type(again) is type(adversary)
    assert len(again.words()) > 20
    assert sum(other == adversary for other in ADVERSARYS) == 1


@pytest.mark.parametrize(
    "described",
    [
        {},
        {"adversary": "everybody"},
        {"adversary": "starts in"},
        {"adversary": "starts in", "cells": []},
        {"adversary": "starts in", "cells": [1], "more": 2},
        {"adversary": "any prior", "cells": [1]},
        {"adversary": "known prior", "priors": "x"},
        {"adversary": "known prior", "priors": ["AAAA"]},
        {"adversary": "last seen", "steps": 1.5},
        {"adversary": "priors within", "prior": [], "joint": False, "factor": 2.0},
        {"adversary": "priors within", "factor": 2.0},
        None,
        [],
    ],
    ids=repr,
)
def test_foreign_descriptions_are_refused(described):
    """What describe() did not write is an InvalidParameter, never something else."""
    with pytest.raises(InvalidParameter):
        adversary_from_dict(described)


@pytest.mark.parametrize(
    "make",
    [
        lambda: StartsIn([]),
        lambda: StartsIn([-1]),
        lambda: StartsIn("12"),
        lambda: KnownPrior([0.5, 0.6]),
        lambda: KnownPrior([[0.5, 0.5], [0.5, math.nan]]),
        lambda: KnownPrior([]),
        lambda: LastSeen(-1),
        lambda: LastSeen(True),
        lambda: LastSeen(2.0),
        lambda: PriorsWithin([0.5, 0.5], 0.99),
        lambda: PriorsWithin([0.5, 0.5], math.inf),
        lambda: PriorsWithin([0.5, 0.5], math.nan),
        lambda: PriorsWithin([0.5, 0.5], "2"),
        lambda: PriorsWithin([0.5, 0.6], 2.0),
        lambda: PriorsWithin([-0.5, 1.5], 2.0),
        lambda: PriorsWithin([[[1.0]]], 2.0),
        lambda: PriorsWithin(1.0, 2.0),
    ],
)
def test_hostile_values_are_refused_when_they_are_made(make):
    """Empty, negative, infinite, NaN, text: refused by the class, before any model is known."""
    with pytest.raises(InvalidParameter):
        make()


def test_adversaries_never_change():
    """A value is frozen, and so are its arrays; the arrays given stay the caller's."""
    rows = np.array([[0.5, 0.5]])
    adversary = KnownPrior(rows)
    rows[0] = [1.0, 0.0]
    assert adversary.priors.tolist() == [[0.5, 0.5]]
    with pytest.raises(AttributeError, match="cannot assign"):
        adversary.priors = rows
    with pytest.raises(ValueError, match="read-only"):
        adversary.priors[0, 0] = 1.0


@st.composite
def guarded(draw):
    """(models, event, columns, adversary): one or two models on 2 or 3 cells, cycles among them."""
    size = draw(st.integers(2, 3))
    grid = line(size)
    models = []
    for _ in range(draw(st.integers(1, 2))):
        phases = draw(st.integers(1, 3))
        matrices_of = [draw(matrices(size)) for _ in range(phases)]
        models.append(MarkovModel(grid, matrices_of, cycle=True))
    kind = draw(st.sampled_from(["any", "starts", "priors", "last seen"]))
    adversary = {
        "any": AnyPrior,
        "starts": lambda: StartsIn(draw(st.sets(st.integers(0, size - 1), min_size=1))),
        "priors": lambda: KnownPrior(draw(st.lists(distributions(size), min_size=1, max_size=3))),
        "last seen": lambda: LastSeen(draw(st.integers(0, 4))),
    }[kind]()
    count = draw(st.integers(0, LAST_STEP + 1))
    return models, draw(events(size)), [draw(likelihoods(size)) for _ in range(count)], adversary


@pytest.mark.parametrize("method", ["forward", "replay"])
@examples(60)
@given(guarded())
def test_rows_agree_with_path_enumeration(method, case):
    """Stacked rows of every adversary are within the stated bound of the truth."""
    models, event, columns, adversary = case
    q = observed(Quantifier(models, event, adversary, method=method), columns)
    exact = adversary_rows(models, event, columns, adversary, LAST_STEP + 1)
    assert_within_bound(q.joint_probabilities(), exact)


@examples(80)
@given(guarded())
def test_the_leakage_of_a_class_is_that_of_its_exact_rows(case):
    """leakage() is never below the exact supremum of the stacked rows, and hardly above it."""
    models, event, columns, adversary = case
    q = observed(Quantifier(models, event, adversary), columns)
    rows = whole_rows(adversary_rows(models, event, columns, adversary, LAST_STEP + 1))
    found = q.leakage()
    if not any(column is not None for column in columns):
        assert found.value == 0.0
        return
    for reported, side in ((found.for_event, rows), (found.against_event, reversed_rows(rows))):
        if -34.0 < reported < 600.0:
            assert not pairs_exceed(side, Fraction(math.exp(reported)) * (1 + Fraction(1, 2**50)))
        if -33.0 < reported < 600.0 and pairs_exceed(side, Fraction(0)):
            assert pairs_exceed(side, Fraction(math.exp(reported - 1e-8)))
        if reported == math.inf:
            assert pairs_exceed(side, Fraction(10) ** 250)
    assert found.value == max(found.for_event, found.against_event)


@examples(60)
@given(guarded(), st.data())
def test_the_worst_prior_lies_in_the_class_and_learns_that_much(case, data):
    """Asked with its own worst prior, the quantifier reports about its leakage."""
    models, event, columns, adversary = case
    q = observed(Quantifier(models, event, adversary), columns)
    found = q.leakage()
    if not found.worst_rows or not 0.0 < found.value < 20.0:
        return
    assert math.isclose(sum(found.worst_rows.values()), 1.0, rel_tol=1e-9)
    size = models[0].grid.size
    prior = np.zeros((len(models), size))  # over model and first cell
    offset = 0
    for number, model in enumerate(models):
        rows = adversary.rows(model)
        weights = np.zeros(len(rows.labels))
        for row, weight in found.worst_rows.items():
            if offset <= row < offset + len(weights):
                weights[row - offset] = weight
        offset += len(weights)
        prior[number] = rows.blended(weights)
    if len(models) == 1 and not found.worst_last_seen:
        np.testing.assert_allclose(adversary.first_cells(found, size), prior[0], rtol=1e-12)
    learnt = q.leakage(prior=prior if len(models) > 1 else prior[0])
    assert learnt.value <= found.value + NOISE
    if min(found.worst_rows.values()) > 1e-6:  # elsewhere the supremum may be a limit
        assert learnt.value >= found.value - 1e-4


def test_two_models_leak_more_together_than_either_alone():
    """Releases that tell the model tell the event, where each model alone says nothing."""
    grid = line(2)
    home = MarkovModel(grid, [[1.0, 0.0], [1.0, 0.0]])  # always ends in cell 0
    away = MarkovModel(grid, [[0.0, 1.0], [0.0, 1.0]])
    event = at([0], 1)
    noisy = [
        MarkovModel(grid, [[0.9, 0.1], [0.9, 0.1]]),
        MarkovModel(grid, [[0.1, 0.9], [0.1, 0.9]]),
    ]
    for models, least in (((home, away), math.log(9.0)), (noisy, 1.0)):
        alone = [Quantifier(model, event) for model in models]
        together = Quantifier(models, event)
        for q in (*alone, together):
            q.observe(None)
            q.observe(None)
            q.observe([0.9, 0.1])  # one step after the event
        assert together.leakage().value > least
        assert all(q.leakage().value < 1e-9 for q in alone)
        assert len(together.leakage().worst_joint) == 2
        assert {model for model, _ in together.leakage().worst_joint} == {0, 1}
    assert not alone[0].leakage().worst_joint


def city(seed: int) -> tuple[MarkovModel, list[np.ndarray]]:
    grid = Grid(rows=4, columns=4, cell_size=1.0)
    rng = np.random.default_rng(seed)
    mech = PlanarLaplace(grid, alpha=0.7)
    return MarkovModel.gaussian(grid, sigma=1.0), [
        mech.likelihood(int(c)) for c in rng.integers(16, size=5)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_a_larger_class_never_leaks_less(seed):
    """Known prior <= mixtures <= any start; fewer starts <= more; older knowledge <= newer."""
    model, columns = city(seed)
    event = presence([0, 1], [2, 3])
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(16), size=4)

    def leak(adversary):
        return observed(Quantifier(model, event, adversary), columns).leakage().value

    anyone = leak(AnyPrior())
    assert leak(KnownPrior(rows[0])) <= leak(KnownPrior(rows)) + NOISE <= anyone + 2 * NOISE
    assert leak(StartsIn([2, 7])) <= leak(StartsIn([2, 7, 9, 11])) + NOISE <= anyone + 2 * NOISE
    ages = [leak(LastSeen(steps)) for steps in (0, 1, 3, 9, 40)]
    assert ages[0] == anyone
    assert all(older <= newer + NOISE for newer, older in itertools.pairwise(ages))


@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("asked", [AnyPrior(), StartsIn([3]), LastSeen(2)], ids=repr)
def test_asking_about_another_adversary_is_making_it_so(history, asked):
    """leakage(adversary=...) of first cells equals a quantifier made with that adversary."""
    model, columns = city(1)
    event = presence([0, 1], [2, 3])
    method = "auto" if history else "forward"
    q = observed(Quantifier(model, event, method=method, history=history), columns)
    made = observed(Quantifier(model, event, asked), columns).leakage()
    got = q.leakage(adversary=asked)
    assert got.value == pytest.approx(made.value, abs=1e-9)
    assert got.worst_prior.keys() == made.worst_prior.keys()
    assert q.leakage(adversary=AnyPrior()) == q.leakage()


def test_asking_needs_a_history_or_first_cells():
    """From one known prior's rows nothing follows about anybody, unless the releases are kept."""
    model, columns = city(2)
    event = presence([0, 1], [2, 3])
    prior = KnownPrior(np.full(16, 1 / 16))
    anyone = observed(Quantifier(model, event), columns).leakage()
    kept = observed(Quantifier(model, event, prior), columns)
    assert kept.leakage(adversary=AnyPrior()).value == pytest.approx(anyone.value, abs=1e-9)
    assert kept.leakage().value < anyone.value
    forgetful = observed(Quantifier(model, event, prior, method="stream"), columns)
    with pytest.raises(InvalidParameter, match="history=True"):
        forgetful.leakage(adversary=AnyPrior())
    with pytest.raises(InvalidParameter, match="must be left out"):
        kept.leakage(np.full(16, 1 / 16), adversary=AnyPrior())


def test_stale_needs_a_past():
    """A finite sequence and a second-order model say nothing exact about the time before."""
    grid = line(2)
    finite = MarkovModel(grid, [np.eye(2)] * 3)
    pairs = MarkovModel.second_order(grid, np.full((2, 2), 0.5), np.full((2, 2, 2), 0.5))
    for model, why in ((finite, "3 moves"), (pairs, "second-order")):
        with pytest.raises(InvalidParameter, match=why):
            Quantifier(model, at([0], 1), LastSeen(1))
        Quantifier(model, at([0], 1), LastSeen(0))


def test_a_cycle_is_followed_backwards():
    """One step before step 0 of a cycle is its last phase."""
    grid = line(2)
    swap, stay = np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(2)
    model = MarkovModel(grid, [stay, swap], cycle=True)
    event = at([0], 0)
    assert Quantifier(model, event, LastSeen(1)).joint_probabilities().prior_event.tolist() == [
        0.0,
        1.0,
    ]
    assert Quantifier(model, event, LastSeen(2)).joint_probabilities().prior_event.tolist() == [
        0.0,
        1.0,
    ]
    assert Quantifier(model, event, LastSeen(3)).joint_probabilities().prior_event.tolist() == [
        1.0,
        0.0,
    ]
    shifted = Quantifier(model.starting_at(1), event, LastSeen(1))
    assert shifted.joint_probabilities().prior_event.tolist() == [1.0, 0.0]


def test_models_must_share_a_map():
    """Models on different maps cannot be guarded jointly."""
    one, other = (MarkovModel(line(n), np.eye(n)) for n in (2, 3))
    with pytest.raises(InvalidParameter, match="on one grid"):
        Quantifier([one, other], at([0], 0))
    for nothing in ([], None, [one, "model"]):
        with pytest.raises(InvalidParameter, match="on one grid"):
            Quantifier(nothing, at([0], 0))


def test_streams_choose_their_method(monkeypatch):
    """ "stream" goes forward without history where the operator fits, and replays elsewhere."""
    from priste.quantify import model_stream

    model, columns = city(3)
    event = presence([0, 1], [2, 3])
    fits = observed(Quantifier(model, event, method="stream"), columns)
    monkeypatch.setattr(model_stream, "OPERATOR_BYTES", 1000)
    too_large = observed(Quantifier(model, event, method="stream"), columns)
    assert fits.leakage().value == pytest.approx(too_large.leakage().value, abs=1e-9)
    with pytest.raises(InvalidParameter, match="history=True"):
        fits.location_posterior(np.full(16, 1 / 16), 0)
    assert too_large.location_posterior(np.full(16, 1 / 16), 0).sum() == pytest.approx(1.0)


THIRDS = [1 / 3, 1 / 3, 1 / 3]


@pytest.mark.parametrize(
    ("adversary", "weights"),
    [
        (AnyPrior(), [0.2, 0.3, 0.5]),
        (StartsIn([0, 2]), [2 / 7, 5 / 7]),
        (PriorsWithin([0.5, 0.0, 0.5], 3.0), [2 / 7, 5 / 7]),
        (KnownPrior([[0.2, 0.3, 0.5], [0.6, 0.4, 0.0], [1.0, 0.0, 0.0]]), THIRDS),
        (LastSeen(2), [0.2, 0.3, 0.5]),
    ],
    ids=repr,
)
def test_weights_follow_from_what_rows_are(adversary, weights):
    """A prior over cells weighs rows by what they stand for, also where there are as many as cells.

    With two models each has half of the weight.
    """
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    model = MarkovModel(grid, [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
    prior = np.array([0.2, 0.3, 0.5])
    event = presence([0], [1])
    (operator,) = Quantifier(model, event, adversary).candidate_operators()
    assert operator.weights_of(prior) == pytest.approx(weights, abs=1e-15)
    (both,) = Quantifier([model, model], event, adversary).candidate_operators()
    assert both.weights_of(prior) == pytest.approx(np.tile(weights, 2) / 2, abs=1e-15)
