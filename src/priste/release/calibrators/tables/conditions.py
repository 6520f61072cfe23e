"""What one guarantee asks of a likelihood, prior by prior, over the merged outputs of a step.

For one prior w over the rows of an event let x be ā_w times the joint probability of
the event with each source, and y be a_w times that of its negation. A mixture of sources
with ratio R = x / y keeps the guarantee under w when e^-down <= R <= e^up: two rows of a linear
programme. For searching only: whatever is found is checked exactly before it is used.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.quantify import CandidateOperator, Guarantee, JointProbabilities
from priste.quantify.joint_probabilities import candidate_of
from priste.quantify.judges import EveryMixture

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

FEW_ROWS = 12
"""Up to so many rows the worst mixture of each two of them is computed."""

WITNESSES = 6
"""How many violated priors are asked for in a round, where rows are many."""

SEARCH_ERROR = 1e-12
"""The relative error that the search for violated priors allows its numbers."""

NEARLY_VIOLATED = -1e-9
"""Of columns so far within their limits, in logarithms, no prior is written down."""


@dataclass(frozen=True, eq=False)
class PriorBound:
    """One guarantee under one prior: ``x`` and ``y`` (sources,), and the limits of ln(x / y).

    Together they sum to 2, so ``x + y`` is about twice the probability of a source.
    """

    x: Floats
    y: Floats
    up: float
    down: float

    def excess(self, columns: Floats) -> Floats:
        """Return (k,) by how much ln R of columns (sources, k) exceeds its limits, at most."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.x @ columns) - np.log(self.y @ columns)
        ratio = np.nan_to_num(ratio, nan=0.0, posinf=700.0, neginf=-700.0)
        return np.asarray(np.maximum(ratio - self.up, -ratio - self.down))


class EventConditions:
    """What one guarantee asks of columns over merged outputs, for rows that may be mixed.

    ``likelihoods`` (cells, sources) are those of the merged outputs; ``mean`` (m,) is a prior over
    cells, under which the search begins.
    """

    def __init__(
        self,
        operator: CandidateOperator,
        guarantee: Guarantee,
        likelihoods: Floats,
        mean: Floats,
    ) -> None:
        self._prior_event = operator.prior_event
        self._prior_complement = operator.prior_complement
        self._judge = operator.judge
        self._mean = operator.weights_of(mean)
        self._guarantee = guarantee
        event, complement = operator.event @ likelihoods, operator.complement @ likelihoods
        alive = event.any(axis=1) | complement.any(axis=1)
        highest = int(operator.exponent[alive].max(initial=-(2**40)))
        self._exponent = np.clip(operator.exponent - highest, -900, 0)
        scale = np.ldexp(1.0, self._exponent.astype(np.int32))[:, None]
        self._event, self._complement = event * scale, complement * scale
        self._few = operator.judge == EveryMixture() and len(event) <= FEW_ROWS

    def bound(self, weights: Floats) -> PriorBound | None:
        """Return the conditions of the prior with these weights (rows,); None if there are none."""
        a = float(weights @ self._prior_event)
        complement = float(weights @ self._prior_complement)
        x = complement * (weights @ self._event)
        y = a * (weights @ self._complement)
        total = 0.5 * float(x.sum() + y.sum())
        if not (a > 0.0 and complement > 0.0 and 0.0 < total < math.inf):
            return None
        return PriorBound(x / total, y / total, *self._guarantee.ratio_limits(a / complement))

    @property
    def mass(self) -> Floats:
        """How likely each source is with the event and without it, on average, (sources,)."""
        bound = self.bound(self._mean)
        if bound is None:
            return np.zeros(self._event.shape[1])
        return np.asarray(0.5 * (bound.x + bound.y))

    def first_bounds(self) -> list[PriorBound]:
        """Return the conditions to begin with: of the reference prior and of the worst so far."""
        weights = [self._mean]
        everything = np.ones((self._event.shape[1], 1))
        if self._few:
            weights += [each for _, each in self._pair_witnesses(everything)]
        else:
            single = candidate_of(self._joint(everything), 0)
            weights.append(self._judge.worst_mixture(single, self._guarantee))
        return [bound for bound in (self.bound(each) for each in weights) if bound is not None]

    def grouped(self, groups: Floats) -> EventConditions:
        """Return the same event over groups of sources (sources, groups)."""
        twin = copy.copy(self)
        twin._event, twin._complement = self._event @ groups, self._complement @ groups
        return twin

    def keeps(self, columns: Floats) -> Booleans:
        """Tell for columns (sources, k) whether they seem to keep the guarantee."""
        if not self._few:
            return self._judge.passes(self._joint(columns), self._guarantee)
        kept = [score.max(axis=0) <= limit for score, limit in self._scores(columns)]
        return np.asarray(np.all(kept, axis=0))

    def is_affected(self, mass: Floats, least: float) -> bool:
        """Tell whether releasing sources apart moves a ratio by ``least``, or it is near its limit.

        Sources that together have less than a thousandth of the probability do not count.
        """
        for bound in self.first_bounds():
            columns = bound.excess(np.eye(len(mass)))
            now = float(bound.excess(np.ones((len(mass), 1)))[0])
            order = np.argsort(-mass, kind="stable")
            count = int(np.searchsorted(np.cumsum(mass[order]), 0.999 * mass.sum())) + 1
            spread = float(np.max(columns[order[:count]])) - now
            if spread > least or now > -least:
                return True
        return False

    def violated(self, columns: Floats, mass: Floats) -> list[tuple[int, PriorBound]]:
        """Return for columns (sources, k) the priors that are worst for them, with the column."""
        found = (
            self._pair_witnesses(columns, NEARLY_VIOLATED)
            if self._few
            else self._searched_witnesses(columns, mass)
        )
        bounds = [(place, self.bound(weights)) for place, weights in found]
        return [(place, bound) for place, bound in bounds if bound is not None]

    def _pair_witnesses(
        self, columns: Floats, least: float = -math.inf
    ) -> list[tuple[int, Floats]]:
        """Return the worst mixture of two rows for each column whose excess is ``least`` or more.

        With the place of the column; both where the two directions have different ones.
        """
        event, complement = self._event @ columns, self._complement @ columns
        mixtures = self._mixtures(event, complement)
        found: dict[tuple[int, int], None] = {}
        for score, limit in self._scored(mixtures, event, complement):
            rows = score.argmax(axis=0)
            over = np.flatnonzero(score[rows, np.arange(len(rows))] >= limit + least)
            found |= dict.fromkeys(zip(over.tolist(), rows[over].tolist(), strict=True))
        return [(place, mixtures[row, place]) for place, row in found]

    def _scores(self, columns: Floats) -> list[tuple[Floats, float]]:
        """Return what is bounded, (mixtures, k) logarithms each, and its limit."""
        event, complement = self._event @ columns, self._complement @ columns
        return self._scored(self._mixtures(event, complement), event, complement)

    def _scored(
        self, mixtures: Floats, event: Floats, complement: Floats
    ) -> list[tuple[Floats, float]]:
        guarantee = self._guarantee
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.log(np.einsum("nkr,rk->nk", mixtures, event))
            odds -= np.log(np.einsum("nkr,rk->nk", mixtures, complement))
            prior = np.log(mixtures @ self._prior_event) - np.log(mixtures @ self._prior_complement)
            ratio = odds - prior
        odds, ratio = (
            np.nan_to_num(x, nan=0.0, posinf=700.0, neginf=-700.0) for x in (odds, ratio)
        )
        found = [(ratio, guarantee.up)] if guarantee.up < math.inf else []
        if guarantee.belief_cap is not None:
            found.append((odds, math.log(guarantee.belief_cap / (1.0 - guarantee.belief_cap))))
        return found + ([(-ratio, guarantee.down)] if guarantee.down < math.inf else [])

    def _mixtures(self, event: Floats, complement: Floats) -> Floats:
        """Return (n, k, rows): every row, and of each two rows the mixtures that are worst.

        The mixture of two rows with weights 1 and s has R = N(s) / D(s), both quadratic. Its
        extremes are at the ends and where N' D = N D', which is quadratic in s as well.
        """
        rows, count = event.shape
        single = np.broadcast_to(np.eye(rows)[:, None, :], (rows, count, rows))
        if rows == 1:
            return np.asarray(single)
        first, second = np.triu_indices(rows, 1)
        a, not_a = self._prior_event[:, None], self._prior_complement[:, None]
        above = _product(event[first], event[second], not_a[first], not_a[second])
        below = _product(complement[first], complement[second], a[first], a[second])
        with np.errstate(all="ignore"):
            constant = above[1] * below[0] - above[0] * below[1]
            half = above[2] * below[0] - above[0] * below[2]
            square = above[2] * below[1] - above[1] * below[2]
            root = np.sqrt(half * half - square * constant)
            larger = -(half + np.copysign(root, half))
            weights = np.stack([larger / square, constant / larger])
        weights = np.where(np.isfinite(weights) & (weights > 0.0), weights, 0.0)
        pairs = np.zeros((2, len(first), count, rows))
        place = np.arange(len(first))
        pairs[:, place, :, first] = 1.0
        pairs[:, place, :, second] = weights.transpose(1, 0, 2)
        return np.concatenate([single, pairs.reshape(-1, count, rows)])

    def _searched_witnesses(self, columns: Floats, mass: Floats) -> list[tuple[int, Floats]]:
        joint = self._joint(columns)
        fails = np.flatnonzero(~self._judge.passes(joint, self._guarantee))
        worst = fails[np.argsort(-(mass @ columns)[fails], kind="stable")][:WITNESSES].tolist()
        return [
            (place, self._judge.worst_mixture(candidate_of(joint, place), self._guarantee))
            for place in worst
        ]

    def _joint(self, columns: Floats) -> JointProbabilities:
        return JointProbabilities(
            np.stack([self._prior_event, self._prior_complement]),
            np.stack([self._event @ columns, self._complement @ columns]),
            np.zeros(len(self._prior_event), dtype=np.int64),
            SEARCH_ERROR,
            0.0,
        )


def _product(
    first: Floats, second: Floats, third: Floats, fourth: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the coefficients of (first + s second)(third + s fourth), the constant one first."""
    return first * third, first * fourth + second * third, second * fourth
