"""How people move on a map: made from matrices, from a formula, or fitted to data."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property

import numpy as np
from scipy import sparse

from priste.arguments import check_array, check_distribution, check_float, check_int
from priste.errors import InvalidParameter, NoValue
from priste.late_parts import late
from priste.maps import Grid
from priste.mobility import storage
from priste.mobility.gaussian import (
    Form,
    gaussian_transition,
    mass_outside_reach,
    truncated_gaussian,
)
from priste.mobility.second_order import fitted_pairs, given_pairs, triple_probabilities
from priste.mobility.sequences import (
    CellSequences,
    Moves,
    checked_offsets,
    checked_sequences,
    counts_of,
    moves_of,
)
from priste.mobility.smoothed_counts import Smoothing, as_smoothing, smoothed_phases
from priste.mobility.stationary import stationary_share
from priste.mobility.storage import ModelOrigin
from priste.mobility.structured import as_transition
from priste.mobility.transitions import Schedule, Transition
from priste.mobility.validation import (
    MAX_NUMBER,
    FloatArray,
    IntArray,
    sparse_nonnegative,
)
from priste.randomness import BitSource, ExactDistribution, Seed, bit_source
from priste.showable import Plottable

LONGEST_SHIFT = 10**9
"""How many steps back a cycle may be asked to start: more than any clock has."""


class MarkovModel(Plottable):
    """How people move from step to step on a map; immutable.

    ``matrix`` is one (m, m) matrix for every step (array-like or ``scipy.sparse``), or a
    sequence of them, one per step (a ``(T, m, m)`` array will do): ``matrix[t]`` leads from
    step ``t`` to step ``t + 1``. With ``cycle=True`` the sequence repeats for ever.

    Guarantee: entries are finite and >= 0 and rows sum to 1 within
    ``GIVEN_ROW_SUM_TOLERANCE``; anything else is refused with the number of the row. Rows within
    the tolerance are used as they are, never rescaled; ``row_sum_error`` bounds what is
    missing, for error bounds. Inputs are copied.

    >>> model = MarkovModel(Grid(rows=1, columns=2, cell_size=1.0), [[0.9, 0.1], [0.5, 0.5]])
    >>> model.transition(0).push(np.array([1.0, 0.0]))
    array([0.9, 0.1])
    """

    def __init__(self, grid: Grid, matrix: object, *, cycle: bool = False) -> None:
        _check_grid(grid, "MarkovModel")
        self._grid = grid
        self._schedule = (
            matrix if isinstance(matrix, Schedule) else schedule_of(grid, matrix, cycle=cycle)
        )
        self._origin: ModelOrigin | None = None

    @classmethod
    def gaussian(
        cls, grid: Grid, sigma: float, *, reach: float | None = None, form: Form = "auto"
    ) -> MarkovModel:
        """Move to a cell with probability proportional to ``exp(-d**2 / (2 * sigma**2))``.

        ``d`` is the distance in km between the centres and ``sigma`` (km) is > 0: the
        paper's synthetic data. ``form`` "dense" stores the whole matrix, "separable" two
        small factors of it, and "auto" takes the cheaper (separable from 16 by 16 cells
        on). ``reach`` (km) cuts longer moves and divides each row by what is left: a sparse
        matrix, which then *is* the model. ``truncated_mass`` says the largest mass cut from a
        row. Without ``reach``, a weight along a row or a column of the map below
        ``LEAST_WEIGHT`` (moves beyond about 25.8 sigma) is 0, so that no product underflows.

        >>> model = MarkovModel.gaussian(Grid(rows=200, columns=200, cell_size=0.5), sigma=1.0)
        >>> model.transition(0).shape
        (40000, 40000)
        """
        _check_grid(grid, "MarkovModel.gaussian")
        if reach is None:
            whole = gaussian_transition(grid, sigma, form=form)
            return cls(grid, Schedule((), (whole,), cyclic=True))
        if form != "auto":
            raise InvalidParameter(
                "must be left out with a reach, which makes a sparse matrix",
                parameter="form",
                owner="MarkovModel.gaussian",
                value=form,
            )
        cut = truncated_gaussian(grid, sigma, reach)
        mass = float(mass_outside_reach(grid, sigma, reach).max())
        return cls(grid, Schedule((), (cut,), cyclic=True, truncated_mass=mass))

    @classmethod
    def fit(
        cls,
        grid: Grid,
        cell_sequences: CellSequences,
        smoothing: Smoothing | float | None = None,
        *,
        cycle: int | None = None,
        steps_per_phase: int = 1,
        offsets: Iterable[int] | None = None,
        order: int = 1,
        backoff: float = 1.0,
        step: timedelta | None = None,
        columns: Mapping[str, str] | None = None,
        zone: str | None = None,
    ) -> MarkovModel:
        """Count the moves of sequences of cells and smooth them into a model.

        A sequence has one cell per step; ``None`` is a gap, and no move leads into or out
        of it. There must be one move at least. ``smoothing`` keeps every row a distribution,
        also of cells that were never visited: ``GaussianPrior`` (the default), ``AddNearby``,
        ``AddEverywhere`` or ``MaximumLikelihood``; a number > 0 means
        ``AddEverywhere(number)``, and 0 ``MaximumLikelihood()``.

        ``cycle=24`` fits one matrix per phase of a cycle of 24 phases, each of
        ``steps_per_phase`` steps; sequence ``k`` starts at step ``offsets[k]`` of the cycle
        (default 0). The model starts at step 0 of the cycle; see :meth:`starting_at`.

        ``order=2`` fits a second-order model over pairs of cells: ``smoothing`` makes the
        first-order part, which must be local unless the map is small, and a pair leans
        on it with the weight of ``backoff`` (> 0) observed moves. Not with ``cycle``.

        With a ``step`` the sequences are a frame of fixes, as :func:`priste.protect` takes them:
        each person has a cell per ``step`` from the midnight before the first fix, None without a
        fix and off the map. ``columns`` and ``zone`` say how the frame is read; a cycle begins at
        midnight. All hours are read: fit on people who are not released, or use ``priste fit``,
        which leaves out the hours that a policy guards.

        >>> grid = Grid(rows=1, columns=3, cell_size=1.0)
        >>> model = MarkovModel.fit(grid, [[0, 1, None, 1, 2]], smoothing=1)
        >>> model.transition(0).toarray()[1]
        array([0.25, 0.25, 0.5 ])
        """
        owner = "MarkovModel.fit"
        _check_grid(grid, owner)
        choice = as_smoothing(smoothing)
        order = check_int(order, "order", owner, least=1)
        per_phase = check_int(steps_per_phase, "steps_per_phase", owner, least=1)
        phases = 1 if cycle is None else check_int(cycle, "cycle", owner, why="phases", least=1)
        if order > 2 or (order == 2 and phases > 1):
            raise InvalidParameter(
                "must be 1, or 2 without a cycle",
                parameter="order",
                owner=owner,
                got=f"order={order}, cycle={cycle!r}",
            )
        backoff = check_float(backoff, "backoff", owner, above=0, most=MAX_NUMBER)
        if step is not None or hasattr(cell_sequences, "__arrow_c_stream__"):
            frames = late("frames")
            cell_sequences = frames.cells_of_frame(cell_sequences, grid, step, columns, zone)
        sequences = checked_sequences(cell_sequences, grid.size, owner=owner)
        moves = moves_of(sequences, checked_offsets(offsets, len(sequences), owner=owner))
        if not moves.sources.size:
            raise InvalidParameter(
                f"The sequences of {owner} hold no move: nowhere do two known cells follow each "
                "other.",
                owner=owner,
                hint="Without data take a model by formula, such as a Gaussian.",
            )
        phase_of = moves.steps // per_phase % phases
        shape = (grid.size, grid.size)
        counts = [
            counts_of(moves.sources[here], moves.targets[here], shape)
            for here in (phase_of == phase for phase in range(phases))
        ]
        fitted = smoothed_phases(grid, counts, choice)
        if order == 2:
            return cls(grid, fitted_pairs(grid, fitted[0], moves, backoff))
        repeating = tuple(fitted[phase] for phase in range(phases) for _ in range(per_phase))
        if phases == 1:
            repeating = repeating[:1]
        return cls(grid, Schedule((), repeating, cyclic=True))

    @classmethod
    def from_counts(
        cls,
        grid: Grid,
        counts: object,
        smoothing: Smoothing | float | None = None,
        *,
        cycle: bool = False,
    ) -> MarkovModel:
        """Smooth counted moves into a model.

        ``counts[i, j]`` is how often the step from cell ``i`` led to cell ``j``:
        finite and >= 0, shape (m, m), array-like or ``scipy.sparse``; fractions are welcome. With
        ``cycle=True`` it is a sequence of such, one per step of the cycle. ``smoothing`` as in
        :meth:`fit`.

        >>> grid = Grid(rows=1, columns=2, cell_size=1.0)
        >>> MarkovModel.from_counts(grid, [[8, 0], [1, 1]], smoothing=1).transition(0).toarray()
        array([[0.9, 0.1],
               [0.5, 0.5]])
        """
        owner = "MarkovModel.from_counts"
        _check_grid(grid, owner)
        choice = as_smoothing(smoothing)
        phases = list(counts) if cycle else [counts]  # type: ignore[call-overload]
        read = [_count_matrix(phase, grid, owner) for phase in phases]
        if not read:
            raise InvalidParameter(
                "must hold one matrix at least", parameter="counts", owner=owner, got="none"
            )
        return cls(grid, Schedule((), smoothed_phases(grid, read, choice), cyclic=True))

    @classmethod
    def second_order(cls, grid: Grid, first: object, table: object) -> MarkovModel:
        """Build a model whose next cell depends on the two cells before.

        ``first`` is the (m, m) matrix of the move from step 0 to step 1. ``table`` gives the
        probability of cell ``k`` after the cells ``i``, ``j``: an (m, m, m) array indexed ``[i, j,
        k]``, or a ``scipy.sparse`` matrix of shape (m * m, m) with row ``i * m + j``. Every pair
        that can occur needs a row that sums to 1; pairs that cannot need none and are left out.
        States are the m cells at step 0 and the pairs from step 1 on, so ``transition(0)`` is
        rectangular; ``pairs`` lists them.
        """
        owner = "MarkovModel.second_order"
        _check_grid(grid, owner)
        opening = as_transition(first, "first", owner)
        check_square(opening.shape, grid, "first", owner)
        return cls(grid, given_pairs(grid, opening, table))

    # What it is

    @property
    def grid(self) -> Grid:
        """The map whose cells the model moves between."""
        return self._grid

    @property
    def horizon(self) -> int | None:
        """Number of moves described; ``None`` for ever (one matrix, or a cycle)."""
        return self._schedule.horizon

    @property
    def schedule(self) -> Schedule:
        """Which transition applies at which step, for those who make a model of another."""
        return self._schedule

    @property
    def order(self) -> int:
        """1, or 2 if the next cell depends on the two before."""
        return 1 if self._schedule.pairs is None else 2

    @property
    def period(self) -> int | None:
        """Steps after which the transitions repeat: 1 for one matrix; ``None`` for never."""
        return len(self._schedule.repeating) if self._schedule.cyclic else None

    @property
    def pairs(self) -> IntArray | None:
        """The (n, 2) states (previous, current cell) of a second-order model, else ``None``."""
        return self._schedule.pairs

    @property
    def truncated_mass(self) -> float:
        """Largest mass that ``gaussian(reach=...)`` cut from a row; 0.0 otherwise."""
        return self._schedule.truncated_mass

    @property
    def origin(self) -> ModelOrigin | None:
        """The clock of the model and what it was fitted on, where that is known."""
        return self._origin

    def with_origin(self, origin: ModelOrigin | None) -> MarkovModel:
        """Return the same model with a note of where it comes from, which is saved with it."""
        noted = MarkovModel(self._grid, self._schedule)
        noted._origin = origin
        return noted

    @cached_property
    def row_sum_error(self) -> float:
        """Largest ``row_sum_error`` of the transitions; see :class:`Transition`."""
        return max(transition.row_sum_error for transition in self._schedule.transitions())

    def transition(self, step: int) -> Transition:
        """Return the move from ``step`` to ``step + 1``; refuses steps beyond ``horizon``."""
        return self._schedule.at(check_int(step, "step", "a MarkovModel", least=0))

    def states(self, step: int) -> int:
        """Return the number of states at ``step``; at step 0 they are the m cells, in order."""
        return len(self.cell_of_state(step))

    def cell_of_state(self, step: int) -> IntArray:
        """Return the cell of each state at ``step``, read-only."""
        return self._schedule.cells(check_int(step, "step", "a MarkovModel", least=0))

    def starting_at(self, step: int) -> MarkovModel:
        """Return the model of someone whose step 0 is ``step`` of this model.

        For a cycle of 24 hours, ``starting_at(8)`` starts in the morning, and ``starting_at(-8)``
        in the afternoon before. A sequence loses its first ``step`` matrices. A model that is the
        same at every step is returned as it is, and so is a second-order one: it knows no clock.
        """
        cyclic, repeating = self._schedule.cyclic, self._schedule.repeating
        least = -LONGEST_SHIFT if cyclic else 0  # a sequence says nothing of the time before
        step = check_int(step, "step", "MarkovModel.starting_at", least=least)
        if self.period == 1:
            return self
        if cyclic:
            cut = step % len(repeating)
            rotated = repeating[cut:] + repeating[:cut]
        else:
            self._schedule.at(step)
            rotated = repeating[step:]
        later = MarkovModel(self._grid, replace(self._schedule, repeating=rotated))
        return later.with_origin(None if self._origin is None else self._origin.shifted(step))

    def __repr__(self) -> str:
        horizon = "without end" if self.horizon is None else f"{self.horizon} moves"
        kind = type(self._schedule.repeating[0]).__name__
        return f"<MarkovModel of order {self.order} on {self._grid.size} cells, {horizon}, {kind}>"

    # What it does

    def sample(
        self,
        steps: int,
        rng: Seed | BitSource = None,
        start: int | Sequence[float] | FloatArray | None = None,
    ) -> IntArray:
        """Draw the cells of steps 0 to ``steps - 1`` of one trajectory.

        ``start`` is the cell of step 0, or a distribution over the m cells from which it is
        drawn; ``None`` means every cell alike. ``rng``: ``None`` for the system's generator,
        or a seed. Every draw is exact: a row's floats are read as rationals and divided by
        their exact sum.

        >>> grid = Grid(rows=1, columns=2, cell_size=1.0)
        >>> MarkovModel(grid, [[0, 1], [1, 0]]).sample(4, start=0)
        array([0, 1, 0, 1])
        """
        steps = check_int(steps, "steps", "MarkovModel.sample", least=1)
        if self.horizon is not None and steps > self.horizon + 1:
            raise InvalidParameter(
                f"must be at most {self.horizon + 1} for a model of {self.horizon} moves",
                parameter="steps",
                owner="MarkovModel.sample",
                value=steps,
            )
        source = bit_source(rng)
        state = self._draw_start(start, source)
        cells = np.empty(steps, dtype=np.int64)
        cells[0] = state
        for step in range(1, steps):
            state = self._schedule.at(step - 1).draw(state, source)
            cells[step] = self._schedule.cells(step)[state]
        return cells

    def _draw_start(self, start: object, source: BitSource) -> int:
        size = self._grid.size
        if start is None:
            return source.below(size)
        if isinstance(start, int | np.integer):
            cell = check_int(start, "start", "MarkovModel.sample", why="a cell", least=0)
            if cell >= size:
                raise InvalidParameter(
                    f"must be below {size}",
                    parameter="start",
                    owner="MarkovModel.sample",
                    value=NoValue.SECRET,
                )
            return cell
        prior = check_distribution(start, "start", "MarkovModel.sample", (size,))
        return ExactDistribution(prior).draw(source)

    def stationary(self) -> FloatArray:
        """Return the (m,) share of time in each cell, started from the uniform distribution.

        That is the average of the distributions of the first ``n`` steps in the limit of
        many, so it exists for every model that goes on for ever. Irreducible (also
        periodic): the stationary distribution, whatever the start. Reducible: each closed
        class gets the mass that ends up in it. A cycle: the shares at its step 0, counted
        once per round. A sequence without cycle has none, and is refused.

        The answer is unchanged by a move up to ``STATIONARY_TOLERANCE`` (sum of absolute
        differences), or a ``PristeError`` says that it was not found.

        >>> grid = Grid(rows=1, columns=2, cell_size=1.0)
        >>> MarkovModel(grid, [[0.5, 0.5], [0.25, 0.75]]).stationary().round(12)
        array([0.33333333, 0.66666667])
        """
        if self.horizon is not None:
            raise InvalidParameter(
                "A stationary distribution needs a model without an end. This one ends "
                f"after {self.horizon} moves.",
                owner="MarkovModel.stationary",
                hint="If its matrices repeat, say so (cycle).",
            )
        return self._stationary.copy()

    @cached_property
    def _stationary(self) -> FloatArray:
        """The shares of :meth:`stationary`, computed once: on a map of a city they take seconds."""
        start = np.full(self._grid.size, 1.0 / self._grid.size)
        for transition in self._schedule.opening:
            start = transition.push(start)
        share = stationary_share(self._schedule.repeating, start)
        cells = self._schedule.cells(len(self._schedule.opening))
        shares = np.bincount(cells, weights=share, minlength=self._grid.size)
        return shares.astype(np.float64)

    def log_likelihood(
        self, cell_sequences: CellSequences, *, offsets: Iterable[int] | None = None
    ) -> float:
        """Return the natural log of the probability of the sequences, given their first cells.

        ``None`` is a gap, as in :meth:`fit`: what follows counts as given again. Sequence
        ``k`` starts at step ``offsets[k]`` of the model (default 0). No moves: 0.0. A move
        that the model excludes: ``-inf``. In a second-order model the first move after a
        start or a gap is judged by the first-order part.
        """
        owner = "MarkovModel.log_likelihood"
        sequences = checked_sequences(cell_sequences, self._grid.size, owner=owner)
        moves = moves_of(sequences, checked_offsets(offsets, len(sequences), owner=owner))
        if self._schedule.pairs is None:
            found = self._move_probabilities(moves)
        else:
            found = triple_probabilities(self._schedule, self._schedule.pairs, moves)
        return math.fsum(map(math.log, found.tolist())) if np.all(found > 0.0) else -math.inf

    def _move_probabilities(self, moves: Moves) -> FloatArray:
        places = moves.steps if self.period is None else moves.steps % self.period
        steps_of: dict[Transition, list[int]] = {}
        for step in np.unique(places).tolist():
            steps_of.setdefault(self._schedule.at(step), []).append(step)
        found = np.empty(places.size)
        for transition, steps in steps_of.items():
            here = np.isin(places, steps)
            found[here] = transition.entries(moves.sources[here], moves.targets[here])
        return found

    # Files

    @cached_property
    def _fingerprint(self) -> str:
        return storage.fingerprint(self._grid, self._schedule)

    def fingerprint(self) -> str:
        """Return 64 hexadecimal digits that any change of map or probability would change."""
        return self._fingerprint

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to ``path`` (npz), whole or not at all.

        A model file there is replaced; any other file stays as it is, with a
        :class:`StateError`. A model fitted to people's traces is personal data.
        """
        storage.write_model(path, self._grid, self._schedule, self._origin)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> MarkovModel:
        """Read what :meth:`save` wrote, to the bit; anything else is a :class:`StateError`."""
        grid, schedule, origin = storage.read_model(path)
        return cls(grid, schedule).with_origin(origin)

    def to_bytes(self) -> bytes:
        """Return what :meth:`save` writes, without writing a file."""
        return storage.model_bytes(self._grid, self._schedule, self._origin)

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> MarkovModel:
        """Read what :meth:`to_bytes` returned; ``name`` says in errors where it was kept."""
        grid, schedule, origin = storage.read_model(name, content)
        return cls(grid, schedule).with_origin(origin)


def _count_matrix(counts: object, grid: Grid, owner: str) -> sparse.csr_array:
    read: sparse.csr_array
    if sparse.issparse(counts):
        read = sparse_nonnegative(counts, "counts", owner)
    else:
        array = check_array(counts, "counts", owner)
        read = sparse.csr_array(array) if array.ndim == 2 else sparse.csr_array((0, 0))
    check_square(read.shape, grid, "counts", owner)
    return read


def _check_grid(grid: object, owner: str) -> None:
    if not isinstance(grid, Grid):
        raise InvalidParameter("must be a Grid", parameter="grid", owner=owner, value=type(grid))


def check_square(shape: tuple[int, ...], grid: Grid, parameter: str, owner: str) -> None:
    """Refuse a matrix that is not between the cells of ``grid``."""
    if shape != (grid.size, grid.size):
        raise InvalidParameter(
            f"must have shape ({grid.size}, {grid.size}), one row and one column per cell of the "
            "map",
            parameter=parameter,
            owner=owner,
            value=shape,
        )


def schedule_of(grid: Grid, matrix: object, *, cycle: bool) -> Schedule:
    """Read the ``matrix`` and ``cycle`` of :class:`MarkovModel`."""
    if not isinstance(cycle, bool):
        raise InvalidParameter(
            "must be True or False",
            parameter="cycle",
            owner="MarkovModel",
            value=cycle,
            hint="The number of phases is the number of matrices.",
        )
    single, items = _one_or_many(matrix)
    if not items:
        raise InvalidParameter(
            "must hold one matrix at least",
            parameter="matrix",
            owner="MarkovModel",
            got="an empty sequence",
        )
    known: dict[int, Transition] = {}
    steps = []
    for step, item in enumerate(items):
        if id(item) not in known:
            here = "matrix" if single else f"matrix[{step}]"
            known[id(item)] = as_transition(item, here, "MarkovModel")
            check_square(known[id(item)].shape, grid, here, "MarkovModel")
        steps.append(known[id(item)])
    return Schedule((), tuple(steps), cyclic=single or cycle)


def _one_or_many(matrix: object) -> tuple[bool, list[object]]:
    """Tell one matrix from a sequence of them."""
    if isinstance(matrix, np.ndarray):
        return (False, list(matrix)) if matrix.ndim == 3 else (True, [matrix])
    if isinstance(matrix, list | tuple):
        first = matrix[0] if matrix else None
        nested = isinstance(first, list | tuple) and bool(first) and np.ndim(first[0]) > 0
        if not matrix or sparse.issparse(first) or isinstance(first, Transition) or nested:
            return False, list(matrix)
        if isinstance(first, np.ndarray) and first.ndim == 2:
            return False, list(matrix)
    return True, [matrix]
