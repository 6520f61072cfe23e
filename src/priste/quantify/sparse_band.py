"""A band of which few entries are above 0, kept as those alone.

On maps that are many standard deviations wide, numbers below the first band are a few in a hundred:
as full arrays they would take as much memory as the first band, twice over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from priste.quantify.bands import Band
from priste.quantify.joint_probabilities import Floats, Integers


class SparseBand:
    """Numbers as in a :class:`Band`, from which it cannot be told apart but by its memory."""

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
