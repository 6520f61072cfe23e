"""Long-run shares: irreducible, periodic, reducible, cyclic and large chains."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.drawn_examples import examples

from priste.errors import InvalidParameter, PristeError
from priste.maps import Grid
from priste.mobility import (
    AddNearby,
    BlendedTransition,
    MarkovModel,
    SeparableTransition,
    stationary,
)
from priste.mobility.stationary import STATIONARY_TOLERANCE, stationary_share
from priste.mobility.transitions import SparseTransition

SHARE_ERROR = 1e-9


def averaged(matrix: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The definition, in fractions: solve for the limit of averages by repeated squaring.

    The lazy chain (I + M) / 2 has the same averages in the limit and its powers converge,
    so a very high power is the answer; 2**40 steps in exact arithmetic would explode, so
    floats with rows rescaled at each squaring stand in, and the residual is checked.
    """
    power = 0.5 * (np.eye(len(matrix)) + matrix)
    for _ in range(60):
        power = power @ power
        power /= power.sum(axis=1, keepdims=True)
    return start @ power


@st.composite
def small_chains(draw: st.DrawFn) -> np.ndarray:
    """Small chains with many zeros: periodic, reducible and absorbing ones are common."""
    size = draw(st.integers(1, 6))
    matrix = np.zeros((size, size))
    for row in matrix:
        targets = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=2))
        for target in targets:
            row[target] += draw(st.sampled_from([1.0, 0.5, 3.0]))
    return matrix / matrix.sum(axis=1, keepdims=True)


@examples(200)
@given(small_chains())
def test_classes_are_states_that_reach_each_other(matrix: np.ndarray) -> None:
    """Dense and sparse, against powers of the matrix of edges."""
    size = len(matrix)
    reach = np.linalg.matrix_power((matrix > 0) + np.eye(size), size) > 0
    expected = reach & reach.T
    for form in (matrix, sparse.csr_array(matrix)):
        count, labels = stationary.strong_classes(form)
        assert count == len(np.unique(expected, axis=0))
        assert np.array_equal(labels[:, None] == labels[None, :], expected)


@given(small_chains(), st.booleans())
def test_every_small_chain_has_its_long_run_average(matrix: np.ndarray, thin: bool) -> None:
    """Dense and sparse, whatever its classes and periods, against a very high lazy power."""
    size = len(matrix)
    model = MarkovModel(Grid(1, size, 1.0), sparse.csr_array(matrix) if thin else matrix)
    share = model.stationary()
    assert np.allclose(share, averaged(matrix, np.full(size, 1 / size)), atol=SHARE_ERROR, rtol=0)
    assert np.all(share >= 0)
    assert abs(share.sum() - 1) < 1e-12
    assert np.abs(share @ matrix - share).sum() <= STATIONARY_TOLERANCE


def test_known_small_chains() -> None:
    """A two-state chain, a swap, two absorbing ends and the identity, worked out by hand."""
    pair, line, four = Grid(1, 2, 1.0), Grid(1, 3, 1.0), Grid(1, 4, 1.0)
    share = MarkovModel(pair, [[0.5, 0.5], [0.25, 0.75]]).stationary()
    assert share == pytest.approx([float(Fraction(1, 3)), float(Fraction(2, 3))], abs=SHARE_ERROR)
    assert MarkovModel(pair, [[0, 1], [1, 0]]).stationary() == pytest.approx([0.5, 0.5])
    ends = [[1, 0, 0, 0], [0.5, 0, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 0, 1]]
    assert MarkovModel(four, ends).stationary() == pytest.approx([0.5, 0, 0, 0.5])
    drain = [[1, 0, 0], [0.25, 0.5, 0.25], [0, 0, 1]]
    assert MarkovModel(line, drain).stationary() == pytest.approx([0.5, 0, 0.5])
    assert MarkovModel(line, np.eye(3)).stationary() == pytest.approx([1 / 3] * 3)


def test_a_cycle_gives_the_shares_at_its_first_step() -> None:
    """For matrices A, B in turn the answer p satisfies p A B = p; turned, it is p A."""
    a = np.array([[0.9, 0.1], [0.4, 0.6]])
    b = np.array([[0.2, 0.8], [0.5, 0.5]])
    model = MarkovModel(Grid(1, 2, 1.0), [a, b], cycle=True)
    share = model.stationary()
    assert np.allclose(share @ a @ b, share, atol=SHARE_ERROR, rtol=0)
    assert np.allclose(model.starting_at(1).stationary(), share @ a, atol=SHARE_ERROR, rtol=0)


def test_a_sequence_has_none() -> None:
    """A model that ends has no long run."""
    with pytest.raises(InvalidParameter, match="without an end"):
        MarkovModel(Grid(1, 2, 1.0), [np.eye(2)] * 3).stationary()


@pytest.fixture
def tiny_solve_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small chains take the ways of large ones."""
    monkeypatch.setattr(stationary, "DIRECT_LIMIT", 4)
    monkeypatch.setattr(stationary, "SOLVE_LIMIT", 4)


@pytest.mark.usefixtures("tiny_solve_limit")
def test_the_ways_of_large_chains_agree_with_the_small_ones() -> None:
    """Arnoldi and power iteration find what solving finds, for every form."""
    grid = Grid(6, 7, 1.0)
    whole = MarkovModel.gaussian(grid, 0.9).transition(0).toarray()
    wanted = averaged(whole, np.full(42, 1 / 42))
    walk = MarkovModel.gaussian(grid, 0.9).sample(200, rng=1)
    counts = np.zeros((42, 42))
    np.add.at(counts, (walk[:-1], walk[1:]), 1)
    separable = MarkovModel.gaussian(grid, 0.9, form="separable").transition(0)
    assert isinstance(separable, SeparableTransition)
    totals = counts.sum(axis=1) + 1
    blend = BlendedTransition(1 / totals, separable, sparse.csr_array(counts / totals[:, None]))
    for matrix in (whole, separable, sparse.csr_array(whole)):
        share = MarkovModel(grid, matrix).stationary()
        assert np.allclose(share, wanted, atol=SHARE_ERROR, rtol=0)
    blended = averaged(blend.toarray(), np.full(42, 1 / 42))
    assert np.allclose(MarkovModel(grid, blend).stationary(), blended, atol=SHARE_ERROR, rtol=0)
    both = MarkovModel(grid, [blend, separable], cycle=True)
    product = averaged(blend.toarray() @ whole, np.full(42, 1 / 42))
    assert np.allclose(both.stationary(), product, atol=SHARE_ERROR, rtol=0)


@pytest.mark.usefixtures("tiny_solve_limit")
def test_a_long_cycle_on_a_large_map_needs_no_product_of_its_steps() -> None:
    """What solving the product of all steps finds, for rounds that forget fast and slowly."""
    grid = Grid(6, 7, 1.0)
    hours = [
        MarkovModel.gaussian(grid, 0.4 + 0.3 * k).transition(0).toarray() * 0.7 + shares * 0.3
        for k, shares in enumerate(np.random.default_rng(5).dirichlet(np.ones(42), size=4))
    ]
    slow = [0.999 * np.eye(42) + 0.001 * hour for hour in hours]
    for cycle in (hours, slow):
        wanted = averaged(np.linalg.multi_dot(cycle), np.full(42, 1 / 42))
        found = MarkovModel(grid, cycle, cycle=True).stationary()
        assert np.abs(found - wanted).sum() < SHARE_ERROR


@pytest.mark.usefixtures("tiny_solve_limit")
def test_large_periodic_and_reducible_chains_keep_the_documented_answer() -> None:
    """A ring that only turns is even; separate rings keep the mass that starts in them."""
    ring = np.roll(np.eye(8), 1, axis=1)
    line = Grid(1, 8, 1.0)
    assert MarkovModel(line, sparse.csr_array(ring)).stationary() == pytest.approx([1 / 8] * 8)
    assert MarkovModel(line, ring).stationary() == pytest.approx([1 / 8] * 8)
    apart = SeparableTransition(np.eye(2), np.roll(np.eye(4), 1, axis=1))
    assert MarkovModel(Grid(2, 4, 1.0), apart).stationary() == pytest.approx([1 / 8] * 8)
    first = stationary_share([apart], np.eye(8)[0])
    assert first == pytest.approx([1 / 4] * 4 + [0] * 4, abs=SHARE_ERROR)
    lopsided = sparse.block_diag([np.eye(1), np.full((7, 7), 1 / 7)])
    start = np.array([0.5] + [0.5 / 7] * 7)
    share = stationary_share([SparseTransition(lopsided)], start)
    assert share == pytest.approx(start)


@pytest.mark.usefixtures("tiny_solve_limit")
def test_an_answer_that_was_not_found_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain that mixes too slowly for the allowed steps raises instead of guessing."""
    monkeypatch.setattr(stationary, "MAX_POWER_STEPS", 3)
    slow = np.eye(6) * (1 - 1e-3)
    slow[np.arange(6), np.minimum(np.arange(6) + 1, 5)] += 1e-3
    with pytest.raises(PristeError, match="mixes too slowly"):
        MarkovModel(Grid(2, 6, 1.0), SeparableTransition(np.eye(2), slow)).stationary()
    monkeypatch.setattr(stationary, "_ARNOLDI_RESTARTS", 1)
    monkeypatch.setattr(stationary, "_ARNOLDI_BASIS", 4)
    grid = Grid(20, 20, 1.0)
    walk = MarkovModel.gaussian(grid, 0.4).sample(300, rng=1)
    with pytest.raises(PristeError, match="was not found"):
        MarkovModel.fit(grid, [walk], AddNearby()).stationary()


def test_ten_thousand_cells() -> None:
    """The whole Gaussian of 10,000 cells: proportional to its row sums, since it is reversible."""
    grid = Grid(100, 100, 1.0)
    share = MarkovModel.gaussian(grid, 3.0).stationary()
    line = np.exp(-(np.subtract.outer(np.arange(100), np.arange(100)) ** 2) / 18).sum(axis=1)
    wanted = np.kron(line, line)
    assert np.allclose(share, wanted / wanted.sum(), rtol=1e-9, atol=0)
    cut = MarkovModel.gaussian(grid, 3.0, reach=6.0)
    found = cut.stationary()
    pairs = np.array([(grid.distances_from(c) <= 6 + 1e-9) @ np.exp(
        -(grid.distances_from(c) ** 2) / 18) for c in range(0, grid.size, 997)])  # fmt: skip
    ratio = found[::997] / pairs
    assert np.allclose(ratio, ratio[0], rtol=1e-6, atol=0)
