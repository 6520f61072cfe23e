"""Numbers of any size are cut into bands by numpy and by compiled code, with the same result."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from priste.quantify import band_kernels, bands
from priste.quantify.bands import TOP, WIDTH, Band

ROWS, CELLS = 3, 5


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    bands.compile_now()


@st.composite
def several_bands(draw: st.DrawFn, most: int = 5) -> list[Band]:
    """Bands of a few rows: zeros, numbers that lie together, and numbers that are far apart."""
    count = draw(st.integers(1, most))
    found = []
    for _ in range(count):
        mantissas = st.floats(0.5, 1.0, exclude_max=True) | st.just(0.0)
        places = st.integers(-1020, 1000) | st.integers(890, 900)
        values = [math.ldexp(draw(mantissas), draw(places)) for _ in range(ROWS * CELLS)]
        exponents = [draw(st.integers(-5000, 5000)) for _ in range(ROWS)]
        found.append(Band(np.array(values).reshape(ROWS, CELLS), np.array(exponents)))
    return found


@given(several_bands())
def test_compiled_bands_are_the_plain_ones_to_the_bit(given_bands: list[Band]) -> None:
    """Both ways give as many bands, the same floats and the same powers of two."""
    plain = bands.cut(*bands.entries_of(given_bands))
    compiled = bands.spread(given_bands)
    assert len(compiled) == len(plain)
    for one, other in zip(compiled, plain, strict=True):
        assert one.values.tobytes() == other.values.tobytes()
        assert one.exponent.tolist() == other.exponent.tolist()


@given(several_bands(most=band_kernels.MOST))
def test_bands_add_up_to_what_was_given(given_bands: list[Band]) -> None:
    """Against fractions: an entry is the exact sum up to one rounding a band, and in its range."""
    found = bands.spread(given_bands)
    for row in range(ROWS):
        for cell in range(CELLS):
            exact = _exact(given_bands, row, cell)
            assert abs(_exact(found, row, cell) - exact) <= exact * len(given_bands) / 2**53
    for band in found:
        positive = band.values[band.values > 0.0]
        assert (positive >= 2.0 ** (TOP - WIDTH - 1)).all()
        assert (positive < 2.0**TOP).all()


def _exact(parts: list[Band] | tuple[Band, ...], row: int, cell: int) -> Fraction:
    return sum(
        (
            Fraction(float(band.values[row, cell])) * Fraction(2) ** int(band.exponent[row])
            for band in parts
        ),
        Fraction(0),
    )


def test_numbers_below_the_normal_floats_are_left_to_the_plain_way() -> None:
    """The kernels say that they cannot, and the result is the plain one."""
    tiny = [Band(np.array([[5e-324, 1.0]]), np.array([0]))]
    assert bands._compiled(tiny) is None
    (high, low) = bands.spread(tiny)
    assert high.values[0].tolist() == [0.0, 2.0 ** (TOP - 1)]
    assert low.values[0, 0] > 0.0
    assert low.values[0, 1] == 0.0
