"""What one guarantee asks of a likelihood, prior by prior, over the merged outputs of a step.

For one prior w over the rows of the event's moments let x be ā_w times the joint probability of
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

from priste.quantify import BeliefBound, CandidateOperator, Guarantee, JointProbabilities
from priste.quantify.judges import AnyMixture

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

FEW_ROWS = 12
"""Up to so many rows the worst mixture of two of them is looked up on a grid of weights."""

GRID = 13
"""How many weights are tried for each pair of rows."""

WITNESSES = 6
"""How many violated priors are asked for in a round, where rows are many."""

SEARCH_ERROR = 1e-12
"""The relative error that the search for violated priors allows its numbers."""


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
        self._any_mixture = isinstance(operator.judge, AnyMixture)
        self._few = self._any_mixture and len(event) <= FEW_ROWS
        self._mixtures = self._pairs() if self._few else np.zeros((0, len(event)))

    def bound(self, weights: Floats) -> PriorBound | None:
        """Return the conditions of the prior with these weights (rows,); None if there are none."""
        a = float(weights @ self._prior_event)
        complement = float(weights @ self._prior_complement)
        x = complement * (weights @ self._event)
        y = a * (weights @ self._complement)
        total = 0.5 * float(x.sum() + y.sum())
        if not (a > 0.0 and complement > 0.0 and 0.0 < total < math.inf):
            return None
        if isinstance(self._guarantee, BeliefBound):
            odds = self._guarantee.at_most / (1.0 - self._guarantee.at_most)
            up, down = math.log(odds * complement / a), math.inf
        else:
            up, down = self._guarantee.up, self._guarantee.down
        return PriorBound(x / total, y / total, up, down)

    def first_bounds(self) -> list[PriorBound]:
        """Return the conditions to begin with: of the reference prior and of the worst so far."""
        weights = [self._mean]
        everything = np.ones((self._event.shape[1], 1))
        if self._few:
            weights += [each for _, each in self._grid_witnesses(everything)]
        else:
            moments = self._moments(everything)
            weights.append(self._weights(self._judge.leakage(_single(moments)).worst_prior))
        return [bound for bound in (self.bound(each) for each in weights) if bound is not None]

    def grouped(self, groups: Floats) -> EventConditions:
        """Return the same event over groups of sources (sources, groups)."""
        twin = copy.copy(self)
        twin._event, twin._complement = self._event @ groups, self._complement @ groups
        return twin

    def keeps(self, columns: Floats) -> Booleans:
        """Tell for columns (sources, k) whether they seem to keep the guarantee."""
        if not self._few:
            return self._judge.passes(self._moments(columns), self._guarantee)
        ratio = self._ratios(columns)
        up, down = self._ends()
        return np.asarray((ratio.max(axis=0) <= up) & (ratio.min(axis=0) >= -down))

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
            self._grid_witnesses(columns) if self._few else self._searched_witnesses(columns, mass)
        )
        bounds = [(place, self.bound(weights)) for place, weights in found]
        return [(place, bound) for place, bound in bounds if bound is not None]

    def _grid_witnesses(self, columns: Floats) -> list[tuple[int, Floats]]:
        mixed, ratio = self._mixtures, self._ratios(columns)
        upwards = ratio.argmax(axis=0)
        found = [(place, mixed[row]) for place, row in enumerate(upwards)]
        if not isinstance(self._guarantee, BeliefBound) and self._guarantee.down < math.inf:
            downwards = ratio.argmin(axis=0)
            found += [
                (place, mixed[row]) for place, row in enumerate(downwards) if row != upwards[place]
            ]
        return found

    def _ratios(self, columns: Floats) -> Floats:
        """Return (mixtures, k) ln of R, or of the odds where a belief is capped."""
        mixed = self._mixtures
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(mixed @ (self._event @ columns)) - np.log(
                mixed @ (self._complement @ columns)
            )
            if not isinstance(self._guarantee, BeliefBound):
                prior = np.log(mixed @ self._prior_event) - np.log(mixed @ self._prior_complement)
                ratio -= prior[:, None]
        return np.asarray(np.nan_to_num(ratio, nan=0.0, posinf=700.0, neginf=-700.0))

    def _ends(self) -> tuple[float, float]:
        if isinstance(self._guarantee, BeliefBound):
            return math.log(self._guarantee.at_most / (1.0 - self._guarantee.at_most)), math.inf
        return self._guarantee.up, self._guarantee.down

    def _pairs(self) -> Floats:
        """Return (n, rows): every row, and mixtures of two whose weight matters to some column."""
        rows = len(self._prior_event)
        mixed = [np.eye(rows)]
        reached = np.log(np.maximum(self._event.sum(axis=1) + self._complement.sum(axis=1), 1e-290))
        for first in range(rows):
            for second in range(first + 1, rows):
                balance = float(reached[first] - reached[second])
                weights = np.linspace(min(0.0, balance) - 3.0, max(0.0, balance) + 3.0, GRID)
                both = np.zeros((GRID, rows))
                both[:, first], both[:, second] = np.exp(-weights / 2), np.exp(weights / 2)
                mixed.append(both)
        return np.concatenate(mixed)

    def _searched_witnesses(self, columns: Floats, mass: Floats) -> list[tuple[int, Floats]]:
        moments = self._moments(columns)
        fails = np.flatnonzero(~self._judge.passes(moments, self._guarantee))
        worst = fails[np.argsort(-(mass @ columns)[fails], kind="stable")][:WITNESSES]
        found = []
        for place in worst:
            if isinstance(self._guarantee, BeliefBound) and self._any_mixture:
                with np.errstate(divide="ignore", invalid="ignore"):
                    odds = moments.event[:, place] / moments.complement[:, place]
                weights = np.zeros(len(odds))
                weights[int(np.argmax(np.nan_to_num(odds, nan=0.0)))] = 1.0
            else:
                single = _single(moments, int(place))
                weights = self._weights(self._judge.leakage(single).worst_prior)
            found.append((int(place), weights))
        return found

    def _moments(self, columns: Floats) -> JointProbabilities:
        return JointProbabilities(
            self._prior_event,
            self._prior_complement,
            self._event @ columns,
            self._complement @ columns,
            np.zeros(len(self._prior_event), dtype=np.int64),
            SEARCH_ERROR,
            0.0,
        )

    def _weights(self, prior: dict[int, float]) -> Floats:
        weights = np.zeros(len(self._prior_event))
        for row, weight in prior.items():
            weights[row] = weight
        return weights


def _single(moments: JointProbabilities, place: int = 0) -> JointProbabilities:
    return JointProbabilities(
        moments.prior_event,
        moments.prior_complement,
        moments.event[:, place],
        moments.complement[:, place],
        moments.exponent,
        moments.relative_error,
        moments.absolute_error,
    )
