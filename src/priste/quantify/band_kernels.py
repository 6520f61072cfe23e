"""Cutting numbers of any size into bands, compiled; :mod:`priste.quantify.bands` has the plain way.

Both give the same numbers to the bit: mantissas are taken and put back as the bits of floats.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priste.quantify.worst_prior.compilation import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST = 4
"""How many bands the kernels take."""

NUMBERS = 16
"""Up to which number of a band they look."""

FRACTION = 2**52 - 1
NOTHING = -(2**62)
NEGLIGIBLE = -1000
"""A summand this many binary digits below another one changes no digit of the sum."""


@kernel(
    f"b1(UniTuple(i8[:, ::1], {MOST}), UniTuple(i8[::1], {MOST}), i8, i8, "
    "f8[:, ::1], i8[:, ::1], i8[::1], b1[::1])"
)
def add_up(
    bands: tuple[Integers, ...],
    exponents: tuple[Integers, ...],
    count: int,
    width: int,
    sums: Floats,
    places: Integers,
    tops: Integers,
    seen: NDArray[np.bool_],
) -> bool:
    """Add the first ``count`` bands, the bits of floats >= 0, up entry by entry.

    ``sums`` gets floats with the digits of the sums, ``places`` their exponents, ``tops`` the
    largest exponent of a row, 0 for a row of zeros, and ``seen`` which numbers of bands of
    ``width`` digits there are. False, with nothing of use, where a number is below the normal
    floats or too far down.
    """
    for row in range(sums.shape[0]):
        total, place = sums[row], places[row]
        for i in range(total.shape[0]):
            total[i] = 0.0
            place[i] = NOTHING
        below_normal = False
        for band in range(count):
            bits, unit = bands[band][row], exponents[band][row] - 1022
            for i in range(total.shape[0]):
                field = bits[i] >> 52
                below_normal |= field == 0 and bits[i] > 0
                place[i] = max(place[i], field + unit if field > 0 else NOTHING)
        if below_normal:
            return False
        for band in range(count):
            bits, unit = bands[band][row], exponents[band][row] - 1022
            for i in range(total.shape[0]):
                down = (bits[i] >> 52) + unit - place[i]
                if bits[i] > 0 and down > NEGLIGIBLE:
                    digits = (bits[i] & FRACTION) | ((1022 + down) << 52)
                    total[i] += np.int64(digits).view(np.float64)
        top = NOTHING
        for i in range(total.shape[0]):
            if total[i] > 0.0:
                place[i] += (np.float64(total[i]).view(np.int64) >> 52) - 1022
            top = max(top, place[i])
        tops[row] = top if top > NOTHING else 0
        least = top
        for i in range(total.shape[0]):
            if total[i] > 0.0:
                least = min(least, place[i])
        if top - least < width:
            seen[0] |= top > NOTHING
            continue
        for i in range(total.shape[0]):
            if total[i] > 0.0:
                number = (top - place[i]) // width
                if number >= NUMBERS:
                    return False
                seen[number] = True
    return True


@kernel("void(f8[:, ::1], i8[:, ::1], i8[::1], i8, i8, i8, f8[:, ::1])")
def take_band(
    sums: Floats,
    places: Integers,
    tops: Integers,
    number: int,
    width: int,
    highest: int,
    values: Floats,
) -> None:
    """Fill ``values`` with the entries of one band, its top at 2**highest, and 0 elsewhere."""
    for row in range(sums.shape[0]):
        above = tops[row] - number * width
        for i in range(sums.shape[1]):
            below = above - places[row, i]
            if 0 <= below < width:
                bits = np.float64(sums[row, i]).view(np.int64)
                values[row, i] = np.int64(
                    (bits & FRACTION) | ((1022 + highest - below) << 52)
                ).view(np.float64)
            else:
                values[row, i] = 0.0
