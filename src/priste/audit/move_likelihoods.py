"""Releases that depend on a move, from the cell before to the cell now: audited exactly.

A likelihood of a move multiplies the transition into it, entry by entry: T = P ∘ L. With r the row
sums of T, T is diag(r) times a transition matrix Q, so that people who move by Q and releases with
the likelihoods r give the same joint probabilities as P and L. Probabilities before any release are
those of P.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.events import Guarded
from priste.mobility import MarkovModel, Transition
from priste.mobility.structured import as_transition
from priste.mobility.transitions import Schedule
from priste.quantify import (
    Adversary,
    Family,
    JointProbabilities,
    KnownPrior,
    Leakage,
    Quantifier,
)
from priste.quantify.joint_probabilities import stacked

Floats = NDArray[np.float64]

Seen = Sequence[Floats | None]
"""Per step the likelihood of its release: (m,) of cells, (m, m) of moves, None for silence."""


class MoveQuantifier:
    """What releases with likelihoods of moves reveal about an event, against an adversary.

    Takes the likelihood of each step with :meth:`observe`, (m, m) ``[before, now]`` where it is of
    a move. Answers are those of a :class:`~priste.quantify.Quantifier`, with the rounding of the
    tilted transitions in their stated error. Models of second order are refused.

    >>> from priste import AnyPrior, Grid, at
    >>> grid = Grid(rows=1, columns=2, cell_size=1.0)
    >>> model = MarkovModel(grid, [[0.5, 0.5], [0.5, 0.5]])
    >>> stayed = MoveQuantifier(model, at([0], 1), KnownPrior([1.0, 0.0]))
    >>> stayed.observe(None)
    >>> stayed.observe(np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> round(float(np.exp(stayed.leakage().for_event)), 6)
    9.0
    """

    def __init__(
        self,
        model: MarkovModel | Sequence[MarkovModel],
        event: Guarded,
        adversary: Adversary,
        family: Family = "joint",
    ) -> None:
        self._models = [model] if isinstance(model, MarkovModel) else list(model)
        if any(each.order != 1 for each in self._models):
            raise InvalidParameter(
                "must be of first order", parameter="model", owner="MoveQuantifier", value="order 2"
            )
        self._event = event
        self._before = Quantifier(self._models, event, adversary, family=family)
        self._rows = [
            _distributions(adversary.of_model(number), each)
            for number, each in enumerate(self._models)
        ]
        self._moves: list[list[Transition]] = [[] for _ in self._models]
        self._weights: list[list[Floats | None]] = [[] for _ in self._models]

    @property
    def step(self) -> int:
        """The number of observations so far."""
        return len(self._weights[0])

    def observe(self, likelihood: Floats | None) -> None:
        """Take in the release of the next step; None for silence that reveals nothing."""
        step = self.step
        for model, moves, weights in zip(self._models, self._moves, self._weights, strict=True):
            if step:
                moves.append(model.transition(step - 1))
            if likelihood is None or likelihood.ndim == 1:
                weights.append(likelihood)
                continue
            if not step:
                raise InvalidParameter(
                    "must be (m,) at the first step, which has no move before it",
                    parameter="likelihoods",
                    got=f"shape {likelihood.shape}",
                )
            moves[-1], sums = _tilted(moves[-1], likelihood)
            known = weights[-1]
            weights[-1] = sums if known is None else known * sums
            weights.append(None)

    def joint_probabilities(self) -> JointProbabilities:
        """Return a and b of each answer for the releases so far."""
        priors = self._before.joint_probabilities()
        if not any(weight is not None for weight in self._weights[0]):
            return priors
        after = stacked([self._joint_of(number) for number in range(len(self._models))])
        entries = self._models[0].grid.size + 8
        rounding = len(self._weights[0]) * entries * 2.0**-53
        return replace(
            after,
            prior=priors.prior,
            relative_error=max(after.relative_error, priors.relative_error) + rounding,
            absolute_error=max(after.absolute_error, priors.absolute_error),
        )

    def directions(self) -> tuple[float, float]:
        """Return the leakage for and against the event; see ``Quantifier.directions``."""
        return self._before.judge.directions(self.joint_probabilities())

    def leakage(self) -> Leakage:
        """Return the leakage against every prior of the adversary."""
        return self._before.leakage_of(self.joint_probabilities())

    def belief(self) -> float:
        """Bound the belief in the event over every prior of the adversary, from above."""
        return self._before.judge.belief(self.joint_probabilities())

    def _joint_of(self, number: int) -> JointProbabilities:
        model, weights = self._models[number], self._weights[number]
        last = max(len(weights) - 1, self._event.last_step or 0)
        later = [model.transition(step) for step in range(len(weights) - 1, last + 1)]
        schedule = Schedule((), (*self._moves[number], *later), cyclic=False)
        tilted = MarkovModel(model.grid, schedule)
        quantifier = Quantifier(
            tilted, self._event, KnownPrior(self._rows[number]), method="replay"
        )
        for weight in weights:
            quantifier.observe(weight)
        return quantifier.joint_probabilities()


def _distributions(adversary: Adversary, model: MarkovModel) -> Floats:
    rows = adversary.rows(model)
    return np.stack([rows.blended(unit) for unit in np.eye(len(rows.labels))])


def _tilted(move: Transition, likelihood: Floats) -> tuple[Transition, Floats]:
    moved = move.toarray()
    product = moved * likelihood
    sums = product.sum(axis=1)
    impossible = sums == 0.0
    rows = product / np.where(impossible, 1.0, sums)[:, None]
    rows[impossible] = moved[impossible]
    return as_transition(rows, "rows", "a tilted transition"), sums
