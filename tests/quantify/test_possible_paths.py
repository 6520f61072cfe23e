"""The largest leakage under any way to move, beside an enumeration of all possible paths."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.drawn_examples import examples
from tests.oracles.path_enumeration import PathEnumeration
from tests.quantify.strategies import LAST_STEP, instances, models

from priste import (
    Grid,
    InvalidParameter,
    MarkovModel,
    PlanarLaplace,
    Quantifier,
    at,
    pattern,
    presence,
)
from priste.mobility import BlendedTransition, SeparableTransition
from priste.quantify import PossiblePaths, possible_paths_leakage

SLACK = 1e-9
"""How far above the exact number an answer may be; measured below 1e-12 here."""

ALL_STEPS = LAST_STEP + 2


def enumerated(several, event, columns, starts=None):
    """Largest and least likelihood of possible paths with and without the event, in fractions."""
    found = {True: [], False: []}
    for model in several:
        every = PathEnumeration(model, ALL_STEPS, normalise=False)
        for start in range(model.grid.size) if starts is None else starts:
            for path, _ in every.paths(start):
                likelihood = Fraction(1)
                for column, cell in zip(columns, path, strict=False):
                    likelihood *= 1 if column is None else Fraction(float(column[cell]))
                found[event.holds(path)].append(likelihood)
    return found[True], found[False]


def exact_ratio(one, other):
    """ln of the largest of one over the least of the other, with 40 digits."""
    if not one or not other:
        return mpmath.mpf(0)
    if not max(one):
        return mpmath.inf if not max(other) else -mpmath.inf
    if not min(other):
        return mpmath.inf
    ratio = max(one) / min(other)
    with mpmath.workdps(40):
        return mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)


def assert_agrees(found, with_event, without) -> None:
    for ours, exact in (
        (found.for_event, exact_ratio(with_event, without)),
        (found.against_event, exact_ratio(without, with_event)),
    ):
        assert ours >= exact
        assert ours == exact or ours - exact <= SLACK


@examples(150)
@given(instances())
def test_equals_the_enumeration_of_possible_paths(instance) -> None:
    """Both directions, after every step, for models with zeros, of second order, with silence."""
    model, event, columns = instance
    for step, found in enumerate(possible_paths_leakage(model, event, columns), start=1):
        assert_agrees(found, *enumerated([model], event, columns[:step]))
    assert PossiblePaths(model, event).leakage().value == pytest.approx(0.0, abs=SLACK)


@examples(60)
@given(instances(second_order=False), st.data())
def test_several_models_allow_the_paths_of_each(instance, data) -> None:
    """A path is possible when one of the models allows all of it, not a mixture of their moves."""
    model, event, columns = instance
    other = data.draw(
        models(second_order=False).filter(lambda each: each.grid.size == model.grid.size)
    )
    starts = data.draw(st.sets(st.integers(0, model.grid.size - 1), min_size=1))
    together = possible_paths_leakage([model, other], event, columns, starts=starts)
    for step, found in enumerate(together, start=1):
        assert_agrees(found, *enumerated([model, other], event, columns[:step], starts))


@examples(60)
@given(instances())
def test_is_never_below_the_leakage_of_the_model(instance) -> None:
    """The model is one of the ways to move, so it cannot leak more than the worst of them."""
    model, event, columns = instance
    quantifier = Quantifier(model, event)
    for column, found in zip(columns, possible_paths_leakage(model, event, columns), strict=True):
        quantifier.observe(column)
        leakage = quantifier.leakage()
        if leakage.worst_prior:  # some prior makes the comparison possible
            assert found.value >= leakage.value - SLACK


def test_another_model_with_the_same_moves_changes_nothing() -> None:
    """Only which moves are positive counts; and the model's own leakage does change."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    event, columns = presence([2], [1]), [None, [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]
    lazy = MarkovModel(grid, [[0.98, 0.02, 0.0], [0.0, 0.98, 0.02], [0.5, 0.0, 0.5]])
    quick = MarkovModel(grid, [[0.01, 0.99, 0.0], [0.0, 0.1, 0.9], [0.01, 0.0, 0.99]])
    assert possible_paths_leakage(lazy, event, columns) == possible_paths_leakage(
        quick, event, columns
    )
    said = []
    for model in (lazy, quick):
        quantifier = Quantifier(model, event)
        for column in columns:
            quantifier.observe(column)
        said.append(quantifier.leakage().value)
    assert abs(said[0] - said[1]) > 0.01


def forms():
    """One small transition in each of the forms that large maps use."""
    rows = np.array([[0.5, 0.5], [0.0, 1.0]])
    columns = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.25, 0.75]])
    separable = SeparableTransition(rows, columns)
    seen = sparse.csr_array(np.diag([0.5, 1.0, 0.0, 0.0, 0.25, 0.5])[:, ::-1].copy())
    blended = BlendedTransition([0.5, 0.0, 1.0, 1.0, 0.75, 0.5], separable, seen)
    return [
        pytest.param(separable, id="separable"),
        pytest.param(blended, id="blended"),
        pytest.param(sparse.csr_array(blended.toarray()), id="sparse"),
    ]


@pytest.mark.parametrize("form", forms())
def test_every_form_of_transition_has_the_moves_of_its_matrix(form) -> None:
    """Separable, blended and sparse forms answer as the whole matrix does."""
    grid = Grid(rows=2, columns=3, cell_size=1.0)
    model = MarkovModel(grid, form)
    whole = MarkovModel(grid, model.transition(0).toarray())
    rng = np.random.default_rng(5)
    columns = [rng.random(6) * (rng.random(6) > 0.2) for _ in range(4)]
    event = presence([0, 4], [1, 3])
    assert possible_paths_leakage(model, event, columns) == possible_paths_leakage(
        whole, event, columns
    )


def test_releases_that_exclude_a_side_leave_no_bound() -> None:
    """A zero where the event would have to be proves its negation, and is unbounded."""
    grid = Grid(rows=1, columns=2, cell_size=1.0)
    model = MarkovModel(grid, np.full((2, 2), 0.5))
    (found,) = possible_paths_leakage(model, at([0], 0), [[0.0, 0.5]])
    assert (found.for_event, found.against_event) == (-math.inf, math.inf)
    (impossible,) = possible_paths_leakage(model, at([0], 1), [[0.0, 0.0]])
    assert impossible.value == math.inf


def test_an_event_that_every_path_decides_alike_has_nothing_to_tell() -> None:
    """Certain or impossible by the possible moves: 0, whatever is released."""
    grid = Grid(rows=1, columns=2, cell_size=1.0)
    stay = MarkovModel(grid, np.eye(2))
    never = pattern([[0], [1]], [0, 1])
    for event in (never, ~never):
        assert [each.value for each in possible_paths_leakage(stay, event, [[0.9, 0.1]])] == [0.0]


def test_long_streams_on_a_large_map_stay_tight() -> None:
    """2,000 releases at which every cell is as likely as the others tell nothing at all."""
    grid = Grid(rows=20, columns=20, cell_size=1.0)
    model = MarkovModel.gaussian(grid, 1.0, reach=2.0)
    walk = PossiblePaths(model, presence(range(10), range(3, 8)))
    for _ in range(2000):
        walk.observe(np.full(400, 1e-3))
    assert 0.0 <= walk.leakage().value < SLACK


def test_planar_laplace_is_bounded_by_its_own_level() -> None:
    """One release of α-geo-indistinguishable noise tells at most α times the map's diameter."""
    grid = Grid(rows=5, columns=5, cell_size=1.0)
    mech = PlanarLaplace(grid, alpha=0.4)
    model = MarkovModel.gaussian(grid, 1.0)
    farthest = float(grid.distances().max())
    for output in (0, 12, 24):
        (found,) = possible_paths_leakage(model, presence([0], [1]), [mech.emission()[:, output]])
        assert 0.0 < found.value <= 0.4 * farthest + SLACK


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"models": []}, "at least one mobility model"),
        ({"columns": [[0.5]]}, r"shape \(2,\)"),
        ({"columns": [[0.5, -0.1]]}, "finite and >= 0"),
        ({"columns": [[0.5, math.nan]]}, "finite and >= 0"),
        ({"starts": []}, "one at least"),
        ({"starts": [2]}, "cells 0 to 1"),
    ],
)
def test_hostile_inputs_are_refused(arguments, words) -> None:
    """What is wrong is said, with the rule."""
    grid = Grid(rows=1, columns=2, cell_size=1.0)
    usual = {
        "models": MarkovModel(grid, np.eye(2)),
        "event": at([0], 0),
        "columns": [[0.5, 0.5]],
    }
    with pytest.raises(InvalidParameter, match=words):
        possible_paths_leakage(**{**usual, **arguments})
