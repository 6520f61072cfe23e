"""Fit a population model, and choose its phases of the day by predicting people left out.

A *memory* says which steps of a day or week share a matrix. More phases fit the people who were
counted better, and others worse once each phase has few moves. So every memory is scored on people
who were not counted, each with its own best shrinkage, and the best one is fitted on everybody.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.held_out import Comparison, folds_of, plain_transition, together
from priste.mobility.model import MarkovModel
from priste.mobility.population import (
    Shrinkage,
    population_transitions,
    tally_of,
    tally_of_counts,
)
from priste.mobility.sequences import GAP, CellSequences, checked_sequences, moves_of
from priste.mobility.transitions import DENSE_LIMIT, Schedule
from priste.mobility.validation import FloatArray, IntArray

LONGEST_GAP = 4
"""Steps from one known cell to the next, at most.

``benchmarks/fitting --gaps`` favours 16, without a home; with a home known, 16 was worse than known
moves only and 4 was not (docs/evidence/models.md).
"""

ROUNDS = 2
"""Rounds of EM. At 4 steps, models of one, two and four rounds scored within 0.006 nats."""

_DIGITS = 6
"""Counts are rounded to this many digits: last bits of sums differ between processors."""

_BATCH = 256
"""Gaps that are followed at once."""


def expected_moves(
    sequences: Iterable[IntArray],
    phase_of_step: IntArray,
    matrices: Sequence[FloatArray],
    longest: int = LONGEST_GAP,
) -> FloatArray:
    """Return (phases, m, m): moves by the phase of the step they leave, known and expected ones.

    A gap is missing, not a stay. Given a model and the known cells at both ends of a gap, the
    expected number of moves from each cell to each other follows exactly (forward and backward
    probabilities): the E step of the EM algorithm. Gaps of more than ``longest`` are left out.
    ``benchmarks/fitting --gaps`` compares this with other treatments.

    Sequences are checked, with ``GAP`` where a cell is missing, and begin at step 0 of the cycle of
    ``phase_of_step``. ``matrices`` has the transition of each phase; every pair of known cells must
    be possible under it. A move between consecutive known cells counts 1.

    >>> swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> expected_moves([np.array([0, GAP, 0])], np.array([0]), [swap])
    array([[[0., 1.],
            [1., 0.]]])
    """
    found = np.zeros((len(matrices), *matrices[0].shape))
    groups: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    for cells in sequences:
        known = np.flatnonzero(cells != GAP)
        steps = np.diff(known)
        for place in np.flatnonzero(steps <= longest).tolist():
            first = int(known[place])
            between = np.arange(first, first + int(steps[place])) % len(phase_of_step)
            ends = int(cells[first]), int(cells[known[place + 1]])
            groups[tuple(phase_of_step[between].tolist())].append(ends)
    for phases, pairs in groups.items():
        if len(phases) == 1:
            np.add.at(found[phases[0]], tuple(np.array(pairs).T), 1.0)
            continue
        for begin in range(0, len(pairs), _BATCH):
            sources, targets = np.array(pairs[begin : begin + _BATCH]).T
            _add_expected(found, sources, targets, phases, matrices)
    return np.round(found, _DIGITS, out=found)


def _add_expected(
    found: FloatArray,
    sources: IntArray,
    targets: IntArray,
    phases: tuple[int, ...],
    matrices: Sequence[FloatArray],
) -> None:
    """Add the expected moves of gaps with the same phases, given the cells at both ends."""
    size = len(matrices[0])
    rows = np.arange(len(sources))
    ahead = [np.zeros((len(sources), size))]
    ahead[0][rows, sources] = 1.0
    for phase in phases:
        ahead.append(ahead[-1] @ matrices[phase])
    back = np.zeros((len(targets), size))
    back[rows, targets] = 1.0 / ahead[-1][rows, targets]
    for step in range(len(phases) - 1, -1, -1):
        matrix = matrices[phases[step]]
        found[phases[step]] += (ahead[step].T @ back) * matrix
        back = back @ matrix.T


PLAIN = "plain"
"""The name of the model without shrinkage: counts of all hours on a Gaussian."""

NONE, PARTS, HOURS, WEEK = "none", "parts", "hours", "week"
MEMORIES = (NONE, PARTS, HOURS, WEEK)
"""One matrix for ever; one per part of the day, per hour, per part of weekdays and weekends."""

PART_STARTS = (6, 10, 16, 20)
"""The hours at which the parts of a day change; the night is before the first."""

MOST_JUDGED = 60
"""At most this many people are left out in turn to choose; the model is fitted on all."""

_SATURDAY = 5


def memories_of(start: datetime, step: timedelta) -> dict[str, tuple[int, ...]]:
    """Return the memories that steps of this length can have, as the phase of each step.

    ``start`` is what clocks show when step 0 begins. A step that does not divide the day leaves
    only "none"; a memory whose phases are those of a simpler one is left out.

    >>> from datetime import datetime, timedelta
    >>> found = memories_of(datetime(2026, 3, 2), timedelta(hours=3))
    >>> list(found), found["parts"]
    (['none', 'parts', 'hours', 'week'], (0, 0, 1, 1, 2, 2, 3, 4))
    """
    found: dict[str, tuple[int, ...]] = {NONE: (0,)}
    day = timedelta(days=1)
    if step <= timedelta(0) or day % step:
        return found
    count = day // step
    times = [start + number * step for number in range(7 * count)]
    parts = [sum(when.hour >= begin for begin in PART_STARTS) for when in times]
    week = [
        part + (len(PART_STARTS) + 1) * (when.weekday() >= _SATURDAY)
        for part, when in zip(parts, times, strict=True)
    ]
    hours = [when.hour for when in times[:count]]
    for name, phases in ((PARTS, parts[:count]), (HOURS, hours), (WEEK, week)):
        numbered = tuple(np.unique(phases, return_inverse=True)[1].tolist())
        if max(numbered) > 0 and numbered not in found.values():
            found[name] = numbered
    return found


@dataclass(frozen=True)
class MemoryScore:
    """How well one memory predicts those left out: the mean of -ln Pr(next cell | this cell)."""

    memory: str
    phases: int
    nats_per_move: float


@dataclass(frozen=True)
class PopulationChoice:
    """What predicts best those left out, and what it was compared to.

    ``phases`` is the phase of each step of the cycle, and ``shrinkage`` how much is borrowed; both
    are None where the plain model was chosen. ``scores`` are those of :data:`PLAIN` and of each
    memory, on ``moves`` moves of people (or stretches of time, where there is one person only)
    that were left out, each once; empty when there was too little to leave out. ``uniform_nats``
    is what a model loses that knows nothing.
    """

    memory: str
    phases: tuple[int, ...] | None
    shrinkage: Shrinkage | None
    scores: tuple[MemoryScore, ...]
    moves: int
    uniform_nats: float

    @property
    def nats_per_move(self) -> float | None:
        """The score of the chosen memory; None where nothing could be left out."""
        found = [score.nats_per_move for score in self.scores if score.memory == self.memory]
        return found[0] if found else None

    def model(self, grid: Grid, people: Iterable[CellSequences]) -> MarkovModel:
        """Fit the chosen model on these people; see :func:`fit_population`."""
        sequences = _sequences_of_each(grid, people)
        moves = together([moves_of(each, [0] * len(each)) for each in sequences])
        if not moves.sources.size:
            raise InvalidParameter(
                "There is nothing to fit: no person has two known cells in a row.",
                owner="fit_population",
                hint="Give traces with more fixes, longer steps, or a model that needs no data.",
            )
        if self.phases is None or self.shrinkage is None:
            return MarkovModel(grid, plain_transition(grid, moves))
        phases = np.array(self.phases, dtype=np.int64)
        found = population_transitions(grid, tally_of(grid, moves, phases), self.shrinkage)
        for _ in range(ROUNDS if grid.size <= DENSE_LIMIT else 0):
            known = (cells for person in sequences for cells in person)
            matrices = [each.toarray() for each in found]
            del found  # each of these lists may take many megabytes
            tally = tally_of_counts(expected_moves(known, phases, matrices))
            del matrices
            found = population_transitions(grid, tally, self.shrinkage)
        repeating = found if len(found) == 1 else tuple(found[phase] for phase in self.phases)
        return MarkovModel(grid, Schedule((), repeating, cyclic=True))


def choose_population(
    grid: Grid,
    people: Iterable[CellSequences],
    memories: Mapping[str, Sequence[int]] | None = None,
    *,
    plain: bool = True,
) -> PopulationChoice:
    """Choose the memory and the shrinkage under which people left out are predicted best.

    The arguments are those of :func:`fit_population`. The first ``MOST_JUDGED`` people who move
    decide: more would take longer and hardly choose otherwise.
    """
    clocks = {NONE: (0,)} if memories is None else memories
    if not clocks:
        raise InvalidParameter(
            "must name one at least", parameter="memories", owner="fit_population", got="none"
        )
    phases = {name: _checked_phases(name, clock) for name, clock in clocks.items()}
    moves = (moves_of(each, [0] * len(each)) for each in _sequences_of_each(grid, people))
    moving = [each for each in moves if each.sources.size]
    cuts = list(folds_of(moving[:MOST_JUDGED])) if grid.size > 1 else []
    nothing_known = math.log(grid.size)
    if not cuts:  # nothing to judge by: the least memory, and middling strengths
        least = min(phases, key=lambda name: int(phases[name].max()))
        return PopulationChoice(least, tuple(clocks[least]), Shrinkage(), (), 0, nothing_known)
    comparison = Comparison(grid, phases, cuts)
    best = comparison.best(phases)
    scores = [MemoryScore(PLAIN, 1, comparison.plain_nats())]
    for name, (nats, _) in best.items():
        scores.append(MemoryScore(name, int(phases[name].max()) + 1, nats))
    allowed = scores if plain else scores[1:]
    memory = min(allowed, key=lambda score: score.nats_per_move).memory
    clock = None if memory == PLAIN else tuple(phases[memory].tolist())
    shrinkage = None if memory == PLAIN else best[memory][1]
    return PopulationChoice(
        memory, clock, shrinkage, tuple(scores), comparison.moves, nothing_known
    )


@dataclass(frozen=True)
class PopulationFit:
    """A model fitted on people, and the choice that it follows."""

    model: MarkovModel
    choice: PopulationChoice
    people: int


def fit_population(
    grid: Grid,
    people: Iterable[CellSequences],
    memories: Mapping[str, Sequence[int]] | None = None,
    *,
    plain: bool = True,
) -> PopulationFit:
    """Fit the model that best predicts people it has not seen.

    Each of ``people`` is a list of sequences of cells, one cell per step and ``None`` for a gap;
    all begin at step 0 of the cycle. A gap is missing: on maps of up to ``DENSE_LIMIT`` cells the
    moves between two known cells up to ``LONGEST_GAP`` steps apart are expected ones
    (:mod:`priste.mobility.memory`), on larger ones they are left out. ``memories`` names what is
    compared, as :func:`memories_of` gives it: the phase (0, 1, …) of each step of the cycle.
    Without it there is one phase.

    Guarantee: on those left out, the chosen model is at most as far off as the plain one
    (counts on a Gaussian, :data:`PLAIN`), which is chosen where nothing beats it, unless
    ``plain=False`` forbids that. Any other gives every move a positive probability.

    >>> grid = Grid(rows=1, columns=3, cell_size=1.0)
    >>> walks = [[[0, 0, 1, 1, 2, 2, 1, 0]], [[1, 1, 2, 2, 2, 1]], [[0, 0, 0, 1, 2, 2]]]
    >>> bool(fit_population(grid, walks).model.transition(0).toarray().min() > 0)
    True
    """
    everybody = list(people)
    choice = choose_population(grid, everybody, memories, plain=plain)
    return PopulationFit(choice.model(grid, everybody), choice, len(everybody))


def _sequences_of_each(grid: Grid, people: Iterable[CellSequences]) -> list[list[IntArray]]:
    return [checked_sequences(person, grid.size, owner="fit_population") for person in people]


def _checked_phases(name: str, clock: Sequence[int]) -> IntArray:
    phases = np.asarray(clock)
    if phases.ndim != 1 or not phases.size or phases.dtype.kind not in "iu":
        raise InvalidParameter("must be a list of phase numbers", parameter=f"clocks[{name}]")
    if name == PLAIN or set(phases.tolist()) != set(range(int(phases.max()) + 1)):
        raise InvalidParameter(
            f"must be numbered 0, 1, 2, … without holes, under another name than {PLAIN!r}, which "
            "they are compared to",
            parameter=f"clocks[{name}]",
        )
    return phases.astype(np.int64)
