"""Which weights over the rows of moments count: the class of priors, once rows are made.

Every adversary answers the same questions about any ``Moments`` with those rows: of releases, of
candidates, or of sums of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from priste.quantify.guarantees import Guarantee, Limits
from priste.quantify.leakage import Leakage
from priste.quantify.moment_sums import candidates_of, rows_of
from priste.quantify.moments import Floats, Integers, Moments
from priste.quantify.near_prior import near_beliefs, near_leakage, near_leakages, near_passes
from priste.quantify.posteriors import largest_belief, largest_prior_belief
from priste.quantify.worst_prior import (
    leakages,
    passes,
    worst_directions,
    worst_prior_leakage,
)

Booleans = NDArray[np.bool_]


class PriorClass(Protocol):
    """The priors that count, as weights over rows. ``worst_prior`` names rows by number."""

    def passes(self, moments: Moments, guarantee: float | Guarantee | Limits) -> Booleans:
        """Tell (k,) whether every prior surely keeps a guarantee after each candidate."""

    def leakage(self, moments: Moments) -> Leakage:
        """Bound the leakage of one set of releases, from above."""

    def directions(self, moments: Moments) -> tuple[float, float]:
        """Return ``for_event`` and ``against_event`` of :meth:`leakage` alone."""

    def leakages(self, moments: Moments, guarantee: float | Guarantee | None = None) -> Floats:
        """Return (k,) the leakage of each candidate, over the directions that a guarantee
        bounds."""

    def belief(self, moments: Moments) -> float:
        """Bound Pr(EVENT | releases) of one set of releases, from above."""

    def prior_belief(self, moments: Moments) -> float:
        """Bound Pr(EVENT) before any release, from above."""

    def undecided_prior(self, moments: Moments) -> dict[int, float]:
        """Return a prior under which the event may happen or not; empty if there is none."""


@dataclass(frozen=True)
class AnyMixture:
    """Every mixture of the rows."""

    def passes(self, moments: Moments, guarantee: float | Guarantee | Limits) -> Booleans:
        return passes(moments, guarantee)

    def leakage(self, moments: Moments) -> Leakage:
        return worst_prior_leakage(moments)

    def directions(self, moments: Moments) -> tuple[float, float]:
        return worst_directions(moments)

    def leakages(self, moments: Moments, guarantee: float | Guarantee | None = None) -> Floats:
        return leakages(moments, guarantee)

    def belief(self, moments: Moments) -> float:
        return largest_belief(moments)

    def prior_belief(self, moments: Moments) -> float:
        return largest_prior_belief(moments)

    def undecided_prior(self, moments: Moments) -> dict[int, float]:
        is_open = (moments.prior_event > 0.0) & (moments.prior_complement > 0.0)
        if is_open.any():
            return {int(np.argmax(is_open)): 1.0}
        possible, impossible = moments.prior_event > 0.0, moments.prior_complement > 0.0
        if possible.any() and impossible.any():
            return {int(np.argmax(possible)): 0.5, int(np.argmax(impossible)): 0.5}
        return {}


@dataclass(frozen=True, eq=False)
class WithinFactor:
    """Priors proportional to ``weights`` times numbers between 1 and ``factor``.

    Rows whose weight is 0 have no part in any of them.
    """

    weights: Floats
    factor: float

    def passes(self, moments: Moments, guarantee: float | Guarantee | Limits) -> Booleans:
        return near_passes(self._used(moments), self._positive, self.factor, guarantee)

    def leakage(self, moments: Moments) -> Leakage:
        found = near_leakage(self._used(moments), self._positive, self.factor)
        return replace(found, worst_prior=self._numbered(found.worst_prior))

    def directions(self, moments: Moments) -> tuple[float, float]:
        found = near_leakage(self._used(moments), self._positive, self.factor)
        return found.for_event, found.against_event

    def leakages(self, moments: Moments, guarantee: float | Guarantee | None = None) -> Floats:
        return near_leakages(self._used(moments), self._positive, self.factor, guarantee)

    def belief(self, moments: Moments) -> float:
        return float(near_beliefs(self._used(moments), self._positive, self.factor)[0])

    def prior_belief(self, moments: Moments) -> float:
        before = replace(
            moments,
            event=moments.prior_event,
            complement=moments.prior_complement,
            exponent=np.zeros(moments.rows, dtype=np.int64),
        )
        return self.belief(before)

    def undecided_prior(self, moments: Moments) -> dict[int, float]:
        used = self._used(moments)
        if not (used.prior_event.any() and used.prior_complement.any()):
            return {}
        shares = self._positive / self._positive.sum()
        return self._numbered(dict(enumerate(shares.tolist())))

    @cached_property
    def _rows(self) -> Integers:
        return np.flatnonzero(self.weights)

    @cached_property
    def _positive(self) -> Floats:
        return self.weights[self._rows]

    def _used(self, moments: Moments) -> Moments:
        return moments if len(self._rows) == moments.rows else rows_of(moments, self._rows)

    def _numbered(self, prior: dict[int, float]) -> dict[int, float]:
        return {int(self._rows[place]): weight for place, weight in prior.items()}


@dataclass(frozen=True, eq=False)
class EachOf:
    """One class for each of several groups of rows, which are never mixed with each other.

    A guarantee is kept when it is in every group; a bound is the largest of those of the groups.
    """

    groups: tuple[tuple[slice, PriorClass], ...]

    def passes(self, moments: Moments, guarantee: float | Guarantee | Limits) -> Booleans:
        kept = np.ones(1 if moments.candidates is None else moments.candidates, dtype=np.bool_)
        for rows, group in self.groups:
            left = np.flatnonzero(kept)
            if not len(left):
                break
            part = rows_of(moments, rows)
            if len(left) < len(kept):
                part = candidates_of(part, left)
            kept[left] = group.passes(part, guarantee)
        return kept

    def leakage(self, moments: Moments) -> Leakage:
        found = [group.leakage(rows_of(moments, rows)) for rows, group in self.groups]
        worst = max(range(len(found)), key=lambda place: found[place].value)
        first = self.groups[worst][0].start
        return Leakage(
            max(each.value for each in found),
            max(each.for_event for each in found),
            max(each.against_event for each in found),
            {first + row: weight for row, weight in found[worst].worst_prior.items()},
        )

    def directions(self, moments: Moments) -> tuple[float, float]:
        found = [group.directions(rows_of(moments, rows)) for rows, group in self.groups]
        return max(up for up, _ in found), max(down for _, down in found)

    def leakages(self, moments: Moments, guarantee: float | Guarantee | None = None) -> Floats:
        found = [group.leakages(rows_of(moments, rows), guarantee) for rows, group in self.groups]
        return np.asarray(np.max(found, axis=0))

    def belief(self, moments: Moments) -> float:
        return max(group.belief(rows_of(moments, rows)) for rows, group in self.groups)

    def prior_belief(self, moments: Moments) -> float:
        return max(group.prior_belief(rows_of(moments, rows)) for rows, group in self.groups)

    def undecided_prior(self, moments: Moments) -> dict[int, float]:
        for rows, group in self.groups:
            found = group.undecided_prior(rows_of(moments, rows))
            if found:
                return {rows.start + row: weight for row, weight in found.items()}
        return {}
