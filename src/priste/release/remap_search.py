"""Quick verdicts about columns that are mixtures of a few, for searching and never for deciding.

The joint probabilities of an event are linear in the column of a release. So they are computed
once for a basis of columns, and every mixture of the basis, with or without a constant added,
costs a small product. The bounds of rounding errors are left out: what a search finds here is
a proposal, and the exact check decides about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from priste.quantify import Moments, passes
from priste.release.calibration import Booleans, EventOperator, Floats, Situation

Integers = NDArray[np.int64]

LARGEST_OPERATOR = 2**24
"""Up to this many numbers (cells times cells) the operator of an event is written out."""

SEARCH_ERROR = 1e-12
"""The relative error that the search allows its numbers."""

SMALLEST_ADDITION = 2.0**-40
"""Relative to the largest entry of a column: less than this counts as nothing."""

LARGEST_ADDITION = 2.0**24
"""Relative to the largest entry of a column: a column that needs more is given up."""

LARGEST_STRIDE = 2.0**64
"""By what factor a search moves at most."""


def is_searchable(situation: Situation) -> bool:
    """Tell whether the operators of this map are small enough to be written out."""
    return situation.mechanism.grid.size**2 <= LARGEST_OPERATOR


class QuickCheck:
    """Verdicts about mixtures of the columns of ``basis`` (m, g), at one limit per event."""

    def __init__(
        self, operators: Sequence[EventOperator], basis: Floats, limits: Sequence[float]
    ) -> None:
        self._basis = basis
        self._parts = [
            _Part(operator, basis, limits[operator.number])
            for operator in operators
            if limits[operator.number] < math.inf
        ]

    def restricted(self, grouping: Floats) -> QuickCheck:
        """Return the check for the basis ``basis @ grouping``; ``grouping`` is (g, h)."""
        twin = QuickCheck([], self._basis @ grouping, [])
        twin._parts = [part.restricted(grouping) for part in self._parts]
        return twin

    def additions(self, mixtures: Floats, precision: float) -> Floats:
        """Return (k,) the constant to add to each column ``basis @ mixtures`` so that it passes.

        0 where nothing is needed, inf where too much is; otherwise at most ``precision`` > 1
        times what is needed, as long as verdicts are monotone in the constant.
        """
        columns = self._basis @ mixtures
        needed = np.zeros(columns.shape[1])
        for part in self._parts:
            part.raise_until_private(mixtures, columns, needed, precision)
        return needed


class _Part:
    """One event under one model."""

    def __init__(self, operator: EventOperator, basis: Floats, limit: float) -> None:
        self._operator = operator
        self._limit = limit
        self._event, self._complement = operator.event @ basis, operator.complement @ basis
        self._constant = operator.event.sum(axis=1), operator.complement.sum(axis=1)

    def restricted(self, grouping: Floats) -> _Part:
        twin = _Part.__new__(_Part)
        twin._operator, twin._limit, twin._constant = self._operator, self._limit, self._constant
        twin._event, twin._complement = self._event @ grouping, self._complement @ grouping
        return twin

    def raise_until_private(
        self, mixtures: Floats, columns: Floats, needed: Floats, precision: float
    ) -> None:
        """Raise ``needed`` (k,) in place, where this event asks for more."""
        event, complement = self._event @ mixtures, self._complement @ mixtures

        def private(which: Integers, added: Floats) -> Booleans:
            return self._passes(
                event[:, which] + self._constant[0][:, None] * added,
                complement[:, which] + self._constant[1][:, None] * added,
            )

        open_ = np.flatnonzero(np.isfinite(needed))
        failing = open_[~private(open_, needed[open_])]
        if not failing.size:
            return
        largest, least = columns[:, failing].max(axis=0), columns[:, failing].min(axis=0)
        # A column whose entries all lie within the ratio tells little about anything: where the
        # map is large this is about what is needed, so the search begins there.
        ratio = math.exp(min(self._limit, 700.0))
        guess = (largest - ratio * least) / max(ratio - 1.0, 2.0**-40)
        start = np.clip(guess, SMALLEST_ADDITION * largest, LARGEST_ADDITION * largest)
        needed[failing] = _least(
            lambda which, added: private(failing[which], added),
            np.maximum(start, needed[failing]),
            LARGEST_ADDITION * largest,
            SMALLEST_ADDITION * largest,
            precision,
        )

    def _passes(self, event: Floats, complement: Floats) -> Booleans:
        operator = self._operator
        moments = Moments(
            operator.prior_event,
            operator.prior_complement,
            event,
            complement,
            operator.exponent,
            SEARCH_ERROR,
            0.0,
        )
        return passes(moments, self._limit)


def _least(
    private: Callable[[Integers, Floats], Booleans],
    start: Floats,
    most: Floats,
    least: Floats,
    precision: float,
) -> Floats:
    """Return per column the least constant that passes, from a guess; inf if none up to ``most``.

    Strides double, upwards until a constant passes or downwards until one fails; then the
    interval is bisected. Constants below ``least`` are not tried.
    """
    low, high = np.zeros(len(start)), np.full(len(start), math.inf)
    now, stride = np.array(start), np.full(len(start), precision)
    left = np.arange(len(start))
    while left.size:
        verdict = private(left, now[left])
        good, bad = left[verdict], left[~verdict]
        high[good], low[bad] = now[good], now[bad]
        given_up = (low >= most) & np.isinf(high)
        left = left[(high[left] > precision * low[left]) & ~given_up[left]]
        left = left[high[left] > least[left]]
        both = (low[left] > 0.0) & np.isfinite(high[left])
        down = left[~both & (low[left] == 0.0)]
        up = left[~both & np.isinf(high[left])]
        inside = left[both]
        now[inside] = np.sqrt(low[inside] * high[inside])
        now[down] = np.maximum(high[down] / stride[down], least[down])
        now[up] = np.minimum(low[up] * stride[up], most[up])
        outside = left[~both]
        stride[outside] = np.minimum(stride[outside] ** 2, LARGEST_STRIDE)
    return high
