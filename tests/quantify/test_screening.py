"""Screening many candidates with thin products: never safer than the plain check, and useful."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples
from tests.quantify.screened_cases import screen, small_quantifier

from priste import Grid, MarkovModel, PlanarLaplace, Quantifier
from priste.events import presence
from priste.quantify import passes
from priste.quantify.guarantees import as_limits
from priste.quantify.scaling import ScaledRows
from priste.quantify.screening import (
    LARGEST_ERROR,
    Resemblance,
    _digest,
    _resemblance,
    worthwhile_rank,
)

GAMMA = 1e-12
"""A relative error that the products of these small cases stay far below."""


def plain_verdicts(quantifier: Quantifier, columns: np.ndarray, epsilon: float) -> np.ndarray:
    """The check without screening: one full product."""
    return passes(quantifier.candidate_joint(columns), epsilon)


@st.composite
def resembling_columns(draw):
    """Columns that a few of them span up to a distortion of any size."""
    cells, count = draw(st.integers(3, 9)), draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rank = draw(st.integers(1, 3))
    columns = rng.random((cells, rank)) @ rng.random((rank, count))
    columns *= 1.0 + draw(st.sampled_from([0.0, 1e-14, 1e-6, 1e-2, 0.3])) * rng.random(
        (cells, count)
    )
    columns *= draw(st.sampled_from([1.0, 1e-9])) / columns.max()
    return columns, draw(st.integers(1, 4)), rng


@examples(150)
@given(resembling_columns())
def test_the_error_bounds_the_thin_products_in_exact_arithmetic(case):
    """|b̂ - b| <= δ b in fractions, for random H, however well the basis fits."""
    columns, rank, rng = case
    likeness = Resemblance.of(columns, rank)
    assert likeness is not None
    rows = rng.random((3, len(columns))) * 2.0**60
    rows[rng.random(rows.shape) < 0.3] = 0.0
    thin = rows @ likeness.basis @ likeness.coefficients
    scales = np.ldexp(1.0, -np.frexp(columns.max(axis=0))[1])
    for k, column in enumerate((columns * scales).T):
        if likeness.error[k] >= LARGEST_ERROR:
            continue
        for i, row in enumerate(rows):
            exact = sum(Fraction(h) * Fraction(x) for h, x in zip(row, column, strict=True))
            off = abs(Fraction(thin[i, k]) - exact)
            assert off <= Fraction(likeness.error[k]) * exact


def test_columns_that_cannot_be_screened_are_in_doubt():
    """A zero, a span beyond LEAST_SHARE, a density above 1 or a tiny column has error inf."""
    fine = np.array([0.5, 0.25, 0.25])
    columns = np.stack(
        [
            fine,
            [0.5, 0.0, 0.5],
            [1.0, 2.0**-21, 1.0],
            [1.5, 1.0, 1.0],
            fine * 2.0**-100,
            fine * 0.0,
        ],
        axis=1,
    )
    likeness = Resemblance.of(columns, 2)
    assert likeness is not None
    assert np.isinf(likeness.error).tolist() == [False, True, True, True, True, True]
    assert likeness.error[0] < GAMMA
    assert Resemblance.of(columns[:, 1:], 2) is None


@examples(60)
@given(st.integers(0, 2**32), st.integers(1, 12), st.floats(0.3, 1.3))
def test_what_the_screen_decides_the_plain_check_decides_alike(seed, rank, tightness):
    """At any rank and any ε around the leakages, decided verdicts are those of the plain check."""
    quantifier, columns = small_quantifier(seed)
    epsilon = tightness * float(quantifier.leakage_if(columns).max())
    verdict, decided = screen(quantifier, columns, as_limits(epsilon), rank)
    plain = plain_verdicts(quantifier, columns, epsilon)
    assert not (verdict & ~decided).any()
    np.testing.assert_array_equal(verdict[decided], plain[decided])


def test_a_screen_of_full_rank_decides_almost_everything():
    """With as many basis columns as candidates the error is rounding: the verdicts agree."""
    for seed in range(20):
        quantifier, columns = small_quantifier(seed)
        leakages = quantifier.leakage_if(columns)
        epsilon = float(np.median(leakages)) * (1.0 + 1e-6) + 1e-8
        verdict, decided = screen(quantifier, columns, as_limits(epsilon), 400)
        assert decided.all()
        np.testing.assert_array_equal(verdict, leakages <= epsilon)


def spread_quantifier(seed: int) -> tuple[Quantifier, np.ndarray]:
    """A stream on a line along which people hardly move: H spans more than one band."""
    rng = np.random.default_rng(seed)
    grid = Grid(rows=1, columns=25, cell_size=1.0)
    apart = np.abs(np.subtract.outer(np.arange(25), np.arange(25)))
    shares = 2.0 ** (-apart * float(rng.choice([36.0, 38.0, 41.0])))
    model = MarkovModel(grid, shares / shares.sum(axis=1, keepdims=True))
    columns = PlanarLaplace(grid, alpha=float(rng.choice([0.003, 0.03, 0.1]))).emission()
    quantifier = Quantifier(model, presence([0, 6, 7], [2, 4]), method="forward")
    for _ in range(int(rng.integers(1, 4))):
        quantifier.observe(columns[:, rng.integers(25)])
    return quantifier, columns


@examples(60)
@given(st.integers(0, 2**32), st.integers(1, 12), st.floats(0.3, 1.3))
def test_rows_in_several_bands_may_pass_but_never_fail(seed, rank, tightness):
    """With bands added up, what is decided passes, and the plain check says so too."""
    quantifier, columns = spread_quantifier(seed)
    assert len(quantifier._streams[0].operator().bands) > 1
    epsilon = tightness * float(quantifier.leakage_if(columns).max())
    verdict, decided = screen(quantifier, columns, as_limits(epsilon), rank)
    np.testing.assert_array_equal(verdict, decided)
    assert plain_verdicts(quantifier, columns, epsilon)[decided].all()


def test_rows_in_several_bands_are_worth_a_look():
    """At twice the largest leakage a screen of full rank lets every column pass."""
    for seed in range(10):
        quantifier, columns = spread_quantifier(seed)
        epsilon = 2.0 * float(quantifier.leakage_if(columns).max())
        assert screen(quantifier, columns, as_limits(epsilon), 25)[0].all()


def test_bands_beyond_all_floats_are_left_out_of_a_sum():
    """Joining adds what a float can hold, to the nearest: 2**-1500 of a row is gone."""
    rows = ScaledRows.from_entries(
        np.array([[0.5, 0.5, 0.5], [0.5, 0.0, 0.5]]), np.array([[1, -900, -3000], [-7, 0, -2000]])
    )
    assert len(rows.bands) > 2
    joined = rows.joined()
    for row, exponent in zip(joined.values, joined.exponent, strict=True):
        assert row[0] * 2.0 ** float(exponent) in (1.0, 2.0**-8)
        assert row[2] == 0.0
    assert joined.values[0, 1] / joined.values[0, 0] == 2.0**-901
    assert joined.values[1, 1] == 0.0


@pytest.mark.parametrize("budget", [0.05, 0.002])
def test_a_large_map_is_screened_with_the_same_verdicts(monkeypatch, budget):
    """On 961 cells passes() equals the plain check, at the leakage of a column too, and most
    columns never see it."""
    grid = Grid(rows=31, columns=31, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=1.0, reach=3.0)
    columns = PlanarLaplace(grid, alpha=budget).emission()
    quantifier = Quantifier(model, presence(range(10), [1, 2]), method="forward")
    quantifier.observe(columns[:, 431])
    leakages = quantifier.leakage_if(columns)
    asked = []
    plainly = quantifier._candidate_joint

    def counting(chosen):
        asked.append(chosen.shape[1])
        return plainly(chosen)

    for epsilon in (float(leakages.max()) * 1.04, float(np.quantile(leakages, 0.6))):
        expected = passes(plainly(columns), epsilon)
        monkeypatch.setattr(quantifier, "_candidate_joint", counting)
        asked.clear()
        np.testing.assert_array_equal(quantifier.passes(columns, epsilon), expected)
        assert sum(asked) < 0.75 * len(leakages)
        assert expected.any()


def test_what_underflow_took_is_counted():
    """Where Pr(EVENT | start) lost digits, what is decided passes, as in the plain check."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        grid = Grid(rows=1, columns=25, cell_size=1.0)
        apart = np.abs(np.subtract.outer(np.arange(25), np.arange(25)))
        shares = 2.0 ** (-44.0 * apart)
        model = MarkovModel(grid, shares / shares.sum(axis=1, keepdims=True))
        columns = PlanarLaplace(grid, alpha=0.01).emission()
        quantifier = Quantifier(model, presence([0], [1]) & presence([24], [2]), method="forward")
        quantifier.observe(columns[:, rng.integers(25)])
        assert quantifier._streams[0].absolute_error > 0.0
        for epsilon in (0.5, 2.0):
            verdict, decided = screen(quantifier, columns, as_limits(epsilon), 25)
            np.testing.assert_array_equal(verdict, decided)
            assert plain_verdicts(quantifier, columns, epsilon)[decided].all()


def test_a_table_that_changed_is_looked_at_anew():
    """Other numbers in the same array are another table; the same elsewhere are not."""
    columns = np.random.default_rng(0).uniform(0.2, 0.9, size=(6, 9))
    first = _resemblance(columns, 3)
    assert _resemblance(columns.copy(), 3) is first
    assert _resemblance(columns, 2) is not first
    columns[0, 0] *= 0.5
    again = _resemblance(columns, 3)
    assert again is not first
    np.testing.assert_array_equal(again.error, Resemblance.of(columns, 3).error)


def test_small_products_are_not_screened():
    """Where the plain check is cheap, or there are few candidates or rows, it decides alone."""
    assert worthwhile_rank(2500, 2500, 2500) == 64
    assert worthwhile_rank(400, 400, 400) == 16
    assert worthwhile_rank(100, 100, 100) is None
    assert worthwhile_rank(2500, 2500, 16) is None
    assert worthwhile_rank(3, 2500, 2500) is None


def test_a_table_that_changes_is_read_again():
    """Only tables that nobody can write to, also by way of their base, are known by their place."""
    table = np.random.default_rng(5).random((6, 6)) + 0.5
    view = table[:]
    view.flags.writeable = False
    before = _digest(view)
    table[0, 0] *= 2.0
    assert _digest(view) != before
    table.flags.writeable = False
    assert _digest(view) == _digest(view) == _digest(table.copy())
