"""Quick verdicts about columns that are mixtures of a few, for searching and never for deciding.

The joint probabilities of an event are linear in the column of a release. So they are computed
once for a basis of columns, and every mixture of the basis, with or without a constant added,
costs a small product. The bounds of rounding errors are left out: what a search finds here is
a proposal, and the exact check decides about it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priste.quantify import Moments, Promise
from priste.quantify.promises import as_limits
from priste.release.calibrator import Booleans, EventOperator, Floats

if TYPE_CHECKING:
    from priste.release.public_state import PublicState

Integers = NDArray[np.int64]

LARGEST_OPERATOR = 2**24
"""Up to this many numbers (cells times cells) the operator of an event is written out."""

SEARCH_ERROR = 1e-12
"""The relative error that the search allows its numbers."""

SMALLEST_ADDITION = 2.0**-40
"""Relative to the largest entry of a column: less than this counts as nothing."""

LARGEST_ADDITION = 2.0**24
"""Relative to the largest entry of a column: a column that needs more is given up."""

NEWTON_STEPS = 40
"""How many steps the search for a constant that is enough takes, at most."""

STEP_ASIDE = 1e-7
"""By how much a constant that is just enough is raised, so that rounding does not matter."""

LARGEST_STRIDE = 2.0**64
"""By what factor a search moves at most."""


def is_searchable(state: PublicState) -> bool:
    """Tell whether the operators of this map are small enough to be written out."""
    return state.mechanism.grid.size**2 <= LARGEST_OPERATOR


class QuickCheck:
    """Verdicts about mixtures of the columns of ``basis`` (m, g), at one promise per event."""

    def __init__(
        self, operators: Sequence[EventOperator], basis: Floats, limits: Sequence[Promise]
    ) -> None:
        self._basis = basis
        self._parts = [_Part(operator, basis, limits[operator.number]) for operator in operators]

    def grouped(self, grouping: Floats) -> QuickCheck:
        """Return the check for the basis ``basis @ grouping``; ``grouping`` is (g, h)."""
        twin = copy.copy(self)
        twin._basis = self._basis @ grouping
        twin._parts = [part.grouped(grouping) for part in self._parts]
        return twin

    def enough(self, mixtures: Floats | None = None) -> Floats:
        """Return (k,) constants that are enough for each column, most often not by much.

        Without ``mixtures`` for the columns of the basis themselves.
        """
        found = np.zeros(self._basis.shape[1] if mixtures is None else mixtures.shape[1])
        for part in self._parts:
            np.maximum(found, part.enough(mixtures), out=found)
        return found

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
    """One event."""

    def __init__(self, operator: EventOperator, basis: Floats, promise: Promise) -> None:
        self._operator = operator
        self._promise = promise
        self._event, self._complement = operator.event @ basis, operator.complement @ basis
        self._constant = operator.event.sum(axis=1), operator.complement.sum(axis=1)
        highest = operator.exponent.max()
        scale = np.ldexp(1.0, np.clip(operator.exponent - highest, -1000, 0).astype(np.int32))
        self._by_event = _scaled(scale, operator.prior_event)
        self._by_complement = _scaled(scale, operator.prior_complement)

    def grouped(self, grouping: Floats) -> _Part:
        twin = copy.copy(self)
        twin._event, twin._complement = self._event @ grouping, self._complement @ grouping
        return twin

    def enough(self, mixtures: Floats | None) -> Floats:
        """Return (k,) constants that are enough, up to rounding; inf where none is known.

        No mixture of the rows tells more than the largest ratio of b to a, over the least ratio
        of d to ā. On a large map, where almost any two cells differ in the event, that is nearly
        exact. A belief is largest in one of the rows.
        """
        if mixtures is None:
            return self._enough(self._event, self._complement)
        return self._enough(self._event @ mixtures, self._complement @ mixtures)

    def _enough(self, event: Floats, complement: Floats) -> Floats:
        limits = as_limits(self._promise)
        found = np.zeros(event.shape[1])
        if limits.belief < math.inf:
            ones, other_ones = (constant[:, None] for constant in self._constant)
            excess = event - limits.belief * complement
            fall = limits.belief * other_ones - ones
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.where(excess > 0.0, excess / np.maximum(fall, 0.0), 0.0).max(axis=0)
        of_event, of_complement = self._by_event, self._by_complement
        up = event[of_event[0]] * of_event[1][:, None]
        down = complement[of_complement[0]] * of_complement[1][:, None]
        if not (len(up) and len(down)):
            return found  # an event that is certain or impossible
        up_one = self._constant[0][of_event[0]] * of_event[1]
        down_one = self._constant[1][of_complement[0]] * of_complement[1]
        sides = (up, up_one, down, down_one), (down, down_one, up, up_one)
        for side, bound in zip(sides, (limits.up, limits.down), strict=True):
            if bound < math.inf:
                found = np.maximum(found, _level(*side, math.exp(min(bound, 700.0))))
        return found

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

        possible = np.flatnonzero(np.isfinite(needed))
        failing = possible[~private(possible, needed[possible])]
        if not failing.size:
            return
        largest = columns[:, failing].max(axis=0)
        least, most = SMALLEST_ADDITION * largest, LARGEST_ADDITION * largest
        start = self._enough(event[:, failing], complement[:, failing])
        start = np.where(np.isfinite(start), start * (1.0 + STEP_ASIDE), largest)
        needed[failing] = _least(
            lambda which, added: private(failing[which], added),
            np.clip(np.maximum(start, needed[failing]), least, most),
            most,
            least,
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
        return operator.adversary.passes(moments, self._promise)


def _scaled(scale: Floats, prior: Floats) -> tuple[Integers, Floats]:
    """Return the rows whose prior probability is positive, and what divides by it there."""
    rows = np.flatnonzero(prior > 0.0)
    return rows, scale[rows] / prior[rows]


def _level(up: Floats, up_one: Floats, down: Floats, down_one: Floats, ratio: float) -> Floats:
    """Return (k,) the least x with max(up + x up_one) <= ratio min(down + x down_one), or inf.

    The difference of the two sides is convex and made of lines: Newton's method from 0 comes
    from below and ends.
    """
    found = np.zeros(up.shape[1])
    left = np.arange(len(found))
    for _ in range(NEWTON_STEPS):
        highest = up[:, left] + up_one[:, None] * found[left]
        lowest = down[:, left] + down_one[:, None] * found[left]
        tops, bottoms = highest.argmax(axis=0), lowest.argmin(axis=0)
        top, every = highest.max(axis=0), np.arange(len(left))
        excess = top - ratio * lowest[bottoms, every]
        fall = ratio * down_one[bottoms] - up_one[tops]
        never = (excess > 0.0) & (fall <= 0.0)
        found[left[never]] = math.inf
        moving = (excess > 1e-12 * top) & ~never
        left = left[moving]
        if not left.size:
            break
        found[left] += excess[moving] / fall[moving]
    return found


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
