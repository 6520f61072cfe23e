"""The rows of an adversary under one model: distributions of the first cell.

Every prior of the adversary is a mixture of these rows. A row is a first cell, a given prior, or
where somebody is who was seen some steps before the stream began.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from priste.errors import InvalidParameter
from priste.quantify.adversaries import (
    Adversary,
    AnyPrior,
    KnownPrior,
    LastSeen,
    PriorsWithin,
    StartsIn,
)
from priste.quantify.joint_probabilities import Floats, Integers
from priste.quantify.lifted import BAND_MERGES
from priste.quantify.movement import moved_ahead, moved_back
from priste.quantify.scaling import ScaledRows

if TYPE_CHECKING:
    from priste.mobility import MarkovModel, Transition


class StartRows(Protocol):
    """Distributions of the first cell, one per row."""

    @property
    def labels(self) -> Integers:
        """What each row is called: a cell, or the number of a given prior."""

    @property
    def support(self) -> Integers:
        """The first cells that some row allows, increasing."""

    @property
    def losses(self) -> tuple[int, float]:
        """Roundings beyond one sum over cells, and the sum of log1p of row sum errors."""

    def distributions(self) -> ScaledRows:
        """Return (rows, 1, cells)."""

    def mixed(self, by_cell: ScaledRows) -> ScaledRows:
        """Turn values (..., cells) of first cells into values (..., rows)."""

    def blended(self, weights: Floats) -> Floats:
        """Return (cells,), the distribution of the first cell under weights over the rows."""

    def weights_of(self, prior: Floats) -> Floats:
        """Return weights (rows,), summing to 1, that stand for a prior (cells,)."""


@dataclass(frozen=True, eq=False)
class FirstCells:
    """One row per cell, in which the first cell is certain."""

    labels: Integers
    size: int

    losses = (0, 0.0)

    @property
    def support(self) -> Integers:
        return self.labels

    def distributions(self) -> ScaledRows:
        rows = np.zeros((len(self.labels), 1, self.size))
        rows[np.arange(len(self.labels)), 0, self.labels] = 1.0
        return ScaledRows.of(rows)

    def mixed(self, by_cell: ScaledRows) -> ScaledRows:
        if len(self.labels) == self.size:
            return by_cell
        return by_cell.through(lambda values: values[..., self.labels], rescale=False)

    def blended(self, weights: Floats) -> Floats:
        first = np.zeros(self.size)
        first[self.labels] = weights
        return first

    def weights_of(self, prior: Floats) -> Floats:
        inside = prior[self.labels]
        if not inside.any():
            return np.full(len(inside), 1.0 / len(inside))
        return inside if len(inside) == self.size else inside / inside.sum()


@dataclass(frozen=True, eq=False)
class GivenPriors:
    """One row per given prior."""

    rows: Floats

    losses = (8, 0.0)  # bands are merged once more

    @property
    def labels(self) -> Integers:
        return np.arange(len(self.rows))

    @property
    def support(self) -> Integers:
        return np.flatnonzero(self.rows.any(axis=0))

    def distributions(self) -> ScaledRows:
        return ScaledRows.of(self.rows[:, None, :])

    def mixed(self, by_cell: ScaledRows) -> ScaledRows:
        return by_cell.through(lambda values: values @ self.rows.T)

    def blended(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self.rows)

    def weights_of(self, prior: Floats) -> Floats:
        return np.full(len(self.rows), 1.0 / len(self.rows))


@dataclass(frozen=True, eq=False)
class SeenBefore:
    """One row per cell: where somebody is at step 0 who was there some moves earlier."""

    moves: tuple[Transition, ...]  # in the order of time, the last one into step 0
    size: int

    @property
    def labels(self) -> Integers:
        return np.arange(self.size)

    @property
    def support(self) -> Integers:
        return np.arange(self.size)

    @property
    def losses(self) -> tuple[int, float]:
        roundings = sum(move.nonzeros_per_row + BAND_MERGES for move in self.moves)
        return roundings, math.fsum(math.log1p(move.row_sum_error) for move in self.moves)

    def distributions(self) -> ScaledRows:
        rows = ScaledRows.of(np.eye(self.size)[:, None, :])
        for move in self.moves:
            rows = moved_ahead(rows, move)
        return rows

    def mixed(self, by_cell: ScaledRows) -> ScaledRows:
        for move in reversed(self.moves):
            by_cell = moved_back(by_cell, move)
        return by_cell

    def blended(self, weights: Floats) -> Floats:
        rows = ScaledRows.of(weights[None, :])
        for move in self.moves:
            rows = moved_ahead(rows, move)
        return np.asarray(rows.plain()[0][0])

    def weights_of(self, prior: Floats) -> Floats:
        return prior  # as if it had been the same when the user was seen


def start_rows(adversary: Adversary, model: MarkovModel) -> StartRows:
    """Return the rows of an adversary under a model; refuses what does not fit its map or time."""
    size = model.grid.size
    if isinstance(adversary, AnyPrior):
        return FirstCells(np.arange(size), size)
    if isinstance(adversary, StartsIn):
        if adversary.cells[-1] >= size:
            raise InvalidParameter(
                f"The cells of StartsIn must be cells 0 to {size - 1} of the model's map. "
                f"Got {adversary.cells[-1]}."
            )
        return FirstCells(np.array(adversary.cells, dtype=np.int64), size)
    if isinstance(adversary, KnownPrior):
        _check_size("rows of KnownPrior", adversary.rows, size)
        return GivenPriors(adversary.rows)
    if isinstance(adversary, LastSeen):
        return _seen_before(adversary.steps, model)
    if isinstance(adversary, PriorsWithin):
        _check_size("prior of PriorsWithin", adversary.prior, size)
        return FirstCells(np.flatnonzero(np.atleast_2d(adversary.prior).any(axis=0)), size)
    raise InvalidParameter(
        "The 'adversary' of a Quantifier must be AnyPrior(), StartsIn(cells), KnownPrior(rows), "
        f"LastSeen(steps) or PriorsWithin(prior, factor). Got {type(adversary).__name__}."
    )


def _check_size(what: str, priors: Floats, size: int) -> None:
    if priors.shape[-1] != size:
        raise InvalidParameter(
            f"The {what} must have one number per cell of the model's map, {size}. "
            f"Got {priors.shape[-1]}."
        )


def _seen_before(steps: int, model: MarkovModel) -> StartRows:
    if steps == 0:
        return FirstCells(np.arange(model.grid.size), model.grid.size)
    if model.order != 1 or model.period is None:
        why = (
            "a second-order model begins at step 0 with a cell, and whoever saw the user before "
            "would know more than that cell"
            if model.order != 1
            else f"a model of {model.horizon} moves says nothing about the time before step 0"
        )
        raise InvalidParameter(
            f"The adversary LastSeen(steps={steps}) needs a model that knows how people moved "
            f"before step 0: {why}. Use a model of one matrix or with cycle=True, or "
            f"KnownPrior(rows)."
        )
    # The move from step -k to -k + 1 is that of the same phase of the cycle.
    moves = tuple(model.transition(-k % model.period) for k in range(steps, 0, -1))
    return SeenBefore(moves, model.grid.size)
