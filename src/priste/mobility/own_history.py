"""The model of one person, from their own known moves: what a service that holds a history can fit.

At a step in window ``w`` of the day, with counts ``c`` of this person's moves and the transition
``T`` of a population model (best with the person's home) at that step:

    all[i]  = (c[i] + a * T[i]) / (sum(c[i]) + a)
    own[i]  = (c[w, i] + b * all[i]) / (sum(c[w, i]) + b)

Windows of three hours lean on all hours with the weight of ``b`` moves, and those on the population
with the weight of ``a`` moves. A move is counted between two known cells of consecutive steps; a
gap is missing, never a stay. Steps that are left out, such as guarded hours, are missing too: what
happened there changes nothing in the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from scipy import sparse

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.mobility.model import MarkovModel
from priste.mobility.sequences import (
    CellSequences,
    Moves,
    checked_offsets,
    checked_sequences,
    counts_of,
    moves_of,
    without_steps,
)
from priste.mobility.transitions import Schedule, Transition, scaled_rows, sparse_entries
from priste.mobility.validation import MAX_NUMBER, FloatArray, IntArray, row_sums

WINDOW_HOURS = 3
"""Length of the windows into which the day is divided."""

STRENGTHS = (1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
"""The weights that :func:`choose_own_strength` compares, in observed moves."""

FOLDS = 5
"""This many stretches of a person's moves are left out in turn to compare weights."""

_DIGITS = 7
"""Losses per move are compared to this many digits, so that no choice hangs on a last bit."""


@dataclass(frozen=True)
class OwnStrength:
    """How much the own counts lean on others, in observed moves (> 0).

    ``population`` is the weight ``a`` of the population model, ``window`` the weight ``b`` of all
    hours of the day. The defaults serve where there is too little to choose from.
    """

    population: float = 5.0
    window: float = 5.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check_float(value, name, "OwnStrength", above=0, most=MAX_NUMBER)


def day_windows(start: datetime, step: timedelta, hours: int = WINDOW_HOURS) -> tuple[int, ...]:
    """Return the window of each step of a day; ``start`` is what clocks show at step 0.

    A step that does not divide the day leaves one window.

    >>> day_windows(datetime(2026, 3, 2, 22), timedelta(hours=2))
    (7, 0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6)
    """
    day = timedelta(days=1)
    if step <= timedelta(0) or day % step:
        return (0,)
    return tuple((start + number * step).hour // hours for number in range(day // step))


def own_history(
    population: MarkovModel,
    sequences: CellSequences,
    windows: Sequence[int] = (0,),
    *,
    offsets: Iterable[int] | None = None,
    leave_out: Iterable[Sequence[bool]] | None = None,
    strength: OwnStrength | None = None,
) -> MarkovModel:
    """Return the model of the person whose cells these are.

    ``population`` is a first-order model that goes on for ever; ``windows`` is the window (0, 1, …)
    of each step of a day, counted like the steps of ``population`` (:func:`day_windows`). Sequence
    ``k`` has one cell per step, ``None`` for a gap, and begins at step ``offsets[k]`` (default 0).
    ``leave_out`` has one mask per sequence, as long as it: steps where it is True are not read.
    Without a ``strength``, :func:`choose_own_strength` chooses it from the same steps.

    Guarantee: two histories that differ only in steps left out give equal models, to the bit. Every
    move that ``population`` allows keeps a positive probability.

    >>> from priste import Grid
    >>> even = MarkovModel(Grid(rows=1, columns=2, cell_size=1.0), [[0.5, 0.5], [0.5, 0.5]])
    >>> own_history(even, [[0] * 6], strength=OwnStrength(5, 5)).transition(0).toarray().round(3)
    array([[0.875, 0.125],
           [0.5  , 0.5  ]])
    """
    counts = _OwnCounts(population, sequences, windows, offsets, leave_out)
    chosen = counts.best_strength() if strength is None else strength
    made: dict[tuple[Transition, int], Transition] = {}
    steps = []
    for step in range(counts.period):
        key = population.schedule.at(step), counts.windows[step % len(counts.windows)]
        if key not in made:
            made[key] = counts.blended(*key, chosen)
        steps.append(made[key])
    if len(made) == 1:
        steps = steps[:1]
    found = MarkovModel(population.grid, Schedule((), tuple(steps), cyclic=True))
    return found.with_origin(population.origin)


def choose_own_strength(
    population: MarkovModel,
    sequences: CellSequences,
    windows: Sequence[int] = (0,),
    *,
    offsets: Iterable[int] | None = None,
    leave_out: Iterable[Sequence[bool]] | None = None,
) -> OwnStrength:
    """Return the strength under which stretches of this history that are left out are likeliest.

    The arguments are those of :func:`own_history`. Every pair of ``STRENGTHS`` is compared on
    ``FOLDS`` stretches of the known moves, each left out once. With fewer moves than ``FOLDS`` the
    answer is the default.

    >>> from priste import Grid
    >>> even = MarkovModel(Grid(rows=1, columns=2, cell_size=1.0), [[0.5, 0.5], [0.5, 0.5]])
    >>> choose_own_strength(even, [[0, 1] * 40]).population
    1.0
    """
    return _OwnCounts(population, sequences, windows, offsets, leave_out).best_strength()


class _OwnCounts:
    """The counted moves of one person, by window, beside the model that they are shrunk to."""

    def __init__(
        self,
        population: MarkovModel,
        sequences: CellSequences,
        windows: Sequence[int],
        offsets: Iterable[int] | None,
        leave_out: Iterable[Sequence[bool]] | None,
    ) -> None:
        owner = "own_history"
        if population.order != 1 or population.period is None:
            raise InvalidParameter(
                "must be of order 1 and go on for ever",
                parameter="population",
                owner=owner,
                got=f"a model of order {population.order} with horizon {population.horizon}",
            )
        if len(windows) == 0 or min(windows) < 0:
            raise InvalidParameter(
                "must hold the number of a window, from 0, for each step of a day",
                parameter="windows",
                owner=owner,
                got=f"{len(windows)} numbers",
                hint="day_windows makes them.",
            )
        self.windows = tuple(int(window) for window in windows)
        self.period = math.lcm(len(self.windows), population.period)
        self._population = population
        self._size = population.grid.size
        found = checked_sequences(sequences, self._size, owner=owner)
        read = without_steps(found, leave_out, owner=owner)
        self.moves = moves_of(read, checked_offsets(offsets, len(read), owner=owner))
        every = np.arange(self.moves.sources.size)
        self._window = np.array(self.windows)[self.moves.steps % len(self.windows)]
        self._all = _counted(self.moves, every, self._size)

    def blended(self, target: Transition, window: int, strength: OwnStrength) -> Transition:
        """Return the transition of one window over one transition of the population."""
        here = _counted(self.moves, np.flatnonzero(self._window == window), self._size)
        lean = 1.0 / (row_sums(here) + strength.window)
        shared = strength.window * lean / (row_sums(self._all) + strength.population)
        seen = scaled_rows(here, lean) + scaled_rows(self._all, shared)
        return target.blended(shared * strength.population, sparse.csr_array(seen))

    def best_strength(self) -> OwnStrength:
        """Return the strength with the least loss on moves left out, the default with too few."""
        moves = self.moves.sources.size
        if moves < FOLDS:
            return OwnStrength()
        folds = [self._fold(held) for held in np.array_split(np.arange(moves), FOLDS)]
        by_window = STRENGTHS if len(set(self.windows)) > 1 else (OwnStrength.window,)
        losses = {
            strength: round(sum(fold.loss(strength) for fold in folds) / moves, _DIGITS)
            for strength in (OwnStrength(a, b) for a in STRENGTHS for b in by_window)
        }
        return min(losses, key=lambda strength: losses[strength])

    def _fold(self, held: IntArray) -> _Fold:
        known = np.setdiff1d(np.arange(self.moves.sources.size), held)
        sources, targets = self.moves.sources[held], self.moves.targets[held]
        all_hours = _counted(self.moves, known, self._size)
        seen, total = np.empty(held.size), np.empty(held.size)
        for window in np.unique(self._window[held]).tolist():
            now = self._window[held] == window
            here = _counted(self.moves, known[self._window[known] == window], self._size)
            seen[now] = sparse_entries(here, sources[now], targets[now])
            total[now] = row_sums(here)[sources[now]]
        return _Fold(
            self._expected(held),
            sparse_entries(all_hours, sources, targets),
            row_sums(all_hours)[sources],
            seen,
            total,
        )

    def _expected(self, which: IntArray) -> FloatArray:
        """Return the probability of some moves under the population model."""
        moves, period = self.moves, self._population.period or 1
        found = np.empty(which.size)
        steps = moves.steps[which] % period
        for step in np.unique(steps).tolist():
            here = steps == step
            transition = self._population.schedule.at(step)
            sources, targets = moves.sources[which][here], moves.targets[which][here]
            found[here] = transition.entries(sources, targets)
        return found


@dataclass(frozen=True)
class _Fold:
    """For each move left out: its probability in the population, and the counts of the others."""

    expected: FloatArray
    seen: FloatArray
    total: FloatArray
    seen_in_window: FloatArray
    total_in_window: FloatArray

    def loss(self, strength: OwnStrength) -> float:
        """Return the sum of -ln Pr of the moves left out."""
        a, b = strength.population, strength.window
        all_hours = (self.seen + a * self.expected) / (self.total + a)
        own = (self.seen_in_window + b * all_hours) / (self.total_in_window + b)
        return -float(np.log(np.maximum(own, np.finfo(np.float64).tiny)).sum())


def _counted(moves: Moves, which: IntArray, size: int) -> sparse.csr_array:
    return counts_of(moves.sources[which], moves.targets[which], (size, size))
