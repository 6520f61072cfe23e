"""What one event asks of a column, prior by prior, written for the sources of a step.

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
class Pull:
    """One event under one prior: ``x`` and ``y`` (sources,), and the limits of ln(x / y).

    Together they sum to 2, so ``x + y`` is about twice the probability of a source.
    """

    x: Floats
    y: Floats
    up: float
    down: float

    def excess(self, told: Floats) -> Floats:
        """Return (k,) by how much ln R of columns (sources, k) exceeds its limits, at most."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.x @ told) - np.log(self.y @ told)
        ratio = np.nan_to_num(ratio, nan=0.0, posinf=700.0, neginf=-700.0)
        return np.asarray(np.maximum(ratio - self.up, -ratio - self.down))


class EventConditions:
    """One event: its rows over the sources ``law`` (cells, sources), and its guarantee."""

    def __init__(self, operator: CandidateOperator, guarantee: Guarantee, law: Floats) -> None:
        self._prior_event = operator.prior_event
        self._prior_complement = operator.prior_complement
        self._judge = operator.judge
        self._weights_of = operator.weights_of
        self._guarantee = guarantee
        event, complement = operator.event @ law, operator.complement @ law
        alive = event.any(axis=1) | complement.any(axis=1)
        highest = int(operator.exponent[alive].max(initial=-(2**40)))
        self._exponent = np.clip(operator.exponent - highest, -900, 0)
        scale = np.ldexp(1.0, self._exponent.astype(np.int32))[:, None]
        self._event, self._complement = event * scale, complement * scale
        self._any_mixture = isinstance(operator.judge, AnyMixture)
        self._few = self._any_mixture and len(event) <= FEW_ROWS
        self._mixtures = self._pairs() if self._few else np.zeros((0, len(event)))

    def pull(self, weights: Floats) -> Pull | None:
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
        return Pull(x / total, y / total, up, down)

    def first_pulls(self, reference: Floats | None) -> list[Pull]:
        """Return the conditions to begin with: of the reference prior and of the worst so far."""
        rows = len(self._prior_event)
        even = np.full(rows, 1.0 / rows)
        weights = [even if reference is None else self._weights_of(reference)]
        everything = np.ones((self._event.shape[1], 1))
        if self._few:
            weights += [each for _, each in self._grid_witnesses(everything)]
        else:
            moments = self._moments(everything)
            weights.append(self._weights(self._judge.leakage(_single(moments)).worst_prior))
        return [pull for pull in (self.pull(each) for each in weights) if pull is not None]

    def grouped(self, groups: Floats) -> EventConditions:
        """Return the same event over groups of sources (sources, groups)."""
        twin = copy.copy(self)
        twin._event, twin._complement = self._event @ groups, self._complement @ groups
        return twin

    def keeps(self, told: Floats) -> Booleans:
        """Tell for columns (sources, k) whether they seem to keep the guarantee."""
        if not self._few:
            return self._judge.passes(self._moments(told), self._guarantee)
        ratio = self._ratios(told)
        up, down = self._ends()
        return np.asarray((ratio.max(axis=0) <= up) & (ratio.min(axis=0) >= -down))

    def is_touched(self, mass: Floats, least: float) -> bool:
        """Tell whether telling sources apart moves some ratio by ``least``, or it is near its end.

        Sources that together have less than a thousandth of the probability do not count.
        """
        for pull in self.first_pulls(None):
            told = pull.excess(np.eye(len(mass)))
            now = float(pull.excess(np.ones((len(mass), 1)))[0])
            order = np.argsort(-mass, kind="stable")
            count = int(np.searchsorted(np.cumsum(mass[order]), 0.999 * mass.sum())) + 1
            spread = float(np.max(told[order[:count]])) - now
            if spread > least or now > -least:
                return True
        return False

    def witnesses(self, told: Floats, mass: Floats) -> list[tuple[int, Pull]]:
        """Return for columns (sources, k) the priors that are worst for them, with the column."""
        found = self._grid_witnesses(told) if self._few else self._searched_witnesses(told, mass)
        pulls = [(place, self.pull(weights)) for place, weights in found]
        return [(place, pull) for place, pull in pulls if pull is not None]

    def _grid_witnesses(self, told: Floats) -> list[tuple[int, Floats]]:
        mixed, ratio = self._mixtures, self._ratios(told)
        upwards = ratio.argmax(axis=0)
        found = [(place, mixed[row]) for place, row in enumerate(upwards)]
        if not isinstance(self._guarantee, BeliefBound) and self._guarantee.down < math.inf:
            downwards = ratio.argmin(axis=0)
            found += [
                (place, mixed[row]) for place, row in enumerate(downwards) if row != upwards[place]
            ]
        return found

    def _ratios(self, told: Floats) -> Floats:
        """Return (mixtures, k) ln of R, or of the odds where a belief is capped."""
        mixed = self._mixtures
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(mixed @ (self._event @ told)) - np.log(mixed @ (self._complement @ told))
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

    def _searched_witnesses(self, told: Floats, mass: Floats) -> list[tuple[int, Floats]]:
        moments = self._moments(told)
        fails = np.flatnonzero(~self._judge.passes(moments, self._guarantee))
        worst = fails[np.argsort(-(mass @ told)[fails], kind="stable")][:WITNESSES]
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

    def _moments(self, told: Floats) -> JointProbabilities:
        return JointProbabilities(
            self._prior_event,
            self._prior_complement,
            self._event @ told,
            self._complement @ told,
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
