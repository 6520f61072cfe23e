"""Which weights over the rows count: the class of priors, once rows are made.

Every adversary answers the same questions about any ``JointProbabilities`` with those rows: of
releases, of candidates, or of sums of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from priste.quantify.guarantees import Guarantee, Limits
from priste.quantify.joint_probabilities import Floats, Integers, JointProbabilities
from priste.quantify.joint_sums import candidates_of, rows_of
from priste.quantify.leakage import Leakage
from priste.quantify.near_prior import near_beliefs, near_leakage, near_leakages, near_passes
from priste.quantify.posteriors import largest_belief, largest_prior_belief
from priste.quantify.worst_prior import (
    leakages,
    passes,
    worst_directions,
    worst_prior_leakage,
)

Booleans = NDArray[np.bool_]


class Judge(Protocol):
    """The priors that count, as weights over rows. ``worst_prior`` names rows by number."""

    def passes(self, joint: JointProbabilities, guarantee: float | Guarantee | Limits) -> Booleans:
        """Tell (k,) whether every prior surely keeps a guarantee after each candidate."""

    def leakage(self, joint: JointProbabilities) -> Leakage:
        """Bound the leakage of one set of releases, from above."""

    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        """Return ``for_event`` and ``against_event`` of :meth:`leakage` alone."""

    def leakages(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Floats:
        """Return (k,) the leakage of each candidate, over the directions that a guarantee
        bounds."""

    def belief(self, joint: JointProbabilities) -> float:
        """Bound Pr(EVENT | releases) of one set of releases, from above."""

    def prior_belief(self, joint: JointProbabilities) -> float:
        """Bound Pr(EVENT) before any release, from above."""

    def undecided_prior(self, joint: JointProbabilities) -> dict[int, float]:
        """Return a prior under which the event may happen or not; empty if there is none."""


@dataclass(frozen=True)
class AnyMixture:
    """Every mixture of the rows."""

    def passes(self, joint: JointProbabilities, guarantee: float | Guarantee | Limits) -> Booleans:
        return passes(joint, guarantee)

    def leakage(self, joint: JointProbabilities) -> Leakage:
        return worst_prior_leakage(joint)

    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        return worst_directions(joint)

    def leakages(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Floats:
        return leakages(joint, guarantee)

    def belief(self, joint: JointProbabilities) -> float:
        return largest_belief(joint)

    def prior_belief(self, joint: JointProbabilities) -> float:
        return largest_prior_belief(joint)

    def undecided_prior(self, joint: JointProbabilities) -> dict[int, float]:
        is_open = (joint.prior_event > 0.0) & (joint.prior_complement > 0.0)
        if is_open.any():
            return {int(np.argmax(is_open)): 1.0}
        possible, impossible = joint.prior_event > 0.0, joint.prior_complement > 0.0
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

    def passes(self, joint: JointProbabilities, guarantee: float | Guarantee | Limits) -> Booleans:
        return near_passes(self._used(joint), self._positive, self.factor, guarantee)

    def leakage(self, joint: JointProbabilities) -> Leakage:
        found = near_leakage(self._used(joint), self._positive, self.factor)
        return replace(found, worst_prior=self._numbered(found.worst_prior))

    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        found = near_leakage(self._used(joint), self._positive, self.factor)
        return found.for_event, found.against_event

    def leakages(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Floats:
        return near_leakages(self._used(joint), self._positive, self.factor, guarantee)

    def belief(self, joint: JointProbabilities) -> float:
        return float(near_beliefs(self._used(joint), self._positive, self.factor)[0])

    def prior_belief(self, joint: JointProbabilities) -> float:
        before = replace(
            joint,
            event=joint.prior_event,
            complement=joint.prior_complement,
            exponent=np.zeros(joint.rows, dtype=np.int64),
        )
        return self.belief(before)

    def undecided_prior(self, joint: JointProbabilities) -> dict[int, float]:
        used = self._used(joint)
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

    def _used(self, joint: JointProbabilities) -> JointProbabilities:
        return joint if len(self._rows) == joint.rows else rows_of(joint, self._rows)

    def _numbered(self, prior: dict[int, float]) -> dict[int, float]:
        return {int(self._rows[place]): weight for place, weight in prior.items()}


@dataclass(frozen=True, eq=False)
class EachOf:
    """One class for each of several groups of rows, which are never mixed with each other.

    A guarantee is kept when it is in every group; a bound is the largest of those of the groups.
    """

    groups: tuple[tuple[slice, Judge], ...]

    def passes(self, joint: JointProbabilities, guarantee: float | Guarantee | Limits) -> Booleans:
        kept = np.ones(1 if joint.candidates is None else joint.candidates, dtype=np.bool_)
        for rows, group in self.groups:
            left = np.flatnonzero(kept)
            if not len(left):
                break
            part = rows_of(joint, rows)
            if len(left) < len(kept):
                part = candidates_of(part, left)
            kept[left] = group.passes(part, guarantee)
        return kept

    def leakage(self, joint: JointProbabilities) -> Leakage:
        found = [group.leakage(rows_of(joint, rows)) for rows, group in self.groups]
        worst = max(range(len(found)), key=lambda place: found[place].value)
        first = self.groups[worst][0].start
        return Leakage(
            max(each.value for each in found),
            max(each.for_event for each in found),
            max(each.against_event for each in found),
            {first + row: weight for row, weight in found[worst].worst_prior.items()},
        )

    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        found = [group.directions(rows_of(joint, rows)) for rows, group in self.groups]
        return max(up for up, _ in found), max(down for _, down in found)

    def leakages(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Floats:
        found = [group.leakages(rows_of(joint, rows), guarantee) for rows, group in self.groups]
        return np.asarray(np.max(found, axis=0))

    def belief(self, joint: JointProbabilities) -> float:
        return max(group.belief(rows_of(joint, rows)) for rows, group in self.groups)

    def prior_belief(self, joint: JointProbabilities) -> float:
        return max(group.prior_belief(rows_of(joint, rows)) for rows, group in self.groups)

    def undecided_prior(self, joint: JointProbabilities) -> dict[int, float]:
        for rows, group in self.groups:
            found = group.undecided_prior(rows_of(joint, rows))
            if found:
                return {rows.start + row: weight for row, weight in found.items()}
        return {}
