"""Models of a person whose home is known.

A population model knows nobody's home: a person who went somewhere in the evening moves on from
there for days, as everybody does. An adversary who knows the home expects the person to return. So
each transition ``M`` of a population model is mixed with moves to the home, by as much as it takes
to be home a step later with the probabilities of :class:`HomeHabits`:

    M'[i] = (1 - e[i]) * M[i] + e[i] * home[i]
    e[i]  = max(0, (wanted[i] - there[i]) / (1 - there[i]))

``there[i]`` is the probability under ``M`` of being home a step after cell ``i``. ``home[i]`` is
cell ``i`` itself if it belongs to the home, otherwise all cells of the home with equal weight. No
cell gets a smaller probability of home than under ``M``.

Such a model predicts people outside its fit better than the population model does
(``benchmarks/fitting``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from priste.arguments import check_float, is_int
from priste.errors import InvalidParameter, NoValue
from priste.maps import Grid, kilometres
from priste.mobility.model import MarkovModel
from priste.mobility.sequences import GAP, CellSequences, checked_sequences, moves_of
from priste.mobility.stay_or_go import FEWEST_MOVES
from priste.mobility.transitions import Schedule, Transition
from priste.mobility.validation import FloatArray, IntArray

MANY_CELLS = 25
"""In a home of more cells than this, a person comes to the nearest of them."""

USUAL_STAY, USUAL_BACK = 0.95, 0.05
"""The habits that are assumed where fewer than ``FEWEST_MOVES`` moves are known."""

_DIGITS = 3
_DRAWN_DIGITS = 9


@dataclass(frozen=True)
class HomeHabits:
    """The probability of being home a step later, for a person at home and for one who is away.

    ``stay`` and ``back`` are in [0, 1). The values at night may differ; None means as by day.
    """

    stay: float
    back: float
    stay_at_night: float | None = None
    back_at_night: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None:
                check_float(value, name, "HomeHabits", least=0, below=1)

    def at(self, at_night: bool) -> tuple[float, float]:
        """Return ``stay`` and ``back`` at a step by day or at night."""
        if not at_night:
            return self.stay, self.back
        stay, back = self.stay_at_night, self.back_at_night
        return self.stay if stay is None else stay, self.back if back is None else back


def with_home(
    model: MarkovModel,
    home: Collection[int],
    habits: HomeHabits,
    night: Sequence[bool] | None = None,
) -> MarkovModel:
    """Return the model of a person who lives in the cells of ``home``.

    ``model`` is of first order. ``night`` says for each step of a cycle, counted from step 0 of the
    model, whether it is at night. Guarantee: from each cell the probability of being home a step
    later is at least that of ``habits``, to nine digits, and other moves keep their proportions.

    >>> even = MarkovModel(Grid(rows=1, columns=3, cell_size=1.0), [[1 / 3] * 3] * 3)
    >>> with_home(even, [0], HomeHabits(0.9, 0.5)).transition(0).toarray().round(3)
    array([[0.9 , 0.05, 0.05],
           [0.5 , 0.25, 0.25],
           [0.5 , 0.25, 0.25]])
    """
    schedule = _first_order(model)
    cells = _home(model.grid, home)
    at_night = _night_steps(night).tolist()
    if schedule.cyclic:
        length = math.lcm(len(schedule.repeating), len(at_night))
    else:
        length = len(schedule.repeating)
    made: dict[tuple[Transition, bool], Transition] = {}
    steps = []
    for step in range(length):
        plain, now = (
            schedule.repeating[step % len(schedule.repeating)],
            at_night[step % len(at_night)],
        )
        key = plain, now
        if key not in made:
            made[key] = _mixed_with_home(model.grid, plain, cells, *habits.at(now))
        steps.append(made[key])
    if all(step is steps[0] for step in steps) and schedule.cyclic:
        steps = steps[:1]
    found = MarkovModel(model.grid, Schedule((), tuple(steps), cyclic=schedule.cyclic))
    return found.with_origin(model.origin)


def _first_order(model: MarkovModel) -> Schedule:
    if model.order != 1:
        raise InvalidParameter(
            "must be of order 1: where one goes must depend on where one is",
            parameter="model",
            owner="with_home",
            got=f"a model of order {model.order}",
        )
    return model.schedule


def _home(grid: Grid, home: Collection[int]) -> IntArray:
    """Return the cells of a home in order. The error does not repeat them: they are personal."""
    whole = all(is_int(cell) and 0 <= cell < grid.size for cell in home)
    if len(home) == 0 or not whole:
        raise InvalidParameter(
            f"must hold at least one cell of the map, whole numbers from 0 to {grid.size - 1}",
            parameter="home",
            value=NoValue.SECRET,
        )
    return np.array(sorted(set(home)), dtype=np.int64)


def _night_steps(night: Sequence[bool] | None) -> np.ndarray:
    """Return for each step of a cycle whether it is at night; by default none is."""
    return np.asarray(night if night is not None and len(night) else [False], dtype=np.bool_)


def _each_at_home(
    people: Iterable[CellSequences], homes: Iterable[Collection[int]]
) -> list[tuple[CellSequences, Collection[int]]]:
    known, cells = list(people), list(homes)
    if len(known) != len(cells):
        raise InvalidParameter(
            f"must be one for each of the {len(known)} people",
            parameter="homes",
            owner="home_habits_of",
            value=len(cells),
        )
    return list(zip(known, cells, strict=True))


def _mixed_with_home(
    grid: Grid, plain: Transition, home: IntArray, stay: float, back: float
) -> Transition:
    """Return one transition mixed with moves to the home."""
    at_home = np.zeros(grid.size)
    at_home[home] = 1.0
    there = plain.pull(at_home)
    wanted = np.where(at_home > 0.0, stay, back)
    missing = np.maximum(wanted - there, 0.0)
    drawn = np.divide(missing, 1.0 - there, out=np.zeros(grid.size), where=missing > 0.0)
    drawn = drawn.round(_DRAWN_DIGITS)  # the last bits of ``there`` differ between processors
    return plain.blended(1.0 - drawn, _moves_home(grid, home, at_home > 0.0, drawn))


def _moves_home(
    grid: Grid, home: IntArray, at_home: np.ndarray, drawn: FloatArray
) -> sparse.csr_array:
    """Return the (m, m) moves to the home, with the weights ``drawn`` of each row."""
    away = np.flatnonzero(~at_home)
    if home.size <= MANY_CELLS:
        sources, targets = np.repeat(away, home.size), np.tile(home, away.size)
        shares = np.repeat(drawn[away] / home.size, home.size)
    else:
        sources, shares = away, drawn[away]
        apart = np.stack([kilometres(grid, away, np.full_like(away, cell)) for cell in home])
        targets = home[np.argmin(apart.round(6), axis=0)]  # ties must not hang on a last bit
    return sparse.csr_array(
        (
            np.concatenate([shares, drawn[home]]),
            (np.concatenate([sources, home]), np.concatenate([targets, home])),
        ),
        shape=(grid.size, grid.size),
    )


def home_habits_of(
    grid: Grid,
    people: Iterable[CellSequences],
    night: Sequence[bool] | None = None,
    homes: Iterable[Collection[int]] | None = None,
) -> HomeHabits:
    """Count how often people stay at home and come back to it, rounded to 1 in 1,000.

    Each of ``people`` is a list of sequences of cells, one per step, ``None`` for a gap, all
    beginning at step 0 of the cycle of ``night``. A gap is missing: only moves between two known
    cells of consecutive steps are counted. ``homes`` has the cells of each person's home; without
    it, the home is the cell of :func:`usual_home`.
    With fewer than ``FEWEST_MOVES`` moves the usual values are returned.

    >>> grid = Grid(rows=1, columns=3, cell_size=1.0)
    >>> home_habits_of(grid, [[[0] * 30 + [1, 2, 0, 0] * 12]])
    HomeHabits(stay=0.764, back=0.5, stay_at_night=None, back_at_night=None)
    """
    at_night = _night_steps(night)
    pairs = ((each, None) for each in people) if homes is None else _each_at_home(people, homes)
    counts = np.zeros((2, 2, 2))  # by day or night, from home or not, home or not
    for person, given in pairs:
        sequences = checked_sequences(person, grid.size, owner="home_habits_of")
        home = np.zeros(grid.size, dtype=np.bool_)
        home[_most_visited(grid, sequences, at_night) if given is None else _home(grid, given)] = (
            True
        )
        moves = moves_of(sequences, [0] * len(sequences))
        asleep = at_night[moves.steps % at_night.size].astype(np.int64)
        away, gone = (~home[cells] for cells in (moves.sources, moves.targets))
        np.add.at(counts, (asleep, away.astype(np.int64), gone.astype(np.int64)), 1.0)
    everything = counts.sum(axis=0)
    stay, back = (
        _share(counts[0, away], _share(everything[away], usual))
        for away, usual in ((0, USUAL_STAY), (1, USUAL_BACK))
    )
    if not at_night.any():
        return HomeHabits(stay, back)
    return HomeHabits(stay, back, _share(counts[1, 0], stay), _share(counts[1, 1], back))


def usual_home(
    grid: Grid, sequences: CellSequences, night: Sequence[bool] | None = None
) -> list[int]:
    """Return the cell where a person spends most nights; an empty list if none is known.

    Without ``night``, or if no cell is known at night, it is the most frequent cell.

    >>> line = Grid(rows=1, columns=3, cell_size=1.0)
    >>> usual_home(line, [[2, 1, 1, 1, 2, 1]], night=[True, False])
    [2]
    """
    found = checked_sequences(sequences, grid.size, owner="usual_home")
    return _most_visited(grid, found, _night_steps(night))


def _most_visited(grid: Grid, sequences: Sequence[IntArray], at_night: np.ndarray) -> list[int]:
    """Return the cell of most nights, or the most frequent one if none is known at night.

    A night is a stretch of consecutive steps at night in one sequence, with a known cell; it is
    spent in the cell where it is known most often. Nights count alike, however much of them is
    known: a few that were recorded without a gap would otherwise decide. Where nights are equal in
    number, the steps at night decide.
    """
    none = np.empty(0, dtype=np.int64)
    spent: Counter[int] = Counter()
    steps = np.zeros(grid.size, dtype=np.int64)
    for cells in sequences:
        asleep = at_night[np.arange(len(cells)) % at_night.size]
        known = np.flatnonzero(asleep & (cells != GAP))
        night = np.cumsum(np.diff(asleep, prepend=False))[known]
        np.add.at(steps, cells[known], 1)
        for stretch in np.split(cells[known], np.flatnonzero(np.diff(night)) + 1):
            if stretch.size:
                spent[int(np.bincount(stretch).argmax())] += 1
    if spent:
        return [min(spent, key=lambda cell: (-spent[cell], -steps[cell], cell))]
    every = np.concatenate([none, *sequences])
    known = every[every != GAP]
    return [int(np.bincount(known, minlength=grid.size).argmax())] if known.size else []


def _share(counted: FloatArray, otherwise: float) -> float:
    """Return a share in [0.001, 0.999]; ``otherwise`` where too little was counted."""
    if counted.sum() < FEWEST_MOVES:
        return otherwise
    share = float((counted[0] + 1.0) / (counted.sum() + 2.0))
    return min(max(round(share, _DIGITS), 0.001), 0.999)
