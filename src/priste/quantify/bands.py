"""Numbers of any size as a sum of bands, each of which spans fewer digits than a float can.

Most rows need one band and never come here (:mod:`priste.quantify.scaling`). Where distances are
many standard deviations of the movement they need three, and cutting them is most of a step: so
a process that cuts many has the kernels compiled, which give the same numbers to the bit.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from priste.quantify import band_kernels
from priste.quantify.joint_probabilities import Floats, Integers
from priste.quantify.worst_prior.compilation import compile_kernels

Number = TypeVar("Number", np.float64, np.int64)

TOP = 900
"""Binary exponent of the largest number of a row after scaling: room for sums on top of it."""

WIDTH = 840
"""Binary digits that one band spans; below TOP - 53 so that every number is above SMALLEST."""

NO_EXPONENT = np.int64(band_kernels.NOTHING)
"""Stands for the exponent of zero."""

PLAIN_ENTRIES = 5_000_000
"""How many numbers a process cuts without the kernels, at some 0.2 µs each."""

_turn = threading.Lock()
_entries_left = PLAIN_ENTRIES
_ready = False


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


def compile_now() -> None:
    """Compile or load the kernels, and use them from now on."""
    global _ready
    with _turn:
        if not _ready:
            compile_kernels(vars(band_kernels))
            _ready = True


def spread(bands: Sequence[Band]) -> tuple[Band, ...]:
    """Cut numbers that spread too far into bands of ``WIDTH`` binary digits."""
    global _entries_left
    if not _ready:
        _entries_left -= bands[0].values.size
        if _entries_left > 0:
            return cut(*entries_of(bands))
        compile_now()
    found = _compiled(bands)
    return cut(*entries_of(bands)) if found is None else found


def _compiled(bands: Sequence[Band]) -> tuple[Band, ...] | None:
    """Do what :func:`cut` and :func:`entries_of` do; None where that is beyond the kernels."""
    if len(bands) > band_kernels.MOST:
        return None
    shape = bands[0].values.shape
    rows = shape[0]
    given = [*bands, *[bands[0]] * (band_kernels.MOST - len(bands))]
    values = tuple(_own(band.values.reshape(rows, -1)).view(np.int64) for band in given)
    exponents = tuple(_own(band.exponent) for band in given)
    sums = np.empty(values[0].shape)
    places = np.empty(sums.shape, dtype=np.int64)
    tops = np.empty(rows, dtype=np.int64)
    seen = np.zeros(band_kernels.NUMBERS, dtype=np.bool_)
    if not band_kernels.add_up(values, exponents, len(bands), WIDTH, sums, places, tops, seen):
        return None
    pieces = []
    for number in np.flatnonzero(seen).tolist():
        piece = np.empty(sums.shape)
        band_kernels.take_band(sums, places, tops, number, WIDTH, TOP, piece)
        pieces.append(Band(piece.reshape(shape), tops - TOP - number * WIDTH))
    return tuple(pieces) or (Band(np.zeros(shape), tops),)


def _own(array: NDArray[Number]) -> NDArray[Number]:
    """Return an array as the kernels take it: in order, and not read-only."""
    return array if array.flags.writeable and array.flags.c_contiguous else array.copy()


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
