"""How a fitted model treats moves that were never seen.

Every choice here is one formula: row ``i`` of the fitted matrix is

    (counts[i] + strength[i] * prior[i]) / (sum(counts[i]) + strength[i])

with a prior whose rows are distributions. So a cell that was never visited gets the row of
the prior, and every row is a distribution. The choices differ in prior and strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from scipy import sparse

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.gaussian import (
    cells_within,
    gaussian_factors,
    truncated_gaussian,
)
from priste.mobility.structured import SeparableTransition
from priste.mobility.transitions import SparseTransition, Transition
from priste.mobility.validation import MAX_NUMBER, FloatArray, row_sums

_EIGHT_NEIGHBOURS = 1.5
"""Reach, in cells, that takes in a cell and the eight around it."""


class Smoothing(Protocol):
    """A choice of prior and of its strength in each row."""

    def prior(self, grid: Grid, counts: sparse.csr_array) -> tuple[Transition, FloatArray]:
        """Return the prior and its strength per row, in the unit of one observed move."""
        ...


@dataclass(frozen=True)
class MaximumLikelihood:
    """No smoothing: observed shares, and a stated answer for cells that were never left.

    ``unvisited`` says what such a cell does: "error" refuses to fit, "stay" stays for ever,
    "uniform" goes anywhere. Moves that were never seen have probability 0, and an adversary
    who believes that can be certain of things that merely are rare: prefer smoothing for
    protection, and this for reproducing others' results.
    """

    unvisited: Literal["error", "stay", "uniform"] = "error"

    def __post_init__(self) -> None:
        if self.unvisited not in ("error", "stay", "uniform"):
            raise InvalidParameter(
                "must be 'error', 'stay' or 'uniform'",
                parameter="unvisited",
                owner="MaximumLikelihood",
                value=self.unvisited,
            )

    def prior(self, grid: Grid, counts: sparse.csr_array) -> tuple[Transition, FloatArray]:
        empty = row_sums(counts) == 0.0
        if self.unvisited == "error" and empty.any():
            raise InvalidParameter(
                f"MaximumLikelihood(unvisited='error') cannot fit this map: {int(empty.sum())} of "
                f"its {grid.size} cells are never left in the data.",
                owner="MaximumLikelihood",
                hint="Choose a smoothing, or say what such cells do: unvisited='stay' or "
                "'uniform'.",
            )
        if self.unvisited == "uniform":
            return _uniform(grid), empty.astype(np.float64)
        return SparseTransition(sparse.eye_array(grid.size, format="csr")), empty.astype(np.float64)


@dataclass(frozen=True)
class AddEverywhere:
    """Add ``weight`` (> 0) to the count of every move, near or far (Laplace's rule at 1).

    Simple, and strong: a row gains ``weight * m`` moves that were never made. On a map of
    400 cells a weight of 1 outweighs the 40 moves out of a cell.
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        check_float(self.weight, "weight", "AddEverywhere", above=0, most=MAX_NUMBER)

    def prior(self, grid: Grid, counts: sparse.csr_array) -> tuple[Transition, FloatArray]:
        return _uniform(grid), np.full(grid.size, self.weight * grid.size)


@dataclass(frozen=True)
class AddNearby:
    """Add ``weight`` (> 0) to the count of every move of at most ``reach`` km: a sparse model.

    ``reach`` counts between centres and includes staying; ``None`` takes in the cell and
    the eight around it. Longer moves are possible only where they were seen.
    """

    weight: float = 1.0
    reach: float | None = None

    def __post_init__(self) -> None:
        check_float(self.weight, "weight", "AddNearby", above=0, most=MAX_NUMBER)
        if self.reach is not None:
            check_float(self.reach, "reach", "AddNearby", why="km", least=0, most=MAX_NUMBER)

    def prior(self, grid: Grid, counts: sparse.csr_array) -> tuple[Transition, FloatArray]:
        reach = _EIGHT_NEIGHBOURS * grid.cell_size if self.reach is None else self.reach
        nearby = cells_within(grid, reach)
        sizes = np.diff(nearby.indptr)
        nearby.data = np.repeat(1.0 / sizes, sizes)
        return SparseTransition(nearby), self.weight * sizes


@dataclass(frozen=True)
class GaussianPrior:
    """Add ``strength`` (> 0) moves per cell, spread as ``MarkovModel.gaussian`` would spread them.

    ``sigma`` in km; ``None`` takes it from the data: the root mean square length of the
    observed moves divided by sqrt(2), and at least the size of a cell. ``reach`` cuts the
    prior (sparse result); without it every move that the Gaussian knows stays possible
    (all within about 25.8 sigma along each axis).
    """

    strength: float = 1.0
    sigma: float | None = None
    reach: float | None = None

    def __post_init__(self) -> None:
        check_float(self.strength, "strength", "GaussianPrior", above=0, most=MAX_NUMBER)
        if self.sigma is not None:
            check_float(self.sigma, "sigma", "GaussianPrior", why="km", above=0, most=MAX_NUMBER)
        if self.reach is not None:
            check_float(self.reach, "reach", "GaussianPrior", why="km", least=0, most=MAX_NUMBER)

    def scaled_to(self, grid: Grid, counts: sparse.csr_array) -> GaussianPrior:
        """Return this choice with its ``sigma`` taken from the counted moves if it has none."""
        return self if self.sigma is not None else replace(self, sigma=typical_sigma(grid, counts))

    def prior(self, grid: Grid, counts: sparse.csr_array) -> tuple[Transition, FloatArray]:
        sigma = typical_sigma(grid, counts) if self.sigma is None else self.sigma
        strength = np.full(grid.size, float(self.strength))
        if self.reach is not None:
            return truncated_gaussian(grid, sigma, self.reach), strength
        return SeparableTransition(*gaussian_factors(grid, sigma)), strength


def typical_sigma(grid: Grid, counts: sparse.csr_array) -> float:
    """Return the Gaussian scale of the counted moves in km, at least one cell."""
    moves = counts.tocoo()
    total = float(moves.data.sum())
    if total == 0.0:
        return grid.cell_size
    rows = moves.row // grid.columns - moves.col // grid.columns
    columns = moves.row % grid.columns - moves.col % grid.columns
    squares = (rows * rows + columns * columns).astype(np.float64)
    mean_square = float(moves.data @ squares) / total
    return grid.cell_size * max(1.0, float(np.sqrt(mean_square / 2.0)))


def _uniform(grid: Grid) -> SeparableTransition:
    return SeparableTransition(
        np.full((grid.rows, grid.rows), 1.0 / grid.rows),
        np.full((grid.columns, grid.columns), 1.0 / grid.columns),
    )


def as_smoothing(smoothing: object) -> Smoothing:
    """Read the ``smoothing`` of ``fit``: ``None`` (the default choice), a number, or a choice."""
    if smoothing is None:
        return GaussianPrior()
    if isinstance(smoothing, int | float | np.integer | np.floating):
        weight = check_float(smoothing, "smoothing", "MarkovModel.fit", least=0, most=MAX_NUMBER)
        return AddEverywhere(weight) if weight > 0.0 else MaximumLikelihood()
    if isinstance(smoothing, MaximumLikelihood | AddEverywhere | AddNearby | GaussianPrior):
        return smoothing
    raise InvalidParameter(
        "must be a number >= 0, GaussianPrior, AddNearby, AddEverywhere or MaximumLikelihood",
        parameter="smoothing",
        owner="MarkovModel.fit",
        value=type(smoothing),
    )


def smoothed(counts: sparse.csr_array, prior: Transition, strength: FloatArray) -> Transition:
    """Apply the formula of this module; a sparse prior gives a sparse result."""
    totals = row_sums(counts) + strength
    seen = sparse.csr_array(counts, copy=True)
    seen.data /= np.repeat(totals, np.diff(seen.indptr))
    return prior.blended(strength / totals, seen)


def smoothed_phases(
    grid: Grid, counts: Sequence[sparse.csr_array], choice: Smoothing
) -> tuple[Transition, ...]:
    """Smooth the counts of each phase; a Gaussian has one scale for all, from all moves."""
    if isinstance(choice, GaussianPrior):
        together = counts[0]
        for phase in counts[1:]:
            together = sparse.csr_array(together + phase)
        choice = choice.scaled_to(grid, together)
    return tuple(smoothed(phase, *choice.prior(grid, phase)) for phase in counts)


def smoothed_rows(
    counts: sparse.csr_array, prior: sparse.csr_array, strength: FloatArray
) -> sparse.csr_array:
    """Apply the formula of this module to sparse counts and a sparse prior of any shape."""
    added = sparse.csr_array(prior, copy=True)
    added.data *= np.repeat(strength, np.diff(added.indptr))
    total = sparse.csr_array(counts + added)
    total.data /= np.repeat(row_sums(counts) + strength, np.diff(total.indptr))
    return total
