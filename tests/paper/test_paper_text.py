"""The paper, formula by formula: what holds as printed, and what must be read otherwise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper.experiments import naive
from tests.drawn_examples import examples
from tests.oracles.paper_matrices import PaperEvent

from priste import (
    AnyPrior,
    Grid,
    Identity,
    MarkovModel,
    PlanarLaplace,
    Protector,
    Quantifier,
    at,
    pattern,
    presence,
)
from priste.audit import true_leakage
from priste.audit.procedure import Procedure

ROUNDING = 1e-10
STEPS = 6


def chain(cells: int, seed: int, zeros: float = 0.2) -> np.ndarray:
    """A transition matrix with some zeros."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((cells, cells)) * (rng.random((cells, cells)) > zeros)
    matrix += np.eye(cells) * 1e-3
    return matrix / matrix.sum(axis=1, keepdims=True)


@st.composite
def cases(draw):
    """A kind, a matrix, consecutive times from 2 on with a region each, releases and a prior."""
    cells = draw(st.integers(2, 4))
    start = draw(st.integers(2, 4))
    end = draw(st.integers(start, STEPS - 1))
    region = st.sets(st.integers(0, cells - 1), min_size=1, max_size=cells - 1)
    regions = {t: sorted(draw(region)) for t in range(start, end + 1)}
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    columns = [rng.random(cells) for _ in range(draw(st.integers(1, STEPS)))]
    kind = draw(st.sampled_from(["presence", "pattern"]))
    return kind, chain(cells, draw(st.integers(0, 1000))), regions, columns, rng


def as_event(kind: str, regions: dict[int, list[int]]):
    """The same event in priste, whose steps count from 0."""
    if kind == "pattern":
        return pattern(list(regions.values()), [t - 1 for t in regions])
    joined = None
    for t, region in regions.items():
        here = at(region, t - 1)
        joined = here if joined is None else joined | here
    return joined


def quantified(matrix, event, columns) -> Quantifier:
    grid = Grid(rows=1, columns=len(matrix), cell_size=1.0)
    quantifier = Quantifier(MarkovModel(grid, matrix), event)
    for column in columns:
        quantifier.observe(column)
    return quantifier


@examples(60)
@given(cases())
def test_lemmas_of_prior_and_joint_probability_hold(case) -> None:
    """With s_(t+1) in PATTERN's matrices, a, b and c are what the quantifier computes."""
    kind, matrix, regions, columns, _ = case
    paper, cells = PaperEvent(kind, matrix, regions), len(matrix)
    quantifier = quantified(matrix, as_event(kind, regions), columns)
    joint = quantifier.joint_probabilities()
    scale = np.exp2(joint.exponent.astype(float))
    assert np.allclose(quantifier.prior_by_start(), paper.prior()[:cells], atol=ROUNDING)
    assert np.allclose(joint.event * scale, paper.joint(columns)[:cells], atol=ROUNDING)
    both = (joint.event + joint.complement) * scale
    assert np.allclose(both, paper.joint(columns, any_world=True)[:cells], atol=ROUNDING)


@examples(60)
@given(cases(), st.sampled_from([0.1, 0.5, 1.0]))
def test_conditions_of_the_theorem_are_those_of_the_ratio(case, epsilon) -> None:
    """On priors that sum to 1, each condition holds exactly when its direction is within ε."""
    kind, matrix, regions, columns, rng = case
    paper = PaperEvent(kind, matrix, regions)
    quantifier = quantified(matrix, as_event(kind, regions), columns)
    for _ in range(5):
        prior = rng.dirichlet(np.ones(len(matrix)))
        leakage = quantifier.leakage(prior=prior)
        for said, direction in zip(
            paper.conditions(prior, columns, epsilon),
            (leakage.for_event, leakage.against_event),
            strict=True,
        ):
            # c - b and 1 - a lose digits, so a left side near 0 says nothing.
            if math.isfinite(direction) and abs(said) > ROUNDING:
                assert (said < 0.0) == (direction <= epsilon)


def test_the_region_of_the_pattern_matrix_is_that_of_arrival() -> None:
    """Printed with s_t, the prior of a PATTERN is wrong, here by more than one half."""
    matrix = np.array([[0.02, 0.98], [0.98, 0.02]])
    regions = {2: [0], 3: [1], 4: [0]}
    correct, printed = (PaperEvent("pattern", matrix, regions, printed=p) for p in (False, True))
    by_hand = matrix[:, 0] * matrix[0, 1] * matrix[1, 0]
    assert np.allclose(correct.prior()[:2], by_hand, atol=ROUNDING)
    assert np.abs(printed.prior()[:2] - by_hand).max() > 0.5
    # With the same region at every time, as in the experiments, both are the same.
    same = {t: [0] for t in regions}
    pair = [PaperEvent("pattern", matrix, same, printed=p).prior() for p in (False, True)]
    assert np.array_equal(*pair)


def test_an_event_at_the_first_time_is_missed() -> None:
    """The matrices begin at start - 1 = 0, which is in no product; the quantifier splits starts."""
    matrix = chain(3, 1)
    missed = PaperEvent("presence", matrix, {1: [0]})
    assert np.array_equal(missed.prior()[:3], np.zeros(3))
    assert quantified(matrix, at([0], 0), []).prior_by_start().tolist() == [1.0, 0.0, 0.0]


@examples(25)
@given(cases())
def test_the_box_without_the_sum_is_always_violated(case) -> None:
    """A small enough vector of the box 0 <= p <= 1 violates the first condition wherever b > 0."""
    kind, matrix, regions, columns, _ = case
    paper, cells = PaperEvent(kind, matrix, regions), len(matrix)
    b = paper.joint(columns)[:cells]
    if b.max() > 1e-3:
        tiny = np.zeros(cells)
        tiny[b.argmax()] = 1e-6
        assert paper.conditions(tiny, columns, epsilon=5.0)[0] > 0.0


def test_the_trajectory_of_the_naive_example_leaves_its_pattern() -> None:
    """s_5 = {s_2, s_3}, so a trajectory that ends at l_5 = s_1 does not satisfy the PATTERN."""
    example = pattern([[0, 1], [1, 2], [0, 1], [1, 2]], [1, 2, 3, 4])
    assert not example.holds([0, 0, 1, 0, 0])  # as printed: ... l_5 = s_1
    assert example.holds([0, 0, 1, 0, 1])  # as in the text below the algorithm: l_5 = s_2
    inside = [path for path in product(range(3), repeat=5) if example.holds(path)]
    assert len(inside) == 3 * 2**4


def test_the_naive_algorithm_is_a_power_of_the_width(monkeypatch) -> None:
    """It walks width ** length trajectories: exponential in the length, a power of the width."""
    walked = []

    def counted(*regions):
        for trajectory in product(*regions):
            walked.append(trajectory)
            yield trajectory

    monkeypatch.setattr(naive, "product", counted)
    ones = [[Fraction(1)] * 4] * 4
    for width, length in product((1, 2, 4), (1, 3)):
        walked.clear()
        regions = [list(range(width))] * length
        naive.naive_pattern_joint(ones, ones[0], ones[:length], regions)
        assert len(walked) == width**length


def test_the_six_events_of_the_first_figure() -> None:
    """(a) is always false; (b) to (f) are regions, trajectories, presences and patterns."""
    s1, s2 = [0], [1]
    assert (at(s1, 0) & at(s2, 0)).automaton().constant is False
    assert (at(s1, 0) | at(s2, 0)).automaton() == at([0, 1], 0).automaton()
    assert (at(s1, 0) & at(s1, 1)).automaton() == pattern([s1, s1], [0, 1]).automaton()
    assert (at(s1, 0) | at(s1, 1)).automaton() == presence(s1, [0, 1]).automaton()
    both = (at(s1, 0) | at(s2, 0)) & (at(s1, 1) | at(s2, 1))
    assert both.automaton() == pattern([[0, 1], [0, 1]], [0, 1]).automaton()
    either = at(s1, 0) | at(s2, 0) | at(s1, 1) | at(s2, 1)
    assert either.automaton() == presence([0, 1], [0, 1]).automaton()


def test_event_privacy_and_location_privacy_are_orthogonal() -> None:
    """Geo-indistinguishable releases may tell the event; exact releases may tell nothing of it."""
    grid = Grid(rows=1, columns=3, cell_size=1.0)
    staying = MarkovModel(grid, np.eye(3))
    noisy = Protector(
        staying,
        at([0], 2),
        PlanarLaplace(grid, 0.5),
        0.5,
        calibrator="uncalibrated",
        adversary=AnyPrior(),
    )
    assert true_leakage(noisy, steps=3)["event"].value > 0.5
    forgetful = MarkovModel(grid, np.full((3, 3), 1 / 3))
    exact = Protector(
        forgetful, at([0], 2), Identity(grid), 0.5, calibrator="uncalibrated", adversary=AnyPrior()
    )
    assert true_leakage(exact, steps=2)["event"].value == pytest.approx(0.0, abs=1e-8)


def test_a_rejected_draw_costs_more_than_the_final_budget() -> None:
    """After rejections the release is not α'-geo-indistinguishable for the final budget α'."""
    grid = Grid(rows=1, columns=6, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=0.7)
    loop = Protector(
        model,
        presence([0, 1, 5], [2, 3]),
        PlanarLaplace(grid, 1.0),
        0.5,
        calibrator="paper",
        adversary=AnyPrior(),
    )
    distribution = Procedure(loop).start.distribution
    levels = {}
    for number, budget in enumerate(distribution.budgets):
        joint = distribution.joint[number]
        used = joint[:, joint.min(axis=0) > 0.0]
        if used.size and budget > 0.0:
            apart = np.abs(np.log(used[:, None]) - np.log(used[None])).max(axis=2)
            distances = grid.distances()
            levels[budget] = float((apart[distances > 0] / distances[distances > 0]).max())
    first = max(levels)
    assert levels[first] <= first + 1e-9  # accepted at once: as claimed
    assert any(level > budget + 0.01 for budget, level in levels.items() if budget < first)
