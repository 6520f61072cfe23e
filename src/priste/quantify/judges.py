"""Judges: which weights over the rows count as priors, and what holds for all of them.

A judge answers the same questions about any joint probabilities with its rows: of releases, of
candidates, or of sums of them. Each question about a secret is one about pairs of its answers; the
two answers of an event are one pair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from priste.quantify.guarantees import Guarantee, as_guarantee
from priste.quantify.joint_probabilities import (
    Floats,
    Integers,
    JointProbabilities,
    before_releases,
    candidates_of,
    largest_belief,
    rows_of,
)
from priste.quantify.leakage import Leakage
from priste.quantify.near_prior import near_beliefs, near_leakage, near_leakages, near_passes
from priste.quantify.worst_prior import leakages, passes, worst_directions, worst_prior_leakage

Booleans = NDArray[np.bool_]
Bound = float | Guarantee
Answers = tuple[int, ...]


class Judge(ABC):
    """The priors that count, as weights over rows; rows are named by their numbers."""

    @property
    @abstractmethod
    def of_groups(self) -> tuple[MixtureJudge, ...]:
        """The judge of each group of rows that may be mixed, in order."""

    @abstractmethod
    def passes(self, joint: JointProbabilities, guarantee: Bound) -> Booleans:
        """Return (k,) whether every prior surely keeps a guarantee after each candidate."""

    @abstractmethod
    def leakage(self, joint: JointProbabilities, guarantee: Bound | None = None) -> Leakage:
        """Bound the leakage of one set of releases, from above.

        ``worst_rows`` is a prior that is about worst in a direction which the guarantee bounds,
        ``between`` the two answers that are then distinguished.
        """

    @abstractmethod
    def leakages(self, joint: JointProbabilities, guarantee: Bound | None = None) -> Floats:
        """Return (k,) the leakage of each candidate in the directions that a guarantee bounds."""

    @abstractmethod
    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        """Return ``for_event`` and ``against_event`` of :meth:`leakage` alone."""

    @abstractmethod
    def belief(self, joint: JointProbabilities) -> float:
        """Bound Pr(EVENT | releases) of one set of releases, from above.

        Of a secret the largest over its answers, but for the last one if that is "neither".
        """

    @abstractmethod
    def undecided_prior(self, joint: JointProbabilities) -> dict[int, float]:
        """Return a prior that leaves two answers possible; empty if there is none."""

    def prior_belief(self, joint: JointProbabilities) -> float:
        """Bound Pr(EVENT) before any release, from above; see :meth:`belief`."""
        return self.belief(before_releases(joint))

    def worst_mixture(self, joint: JointProbabilities, guarantee: Guarantee) -> Floats:
        """Return (rows,) weights of a prior that is about the worst for a guarantee; for searches.

        ``joint`` is of one set of releases and two answers. Zeros where no prior compares anything.
        """
        weights = np.zeros(joint.rows)
        for row, weight in self.leakage(joint, guarantee).worst_rows.items():
            weights[row] = weight
        return weights


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two answers as an event and its negation, and who judges about the rows that are left."""

    view: JointProbabilities
    judge: MixtureJudge
    rows: Integers | None
    between: tuple[int, int]
    with_rest: bool

    def numbered(self, prior: dict[int, float]) -> dict[int, float]:
        """Return a prior over the rows that are left as one over all rows."""
        if self.rows is None:
            return prior
        return {int(self.rows[row]): weight for row, weight in prior.items()}


class MixtureJudge(Judge):
    """A judge about one group of rows, which decides about two answers at a time."""

    @property
    def of_groups(self) -> tuple[MixtureJudge, ...]:
        return (self,)

    @abstractmethod
    def of_rows(self, rows: Integers) -> MixtureJudge:
        """Return the judge of some of the rows, where all others have no part in any prior."""

    @abstractmethod
    def pair_passes(self, joint: JointProbabilities, guarantee: Guarantee) -> Booleans:
        """Answer :meth:`passes` about two answers."""

    @abstractmethod
    def pair_leakage(self, joint: JointProbabilities, guarantee: Bound | None) -> Leakage:
        """Answer :meth:`leakage` about two answers."""

    @abstractmethod
    def pair_leakages(self, joint: JointProbabilities, guarantee: Bound | None) -> Floats:
        """Answer :meth:`leakages` about two answers."""

    @abstractmethod
    def pair_belief(self, joint: JointProbabilities) -> float:
        """Answer :meth:`belief` about the first of two answers."""

    @abstractmethod
    def pair_undecided(self, joint: JointProbabilities) -> dict[int, float]:
        """Answer :meth:`undecided_prior` about two answers."""

    def pair_directions(self, joint: JointProbabilities) -> tuple[float, float]:
        """Answer :meth:`directions` about two answers."""
        found = self.pair_leakage(joint, None)
        return found.for_event, found.against_event

    def passes(self, joint: JointProbabilities, guarantee: Bound) -> Booleans:
        kept = np.ones(joint.columns, dtype=np.bool_)
        for each in as_guarantee(guarantee).comparisons(joint.answers, joint.has_rest):
            left = np.flatnonzero(kept)
            if not len(left):
                break
            view, judge, _ = self._compared(joint, each.first, each.second)
            if view is None:
                continue
            if len(left) < len(kept):
                view = candidates_of(view, left)
            kept[left] = judge.pair_passes(view, each.guarantee)
        return kept

    def leakage(self, joint: JointProbabilities, guarantee: Bound | None = None) -> Leakage:
        worst, most = Leakage(0.0, 0.0, 0.0, {}), -np.inf
        found = []
        for pair in self._pairs(joint):
            asked = guarantee if pair.with_rest else None
            here = pair.judge.pair_leakage(pair.view, asked)
            found.append(_both_ways(here.for_event, here.against_event, pair.with_rest))
            over = here.value if asked is None else here.over(asked)
            if over > most:
                most, prior = over, pair.numbered(here.worst_rows)
                worst = replace(here, worst_rows=prior, between=pair.between)
        if not found:
            return worst
        up, down = (max(side) for side in zip(*found, strict=True))
        return replace(worst, value=max(up, down), for_event=up, against_event=down)

    def leakages(self, joint: JointProbabilities, guarantee: Bound | None = None) -> Floats:
        found = [
            pair.judge.pair_leakages(pair.view, guarantee if pair.with_rest else None)
            for pair in self._pairs(joint)
        ]
        return np.asarray(np.max(found, axis=0)) if found else np.zeros(joint.columns)

    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        found = [
            _both_ways(*pair.judge.pair_directions(pair.view), pair.with_rest)
            for pair in self._pairs(joint)
        ]
        return max((x[0] for x in found), default=0.0), max((x[1] for x in found), default=0.0)

    def belief(self, joint: JointProbabilities) -> float:
        most = 0.0
        for answer in range(joint.answers - joint.has_rest):
            others = tuple(each for each in range(joint.answers) if each != answer)
            view, judge, _ = self._compared(joint, (answer,), others)
            if view is not None:
                most = max(most, judge.pair_belief(view))
        return most

    def undecided_prior(self, joint: JointProbabilities) -> dict[int, float]:
        for pair in self._pairs(joint):
            prior = pair.judge.pair_undecided(pair.view)
            if prior:
                return pair.numbered(prior)
        return {}

    def _pairs(self, joint: JointProbabilities) -> Iterator[_Pair]:
        """Yield each two answers that some row of this judge leaves open."""
        last = joint.answers - 1
        for first, second in combinations(range(joint.answers), 2):
            view, judge, rows = self._compared(joint, (first,), (second,))
            if view is None or (last > 1 and _decided(judge, view)):
                continue
            with_rest = joint.has_rest and second == last
            yield _Pair(view, judge, rows, (first, second), with_rest)

    def _compared(
        self, joint: JointProbabilities, first: Answers, second: Answers
    ) -> tuple[JointProbabilities | None, MixtureJudge, Integers | None]:
        """Return the comparison of some answers with others; None if no row has any of them.

        Rows that can have none of them drop out: they change no sum of a prior.
        """
        view, rows = joint.compared(first, second)
        if rows is None:
            return view, self, None
        return (view if len(rows) else None), self.of_rows(rows), rows


def _decided(judge: MixtureJudge, joint: JointProbabilities) -> bool:
    """Return whether surely no prior leaves both answers possible."""
    return joint.absolute_error == 0.0 and not judge.pair_undecided(joint)


def _both_ways(up: float, down: float, with_rest: bool) -> tuple[float, float]:
    """Return how far a pair goes for and against an answer that is not "neither"."""
    return (up, down) if with_rest else (max(up, down), max(up, down))


@dataclass(frozen=True)
class EveryMixture(MixtureJudge):
    """Every mixture of the rows."""

    def of_rows(self, rows: Integers) -> MixtureJudge:
        return self

    def pair_passes(self, joint: JointProbabilities, guarantee: Guarantee) -> Booleans:
        return passes(joint, guarantee)

    def pair_leakage(self, joint: JointProbabilities, guarantee: Bound | None) -> Leakage:
        return worst_prior_leakage(joint, guarantee)

    def pair_directions(self, joint: JointProbabilities) -> tuple[float, float]:
        return worst_directions(joint)

    def pair_leakages(self, joint: JointProbabilities, guarantee: Bound | None) -> Floats:
        return leakages(joint, guarantee)

    def pair_belief(self, joint: JointProbabilities) -> float:
        return largest_belief(joint)

    def pair_undecided(self, joint: JointProbabilities) -> dict[int, float]:
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
class WithinFactor(MixtureJudge):
    """Priors proportional to ``weights`` times numbers between 1 and ``factor``.

    Rows whose weight is 0 have no part in any of them.
    """

    weights: Floats
    factor: float

    def of_rows(self, rows: Integers) -> MixtureJudge:
        return WithinFactor(self.weights[rows], self.factor)

    def pair_passes(self, joint: JointProbabilities, guarantee: Guarantee) -> Booleans:
        if not len(self._rows):
            return np.ones(joint.columns, dtype=np.bool_)
        return near_passes(self._used(joint), self._positive, self.factor, guarantee)

    def pair_leakage(self, joint: JointProbabilities, guarantee: Bound | None) -> Leakage:
        if not len(self._rows):
            return Leakage(0.0, 0.0, 0.0, {})
        found = near_leakage(self._used(joint), self._positive, self.factor, guarantee)
        return replace(found, worst_rows=self._numbered(found.worst_rows))

    def pair_leakages(self, joint: JointProbabilities, guarantee: Bound | None) -> Floats:
        if not len(self._rows):
            return np.zeros(joint.columns)
        return near_leakages(self._used(joint), self._positive, self.factor, guarantee)

    def pair_belief(self, joint: JointProbabilities) -> float:
        if not len(self._rows):
            return 0.0
        return float(near_beliefs(self._used(joint), self._positive, self.factor)[0])

    def pair_undecided(self, joint: JointProbabilities) -> dict[int, float]:
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

    groups: tuple[tuple[slice, MixtureJudge], ...]

    @property
    def of_groups(self) -> tuple[MixtureJudge, ...]:
        return tuple(judge for _, judge in self.groups)

    def passes(self, joint: JointProbabilities, guarantee: Bound) -> Booleans:
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

    def leakage(self, joint: JointProbabilities, guarantee: Bound | None = None) -> Leakage:
        found = [judge.leakage(part, guarantee) for part, judge in self._parts(joint)]
        over = [each.value if guarantee is None else each.over(guarantee) for each in found]
        worst = int(np.argmax(over))
        return Leakage(
            max(each.value for each in found),
            max(each.for_event for each in found),
            max(each.against_event for each in found),
            self._numbered(worst, found[worst].worst_rows),
            between=found[worst].between,
        )

    def directions(self, joint: JointProbabilities) -> tuple[float, float]:
        found = [judge.directions(part) for part, judge in self._parts(joint)]
        return max(up for up, _ in found), max(down for _, down in found)

    def leakages(self, joint: JointProbabilities, guarantee: Bound | None = None) -> Floats:
        found = [judge.leakages(part, guarantee) for part, judge in self._parts(joint)]
        return np.asarray(np.max(found, axis=0))

    def belief(self, joint: JointProbabilities) -> float:
        return max(judge.belief(part) for part, judge in self._parts(joint))

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
