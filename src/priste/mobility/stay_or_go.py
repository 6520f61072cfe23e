"""Models of movement with two or three numbers, for when there is no data to fit.

A person stays, or goes to another cell, near ones more often than far ones
(:mod:`priste.mobility.population`). The probability of staying may differ by cell and by step. Such
a model describes how far and how often a person moves, not where. So its numbers may be measured on
the person who is protected; the numbers themselves then become public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from priste.arguments import check_array, check_float
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.gaussian import gaussian_factors
from priste.mobility.model import MarkovModel
from priste.mobility.population import Reach, checked_decay, reach_factors, self_shares, tally_of
from priste.mobility.sequences import CellSequences, checked_offsets, checked_sequences, moves_of
from priste.mobility.smoothed_counts import smoothed
from priste.mobility.structured import BlendedTransition, SeparableTransition
from priste.mobility.transitions import DENSE_LIMIT, DenseTransition, Transition
from priste.mobility.validation import MAX_NUMBER, FloatArray

Factors = tuple[FloatArray, FloatArray]
Leaving = Callable[[Factors], FloatArray]
"""From the moves along rows and columns to (m,) the chance that such a move is made at a step."""

STEPS_A_DECADE = 90
SMALLEST = 6 * STEPS_A_DECADE
"""The factors are 1, .99, .98, … .1, .099, …: two digits, so that last bits do not matter."""


def limit_off_map(factors: Factors, leaving: Leaving, share: float, owner: str) -> Factors:
    """Return the factors with rarer moves to the border, so that at most ``share`` are there.

    Border cells stand for everywhere off the map. Judged by distance only, the border is as likely
    a target as any other row of cells, and since people stay there for hours, most of them would
    end up off the map.
    The moves must be reversible. The largest multiplier of two digits is taken that brings the
    stationary share of the border down to ``share``; where it is below that anyway, the moves are
    returned as they are.

    >>> even = np.full((4, 4), 0.25)
    >>> rows, columns = limit_off_map((even, even), lambda _: np.ones(16), 0.1, "the example")
    >>> round(float(off_map_share((rows, columns), np.ones(16))), 2)
    0.1
    """
    wanted = check_float(share, "off_map", owner, above=0, most=1)

    def enough(place: int) -> bool:
        made = _rarer(factors, place)
        return off_map_share(made, leaving(made)) <= wanted

    low, high = 0, SMALLEST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return _rarer(factors, low)


def off_map_share(factors: Factors, leaving: FloatArray) -> float:
    """Return the stationary share of the border cells, if each cell is left so often."""
    rows, columns = (_line_stationary(factor) for factor in factors)
    share = np.outer(rows, columns) / leaving.reshape(len(rows), len(columns))
    return 1.0 - float(share[1:-1, 1:-1].sum() / share.sum())


def _rarer(factors: Factors, place: int) -> Factors:
    """Return the factors with weights of the first and the last goal times that of a place."""
    if place == 0:
        return factors
    decade, digits = divmod(place - 1, STEPS_A_DECADE)
    times = (99 - digits) / 10.0 ** (decade + 2)
    made = []
    for factor in factors:
        weights = factor.copy()
        weights[:, [0, -1]] *= times
        made.append(weights / weights.sum(axis=1, keepdims=True))
    return made[0], made[1]


def _line_stationary(factor: FloatArray) -> FloatArray:
    """Return the stationary distribution of reversible moves along a line."""
    forth, back = np.diagonal(factor, 1), np.diagonal(factor, -1)
    share = np.concatenate([[1.0], np.cumprod(forth / back)])
    return np.asarray(share / share.sum())


NEAR_AND_FAR = (1.0, 1.5, 2.0, 2.5, 3.0)
"""The decays that :func:`habits_of` chooses from."""

FEWEST_MOVES = 20
"""With fewer moves than this, no share is estimated."""


def stay_or_go(
    grid: Grid,
    stay: ArrayLike | Sequence[ArrayLike],
    decay: float,
    *,
    cycle: bool = False,
    off_map: float | None = None,
) -> MarkovModel:
    """Return the model that stays with probability ``stay`` and else goes by distance.

    ``stay`` is one probability in [0, 1) or one per cell, or with ``cycle=True`` a sequence of
    such, one per step of the cycle. Along each axis a move of k cells weighs
    ``max(k, 1) ** -decay``; ``decay`` is a multiple of 0.5 from 0.5 to 8. On maps above
    ``DENSE_LIMIT`` cells a cell whose ``stay`` is very small (below 1/4) may get a little more, so
    that no m by m array is needed. With ``off_map`` in (0, 1] moves to the border of the map are
    made rarer until at most about that share of the time is spent there.

    >>> model = stay_or_go(Grid(rows=1, columns=3, cell_size=1.0), 0.7, decay=1.0)
    >>> model.transition(0).toarray().round(2)
    array([[0.7 , 0.2 , 0.1 ],
           [0.15, 0.7 , 0.15],
           [0.1 , 0.2 , 0.7 ]])
    """
    exponent = checked_decay(decay, "stay_or_go")
    phases = list(stay) if cycle else [stay]  # type: ignore[arg-type]  # refused below
    if not phases:
        raise InvalidParameter(
            "must hold one phase at least", parameter="stay", owner="stay_or_go", got="none"
        )
    by_step = [_stays(grid, phase) for phase in phases]
    factors = reach_factors(grid, exponent)
    if off_map is not None:
        moving = 1.0 - np.mean(by_step, axis=0)
        factors = limit_off_map(
            factors, lambda made: moving / (1.0 - self_shares(made)), off_map, "stay_or_go"
        )
    made: dict[bytes, Transition] = {}
    steps = []
    for shares in by_step:
        key = shares.tobytes()
        if key not in made:
            made[key] = _transition(grid, shares, factors)
        steps.append(made[key])
    return MarkovModel(grid, steps if cycle else steps[0], cycle=cycle)


def _stays(grid: Grid, stay: object) -> FloatArray:
    given = check_array(stay, "stay", "stay_or_go")
    if given.shape not in ((), (grid.size,)):
        raise InvalidParameter(
            f"must be one number, or one for each of the {grid.size} cells",
            parameter="stay",
            owner="stay_or_go",
            got=f"shape {given.shape}",
        )
    shares = np.broadcast_to(given, (grid.size,))
    if np.any(shares >= 1.0):
        raise InvalidParameter(
            "must be below 1", parameter="stay", owner="stay_or_go", value=float(shares.max())
        )
    return np.ascontiguousarray(shares)


def _transition(grid: Grid, stay: FloatArray, factors: Factors) -> Transition:
    if grid.size == 1:
        return DenseTransition(np.ones((1, 1)))
    own = self_shares(factors)
    if grid.size <= DENSE_LIMIT:
        whole = np.kron(*factors)
        np.fill_diagonal(whole, 0.0)
        whole *= ((1.0 - stay) / whole.sum(axis=1))[:, None]
        np.fill_diagonal(whole, stay)
        return DenseTransition(whole)
    kept = np.maximum(stay, own)  # the product leads back too, with probability ``own``
    weights = (1.0 - kept) / (1.0 - own)
    rest = sparse.csr_array(sparse.diags_array(np.maximum(kept - weights * own, 0.0)))
    return BlendedTransition(weights, SeparableTransition(*factors), rest)


def gaussian_with_stays(
    grid: Grid, sigma: float, stay: ArrayLike, *, off_map: float | None = None
) -> MarkovModel:
    """Return the model that stays with probability ``stay[cell]`` and else moves as a Gaussian.

    ``stay`` (m,) is in [0, 1); ``sigma`` as in :meth:`MarkovModel.gaussian`, which this is with
    ``stay`` 0 everywhere. The Gaussian may come out where it began, so stays last a little
    longer than 1 / (1 - stay) steps on average. With ``off_map`` in (0, 1] moves to the border of
    the map are made rarer until at most about that share of the time is spent there.

    >>> model = gaussian_with_stays(Grid(rows=1, columns=2, cell_size=1.0), 1e6, [0.0, 0.5])
    >>> model.transition(0).toarray().round(3)
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    sigma = check_float(sigma, "sigma", "gaussian_with_stays", why="km", above=0, most=MAX_NUMBER)
    stays = check_array(stay, "stay", "gaussian_with_stays")
    if stays.shape != (grid.size,) or np.any(stays >= 1.0):
        raise InvalidParameter(
            f"must hold a number in [0, 1) for each of the {grid.size} cells",
            parameter="stay",
            owner="gaussian_with_stays",
            got=f"shape {stays.shape}, up to {stays.max(initial=0.0):g}",
        )
    factors = gaussian_factors(grid, sigma)
    if off_map is not None:
        factors = limit_off_map(factors, lambda _: 1.0 - stays, off_map, "gaussian_with_stays")
    prior = SeparableTransition(*factors)
    counts = sparse.csr_array(sparse.diags_array(stays))
    return MarkovModel(grid, smoothed(counts, prior, 1.0 - stays))


@dataclass(frozen=True)
class Habits:
    """How a person moves, without where: probabilities of staying, and the decay with distance.

    ``stay_at_night`` is None where too few moves at night are known.
    """

    stay: float
    stay_at_night: float | None
    decay: float


def habits_of(
    grid: Grid,
    sequences: CellSequences,
    night: Sequence[bool] | None = None,
    offsets: Iterable[int] | None = None,
) -> Habits:
    """Return the habits under which sequences of cells are likeliest, rounded to 1 in 100.

    ``night`` says for each step of a cycle whether it is at night; sequence ``k`` starts at step
    ``offsets[k]`` of it. A gap (``None``) is missing: only moves between two known cells of
    consecutive steps count. With fewer than ``FEWEST_MOVES`` moves, 0.8 and 2 are returned.
    """
    owner = "habits_of"
    checked = checked_sequences(sequences, grid.size, owner=owner)
    moves = moves_of(checked, checked_offsets(offsets, len(checked), owner=owner))
    dark = np.zeros(1, dtype=np.bool_) if night is None else np.asarray(night, dtype=np.bool_)
    asleep = dark[moves.steps % dark.size]
    still = moves.sources == moves.targets
    by_day, at_night = still[~asleep], still[asleep]
    everything = tally_of(grid, moves, np.zeros(1, dtype=np.int64))
    sources, targets = moves.sources[~still], moves.targets[~still]
    likeliest = 2.0
    if sources.size >= FEWEST_MOVES:
        losses = {
            decay: round(
                -float(
                    np.log(Reach(grid, everything, decay, 0.0).entries(sources, targets)).mean()
                ),
                7,
            )
            for decay in NEAR_AND_FAR
        }
        likeliest = min(losses, key=lambda decay: losses[decay])
    return Habits(
        _share(by_day if by_day.size >= FEWEST_MOVES else still),
        _share(at_night) if at_night.size >= FEWEST_MOVES else None,
        likeliest,
    )


def _share(stays: np.ndarray) -> float:
    """Return a share in [0.05, 0.99]."""
    share = (int(stays.sum()) + 1) / (stays.size + 2) if stays.size >= FEWEST_MOVES else 0.8
    return min(max(round(share, 2), 0.05), 0.99)
