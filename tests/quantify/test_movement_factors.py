"""A full matrix that is a Kronecker product is pushed by its factors, within the stated error."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from priste import Grid, MarkovModel, PlanarLaplace, Quantifier, presence
from priste.mobility import DenseTransition
from priste.quantify.movement import APART_ROUNDINGS, Factors, factored, push_states
from priste.quantify.rounding import UNIT_ROUNDOFF

GRID = Grid(rows=16, columns=20, cell_size=1.0)


def gaussian(sigma: float) -> DenseTransition:
    found = MarkovModel.gaussian(GRID, sigma=sigma).transition(0)
    assert isinstance(found, DenseTransition)
    return found


def factors_of(transition: DenseTransition) -> Factors:
    found = factored(transition, GRID)
    assert found is not None
    return found


@pytest.mark.parametrize("sigma", [0.4, 1.0, 7.0])
def test_exact_products_of_factors_are_a_few_roundings_from_the_entries(sigma: float) -> None:
    matrix, found = gaussian(sigma).matrix, factors_of(gaussian(sigma))
    rng = np.random.default_rng(1)
    allowed = Fraction(APART_ROUNDINGS) * Fraction(UNIT_ROUNDOFF)
    for source, target in rng.integers(0, GRID.size, (300, 2)):
        (row, column), (to_row, to_column) = (divmod(int(x), 20) for x in (source, target))
        meant = Fraction(float(matrix[source, target]))
        product = Fraction(float(found.down[row, to_row])) * Fraction(
            float(found.across[column, to_column])
        )
        assert abs(product - meant) <= allowed * meant


def test_a_push_by_factors_is_within_the_error_of_the_transition() -> None:
    transition = gaussian(1.0)
    values = np.random.default_rng(2).random((3, 2, GRID.size)) * 2.0**900
    exact = [
        sum(
            Fraction(float(x)) * Fraction(float(y)) for x, y in zip(values[1, 1], line, strict=True)
        )
        for line in transition.matrix.T[::37]
    ]
    pushed = push_states(values, transition, factors_of(transition))[1, 1, ::37]
    allowed = Fraction(transition.nonzeros_per_row) * Fraction(UNIT_ROUNDOFF)
    for got, meant in zip(pushed, exact, strict=True):
        assert abs(Fraction(float(got)) - meant) <= allowed * meant


def test_a_matrix_that_is_nearly_a_product_is_pushed_as_it_is() -> None:
    matrix = gaussian(1.0).matrix.copy()
    source = GRID.size // 2
    matrix[source, source] *= 1.0 + 1e-13
    assert factored(DenseTransition(matrix), GRID) is None
    local = MarkovModel.gaussian(GRID, sigma=1.0, reach=3.0).transition(0)
    assert factored(DenseTransition(local.toarray()), GRID) is None


def test_small_maps_other_maps_and_deep_tails_keep_the_full_matrix() -> None:
    small = Grid(rows=10, columns=10, cell_size=1.0)
    assert factored(MarkovModel.gaussian(small, sigma=1.0).transition(0), small) is None
    assert factored(gaussian(1.0), small) is None
    tails = np.full((2, 16, 16), 2.0**-700)
    tails[:, np.arange(16), np.arange(16)] = 1.0
    square = Grid(rows=16, columns=16, cell_size=1.0)
    with np.errstate(under="ignore"):
        lost = DenseTransition(np.kron(tails[0], tails[1]))
    assert factored(lost, square) is None


def test_a_model_from_a_file_gives_the_same_numbers_to_the_bit(tmp_path: Path) -> None:
    model = MarkovModel.gaussian(GRID, sigma=1.0)
    model.save(tmp_path / "model.npz")
    event = presence(range(10), range(1, 3))
    column = PlanarLaplace(GRID, alpha=1.0).column(5)
    found = []
    for each in (model, MarkovModel.load(tmp_path / "model.npz")):
        quantifier = Quantifier(each, event, method="forward")
        for _ in range(3):
            quantifier.observe(column)
        moments = quantifier.joint_probabilities()
        found.append((moments.event.tobytes(), moments.complement.tobytes()))
    assert found[0] == found[1]
