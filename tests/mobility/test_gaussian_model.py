"""Gaussian movement: the formula, its separable and truncated forms, and large maps."""

from __future__ import annotations

import math
import tracemalloc

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility import (
    DenseTransition,
    MarkovModel,
    SeparableTransition,
    SparseTransition,
    mass_outside_reach,
)
from priste.mobility.gaussian import LEAST_WEIGHT

FORMULA_ERROR = 1e-12
"""exp() of a rounded exponent of size 350 and a sum: relative, far above what was seen."""

grids = st.builds(
    Grid,
    rows=st.integers(1, 6),
    columns=st.integers(1, 6),
    cell_size=st.sampled_from([0.1, 0.5, 1.0, 3.0]),
)
sigmas = st.sampled_from([0.2, 0.5, 1.0, 2.5, 100.0])


def formula(grid: Grid, sigma: float, reach: float = math.inf) -> np.ndarray:
    """The definition, entry by entry, from the map's own distances, in 40 digits."""
    matrix = np.zeros((grid.size, grid.size))
    with mpmath.workdps(40):
        for cell in range(grid.size):
            distances = grid.distances_from(cell)
            near = distances <= reach * (1 + 1e-9)
            weights = [
                mpmath.exp(-(mpmath.mpf(d) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) if kept else 0
                for d, kept in zip(distances.tolist(), near.tolist(), strict=True)
            ]
            total = mpmath.fsum(weights)
            matrix[cell] = [float(weight / total) for weight in weights]
    return matrix


@examples(25)
@given(grids, sigmas)
def test_both_forms_are_the_papers_formula(grid: Grid, sigma: float) -> None:
    """Dense and separable are exp(-d²/2σ²) over its row sum, to relative rounding accuracy."""
    wanted = formula(grid, sigma)
    dense = MarkovModel.gaussian(grid, sigma, form="dense").transition(0)
    separable = MarkovModel.gaussian(grid, sigma, form="separable").transition(0)
    assert isinstance(dense, DenseTransition)
    assert isinstance(separable, SeparableTransition)
    assert np.array_equal(dense.toarray(), separable.toarray())
    # Entries below the least weight along an axis are documented to be 0.
    kept = dense.toarray() > 0
    assert np.allclose(dense.toarray()[kept], wanted[kept], rtol=FORMULA_ERROR, atol=0)
    assert np.all(wanted[~kept] <= LEAST_WEIGHT)


@examples(25)
@given(grids, sigmas, st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.0, 50.0]))
def test_the_truncated_form_is_the_formula_cut_and_normalised(
    grid: Grid, sigma: float, reach: float
) -> None:
    """With a reach, moves within it follow the formula and no other move is possible."""
    model = MarkovModel.gaussian(grid, sigma, reach=reach)
    step = model.transition(0)
    assert isinstance(step, SparseTransition)
    assert np.allclose(step.toarray(), formula(grid, sigma, reach), rtol=FORMULA_ERROR, atol=1e-300)


@examples(25)
@given(grids, sigmas, st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.0, 50.0]))
def test_the_cut_mass_is_what_the_whole_gaussian_has_beyond(
    grid: Grid, sigma: float, reach: float
) -> None:
    """``mass_outside_reach`` adds what lies beyond the reach; the model reports the largest."""
    whole = formula(grid, sigma)
    distances = np.array([grid.distances_from(cell) for cell in range(grid.size)])
    wanted = (whole * (distances > reach * (1 + 1e-9))).sum(axis=1)
    found = mass_outside_reach(grid, sigma, reach)
    assert np.allclose(found, wanted, rtol=1e-11, atol=1e-140)
    assert MarkovModel.gaussian(grid, sigma, reach=reach).truncated_mass == found.max()
    assert MarkovModel.gaussian(grid, sigma).truncated_mass == 0.0


def test_a_reach_of_whole_cells_is_inclusive() -> None:
    """20 cells of 0.1 km lie within a reach of 2 km, though 20 * 0.1 / 2 is no whole float."""
    grid = Grid(1, 41, 0.1)
    row = MarkovModel.gaussian(grid, 1.0, reach=2.0).transition(0).toarray()[0]
    assert np.count_nonzero(row) == 21


def test_the_default_form_depends_on_the_size() -> None:
    """Separable where that is 8 times less work, dense below."""
    small, large = Grid(15, 16, 1.0), Grid(16, 16, 1.0)
    assert isinstance(MarkovModel.gaussian(small, 1.0).transition(0), DenseTransition)
    assert isinstance(MarkovModel.gaussian(large, 1.0).transition(0), SeparableTransition)


@pytest.mark.parametrize("sigma", [1e-300, 1e-6])
def test_a_tiny_scale_stays_put(sigma: float) -> None:
    """When every move underflows, nobody moves; no warning, no NaN."""
    model = MarkovModel.gaussian(Grid(3, 3, 1.0), sigma)
    assert np.array_equal(model.transition(0).toarray(), np.eye(9))
    cut = MarkovModel.gaussian(Grid(3, 3, 1.0), sigma, reach=1.0)
    assert np.array_equal(cut.transition(0).toarray(), np.eye(9))


def test_a_huge_scale_goes_anywhere() -> None:
    """When distance does not matter, every cell is alike."""
    model = MarkovModel.gaussian(Grid(3, 5, 1.0), 1e12)
    assert np.allclose(model.transition(0).toarray(), 1 / 15, rtol=1e-15, atol=0)


@pytest.mark.parametrize("sigma", [0, -1.0, math.nan, math.inf, "1", None, True, 1e13, 1j])
def test_a_wrong_sigma_is_refused(sigma: object) -> None:
    """The scale must be a positive, finite number of km."""
    with pytest.raises(InvalidParameter, match="'sigma'"):
        MarkovModel.gaussian(Grid(2, 2, 1.0), sigma)


@pytest.mark.parametrize("reach", [-1.0, math.nan, math.inf, "1", True])
def test_a_wrong_reach_is_refused(reach: object) -> None:
    """The reach must be a finite number of km, 0 included."""
    with pytest.raises(InvalidParameter, match="'reach'"):
        MarkovModel.gaussian(Grid(2, 2, 1.0), 1.0, reach=reach)


def test_contradicting_and_unknown_forms_are_refused() -> None:
    """A reach is sparse; a form must be one of three names; a reach must fit in memory."""
    grid = Grid(2, 2, 1.0)
    with pytest.raises(InvalidParameter, match="makes a sparse matrix"):
        MarkovModel.gaussian(grid, 1.0, reach=1.0, form="dense")
    with pytest.raises(InvalidParameter, match="'form'"):
        MarkovModel.gaussian(grid, 1.0, form="csr")
    with pytest.raises(InvalidParameter, match="the separable form needs no cut"):
        MarkovModel.gaussian(Grid(3000, 3000, 1.0), 1.0, reach=10.0)
    with pytest.raises(InvalidParameter, match=r"'grid' of MarkovModel\.gaussian"):
        MarkovModel.gaussian((2, 2), 1.0)


def test_forty_thousand_cells_take_no_square_memory() -> None:
    """Making, pushing, pulling, sampling and storing m = 40,000 stays far below m² floats."""
    grid = Grid(200, 200, 0.5)
    tracemalloc.start()
    model = MarkovModel.gaussian(grid, 1.0)
    step = model.transition(0)
    start = np.zeros(grid.size)
    start[grid.size // 2 + 100] = 1.0
    pushed = step.push(start)
    pulled = step.pull(pushed)
    cells = model.sample(20, rng=5)
    model.fingerprint()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * grid.size * 8  # m * m * 8 bytes would be 40,000 / 64 = 625 times that
    assert abs(pushed.sum() - 1) < 1e-12
    assert pulled.shape == (grid.size,)
    # the far row, by the formula: an independent computation of one row
    weights = np.exp(-(grid.distances_from(grid.size // 2 + 100) ** 2) / 2)
    kept = pushed > 1e-290
    assert np.allclose(pushed[kept], (weights / weights.sum())[kept], rtol=1e-11, atol=0)
    assert cells.shape == (20,)


def test_products_of_factors_never_underflow() -> None:
    """The least positive entries of both factors multiply to a normal float."""
    model = MarkovModel.gaussian(Grid(100, 90, 1.0), 1.0)
    step = model.transition(0)
    assert isinstance(step, SeparableTransition)
    least = [float(factor[factor > 0].min()) for factor in step.factors]
    assert least[0] * least[1] > np.finfo(float).tiny
