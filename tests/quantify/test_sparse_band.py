"""Bands kept as their few numbers above 0 hold what full ones hold, to the bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.drawn_examples import examples

from priste.quantify import scaling
from priste.quantify.scaling import Band, ScaledRows, SparseBand


def drawn_band(seed: int, share: float, rows: int = 11) -> Band:
    rng = np.random.default_rng(seed)
    values = np.ldexp(rng.random((rows, 2, 5)) + 0.5, rng.integers(53, 900, (rows, 2, 5)))
    values[rng.random(values.shape) >= share] = 0.0
    return Band(values, rng.integers(-(2**40), 2**40, rows))


@examples(40)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.7, 1.0]), st.integers(0, 11))
def test_a_sparse_band_reads_like_the_full_one(seed: int, share: float, cut: int) -> None:
    """All of it, some of its rows, a power of two of it, and pieces put together again."""
    band = drawn_band(seed, share)
    halves = [
        Band(band.values[:cut], band.exponent[:cut]),
        Band(band.values[cut:], band.exponent[cut:]),
    ]
    for kept in (SparseBand.of(band), SparseBand.joined([SparseBand.of(half) for half in halves])):
        np.testing.assert_array_equal(kept.values, band.values)
        np.testing.assert_array_equal(kept.exponent, band.exponent)
        np.testing.assert_array_equal(kept.times_power(7).exponent, band.exponent + 7)
        np.testing.assert_array_equal(kept.times_power(7).values, band.values)
        part = kept.part(slice(2, 6))
        if part is None:
            assert not band.values[2:6].any()
        else:
            np.testing.assert_array_equal(part.values, band.values[2:6])
            np.testing.assert_array_equal(part.exponent, band.exponent[2:6])


@examples(20)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_products_of_both_are_alike(seed: int, count: int) -> None:
    """Sums of at most five products >= 0 differ by less than five roundings each way."""
    band, columns = drawn_band(seed, 0.4), np.random.default_rng(seed).random((5, count))
    np.testing.assert_allclose(
        SparseBand.of(band).times(columns), band.times(columns), rtol=10 * 2.0**-53, atol=0.0
    )


def test_nothing_is_a_band_of_zeros() -> None:
    nothing = SparseBand.nothing((3, 2, 4), np.arange(3))
    assert nothing.values.shape == (3, 2, 4)
    assert not nothing.values.any()
    assert nothing.part(slice(0, 2)) is None


def test_few_numbers_take_little_memory() -> None:
    band = drawn_band(1, 0.05, rows=400)
    assert SparseBand.of(band).nbytes < band.nbytes / 4


@examples(20)
@given(st.integers(0, 2**32), st.sampled_from([1, 4, 1000]))
def test_rows_of_several_bands_by_row_are_the_same_to_the_bit(seed: int, height: int) -> None:
    """One power of two per row, a few rows at a time, as from every number at once."""
    rng = np.random.default_rng(seed)
    spread = rng.integers(1, 3000, (13, 1, 1))  # some rows have one band, some several
    places = -rng.integers(0, spread, (13, 2, 6))
    numbers = np.where(rng.random(places.shape) < 0.8, rng.random(places.shape) + 0.5, 0.0)
    numbers[int(rng.integers(13))] = 0.0
    rows = ScaledRows.from_entries(numbers, places)
    whole = scaling.to_shared_exponent(*rows.entries())
    kept = scaling.BLOCK_ENTRIES, scaling.BLOCK_ROWS
    try:
        scaling.BLOCK_ENTRIES, scaling.BLOCK_ROWS = 1, height
        blocks = rows.by_row()
    finally:
        scaling.BLOCK_ENTRIES, scaling.BLOCK_ROWS = kept
    np.testing.assert_array_equal(blocks[0], whole[0])
    np.testing.assert_array_equal(blocks[1], whole[1])
    assert blocks[2] == whole[2]


@examples(30)
@given(st.integers(0, 2**32))
def test_rows_of_several_bands_times_columns(seed: int) -> None:
    """By blocks, with sparse lower bands, as all at once with full ones."""
    rng = np.random.default_rng(seed)
    places = -rng.integers(0, 3000, (13, 2, 6))
    rows = ScaledRows.from_entries(rng.random((13, 2, 6)) + 0.5, places)
    columns = rng.random((6, 3))
    whole = rows.by_row(columns)
    height = scaling.BLOCK_ENTRIES, scaling.BLOCK_ROWS
    try:
        scaling.BLOCK_ENTRIES, scaling.BLOCK_ROWS = 24, 1
        kept = rows.through(lambda values: values, rescale=False, by_blocks=True)
        assert any(isinstance(band, SparseBand) for band in kept.bands)
        blocks = kept.by_row(columns)
        entries = kept.entries(lambda values: values @ columns)
    finally:
        scaling.BLOCK_ENTRIES, scaling.BLOCK_ROWS = height
    np.testing.assert_array_equal(blocks[1], whole[1])
    np.testing.assert_allclose(blocks[0], whole[0], rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(
        np.ldexp(*(x if i == 0 else x.astype(np.int32) for i, x in enumerate(entries))),
        np.ldexp(blocks[0], blocks[1][:, None, None].astype(np.int32)),
        rtol=1e-14,
        atol=2.0**-1074,
    )
