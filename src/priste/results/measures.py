"""The measures of how useful released locations are.

Each function compares two lists of trajectories on one map: the true cells and the released
ones, step by step, as (T,) integer arrays. They are plain sums: nothing here is sampled.
Where a definition is taken over, its source is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid, kilometres

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Trajectories = Sequence[Integers]

HOTSPOTS = 10
"""How many of the most visited cells are compared."""

QUERY_SHARE = 1 / 9
"""Which share of the map's area a range query asks about, as in RetraSyn (ICDE 2024)."""

SANITY_BOUND = 0.01
"""The least count, as a share of all, that a relative error is taken of (RetraSyn, LDPTrace)."""

LENGTH_BINS = 20
"""How many classes of trip lengths there are (LDPTrace, VLDB 2023)."""

OWN_PLACES = 5
"""How many of a person's most visited cells count as their own places."""


def jensen_shannon(one: Floats, other: Floats) -> float:
    """Return the Jensen–Shannon divergence of two count vectors in nats: 0 alike, ln 2 disjoint.

    nan when one of them is empty.

    >>> round(jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 3.0])), 6)
    0.693147
    """
    if one.sum() <= 0 or other.sum() <= 0:
        return math.nan
    p, q = one / one.sum(), other / other.sum()
    middle = (p + q) / 2

    def divergence(x: Floats) -> float:
        seen = x > 0
        return float(np.sum(x[seen] * np.log(x[seen] / middle[seen])))

    return min(max(0.0, (divergence(p) + divergence(q)) / 2), math.log(2.0))


def visits(grid: Grid, paths: Trajectories) -> Floats:
    """Return (m,) how many steps were spent in each cell."""
    counts = np.zeros(grid.size)
    for path in paths:
        counts += np.bincount(path, minlength=grid.size)
    return counts


def density_divergence(grid: Grid, true: Trajectories, released: Trajectories) -> float:
    """Return how far the shares of time per cell are apart, in nats.

    RetraSyn's density error, but over all steps at once rather than step by step.
    """
    return jensen_shannon(visits(grid, true), visits(grid, released))


def transition_divergence(grid: Grid, true: Trajectories, released: Trajectories) -> float:
    """Return how far the shares of moves (from, to) are apart, in nats.

    RetraSyn's transition error, but over all steps at once rather than step by step.
    """
    return _pair_divergence(
        grid,
        [(path[:-1], path[1:]) for path in true],
        [(path[:-1], path[1:]) for path in released],
    )


def trip_divergence(grid: Grid, true: Trajectories, released: Trajectories) -> float:
    """Return how far the shares of (origin, destination) are apart, in nats (RetraSyn, LDPTrace).

    Every trajectory given is one trip.
    """
    return _pair_divergence(
        grid,
        [(path[:1], path[-1:]) for path in true],
        [(path[:1], path[-1:]) for path in released],
    )


def trip_lengths(grid: Grid, paths: Trajectories) -> Floats:
    """Return the kilometres travelled along each trajectory, from centre to centre."""
    return np.array([kilometres(grid, path[:-1], path[1:]).sum() for path in paths])


def length_divergence(grid: Grid, true: Trajectories, released: Trajectories) -> float:
    """Return how far the distributions of trip lengths are apart, in nats (LDPTrace).

    Lengths are put into ``LENGTH_BINS`` classes of equal width from 0 to the largest of both.
    """
    one, other = trip_lengths(grid, true), trip_lengths(grid, released)
    longest = max(one.max(initial=0.0), other.max(initial=0.0))
    edges = np.linspace(0.0, longest if longest > 0 else 1.0, LENGTH_BINS + 1)
    counts = [np.histogram(lengths, edges)[0].astype(np.float64) for lengths in (one, other)]
    return jensen_shannon(*counts)


def query_error(grid: Grid, true: Trajectories, released: Trajectories) -> float:
    """Return the mean relative error of counts in squares of a ninth of the map.

    |true - released| / max(true, ``SANITY_BOUND`` of all steps), averaged over every square of
    cells of that size rather than over a sample of them (RetraSyn: query error).
    """
    side = max(1, round(math.sqrt(grid.rows * grid.columns * QUERY_SHARE)))
    height, width = min(side, grid.rows), min(side, grid.columns)
    one, other = (
        _window_sums(_as_map(grid, visits(grid, paths)), height, width)
        for paths in (true, released)
    )
    least = SANITY_BOUND * sum(len(path) for path in true)
    return float(np.mean(np.abs(one - other) / np.maximum(one, least))) if least else math.nan


def hotspot_ndcg(grid: Grid, true: Trajectories, released: Trajectories) -> float:
    """Return how well the released data ranks the most visited cells: 1 as the truth does.

    The gain of a cell is 1 / (its true rank) among the ``HOTSPOTS`` first, 0 below them, discounted
    by log2 of its released rank (RetraSyn: hotspot NDCG). Cells that nobody visits are no hotspots;
    of equal counts the lower cell number comes first.
    """
    ranked_true, ranked_released = (
        _most_visited(visits(grid, paths), HOTSPOTS) for paths in (true, released)
    )
    if not ranked_true:
        return math.nan
    discounts = 1.0 / np.log2(np.arange(2, HOTSPOTS + 2))
    rank = {cell: place + 1 for place, cell in enumerate(ranked_true)}
    gains = sum(
        discounts[place] / rank[cell] for place, cell in enumerate(ranked_released) if cell in rank
    )
    best = sum(discounts[place] / (place + 1) for place in range(len(ranked_true)))
    return float(gains / best)


def own_place_agreement(grid: Grid, true: Integers, released: Integers) -> float:
    """Return in which share of a person's steps the release is nearest to the right own place.

    A person's own places are their ``OWN_PLACES`` most visited cells. A step agrees when the one
    nearest to the released cell is the one nearest to the true cell; of equal distances the more
    visited place counts.
    """
    places = _most_visited(np.bincount(true, minlength=grid.size).astype(np.float64), OWN_PLACES)
    if not places:
        return math.nan
    anchors = grid.centers[places]

    def nearest(cells: Integers) -> Integers:
        apart = grid.centers[cells][:, None, :] - anchors[None, :, :]
        return np.asarray(np.hypot(apart[..., 0], apart[..., 1]).argmin(axis=1), dtype=np.int64)

    return float(np.mean(nearest(true) == nearest(released)))


def _pair_divergence(
    grid: Grid,
    one: Sequence[tuple[Integers, Integers]],
    other: Sequence[tuple[Integers, Integers]],
) -> float:
    """Compare shares of pairs of cells without a table of all pairs."""

    def numbers(pairs: Sequence[tuple[Integers, Integers]]) -> Integers:
        parts = [begin * grid.size + end for begin, end in pairs]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    first, second = numbers(one), numbers(other)
    met, index = np.unique(np.concatenate([first, second]), return_inverse=True)
    counts = [
        np.bincount(part, minlength=len(met)).astype(np.float64)
        for part in (index[: len(first)], index[len(first) :])
    ]
    return jensen_shannon(*counts)


def _as_map(grid: Grid, counts: Floats) -> Floats:
    return counts[: grid.rows * grid.columns].reshape(grid.rows, grid.columns)


def _window_sums(counts: Floats, height: int, width: int) -> Floats:
    total = np.pad(counts.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    return np.asarray(
        total[height:, width:]
        - total[:-height, width:]
        - total[height:, :-width]
        + total[:-height, :-width]
    )


def _most_visited(counts: Floats, most: int) -> list[int]:
    ranked = np.argsort(-counts, kind="stable")[:most]
    return [int(cell) for cell in ranked if counts[cell] > 0]
