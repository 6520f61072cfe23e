"""What releases reveal if nothing is known of how people move but which moves are possible.

A leakage speaks of a mobility model. If people move otherwise, the same releases may reveal more.
Here no probability of a move is used, only whether it is positive: over all distributions of
trajectories whose moves are possible, Markov or not, and over all starts,

    sup  Pr(releases | EVENT) / Pr(releases | not EVENT)
        = (largest likelihood of a possible path with the event)
        / (least likelihood of a possible path without it),

since both sides are averages over such paths and one path each is a distribution too. The
likelihood of a path is the product of the likelihoods of the releases along it, so both
numbers come from one pass over (world, state): a maximum and a minimum in place of a sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_array
from priste.errors import InvalidParameter
from priste.mobility import MarkovModel
from priste.quantify.joint_probabilities import (
    EMISSION_ROW_SUM_ERROR,
    UNIT_ROUNDOFF,
    Floats,
    Integers,
)
from priste.quantify.lifted import LiftedChain

if TYPE_CHECKING:
    from priste.events import Guarded

LOGARITHM_ROUNDINGS = 8
"""How many units in the last place the logarithms of numpy are trusted to."""


@dataclass(frozen=True)
class PossiblePathsLeakage:
    """The largest leakage under any way to move with the same possible moves.

    ``for_event`` is ln of the largest Pr(releases | EVENT) / Pr(releases | not EVENT),
    ``against_event`` that of the inverse, ``value`` the larger of the two. Each is never below
    the exact number. ``inf`` where the releases exclude some possible path that the other side
    would need; all are 0 when the event is certain or impossible whatever path is taken.
    """

    for_event: float
    against_event: float

    @property
    def value(self) -> float:
        """The larger of the two directions."""
        return max(self.for_event, self.against_event)


_NOTHING = PossiblePathsLeakage(0.0, 0.0)


def possible_paths_leakage(
    models: MarkovModel | Sequence[MarkovModel],
    event: Guarded,
    columns: Iterable[Floats | None],
    *,
    starts: Iterable[int] | None = None,
) -> tuple[PossiblePathsLeakage, ...]:
    """Return, after each step, the leakage under any way to move that has the same possible moves.

    ``columns`` yields per step the (m,) likelihood of its release at every cell, None for silence.
    With several ``models`` a path is possible when it is under one of them. Paths begin in any
    cell, or in the cells ``starts``. Guarantee: never below
    the leakage of these releases under any of the models, or any other with these moves.

    >>> from priste import Grid, MarkovModel, presence
    >>> grid = Grid(rows=1, columns=3, cell_size=1.0)
    >>> stay_or_go_right = [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]
    >>> found = possible_paths_leakage(
    ...     MarkovModel(grid, stay_or_go_right), presence([2], [1]), [[0.5, 0.2, 0.1], None]
    ... )
    >>> [round(math.exp(each.for_event), 9) for each in found]  # 0.2 with, 0.2 without at least
    [1.0, 1.0]
    >>> [round(math.exp(each.against_event), 9) for each in found]  # 0.5 without, 0.1 with
    [5.0, 5.0]
    """
    walk = PossiblePaths(models, event, starts=starts)
    found = []
    for column in columns:
        walk.observe(column)
        found.append(walk.leakage())
    return tuple(found)


class PossiblePaths:
    """The largest and least likelihood of possible paths, release by release."""

    def __init__(
        self,
        models: MarkovModel | Sequence[MarkovModel],
        event: Guarded,
        *,
        starts: Iterable[int] | None = None,
    ) -> None:
        several = [models] if isinstance(models, MarkovModel) else list(models)
        if not several:
            raise InvalidParameter(
                "must be at least one mobility model",
                parameter="models",
                owner="possible paths",
                got="none",
            )
        self._walks = [_Walk(LiftedChain(model, event), starts) for model in several]
        self._has_rest = event.has_rest

    def observe(self, column: Floats | None) -> None:
        """Take the release of the next step: its likelihood (m,) at every cell, None for silence.

        The column has one finite number >= 0 for each cell, else InvalidParameter is raised.
        """
        for walk in self._walks:
            walk.observe(column)

    def leakage(self) -> PossiblePathsLeakage:
        """Return the most that the releases so far can reveal."""
        slack = max(walk.slack for walk in self._walks)
        ranges = [walk.ranges() for walk in self._walks]
        by_answer = [
            (max(each[0] for each in of_models), min(each[1] for each in of_models))
            for of_models in zip(*ranges, strict=True)
        ]
        last = len(by_answer) - 1
        found = []
        for first, second in combinations(range(last + 1), 2):
            one, other = by_answer[first], by_answer[second]
            if math.inf in (one[1], other[1]):  # no path at all: nothing is left to reveal
                continue
            up, down = _ratio(one, other, slack), _ratio(other, one, slack)
            if not (self._has_rest and second == last):
                up = down = max(up, down)
            found.append((up, down))
        return PossiblePathsLeakage(*map(max, zip(*found, strict=True))) if found else _NOTHING


def _ratio(one: tuple[float, float], other: tuple[float, float], slack: float) -> float:
    """Return ln of the largest likelihood of one side over the least of the other, rounded up."""
    largest, least = one[0], other[1]
    if largest == -math.inf:
        # This side is excluded. If the other is too, no possible path explains the releases:
        # nothing can be guaranteed about them.
        return math.inf if other[0] == -math.inf else -math.inf
    if least == -math.inf:
        return math.inf
    return math.nextafter(largest - least + 2.0 * slack, math.inf)


class _Walk:
    """One model: per (world, state) the range of ln likelihoods of the paths that lead there."""

    def __init__(self, chain: LiftedChain, starts: Iterable[int] | None) -> None:
        self._chain = chain
        self._step = -1
        self.slack = 0.0
        """How far any of the logarithms may be from its exact value."""
        cells = chain.size
        allowed = _allowed(starts, cells)
        self._largest = np.where(allowed, 0.0, -math.inf)[None, :]
        self._least = np.where(allowed, 0.0, math.inf)[None, :]
        self._decidable = self._backwards()

    def observe(self, column: Floats | None) -> None:
        step = self._step + 1
        logs, lost = self._logarithms(column)
        if step > 0:
            into = self._chain.movement.at(step - 1).support.forward
            self._largest, self._least = into(self._largest), -into(-self._least)
        if step in self._chain.layers:
            targets = self._targets(step)
            self._largest = _entered(self._largest, targets, self._chain.worlds(step))
            self._least = -_entered(-self._least, targets, self._chain.worlds(step))
        self._step = step
        if column is None:
            return
        here = self._chain.on_states(logs, step)
        self._largest = self._largest + here
        self._least = self._least.copy()
        np.add(self._least, here, out=self._least, where=self._least < math.inf)
        sizes = [np.abs(a[np.isfinite(a)]) for a in (self._largest, self._least)]
        greatest = max(float(size.max(initial=0.0)) for size in sizes)
        self.slack += lost + UNIT_ROUNDOFF * greatest

    def ranges(self) -> list[tuple[float, float]]:
        """Return (largest, least) ln likelihood of the paths with each answer.

        (-inf, inf) where there is no such path.
        """
        return [self._range(self._can(answer)) for answer in range(self._chain.answers)]

    def _range(self, can: NDArray[np.bool_]) -> tuple[float, float]:
        largest = np.max(self._largest, where=can, initial=-math.inf)
        return float(largest), float(np.min(self._least, where=can, initial=math.inf))

    def _logarithms(self, column: Floats | None) -> tuple[Floats, float]:
        """Return ln of a column over its largest entry, and how far it may be off."""
        cells = self._chain.size
        if column is None:
            return np.zeros(cells), 0.0
        values = check_array(column, "column", "PossiblePaths.observe", (cells,))
        if not values.any():
            return np.full(cells, -math.inf), 0.0
        with np.errstate(divide="ignore"):
            logs = np.log(values)
        # A factor that all cells share cancels; without it long streams stay near 0.
        top = float(logs.max())
        size = float(np.abs(logs[np.isfinite(logs)]).max())
        lost = 2.0 * LOGARITHM_ROUNDINGS * UNIT_ROUNDOFF * max(size, 1.0)
        return logs - top, lost + 2.0 * EMISSION_ROW_SUM_ERROR

    def _targets(self, step: int) -> Integers:
        """Return (worlds before, states): the world after the layer of ``step``."""
        chain = self._chain
        after = np.arange(chain.worlds(step), dtype=np.int64)[:, None]
        spread = np.broadcast_to(after, (len(after), chain.movement.states(step)))
        return np.asarray(chain.leave(spread.astype(np.float64), step)).astype(np.int64)

    def _backwards(self) -> dict[int, NDArray[np.uint8]]:
        """Return per step before the event's last, as bits, what can still be decided how."""
        chain = self._chain
        kept: dict[int, NDArray[np.uint8]] = {}
        if chain.last < 0:
            return kept
        current = np.broadcast_to(
            chain.outcome[:, :, None],
            (chain.answers, chain.worlds(chain.last), chain.movement.states(chain.last)),
        )
        for step in range(chain.last, -1, -1):
            current = chain.leave(current, step)
            if step > 0:
                current = chain.movement.at(step - 1).support.backward(current)
            kept[step - 1] = np.packbits(current > 0.0, axis=-1)
        return kept

    def _can(self, side: int) -> NDArray[np.bool_]:
        """Return (worlds, states or 1): whether the answer of this number is possible."""
        if self._step >= self._chain.last:
            return np.asarray(self._chain.outcome[side, :, None] > 0.0)
        states = self._largest.shape[1]
        bits = np.unpackbits(self._decidable[self._step][side], axis=-1, count=states)
        return bits.astype(np.bool_)


def _allowed(starts: Iterable[int] | None, cells: int) -> NDArray[np.bool_]:
    if starts is None:
        return np.ones(cells, dtype=np.bool_)
    chosen = sorted(set(starts))
    if not chosen or not all(0 <= cell < cells for cell in chosen):
        raise InvalidParameter(
            f"must be cells 0 to {cells - 1}, one at least",
            parameter="starts",
            owner="possible paths",
            value=tuple(chosen),
        )
    allowed = np.zeros(cells, dtype=np.bool_)
    allowed[chosen] = True
    return allowed


def _entered(values: Floats, targets: Integers, worlds: int) -> Floats:
    """Return (worlds after, states): the largest value that comes into each world."""
    after = np.full((worlds, values.shape[1]), -math.inf)
    for before, target in enumerate(targets):
        for world in np.unique(target).tolist():
            here = np.where(target == world, values[before], -math.inf)
            after[world] = np.maximum(after[world], here)
    return after
