"""Judges: which weights over the rows count as priors, and what holds for all of them.

A judge answers the same questions about any joint probabilities with its rows: of releases, of
candidates, or of sums of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from priste.quantify.guarantees import Guarantee, Limits
from priste.quantify.joint_probabilities import Floats, Integers, JointProbabilities
from priste.quantify.joint_sums import candidates_of, rows_of
from priste.quantify.leakage import Leakage
from priste.quantify.near_prior import near_beliefs, near_leakage, near_leakages, near_passes
from priste.quantify.posteriors import largest_belief, largest_prior_belief
from priste.quantify.worst_prior import leakages, passes, worst_directions, worst_prior_leakage

Booleans = NDArray[np.bool_]
Bounds = float | Guarantee | Limits


class Judge(ABC):
    """The priors that count, as weights over rows; rows are named by their numbers."""

    @abstractmethod
    def passes(self, joint: JointProbabilities, guarantee: Bounds) -> Booleans:
        """Tell (k,) whether every prior surely keeps a guarantee after each candidate."""

    @abstractmethod
    def leakage(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Leakage:
        """Bound the leakage of one set of releases, from above.

        ``worst_rows`` is a prior that is about worst in a direction which the guarantee bounds.
        """

    @abstractmethod
    def leakages(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Floats:
        """Return (k,) the leakage of each candidate in the directions that a guarantee bounds."""

    @abstractmethod
    def belief(self, joint: JointProbabilities) -> float:
        """Bound Pr(EVENT | releases) of one set of releases, from above."""

    @abstractmethod
    def prior_belief(self, joint: JointProbabilities) -> float:
        """Bound Pr(EVENT) before any release, from above."""

    @abstractmethod
    def undecided_prior(self, joint: JointProbabilities) -> dict[int, float]:
        """Return a prior under which the event may happen or not; empty if there is none."""

    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        """Return ``for_event`` and ``against_event`` of :meth:`leakage` alone."""
        found = self.leakage(joint)
        return found.for_event, found.against_event

    def worst_mixture(self, joint: JointProbabilities, guarantee: Guarantee) -> Floats:
        """Return (rows,) weights of a prior that is about the worst for a guarantee; for searches.

        ``joint`` is of one set of releases. Zeros where no prior compares anything.
        """
        weights = np.zeros(joint.rows)
        for row, weight in self.leakage(joint, guarantee).worst_rows.items():
            weights[row] = weight
        return weights


@dataclass(frozen=True)
class EveryMixture(Judge):
    """Every mixture of the rows."""

    def passes(self, joint: JointProbabilities, guarantee: Bounds) -> Booleans:
        return passes(joint, guarantee)

    def leakage(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Leakage:
        return worst_prior_leakage(joint, guarantee)

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
        possible, impossible = joint.prior_event > 0.0, joint.prior_complement > 0.0
        both = possible & impossible
        if both.any():
            return {int(np.argmax(both)): 1.0}
        if possible.any() and impossible.any():
            return {int(np.argmax(possible)): 0.5, int(np.argmax(impossible)): 0.5}
        return {}

    def worst_mixture(self, joint: JointProbabilities, guarantee: Guarantee) -> Floats:
        if guarantee.belief_cap is None:
            return super().worst_mixture(joint, guarantee)
        # A belief is linear in the prior, so that the row with the largest odds is worst.
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.nan_to_num(joint.event / joint.complement, nan=0.0)
        return np.asarray(np.arange(joint.rows) == np.argmax(odds), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class WithinFactor(Judge):
    """Priors proportional to ``weights`` times numbers between 1 and ``factor``.

    Rows whose weight is 0 have no part in any of them.
    """

    weights: Floats
    factor: float

    def passes(self, joint: JointProbabilities, guarantee: Bounds) -> Booleans:
        return near_passes(self._used(joint), self._positive, self.factor, guarantee)

    def leakage(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Leakage:
        found = near_leakage(self._used(joint), self._positive, self.factor, guarantee)
        return replace(found, worst_rows=self._numbered(found.worst_rows))

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
class EachOf(Judge):
    """One judge for each of several groups of rows, which are never mixed with each other.

    A guarantee is kept when it is in every group. A bound is the largest of those of the groups; a
    group in which no prior compares anything counts as 0.
    """

    groups: tuple[tuple[slice, Judge], ...]

    def passes(self, joint: JointProbabilities, guarantee: Bounds) -> Booleans:
        kept = np.ones(joint.columns, dtype=np.bool_)
        for rows, judge in self.groups:
            left = np.flatnonzero(kept)
            if not len(left):
                break
            part = rows_of(joint, rows)
            if len(left) < len(kept):
                part = candidates_of(part, left)
            kept[left] = judge.passes(part, guarantee)
        return kept

    def leakage(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Leakage:
        found = [judge.leakage(part, guarantee) for part, judge in self._parts(joint)]
        over = [each.value if guarantee is None else each.over(guarantee) for each in found]
        worst = int(np.argmax(over))
        return Leakage(
            max(each.value for each in found),
            max(each.for_event for each in found),
            max(each.against_event for each in found),
            self._numbered(worst, found[worst].worst_rows),
        )

    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        found = [judge.directions(part) for part, judge in self._parts(joint)]
        return max(up for up, _ in found), max(down for _, down in found)

    def leakages(
        self, joint: JointProbabilities, guarantee: float | Guarantee | None = None
    ) -> Floats:
        found = [judge.leakages(part, guarantee) for part, judge in self._parts(joint)]
        return np.asarray(np.max(found, axis=0))

    def belief(self, joint: JointProbabilities) -> float:
        return max(judge.belief(part) for part, judge in self._parts(joint))

    def prior_belief(self, joint: JointProbabilities) -> float:
        return max(judge.prior_belief(part) for part, judge in self._parts(joint))

    def undecided_prior(self, joint: JointProbabilities) -> dict[int, float]:
        for place, (part, judge) in enumerate(self._parts(joint)):
            found = judge.undecided_prior(part)
            if found:
                return self._numbered(place, found)
        return {}

    def _parts(self, joint: JointProbabilities) -> list[tuple[JointProbabilities, Judge]]:
        return [(rows_of(joint, rows), judge) for rows, judge in self.groups]

    def _numbered(self, place: int, prior: dict[int, float]) -> dict[int, float]:
        first = self.groups[place][0].start
        return {first + row: weight for row, weight in prior.items()}
