"""The lifted chain: mobility states times the worlds of an event or a secret; backward vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

import numpy as np
from scipy import sparse

from priste.errors import InvalidParameter
from priste.quantify.joint_probabilities import Floats, Integers
from priste.quantify.scaling import (
    LEAST_NORMAL,
    ScaledRows,
    moved_ahead,
    moved_back,
    positive_minimum,
    pull_states,
    push_states,
)
from priste.quantify.worst_prior.compilation import is_memory_spared

if TYPE_CHECKING:
    from priste.events import Guarded, Layer
    from priste.mobility import MarkovModel, Transition


BACKWARD_BYTES = 2**28
"""Memory above which backward vectors are kept at every k-th step only and recomputed between."""

SPARED_BYTES = 2**20
"""The same where memory is spared: a service has minutes for the twofold work of a step."""

_LEAST_FLOAT = 2.0**-1074

MOVES_KEPT = 64
"""Of how many different layers the arrays are kept; the steps of most events share a few."""

BAND_MERGES = 16
"""Roundings allowed per step for adding up bands: two per scaling, at most five in a step."""


@dataclass(frozen=True, eq=False)
class _Moves:
    """One layer on the states of its step: where each (world, state) goes."""

    target: Integers  # (worlds before, states) -> world after
    worlds_after: int
    # (world before, world after, mask over states or None for all of them)
    flows: tuple[tuple[int, int, Floats | None], ...]


class LiftedChain:
    """A mobility model and an event, as one chain over (world, state).

    Arrays of the lifted chain are (rows, worlds, states). ``last`` is the step of the
    event's last layer, -1 for an event that always or never happens; from there on
    worlds do not change. Shared between copies of a quantifier; never changes.
    """

    def __init__(self, model: MarkovModel, event: Guarded) -> None:
        automaton = event.automaton()
        self.model = model
        self.movement = model.schedule
        self.size = model.grid.size
        self.layers = {layer.step: layer for layer in automaton.layers}
        self.last = automaton.layers[-1].step if automaton.layers else -1
        if automaton.constant is None:
            self.outcome = np.fliplr(np.eye(automaton.answers))
        else:
            self.outcome = np.array([[automaton.constant], [not automaton.constant]], dtype=float)
        """(answers, worlds after the event): 1 where the world means the answer."""
        self.answers, self.has_rest = len(self.outcome), event.has_rest
        self._check_fit(automaton.layers)
        self._worlds = self._worlds_by_step()
        self._moves: dict[int, _Moves] = {}
        self._different: dict[tuple[object, ...], _Moves] = {}
        self._in_order: bool | None = None
        self._roundings: list[tuple[int, float]] = [(0, 0.0)]

    def _check_fit(self, layers: tuple[Layer, ...]) -> None:
        for layer in layers:
            largest = max(max(cells) for cells in layer.classes)
            if largest >= self.size:
                raise InvalidParameter(
                    f"must name cells 0 to {self.size - 1} of the model's map",
                    parameter="event",
                    owner="a Quantifier",
                    got=f"cell {largest} at step {layer.step}",
                    hint="Was it made for another map?",
                )
        horizon = self.movement.horizon
        if horizon is not None and self.last > horizon:
            raise InvalidParameter(
                f"must end within the model's steps 0 to {horizon}",
                parameter="event",
                owner="a Quantifier",
                got=f"an end at step {self.last}",
                hint="Give the model more matrices, or cycle them.",
            )

    def _worlds_by_step(self) -> list[int]:
        counts, worlds = [], 1
        for step in range(self.last + 1):
            layer = self.layers.get(step)
            worlds = layer.worlds_after if layer else worlds
            counts.append(worlds)
        return counts

    def worlds(self, step: int) -> int:
        """Return the number of worlds after ``step``; 1 before the event, -1 being the start."""
        if step < 0:
            return 1
        if step >= self.last:
            return int(self.outcome.shape[1])
        return self._worlds[step]

    def cells(self, step: int) -> Integers | None:
        """Return the cell of each state, or None where states are the cells in order."""
        if self._in_order is None:  # one array of cells holds for all steps
            cells = self.movement.cells(0)
            in_order = np.array_equal(cells, np.arange(cells.size))
            self._in_order = in_order and self.movement.pairs is None
        return None if self._in_order else self._cells_of_pairs(step)

    def _cells_of_pairs(self, step: int) -> Integers | None:
        cells = self.movement.cells(step)
        in_order = len(cells) == self.size and np.array_equal(cells, np.arange(self.size))
        return None if in_order else cells

    def on_states(self, by_cell: Floats, step: int) -> Floats:
        """Spread values per cell (last axis) over the states of a step."""
        cells = self.cells(step)
        return by_cell if cells is None else by_cell[..., cells]

    def on_cells(self, by_state: Floats, step: int) -> Floats:
        """Add values per state (last axis) up to values per cell."""
        cells = self.cells(step)
        if cells is None:
            return by_state
        states = len(cells)
        collect = sparse.csr_array(
            (np.ones(states), (cells, np.arange(states))), shape=(self.size, states)
        )
        flat = by_state.reshape(-1, states)
        added = np.ascontiguousarray((collect @ flat.T).T)
        return added.reshape(*by_state.shape[:-1], self.size)

    def _moves_at(self, step: int) -> _Moves | None:
        layer = self.layers.get(step)
        if layer is None:
            return None
        if step not in self._moves:
            cells = self.cells(step)
            # States that are the cells in order are so at every step.
            where = None if cells is None else step
            key = (layer.classes, layer.moves, layer.worlds_after, where)
            if key not in self._different:
                if len(self._different) == MOVES_KEPT:
                    self._different.clear()
                    self._moves.clear()
                self._different[key] = self._moves_of(layer, cells)
            self._moves[step] = self._different[key]
        return self._moves[step]

    def _moves_of(self, layer: Layer, cells_of_states: Integers | None) -> _Moves:
        classes = np.zeros(self.size, dtype=np.int64)
        for number, cells in enumerate(layer.classes, start=1):
            classes[list(cells)] = number
        if cells_of_states is not None:
            classes = classes[cells_of_states]
        target = np.asarray(layer.moves, dtype=np.int64)[:, classes]
        flows: list[tuple[int, int, Floats | None]] = []
        for before in range(len(target)):
            for after in np.unique(target[before]):
                mask = target[before] == after
                flows.append((before, int(after), None if mask.all() else mask.astype(np.float64)))
        return _Moves(target, layer.worlds_after, tuple(flows))

    def enter(self, values: Floats, step: int) -> Floats:
        """Move masses (rows, worlds before, states) into the worlds after the layer of ``step``."""
        moves = self._moves_at(step)
        if moves is None:
            return values
        after = np.zeros((values.shape[0], moves.worlds_after, values.shape[2]))
        for source, target, mask in moves.flows:
            after[:, target] += values[:, source] if mask is None else values[:, source] * mask
        return after

    def entered(self, rows: ScaledRows, step: int) -> ScaledRows:
        """Apply :meth:`enter` to scaled rows."""
        if step not in self.layers:
            return rows
        return rows.through(partial(self.enter, step=step), rescale=False, by_blocks=True)

    def leave(self, values: Floats, step: int) -> Floats:
        """Read values (..., worlds after, states) in the worlds before the layer of ``step``."""
        moves = self._moves_at(step)
        if moves is None:
            return values
        return values[..., moves.target, np.arange(values.shape[-1])]

    def pushed(self, rows: ScaledRows, step: int) -> ScaledRows:
        """Move masses (..., states) from ``step - 1`` to ``step``."""
        return moved_ahead(rows, self.movement.at(step - 1))

    def advanced(self, rows: ScaledRows, step: int) -> ScaledRows:
        """Move masses from after ``step - 1`` to after the layer of ``step``: push, then enter."""
        transition = self.movement.at(step - 1)
        if step not in self.layers or transition.may_underflow:
            return self.entered(self.pushed(rows, step), step)
        # A layer multiplies by 0 or 1, so that both together are still one float per product.
        return rows.through(
            lambda values: self.enter(push_states(values, transition), step),
            rescale=False,
            by_blocks=True,
        )

    def pulled(self, rows: ScaledRows, step: int) -> ScaledRows:
        """Carry values (..., states) at ``step`` back to ``step - 1``."""
        return moved_back(rows, self.movement.at(step - 1))

    def cost(self, step: int) -> float:
        """Return the multiply-adds of moving one row of states from ``step - 1`` to ``step``."""
        return self.movement.at(step - 1).cost if step > 0 else 0.0

    def roundings(self, step: int) -> tuple[int, float]:
        """Add up what the movement from step 0 to ``step`` loses.

        Returns the number of roundings behind a number, and the sum of ``log1p`` of the
        row sum errors of the transitions. Raises ``InvalidParameter`` beyond the model's
        horizon.
        """
        while len(self._roundings) <= step:
            here = len(self._roundings)
            transition = self.movement.at(here - 1)
            count, row_sums = self._roundings[-1]
            # the sums of the product; merging worlds; merging bands after each stage
            count += transition.nonzeros_per_row + self.worlds(here - 1) + BAND_MERGES
            row_sums += math.log1p(transition.row_sum_error)
            self._roundings.append((count, row_sums))
        return self._roundings[step]


class BackwardVectors:
    """v(world, state) = Pr(answer | world and state at a step), for each answer.

    Each has a recursion of its own, never a difference. Made once per event, for the steps up
    to its last layer. When they would take more than ``BACKWARD_BYTES`` (``SPARED_BYTES``
    where memory is spared), only every
    k-th step is kept (k about the root of the number of steps) and the stretch in use is
    computed again: twice the work, the root of the memory.
    """

    def __init__(self, chain: LiftedChain) -> None:
        self._chain = chain
        self.absolute_error = 0.0
        """What underflow may have taken from any of them; 0 unless some is below 2**-1022.

        Each step loses at most the least float, and the steps before only average it.
        """
        last = chain.last
        chain.roundings(max(last, 0))  # refuses a model that cannot carry the event
        states = max((chain.movement.states(step) for step in range(last + 1)), default=0)
        width = max((chain.worlds(step) for step in range(last + 1)), default=1)
        needed = 8 * chain.answers * states * width * (last + 1)
        most = SPARED_BYTES if is_memory_spared() else BACKWARD_BYTES
        self._stride = 1 if needed <= most else math.isqrt(last) + 1
        self._kept: dict[int, Floats] = {}
        self._stretch: dict[int, Floats] = {}
        if last < 0:
            return
        current = np.broadcast_to(
            chain.outcome[:, :, None],
            (chain.answers, chain.worlds(last), chain.movement.states(last)),
        )
        for step in range(last - 1, -1, -1):
            current = self._one_back(current, step + 1)
            if step % self._stride == 0:
                self._kept[step] = current

    def _one_back(self, values: Floats, step: int) -> Floats:
        chain = self._chain
        before = chain.leave(values, step)
        transition = chain.movement.at(step - 1)
        # Scaling is by powers of two, so where no product falls below the normal floats the
        # plain numbers are the same to the bit.
        if positive_minimum(before) * transition.least_factor >= LEAST_NORMAL:
            result = pull_states(before, transition)
        else:
            result, lost = chain.pulled(ScaledRows.of(before), step).plain()
            if lost:
                self.absolute_error += _LEAST_FLOAT
        result.flags.writeable = False
        return result

    def at(self, step: int) -> Floats:
        """Return (answers, worlds, states) after the layer of ``step``.

        (answers, worlds, 1) after the event. Of an event, answer 0 is that it happened.
        """
        chain = self._chain
        if step >= chain.last:
            return chain.outcome[:, :, None]
        if step in self._kept:
            return self._kept[step]
        if step not in self._stretch:
            upper = min(step - step % self._stride + self._stride, chain.last)
            current = self.at(upper)
            if upper == chain.last:
                current = np.broadcast_to(
                    current, (chain.answers, chain.worlds(upper), chain.movement.states(upper))
                )
            counted, self._stretch = self.absolute_error, {}
            for below in range(upper - 1, step - step % self._stride, -1):
                current = self._one_back(current, below + 1)
                self._stretch[below] = current
            self.absolute_error = counted  # these steps were counted in the first pass
        return self._stretch[step]

    def at_start(self) -> Floats:
        """Return (answers, cells): Pr(answer | first cell)."""
        chain = self._chain
        after = self.at(0)
        after = np.broadcast_to(after, (chain.answers, after.shape[1], chain.size))
        return np.ascontiguousarray(chain.leave(after, 0)[:, 0, :])


LARGE_BYTES = 2**26
"""Above this what an operator made for candidates is forgotten when it has moved on: 64 MiB."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """P(release | cell) = values * 2**exponent, the largest value in [0.5, 1)."""

    values: Floats
    exponent: int


Record = Likelihood | None
"""One observation: the likelihood of a release, or None for silence."""


class ForwardOperator:
    """G: Pr(o_0 .. o_t, (world, state) at t | row), one row per start or prior.

    Immutable: ``observed`` returns the next one. What is known before the next release
    (one transition further) is computed on demand and kept, since candidates and the
    observation itself both need it.
    """

    def __init__(self, chain: LiftedChain, rows: ScaledRows, absorbed: int) -> None:
        """Take ``rows`` (rows, worlds, states) after ``absorbed`` observations: ``at_start``."""
        self._chain = chain
        self.absorbed = absorbed
        self.rows = rows
        self._predicted = rows if absorbed == 0 else None
        self._candidates: ScaledRows | None = None

    @classmethod
    def at_start(cls, chain: LiftedChain, starts: ScaledRows) -> ForwardOperator:
        """Begin with the distributions ``starts`` (rows, 1, cells) of the first cell."""
        return cls(chain, chain.entered(starts, 0), 0)

    def predicted(self) -> ScaledRows:
        """Return (rows, worlds, states) at step ``absorbed``, before what it releases."""
        if self._predicted is None:
            self._predicted = self._chain.advanced(self.rows, self.absorbed)
        return self._predicted

    def observed(self, record: Record) -> ForwardOperator:
        """Return the operator after one more observation."""
        rows = self.predicted()
        if sum(band.nbytes for band in rows.bands) > LARGE_BYTES:
            self._candidates = None  # they are made again when asked for
        if record is not None:
            emission = self._chain.on_states(record.values, self.absorbed)
            rows = rows.through(lambda values: values * emission, by_blocks=True)
            rows = rows.times_power(record.exponent)
        return ForwardOperator(self._chain, rows, self.absorbed + 1)

    def joint(self, backward: BackwardVectors) -> tuple[Floats, Integers]:
        """Return mantissas and exponents (rows, answers) of b; needs an observation."""
        rows = self.rows
        vectors = backward.at(max(self.absorbed - 1, 0))
        if vectors.shape[2] == 1:
            outcome = vectors[:, :, 0].T
            return rows.entries(lambda values: values.sum(axis=2) @ outcome)
        flat = vectors.reshape(len(vectors), -1).T
        return rows.entries(lambda values: values.reshape(len(values), -1) @ flat)

    def candidates(self, backward: BackwardVectors) -> ScaledRows:
        """Return H (rows, answers, cells): b of the next release is H times its likelihood."""
        if self._candidates is None:
            chain, step = self._chain, self.absorbed
            vectors = backward.at(step)

            def weigh(values: Floats) -> Floats:
                weighed = np.zeros((values.shape[0], len(vectors), values.shape[2]))
                for world in range(values.shape[1]):
                    for answer in range(len(vectors)):
                        vector = vectors[answer, world]
                        if vector.any():
                            weighed[:, answer] += values[:, world] * vector
                return chain.on_cells(weighed, step)

            # The vectors are probabilities: no row's total grows.
            self._candidates = self.predicted().through(weigh, rescale=False, by_blocks=True)
        return self._candidates

    def candidate_rows(
        self, backward: BackwardVectors, columns: Likelihood
    ) -> tuple[Floats, Integers, bool]:
        """Return b for likelihoods (cells, k) of the next release, by row as :class:`ScaledRows`.

        After the event worlds are added up once each has one number, which spares H.
        """
        vectors = backward.at(self.absorbed)
        if vectors.shape[2] > 1 or self._candidates is not None:
            rows = self.candidates(backward)
            return rows.times_power(columns.exponent).by_row(columns.values)
        likelihoods = self._chain.on_states(columns.values.T, self.absorbed).T
        rows = self.predicted().times_power(columns.exponent)
        return rows.by_row(likelihoods, vectors[:, :, 0])


def replay(
    chain: LiftedChain,
    backward: BackwardVectors,
    records: Sequence[Record],
    columns: Likelihood | None = None,
) -> ScaledRows:
    """Return (k, answers, 1, cells): b for every first cell, by going back through time.

    ``columns`` (values (k, cells)) are candidates for the release after ``records``; k = 1
    without them. Needs a record or candidates. Costs one pull per step and column after
    the event, answers times worlds before its end, and no memory beyond that of the columns.
    """
    pending: list[Record] = [*records] if columns is None else [*records, columns]
    newest = len(pending) - 1
    count = 1 if columns is None else len(columns.values)
    current = ScaledRows.of(np.ones((count, 1, 1, chain.movement.states(newest))))
    # After the event worlds no longer matter: all answers share one column until its end.
    if newest < chain.last:
        current = _lifted(current, backward.at(newest))
    for step in range(newest, -1, -1):
        record = pending[step]
        if record is not None:
            current = _weighed(current, chain.on_states(record.values, step), record.exponent)
        if step == chain.last:
            current = _lifted(current, backward.at(step))
        current = _one_back(chain, current, step)
    return current if chain.last >= 0 else _lifted(current, backward.at(0))


def _lifted(rows: ScaledRows, vectors: Floats) -> ScaledRows:
    """Split columns into answers and into worlds."""
    return rows.through(lambda values: values * vectors)


def _weighed(rows: ScaledRows, emission: Floats, exponent: int) -> ScaledRows:
    """Multiply by one likelihood (states,) for all, or by one per column (k, states)."""
    by_column = emission.reshape(-1, 1, 1, emission.shape[-1])
    return rows.through(lambda values: values * by_column).times_power(exponent)


def _one_back(chain: LiftedChain, rows: ScaledRows, step: int) -> ScaledRows:
    """Carry columns from after the layer of ``step`` to after that of ``step - 1``."""
    if step <= chain.last:
        rows = rows.through(partial(chain.leave, step=step), rescale=False)
    return chain.pulled(rows, step) if step > 0 else rows


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
        """Return the first cells that some row allows, increasing."""

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
    """One row per cell: where a user is at step 0 who was in that cell some moves earlier."""

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
