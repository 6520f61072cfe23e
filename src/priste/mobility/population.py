"""Population models: counted moves, shrunk so that they predict people who were not counted.

Whether a person stays and where a person goes are fitted separately, each with its own shrinkage.
In cell ``i`` and phase ``p``, with counts of stays and of moves to another cell:

    stay[i]     = (stays[i] + a * everywhere) / (all[i] + a)
    stay[p, i]  = (stays[p, i] + c * shifted) / (all[p, i] + c)
    go[i]       = (moves[i] + b * reach[i]) / (sum(moves[i]) + b)
    go[p, i]    = (moves[p, i] + d * go[i]) / (sum(moves[p, i]) + d)

``shifted`` has the odds of ``stay[i]`` times one factor of the phase, under which the expected
number of stays of the phase equals the counted one. So a phase with few moves borrows from all
cells and all phases. ``reach`` falls with the distance and leans towards popular cells. The
strengths ``a, b, c, d``, the decay and the lean are chosen by how well people are predicted who
were left out; see :mod:`priste.mobility.memory`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.sequences import Moves, counts_of
from priste.mobility.structured import BlendedTransition, SeparableTransition
from priste.mobility.transitions import DenseTransition, Transition, scaled_rows, sparse_entries
from priste.mobility.validation import FloatArray, IntArray

POPULARITY_LIMIT = 1000
"""Up to this many cells a whole matrix is stored, and ``reach`` may lean towards popular cells."""

_BISECTIONS = 48
_FURTHEST_FACTOR = 1e6


@dataclass(frozen=True)
class Shrinkage:
    """How strongly a cell leans on all cells, and a phase on all phases; in observed moves.

    ``stay`` and ``go`` are the strengths ``a`` and ``b``; ``stay_by_phase`` and ``go_by_phase`` are
    ``c`` and ``d``, and infinite ones let the phase add nothing of its own but the factor.
    ``decay`` is the exponent of the distance; ``lean`` is 0, 0.5 or 1, the power of popularity.
    """

    stay: float = 100.0
    go: float = 30.0
    stay_by_phase: float = math.inf
    go_by_phase: float = math.inf
    decay: float = 2.0
    lean: float = 0.5


@dataclass(frozen=True)
class Tally:
    """Counted moves by phase: stays, and moves to another cell."""

    stays: FloatArray
    leaves: FloatArray
    moves: tuple[sparse.csr_array, ...]

    @property
    def phases(self) -> int:
        """The number of distinct phases."""
        return len(self.moves)

    def pooled(self) -> Tally:
        """Return the same moves without phases."""
        if self.phases == 1:
            return self
        whole = self.moves[0]
        for moves in self.moves[1:]:
            whole = whole + moves
        return Tally(
            self.stays.sum(axis=0, keepdims=True),
            self.leaves.sum(axis=0, keepdims=True),
            (sparse.csr_array(whole),),
        )


def tally_of(grid: Grid, moves: Moves, phase_of_step: IntArray) -> Tally:
    """Count moves by the phase of the step that they leave."""
    phases = int(phase_of_step.max()) + 1
    phase = phase_of_step[moves.steps % len(phase_of_step)]
    still = moves.sources == moves.targets
    shape = (phases, grid.size)

    def by_phase(which: np.ndarray) -> FloatArray:
        codes = phase[which] * grid.size + moves.sources[which]
        counted = np.bincount(codes, minlength=phases * grid.size)
        return counted.astype(np.float64).reshape(shape)

    going = [
        counts_of(moves.sources[here], moves.targets[here], (grid.size, grid.size))
        for here in (~still & (phase == number) for number in range(phases))
    ]
    return Tally(by_phase(still), by_phase(~still), tuple(going))


def tally_of_counts(counts: FloatArray) -> Tally:
    """Read counts (phases, m, m), which may be fractions, as a tally."""
    stays, leaves, moves = [], [], []
    for phase in counts:  # one at a time: all of them are many megabytes
        going = phase.copy()
        np.fill_diagonal(going, 0.0)
        stays.append(phase.diagonal())
        leaves.append(going.sum(axis=1))
        moves.append(sparse.csr_array(going))
    return Tally(np.array(stays), np.array(leaves), tuple(moves))


def stay_shares(tally: Tally, strength: float, by_phase: float) -> FloatArray:
    """Return ``stay[p, i]`` of the module's formula, strictly between 0 and 1."""
    return blended_stays(tally, shifted_stays(tally, strength), by_phase)


def shifted_stays(tally: Tally, strength: float) -> FloatArray:
    """Return ``stay[i]`` with the odds of each phase: what a phase without own counts has."""
    pooled = tally.pooled()
    stays, leaves = pooled.stays[0], pooled.leaves[0]
    everywhere = (stays.sum() + 1.0) / (stays.sum() + leaves.sum() + 2.0)
    share = (stays + strength * everywhere) / (stays + leaves + strength)
    if tally.phases == 1:
        return np.asarray(share[None, :])
    odds = share / (1.0 - share)
    moved = _odds_factors(odds, tally.stays + tally.leaves, tally.stays.sum(axis=1)) * odds
    return np.asarray(moved / (1.0 + moved))


def blended_stays(tally: Tally, shifted: FloatArray, by_phase: float) -> FloatArray:
    """Let each phase's own counts speak against ``shifted`` with the weight ``by_phase``."""
    if tally.phases == 1 or math.isinf(by_phase):
        return shifted
    counted = tally.stays + tally.leaves
    return np.asarray((tally.stays + by_phase * shifted) / (counted + by_phase))


def _odds_factors(odds: FloatArray, counted: FloatArray, stays: FloatArray) -> FloatArray:
    """Return, as a column, the factor of each phase under which this many stays are expected.

    One more stay and one more move are added to the counts, so that a phase without moves keeps a
    finite factor. A phase without counts has the factor 1.
    """
    total = counted.sum(axis=1)
    mean_odds = (counted * odds).sum(axis=1) / np.maximum(total, 1.0)
    low = np.full(total.size, 1.0 / _FURTHEST_FACTOR)
    high = np.full(total.size, _FURTHEST_FACTOR)
    for _ in range(_BISECTIONS):
        middle = np.sqrt(low * high)
        moved = middle[:, None] * odds
        expected = (counted * (moved / (1.0 + moved))).sum(axis=1)
        expected += 2.0 * middle * mean_odds / (1.0 + middle * mean_odds)
        more = expected < stays + 1.0
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return np.where(total > 0.0, np.sqrt(low * high), 1.0)[:, None]


class Reach:
    """``reach`` of the module's formula: where people go who leave a cell, without its counts."""

    def __init__(self, grid: Grid, tally: Tally, decay: float, lean: float) -> None:
        self._grid = grid
        self.factors = reach_factors(grid, decay)
        self.own = self_shares(self.factors)
        self.popular: FloatArray | None = None
        if lean and grid.size <= POPULARITY_LIMIT:
            arrivals = np.zeros(grid.size)
            for moves in tally.moves:
                arrivals += np.asarray(moves.sum(axis=0), dtype=np.float64).reshape(-1)
            weights = 1.0 + arrivals / max(float(arrivals.mean()), 1.0 / grid.size)
            self.popular = np.sqrt(weights) if lean == 0.5 else weights
        if self.popular is None:
            self._sums = 1.0 - self.own
        else:
            rows, columns = self.factors
            spread = rows @ self.popular.reshape(grid.rows, grid.columns) @ columns.T
            self._sums = spread.reshape(-1) - self.own * self.popular

    def entries(self, sources: IntArray, targets: IntArray) -> FloatArray:
        """Return the share of ``targets`` among those who leave ``sources`` for another cell."""
        rows, columns = self.factors
        from_row, from_column = np.divmod(sources, self._grid.columns)
        to_row, to_column = np.divmod(targets, self._grid.columns)
        weights = rows[from_row, to_row] * columns[from_column, to_column]
        if self.popular is not None:
            weights = weights * self.popular[targets]
        return np.asarray(weights / self._sums[sources])

    def toarray(self) -> FloatArray:
        """Return the whole matrix, with nothing on its diagonal."""
        whole = np.kron(*self.factors)
        if self.popular is not None:
            whole *= self.popular
        np.fill_diagonal(whole, 0.0)
        whole /= whole.sum(axis=1, keepdims=True)
        return np.asarray(whole)


def go_shares(
    tally: Tally,
    reach: FloatArray,
    phase: IntArray,
    sources: IntArray,
    targets: IntArray,
    shrinkage: Shrinkage,
) -> FloatArray:
    """Return ``go[p, i, j]`` of the module's formula at some moves, given their ``reach``."""
    pooled = tally.pooled()
    strength = shrinkage.go
    seen = sparse_entries(pooled.moves[0], sources, targets)
    found: FloatArray = (seen + strength * reach) / (pooled.leaves[0][sources] + strength)
    if tally.phases == 1 or math.isinf(shrinkage.go_by_phase):
        return found
    seen = np.zeros(sources.size)
    for number in np.unique(phase).tolist():
        here = phase == number
        seen[here] = sparse_entries(tally.moves[number], sources[here], targets[here])
    strength = shrinkage.go_by_phase
    return np.asarray((seen + strength * found) / (tally.leaves[phase, sources] + strength))


def population_transitions(
    grid: Grid, tally: Tally, shrinkage: Shrinkage
) -> tuple[Transition, ...]:
    """Return one transition per phase, dense up to ``POPULARITY_LIMIT`` cells and blended above."""
    if grid.size == 1:
        return (DenseTransition(np.ones((1, 1))),) * tally.phases
    stay = stay_shares(tally, shrinkage.stay, shrinkage.stay_by_phase)
    reach = Reach(grid, tally, shrinkage.decay, shrinkage.lean)
    pooled = tally.pooled()
    form = _dense if grid.size <= POPULARITY_LIMIT else _blended
    return tuple(
        form(_Row(tally, pooled, number, shrinkage), stay[number], reach)
        for number in range(tally.phases)
    )


class _Row:
    """The parts of ``go`` in one phase: ``weight * reach`` plus what was seen (sparse)."""

    def __init__(self, tally: Tally, pooled: Tally, number: int, shrinkage: Shrinkage) -> None:
        strength = shrinkage.go_by_phase
        if tally.phases == 1 or math.isinf(strength):
            own, rest = np.zeros_like(pooled.leaves[0]), np.ones_like(pooled.leaves[0])
        else:
            own = 1.0 / (tally.leaves[number] + strength)
            rest = strength * own
        whole = rest / (pooled.leaves[0] + shrinkage.go)
        self.weight: FloatArray = whole * shrinkage.go
        seen = scaled_rows(pooled.moves[0], whole)
        self.seen = sparse.csr_array(seen + scaled_rows(tally.moves[number], own))


def _dense(row: _Row, stay: FloatArray, reach: Reach) -> DenseTransition:
    whole = row.weight[:, None] * reach.toarray() + row.seen.toarray()
    # The shares of those who go sum to 1 but for roundings, which are divided out.
    whole *= ((1.0 - stay) / whole.sum(axis=1))[:, None]
    np.fill_diagonal(whole, stay)
    return DenseTransition(whole)


def _blended(row: _Row, stay: FloatArray, reach: Reach) -> BlendedTransition:
    """Return ``diag(w) @ product + rest``: the product leads back too, which the rest makes up for.

    A cell whose ``stay`` is below what leads back gets that instead.
    """
    back = row.weight * reach.own / (1.0 - reach.own)
    kept = np.maximum(stay, back / (1.0 + back))
    weights = (1.0 - kept) * row.weight / (1.0 - reach.own)
    diagonal = np.maximum(kept - weights * reach.own, 0.0)
    seen = scaled_rows(row.seen, 1.0 - kept) + sparse.diags_array(diagonal)
    return BlendedTransition(weights, SeparableTransition(*reach.factors), sparse.csr_array(seen))


LARGEST_DECAY = 8.0


def checked_decay(decay: object, owner: str) -> float:
    """Return a decay: a multiple of 0.5 from 0.5 to ``LARGEST_DECAY``."""
    value = check_float(decay, "decay", owner, least=0.5, most=LARGEST_DECAY)
    if value * 2 != int(value * 2):
        raise InvalidParameter(
            "must be a multiple of 0.5", parameter="decay", owner=owner, value=decay
        )
    return value


def reach_factors(grid: Grid, decay: float) -> tuple[FloatArray, FloatArray]:
    """Return the row factor and the column factor, each with rows that sum to 1.

    Along each axis a move of k cells weighs ``max(k, 1) ** -decay``, and the two axes multiply. The
    tail is heavy, so that long journeys stay possible. Only products, quotients and square roots
    are taken, which every machine rounds alike.
    """
    factors = []
    for length in (grid.rows, grid.columns):
        positions = np.arange(length, dtype=np.float64)
        apart = np.maximum(np.abs(positions[:, None] - positions), 1.0)
        weights = np.ones_like(apart) if decay == int(decay) else 1.0 / np.sqrt(apart)
        for _ in range(int(decay)):
            weights = weights / apart
        factors.append(weights / weights.sum(axis=1, keepdims=True))
    return factors[0], factors[1]


def self_shares(factors: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return the diagonal of the product of two factors: the probability of coming out unmoved."""
    return np.outer(np.diagonal(factors[0]), np.diagonal(factors[1])).reshape(-1)
