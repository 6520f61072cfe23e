"""Rows of nonnegative numbers that neither underflow nor overflow, however long the stream.

Each row carries a power of two of its own, so scaling is exact. The stored numbers of
a row lie between ``SMALLEST`` and about ``2**TOP``. Any of them times *any* positive
float, the smallest subnormal included, is then a normal number, so a matrix product loses
no summand to underflow and a stored zero is an exact zero. A row whose numbers
spread further than that is kept as a sum of several bands, each with its own
power of two; on ordinary maps there is one. Bands below the first hold few numbers and are kept
as those (:class:`SparseBand`) where rows are mapped block by block.

Dense and sparse transitions multiply each number by one float, which this allows for. Structured
ones multiply by two or three in turn; where those could underflow together, the stages are taken
one at a time and scaled in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from priste.quantify.joint_probabilities import Floats, Integers

if TYPE_CHECKING:
    from priste.mobility import Transition
    from priste.mobility.transitions import Stage


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
    shape = bands[0].values.shape
    if bands[0].values.size <= 2 * ENTRIES_AT_ONCE:
        return _entries_at_once(bands)
    mantissa, exponent = np.empty(shape), np.empty(shape, dtype=np.int64)
    lines = [(band.values.reshape(shape[0], -1), band.exponent) for band in bands]
    for row, found in enumerate(
        zip(mantissa.reshape(shape[0], -1), exponent.reshape(shape[0], -1), strict=True)
    ):
        for start in range(0, len(found[0]), ENTRIES_AT_ONCE):
            here = slice(start, start + ENTRIES_AT_ONCE)
            piece = [Band(line[row : row + 1, here], power[row : row + 1]) for line, power in lines]
            found[0][here], found[1][here] = (part[0] for part in _entries_at_once(piece))
    return mantissa, exponent


def _entries_at_once(bands: Sequence[Band]) -> tuple[Floats, Integers]:
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


ENTRIES_AT_ONCE = 2**15
"""Numbers whose mantissas and exponents are handled at once, so that they stay in the cache: all of
a map of 40,000 cells took three times as long."""


class SparseBand:
    """Numbers as in a :class:`Band`, from which it cannot be distinguished but by its memory."""

    def __init__(self, shape: tuple[int, ...], exponent: Integers, entries: sparse.csr_array):
        """``entries`` are the values as one matrix, its columns the last axis of ``shape``."""
        self._shape = shape
        self._entries = entries
        self.exponent = exponent

    @classmethod
    def joined(cls, pieces: Sequence[SparseBand]) -> SparseBand:
        """Return the rows of all pieces, in order; there must be one."""
        shape = (sum(piece._shape[0] for piece in pieces), *pieces[0]._shape[1:])
        entries = sparse.vstack([piece._entries for piece in pieces], format="csr")
        return cls(shape, np.concatenate([piece.exponent for piece in pieces]), entries)

    @classmethod
    def of(cls, band: Band) -> SparseBand:
        """Keep what is above 0 in a band."""
        values = band.values.reshape(-1, band.values.shape[-1])
        positive = values > 0.0
        ends = np.count_nonzero(positive, axis=1).cumsum()
        pointers = np.concatenate([[0], ends]).astype(np.int32)
        places = np.flatnonzero(positive)
        columns = (places % values.shape[1]).astype(np.int32)
        entries = sparse.csr_array((values.ravel()[places], columns, pointers), shape=values.shape)
        return cls(band.values.shape, band.exponent, entries)

    @classmethod
    def nothing(cls, shape: tuple[int, ...], exponent: Integers) -> SparseBand:
        """Return a band of zeros."""
        return cls(shape, exponent, sparse.csr_array((math.prod(shape[:-1]), shape[-1])))

    @property
    def values(self) -> Floats:
        """All entries, in an array that is made anew."""
        return np.asarray(self._entries.toarray()).reshape(self._shape)

    @property
    def nbytes(self) -> int:
        """How much memory the numbers take."""
        entries = self._entries
        return int(entries.data.nbytes + entries.indices.nbytes + entries.indptr.nbytes)

    def part(self, rows: slice) -> Band | None:
        """Return some rows as they are in a :class:`Band`; None if nothing is in them."""
        exponent, lines = self.exponent[rows], math.prod(self._shape[1:-1])
        entries = self._entries[rows.start * lines : rows.stop * lines]
        if not entries.nnz:
            return None
        return Band(entries.toarray().reshape(len(exponent), *self._shape[1:]), exponent)

    def times(self, columns: Floats) -> Floats:
        """Return the values times a matrix (n, k), along the last axis."""
        return np.asarray(self._entries @ columns).reshape(*self._shape[:-1], -1)

    def times_power(self, exponent: int) -> SparseBand:
        """Multiply by ``2**exponent``, exactly."""
        return SparseBand(self._shape, self.exponent + exponent, self._entries)


SMALLEST = 2.0**53
"""Least positive number stored: times the least positive float (2**-1074) it is still normal."""

LEAST_NORMAL = 2.0**-1022
"""Floats below this have fewer digits."""

_LARGEST_SHIFT = 1023
"""2.0**shift is a float up to here."""

_BITS_OF_INFINITY = np.float64(np.inf).view(np.uint64)

BLOCK_ENTRIES = 2**17
"""Numbers taken through a map at once, 1 MiB of them, so that its passes stay in the cache."""

BLOCK_ROWS = 8
"""... but this many rows at least, as a map on many cells has to be read once for each block."""


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Nonnegative numbers with a power of two per row: the sum of its bands.

    Immutable; the arrays are never written to once they are here.

    >>> rows = ScaledRows.of(np.array([[0.5, 0.25], [0.0, 0.0]]))
    >>> halved = rows.through(lambda values: values * 0.5)
    >>> mantissa, exponent = halved.entries()
    >>> mantissa * 2.0**exponent
    array([[0.25 , 0.125],
           [0.   , 0.   ]])
    """

    bands: tuple[Band | SparseBand, ...]

    @classmethod
    def of(cls, values: Floats) -> ScaledRows:
        """Scale plain numbers, rows along the first axis."""
        return _settled([Band(values, np.zeros(len(values), dtype=np.int64))])

    @classmethod
    def from_entries(cls, mantissa: Floats, exponent: Integers) -> ScaledRows:
        """Scale numbers ``mantissa * 2**exponent``, >= 0, each with its own power of two."""
        fraction, binary = np.frexp(mantissa)
        return ScaledRows(cut(fraction, np.where(fraction > 0.0, exponent + binary, NO_EXPONENT)))

    def through(
        self,
        linear: Callable[[Floats], Floats],
        *,
        rescale: bool = True,
        by_blocks: bool = False,
    ) -> ScaledRows:
        """Apply a map that is linear in each row with nonnegative float coefficients.

        The map may sum products of an entry with *one* float each; its result has the
        same number of rows. ``rescale=False`` keeps the powers of two where no number fell
        below ``SMALLEST``, which saves two passes; for maps that cannot grow a row's total
        beyond the states times 2**TOP, so that nothing overflows however often they are used.
        ``by_blocks=True`` says that the map treats all rows alike, so that it may be given
        a few at a time: on large maps that is quicker and needs less memory.
        """
        first = self.bands[0].values
        if not by_blocks or first.size <= BLOCK_ENTRIES:
            return _settled([Band(linear(b.values), b.exponent) for b in self.bands], rescale)
        blocks = _Blocks(len(first))
        for _, part in self.blocks():
            block = [Band(linear(b.values), b.exponent) for b in part.bands]
            blocks.put(_settled(block, rescale))
        return blocks.whole()

    def blocks(self) -> Iterator[tuple[slice, ScaledRows]]:
        """Yield a few rows at a time, and which they are; without bands that are empty there."""
        first = self.bands[0].values
        height = max(BLOCK_ROWS, BLOCK_ENTRIES * len(first) // max(first.size, 1))
        for start in range(0, len(first), height):
            rows = slice(start, min(start + height, len(first)))
            parts = (band.part(rows) for band in self.bands)
            yield rows, ScaledRows(tuple(part for part in parts if part is not None))

    def entries(self, linear: Callable[[Floats], Floats] | None = None) -> tuple[Floats, Integers]:
        """Return mantissa in [0.5, 1) and exponent of every entry; zero has exponent 0.

        With ``linear``, as in :meth:`through`, of the entries after that map, which must treat all
        rows alike.
        """
        if linear is not None and len(self.bands) > 1 and self.bands[0].values.size > BLOCK_ENTRIES:
            parts = [part._entries(linear) for _, part in self.blocks()]
            return np.concatenate([m for m, _ in parts]), np.concatenate([e for _, e in parts])
        return self._entries(linear)

    def _entries(self, linear: Callable[[Floats], Floats] | None) -> tuple[Floats, Integers]:
        """Return :meth:`entries`, all rows at once."""
        values = ((b.values if linear is None else linear(b.values)) for b in self.bands)
        pairs = zip(values, self.bands, strict=True)
        mantissa, exponent = entries_of([Band(each, b.exponent) for each, b in pairs])
        return mantissa, np.where(mantissa > 0.0, exponent, 0)

    def by_row(
        self, columns: Floats | None = None, sums: Floats | None = None
    ) -> tuple[Floats, Integers, bool]:
        """Return :meth:`entries` with one power of two per row, as :func:`to_shared_exponent`.

        With ``columns`` (n, k), floats >= 0, of the rows times them along the last axis. With
        ``sums`` (q, p) of 0 and 1 too, the p numbers on the axis before are then added to q. One
        band, which is nearly always, needs one multiplication per number.
        """
        if columns is None and len(self.bands) > 1:
            return self._by_row_of_several()
        parts = [self._times(band, columns, sums) for band in self.bands]
        if len(parts) > 1:
            products = zip(parts, self.bands, strict=True)
            added = ScaledRows(tuple(Band(each, band.exponent) for each, band in products))
            return to_shared_exponent(*added.entries())
        band, values = self.bands[0], parts[0]
        top = values.max(axis=tuple(range(1, values.ndim)))
        shift = np.frexp(top)[1]
        down = np.ldexp(1.0, -shift)
        least = positive_minimum(values) * float(down.min(initial=1.0))
        positive = values > 0.0 if least < LEAST_NORMAL else None
        # A product below the normal floats rounds like ldexp: to the nearest.
        own = None if columns is None else values
        scaled = np.multiply(values, _per_row(down, values), out=own)
        lost = positive is not None and bool((positive & (scaled < LEAST_NORMAL)).any())
        return scaled, np.where(top > 0.0, band.exponent + shift, 0), lost

    @staticmethod
    def _times(band: Band | SparseBand, columns: Floats | None, sums: Floats | None) -> Floats:
        if columns is None:
            return band.values
        products = band.times(columns)
        return products if sums is None else np.matmul(sums, products)

    def _by_row_of_several(self) -> tuple[Floats, Integers, bool]:
        """Return :meth:`by_row` where there are several bands, a few rows at a time.

        A mantissa and an exponent for every number of every band are some twenty times the memory
        of the numbers themselves.
        """
        shape = self.bands[0].values.shape
        values, exponent, lost = np.empty(shape), np.empty(shape[0], dtype=np.int64), False
        for rows, part in self.blocks():
            several = len(part.bands) > 1
            found = to_shared_exponent(*part._entries(None)) if several else part.by_row()
            values[rows], exponent[rows] = found[:2]
            lost |= found[2]
        return values, exponent, lost

    def plus(self, other: ScaledRows) -> ScaledRows:
        """Add other rows of the same shape."""
        bands = [Band(b.values, b.exponent) for b in (*self.bands, *other.bands)]
        return _settled(bands)

    def plain(self) -> tuple[Floats, bool]:
        """Return the numbers as plain floats, and whether some fell below the normal ones.

        They must be below 2**1023. What falls below 2**-1022 loses digits or becomes 0.
        """
        if len(self.bands) == 1 and abs(self.bands[0].exponent).max() <= _LARGEST_SHIFT - 1:
            values, factor = self.bands[0].values, np.ldexp(1.0, self.bands[0].exponent)
            result = values * factor.reshape((-1,) + (1,) * (values.ndim - 1))
            positive = values > 0.0
        else:
            mantissa, exponent = self.entries()
            result = np.ldexp(mantissa, np.maximum(exponent, -3000).astype(np.int32))
            positive = mantissa > 0.0
        return result, bool((positive & (result < LEAST_NORMAL)).any())

    def times_power(self, exponent: int) -> ScaledRows:
        """Multiply by ``2**exponent``, exactly."""
        if exponent == 0:
            return self
        return ScaledRows(tuple(band.times_power(exponent) for band in self.bands))


def to_shared_exponent(mantissa: Floats, exponent: Integers) -> tuple[Floats, Integers, bool]:
    """Give each row (first axis) one exponent, its largest value in [0.5, 1).

    The last result says whether some positive value fell below the normal floats, so that
    it lost digits or vanished.
    """
    axes = tuple(range(1, mantissa.ndim))
    positive = mantissa > 0.0
    top = np.max(exponent, axis=axes, where=positive, initial=np.iinfo(np.int64).min)
    top[~positive.any(axis=axes)] = 0
    shift = exponent - top.reshape((-1,) + (1,) * len(axes))
    values = np.ldexp(mantissa, np.clip(shift, -3000, 0).astype(np.int32))
    return values, top, bool((positive & (values < LEAST_NORMAL)).any())


class _Blocks:
    """Rows that are put together from blocks, which may differ in their number of bands."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._filled = 0
        self._first: Floats = np.empty((rows, 0))
        self._exponents: list[Integers] = []
        self._lower: list[list[SparseBand]] = []  # the further bands of each block

    def put(self, block: ScaledRows) -> None:
        """Add the next rows."""
        values, exponent = block.bands[0].values, block.bands[0].exponent
        if not self._filled:
            self._first = np.empty((self._rows, *values.shape[1:]))
        self._first[self._filled : self._filled + len(values)] = values
        self._filled += len(values)
        self._exponents.append(exponent)
        self._lower.append([SparseBand.of(Band(b.values, b.exponent)) for b in block.bands[1:]])

    def whole(self) -> ScaledRows:
        bands: list[Band | SparseBand] = [Band(self._first, np.concatenate(self._exponents))]
        for number in range(max(map(len, self._lower))):
            pieces = []
            for lower, exponent in zip(self._lower, self._exponents, strict=True):
                if number < len(lower):
                    pieces.append(lower[number])
                else:  # a block without this band has zeros there; their power of two is free
                    shape = (len(exponent), *self._first.shape[1:])
                    pieces.append(SparseBand.nothing(shape, exponent - (number + 1) * WIDTH))
            bands.append(SparseBand.joined(pieces))
        return ScaledRows(tuple(bands))


def positive_minimum(values: Floats) -> float:
    """Return the least positive entry, inf when there is none; entries must not be negative."""
    least = float(values.min(initial=np.inf))
    if least > 0.0:
        return least
    # The bits of floats >= 0 are ordered as the floats are. Less 1, those of 0 come last.
    bits = values.view(np.uint64) - np.uint64(1)
    lowest = bits.min(initial=_BITS_OF_INFINITY - np.uint64(1)) + np.uint64(1)
    return float(lowest.view(np.float64))


def _per_row(numbers: NDArray[Any], values: Floats) -> NDArray[Any]:
    """Shape one number per row so that it meets the rows of ``values``."""
    return numbers.reshape((-1,) + (1,) * (values.ndim - 1))


def _settled(bands: Sequence[Band], rescale: bool = True) -> ScaledRows:
    """Restore the invariant of the module on numbers that are normal or zero.

    One or two bands, which is nearly always, need plain float operations only.
    """
    if not rescale and len(bands) == 1 and positive_minimum(bands[0].values) >= SMALLEST:
        return ScaledRows(tuple(bands))
    joined = _joined(bands)
    if joined is None:
        return ScaledRows(spread(bands))
    values = joined.values
    top = values.max(axis=tuple(range(1, values.ndim)))
    shift = TOP - np.frexp(top)[1]
    shift[top == 0.0] = 0
    if shift.max(initial=0) > _LARGEST_SHIFT:
        return ScaledRows(spread(bands))
    scaled = values * _per_row(np.ldexp(1.0, shift), values)
    exponent = joined.exponent - shift
    least = positive_minimum(scaled)
    if least >= SMALLEST:
        return ScaledRows((Band(scaled, exponent),))
    if least < SMALLEST * 2.0**-WIDTH:
        return ScaledRows(spread(bands))
    low = np.where(scaled < SMALLEST, scaled, 0.0)
    scaled -= low
    low *= 2.0**WIDTH
    return ScaledRows((Band(scaled, exponent), Band(low, exponent - WIDTH)))


def _joined(bands: Sequence[Band]) -> Band | None:
    """Add bands up in one array of floats, or return None where a number would be lost."""
    if len(bands) == 1:
        return bands[0]
    if len(bands) > 2:
        return None
    high, low = bands
    down = low.exponent - high.exponent
    if down.max(initial=0) > 0 or down.min(initial=0) < -_LARGEST_SHIFT + 1:
        return None
    lowered = low.values * _per_row(np.ldexp(1.0, down), low.values)
    if positive_minimum(low.values) * 2.0 ** float(down.min(initial=0)) < LEAST_NORMAL:
        return None
    return Band(high.values + lowered, high.exponent)


def moved_ahead(rows: ScaledRows, transition: Transition) -> ScaledRows:
    """Return ``rows @ M``."""
    if not transition.may_underflow:
        push = partial(push_states, stage=transition)
        return rows.through(push, rescale=False, by_blocks=True)
    terms = []
    for stages in transition.terms:
        moved = rows
        for stage in stages:
            moved = moved.through(partial(push_states, stage=stage))
        terms.append(moved)
    return reduce(ScaledRows.plus, terms)


def moved_back(rows: ScaledRows, transition: Transition) -> ScaledRows:
    """Return ``M @ columns``."""
    if not transition.may_underflow:
        return rows.through(partial(pull_states, stage=transition), rescale=False)
    terms = []
    for stages in transition.terms:
        moved = rows
        for stage in reversed(stages):
            moved = moved.through(partial(pull_states, stage=stage))
        terms.append(moved)
    return reduce(ScaledRows.plus, terms)


def push_states(values: Floats, stage: Transition | Stage) -> Floats:
    """Return ``values @ M`` along the last axis."""
    moved = stage.push(values.reshape(-1, values.shape[-1]))
    return moved.reshape(*values.shape[:-1], -1)


def pull_states(values: Floats, stage: Transition | Stage) -> Floats:
    """Return ``M @ values`` along the last axis."""
    carried = stage.pull(values.reshape(-1, values.shape[-1]).T)
    return np.ascontiguousarray(carried.T).reshape(*values.shape[:-1], -1)
