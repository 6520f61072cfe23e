"""Numbers of any size are cut into bands that add up to them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from priste.quantify import scaling
from priste.quantify.scaling import TOP, WIDTH, Band

ROWS, CELLS = 3, 5


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
def test_bands_add_up_to_what_was_given(given_bands: list[Band]) -> None:
    """Against fractions: an entry is the exact sum up to one rounding a band, and in its range."""
    found = scaling.spread(given_bands)
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
