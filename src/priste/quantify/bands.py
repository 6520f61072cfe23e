"""Numbers of any size as a sum of bands, each of which spans fewer digits than a float can.

Most rows need one band and never come here (:mod:`priste.quantify.scaling`). Where distances are
many standard deviations of the movement they need three.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.quantify.joint_probabilities import Floats, Integers

TOP = 900
"""Binary exponent of the largest number of a row after scaling: room for sums on top of it."""

WIDTH = 840
"""Binary digits that one band spans; below TOP - 53 so that every number is above SMALLEST."""

NO_EXPONENT = np.int64(-(2**62))
"""Stands for the exponent of zero."""


@dataclass(frozen=True, eq=False)
class Band:
    """Numbers ``values * 2**exponent``; values (rows, ...) and one exponent per row."""

    values: Floats
    exponent: Integers

    @property
    def nbytes(self) -> int:
        """How much memory the values take."""
        return self.values.nbytes

    def part(self, rows: slice) -> Band:
        """Return some rows; no copy."""
        return Band(self.values[rows], self.exponent[rows])

    def times(self, columns: Floats) -> Floats:
        """Return the values times a matrix (n, k), along the last axis."""
        # One large product: numpy would make a small one of each row.
        flat = self.values.reshape(-1, self.values.shape[-1]) @ columns
        return flat.reshape(*self.values.shape[:-1], -1)

    def times_power(self, exponent: int) -> Band:
        """Multiply by ``2**exponent``, exactly."""
        return Band(self.values, self.exponent + exponent)


def spread(bands: Sequence[Band]) -> tuple[Band, ...]:
    """Cut numbers that spread too far into bands of ``WIDTH`` binary digits."""
    return cut(*entries_of(bands))


def entries_of(bands: Sequence[Band]) -> tuple[Floats, Integers]:
    """Add the bands entry by entry. At most one rounding per band, and no underflow that counts.

    Per entry the largest summand has a mantissa in [0.5, 1), so what a smaller one loses
    below 2**-1074 is far below one rounding of the sum.
    """
    parts: list[tuple[Floats, Integers]] = []
    for band in bands:
        mantissa, binary = np.frexp(band.values)
        per_row = band.exponent.reshape((-1,) + (1,) * (band.values.ndim - 1))
        parts.append((mantissa, np.where(mantissa > 0.0, binary + per_row, NO_EXPONENT)))
    if len(parts) == 1:
        return parts[0]
    top = parts[0][1]
    for _, exponent in parts[1:]:
        top = np.maximum(top, exponent)
    total = np.zeros(top.shape)
    for mantissa, exponent in parts:
        total += np.ldexp(mantissa, np.maximum(exponent - top, -2000).astype(np.int32))
    mantissa, carry = np.frexp(total)
    return mantissa, np.where(mantissa > 0.0, top + carry, NO_EXPONENT)


def cut(mantissa: Floats, exponent: Integers) -> tuple[Band, ...]:
    """Cut entries, those of zero at ``NO_EXPONENT``, into bands of ``WIDTH`` binary digits."""
    trailing = tuple(range(1, mantissa.ndim))
    row_top = exponent.max(axis=trailing)
    row_top[row_top == NO_EXPONENT] = 0
    below: NDArray[np.int64] = row_top.reshape((-1,) + (1,) * len(trailing)) - exponent
    number = below // WIDTH
    positive = mantissa > 0.0
    pieces = []
    for band in np.unique(number[positive]):
        here = positive & (number == band)
        shift = np.where(here, TOP - (below - band * WIDTH), 0).astype(np.int32)
        values = np.where(here, np.ldexp(mantissa, shift), 0.0)
        pieces.append(Band(values, row_top - TOP - band * WIDTH))
    if not pieces:
        pieces.append(Band(np.zeros(mantissa.shape), row_top))
    return tuple(pieces)
