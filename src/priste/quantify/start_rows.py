"""The rows of an adversary under one model: distributions of the first cell.

Every prior of the adversary is a mixture of these rows. A row is a first cell, a given prior, or
where somebody is who was seen some steps before the stream began.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np

from priste.quantify.joint_probabilities import Floats, Integers
from priste.quantify.lifted import BAND_MERGES
from priste.quantify.movement import moved_ahead, moved_back
from priste.quantify.scaling import ScaledRows

if TYPE_CHECKING:
    from priste.mobility import Transition


Labels = Literal["first cell", "given prior", "last seen cell"]


class StartRows(Protocol):
    """Distributions of the first cell, one per row."""

    @property
    def labels(self) -> Integers:
        """What each row is called: a cell, or the number of a given prior."""

    @property
    def labels_are(self) -> Labels:
        """What the labels name."""

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
    labels_are: ClassVar[Labels] = "first cell"

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
    labels_are: ClassVar[Labels] = "given prior"

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

    labels_are: ClassVar[Labels] = "last seen cell"

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
