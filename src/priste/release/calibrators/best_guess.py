"""The best public guess: what releases cost, and which output costs least given what is known.

The guess for an output of the mechanism is the target of least expected cost given past releases
and that output, under the public prediction. It depends on public things only, so replacing an
output by its guess weakens no guarantee (Theorem 4 of docs/explanation/proofs.md). Outputs with one
guess become one source, whose likelihood is the sum of theirs. Every table is made of such
likelihoods, and of no others. On large maps the outputs are first merged by rectangles, small where
the user is likely and large in other places, so that no table of cells times cells is ever made.

On a regular map many cells are equally likely and many guesses equally good, up to the last bit,
which differs between processors. Before one of them is chosen, equal numbers are separated by a
fixed public amount that is far above any rounding and far below anything that matters.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import as_floats, check_choice
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import Mechanism
from priste.mechanisms.mechanism import normalise_rows
from priste.release.accountant import AccountantState, Prediction
from priste.release.release_tables import CheckedTable, ReleaseTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
CostName = Literal["distance", "squared"]
Cost = CostName | Sequence[Sequence[float]] | Floats

COST_NAMES = ("distance", "squared")


class Costs:
    """What it costs to release each output at each true cell, and how tables are compared.

    - ``"distance"``: the expected distance in km under the public prediction;
    - ``"squared"``: the expected squared distance, in km²;
    - a matrix (cells, outputs) of your own: its expectation under the public prediction.

    ``who`` names the calibrator in messages.

    >>> Costs("distance", "Optimal").name
    'distance'
    """

    def __init__(self, cost: Cost, who: str) -> None:
        self._who = who
        self._given: Floats | None = None
        self._last: tuple[Grid, NDArray[np.int64], Floats] | None = None
        if isinstance(cost, str):
            hint = "Or give a matrix (cells, outputs)."
            self.name: str = check_choice(cost, COST_NAMES, "cost", who, hint=hint)
        else:
            self.name = "matrix"
            self._given = _checked_matrix(cost, who)

    def matrix(self, mechanism: Mechanism) -> Floats:
        """Return (cells, outputs), the cost of each output at each true cell.

        Raises InvalidParameter when a given matrix has another shape, or when distances are
        asked for and the outputs of the mechanism are not cells.
        """
        self.check(mechanism)
        meant = mechanism.output_cells()
        if self._given is not None or meant is None:
            return np.asarray(self._given)
        kept = self._kept(mechanism.grid, meant)
        if kept is not None:
            return kept
        centers = mechanism.grid.centers
        costs = self.between(centers, centers[meant])
        costs.flags.writeable = False
        self._last = mechanism.grid, meant, costs  # the same at every step of most streams
        return costs

    def check(self, mechanism: Mechanism) -> None:
        """Raise InvalidParameter if these costs do not fit the outputs of a mechanism."""
        shape = (mechanism.grid.size, mechanism.outputs)
        if self._given is not None and self._given.shape != shape:
            raise InvalidParameter(
                f"must have one row per cell and one column per output of the mechanism, {shape}",
                parameter="cost",
                owner=self._who,
                value=self._given.shape,
            )
        if self._given is None and mechanism.output_cells() is None:
            raise InvalidParameter(
                "must be a matrix for a mechanism whose outputs are not cells, as there are no "
                "distances to them",
                parameter="cost",
                owner=self._who,
                hint="Or give 'output_cells' to the mechanism.",
            )

    def _kept(self, grid: Grid, meant: NDArray[np.int64]) -> Floats | None:
        if self._last is None:
            return None
        known_grid, known_meant, costs = self._last
        return costs if known_grid == grid and np.array_equal(known_meant, meant) else None

    def between(self, points: Floats, others: Floats) -> Floats:
        """Return (n, k), the cost of releasing each of k points at each of n, given in km."""
        km = np.hypot(points[:, 0][:, None] - others[:, 0], points[:, 1][:, None] - others[:, 1])
        return np.asarray(km * km if self.name == "squared" else km)

    def by_cell(self, table: Floats, outputs: NDArray[np.int64], mechanism: Mechanism) -> Floats:
        """Return (m,) what the table (cells, k) of these outputs costs at each cell."""
        costs = self.at(np.arange(len(table)), outputs, mechanism)
        return np.asarray(np.einsum("lo,lo->l", table, costs))

    def at(
        self, cells: NDArray[np.int64], outputs: NDArray[np.int64], mechanism: Mechanism
    ) -> Floats:
        """Return (n, k), the cost of each of k outputs at each of n true cells."""
        meant = mechanism.output_cells()
        if self._given is not None or meant is None:
            return self.matrix(mechanism)[np.ix_(cells, outputs)]
        kept = self._kept(mechanism.grid, meant)
        if kept is not None:
            return _selected(_selected(kept, cells, 0), outputs, 1)
        centers = mechanism.grid.centers
        return self.between(centers[cells], centers[meant[outputs]])

    @property
    def key(self) -> Hashable:
        """What distinguishes these costs from others."""
        return self.name if self._given is None else (self._given.shape, self._given.tobytes())

    def describe(self) -> str | list[list[float]]:
        """Return what makes these costs again; it can be put in JSON."""
        if self._given is None:
            return self.name
        listed: list[list[float]] = self._given.tolist()
        return listed


def _selected(table: Floats, numbers: NDArray[np.int64], axis: int) -> Floats:
    """Return these rows or columns of a table; the table itself if they are all of them."""
    every = len(numbers) == table.shape[axis] and np.array_equal(numbers, np.arange(len(numbers)))
    return table if every else table.take(numbers, axis=axis)


def _checked_matrix(cost: ArrayLike, who: str) -> Floats:
    given = as_floats(cost, "cost", who).copy()
    if given.ndim != 2 or not np.isfinite(given).all():
        raise InvalidParameter(
            f"must be one of {list(COST_NAMES)}, or a matrix (cells, outputs) with finite entries",
            parameter="cost",
            owner=who,
            got=f"shape {given.shape}",
        )
    given.flags.writeable = False
    return given


SEPARATION = 1e-9
"""By how much numbers are separated at most, relatively."""

GOLDEN_RATIO = 0.6180339887498949


def fixed_offsets(count: int) -> Floats:
    """Return (count,) numbers in [0, 1), all different: multiples of the golden ratio; read-only.

    >>> fixed_offsets(3).round(3).tolist()
    [0.618, 0.236, 0.854]
    """
    return _offsets(count.bit_length())[:count]


@lru_cache
def _offsets(bits: int) -> Floats:
    offsets: Floats = np.asarray((np.arange(1, 2**bits + 1) * GOLDEN_RATIO) % 1.0, dtype=np.float64)
    offsets.flags.writeable = False
    return offsets


def separated(values: Floats) -> Floats:
    """Return the numbers with those that are equal along the last axis separated.

    >>> separated(np.array([0.5, 0.5, 1.0])).argsort().tolist()
    [1, 0, 2]
    """
    return np.asarray(values * (1.0 + SEPARATION * fixed_offsets(values.shape[-1])))


def first_of_largest(values: Floats) -> int:
    """Return the place of the largest of numbers >= 0, the first where several are alike.

    >>> first_of_largest(np.array([0.1, 0.3, 0.1 + 0.2]))
    1
    """
    return int(np.argmax(values >= (1.0 - SEPARATION) * values.max()))


LOOKED_AHEAD = 1000
"""Over how many steps, at most, a constant is chosen."""

CANDIDATES = 1024
"""How many cells, the likeliest, count in the choice of a constant output."""


def constant_output(state: AccountantState, costs: Costs) -> int:
    """Return the output of least expected cost if it is always released.

    The expectation is over the steps up to the last of the events, under the first model only.
    """
    terms = state.terms

    def best() -> int:
        model = terms.models[0]
        last = max((event.last_step or 0 for event in terms.events), default=0)
        ends = [last + 1, LOOKED_AHEAD] + ([] if model.horizon is None else [model.horizon + 1])
        prediction = Prediction(model, terms.expected_start())
        visits = np.zeros(model.grid.size)
        for _ in range(min(ends)):
            visits += prediction.predicted()
            prediction.correct(None)
        return _best_constant(visits, state.mechanism, costs)[0]

    return terms.derived(("constant output", costs.key), best)


def best_public_guess(state: AccountantState) -> CheckedTable:
    """Return the table that releases the output of least expected distance, whatever the true cell.

    The expectation is over the public prediction given past releases. Where outputs are no cells,
    it is the likeliest output. Hints of the calibrator stay what they were.
    """
    mechanism, people = state.mechanism, state.predicted()
    if mechanism.output_cells() is None:
        likeliest = int(np.argmax(separated(people @ mechanism.emission())))
        return state.constant(likeliest, math.nan, state.hints)
    costs = state.terms.derived("distance", lambda: Costs("distance", "the best public guess"))
    if len(people) <= CANDIDATES:
        costs.matrix(mechanism)  # kept for all steps
    return state.constant(*_best_constant(people, mechanism, costs), state.hints)


def _best_constant(people: Floats, mechanism: Mechanism, costs: Costs) -> tuple[int, float]:
    """Return the output of least expected cost to people (m,), and that cost."""
    likely = np.argsort(separated(-people), kind="stable")[:CANDIDATES]
    meant = mechanism.output_cells()
    outputs = np.arange(mechanism.outputs)
    if meant is not None and len(outputs) > CANDIDATES:
        outputs = outputs[np.isin(meant, likely)]
    expected = people[likely] @ costs.at(likely, outputs, mechanism)
    best = int(np.argmin(separated(expected)))
    return int(outputs[best]), float(expected[best])


Rectangle = tuple[int, int, int, int]
"""First row, row after the last, first column, column after the last."""

WHOLE_TABLE = 2**21
"""Up to this many entries (1,448 cells) the mechanism's whole table is used."""

TABLE_ENTRIES = 2**23
"""How many entries the merged table of a larger map may have: 64 MiB."""

MOST_RECTANGLES = 400
"""... and how many rectangles a map is cut into."""

FEW_GUESSES = 96
"""This many outputs, the likeliest, are the guesses, ..."""

NEARLY_ALL = 0.99
"""... if the user is at them with this probability. Otherwise guesses are all over the map."""

ROUNDED_UP = 0.5 + 1e-6
"""A place between two cells is in the second, also where it is so but for the last bit."""

LIKELY_CELLS = 2048
"""How many cells, the likeliest, count when a table is priced for others than it was made for."""

UNLIKELY = 1e-9
"""Cells less likely than this, relative to the likeliest, do not count in a guess."""


@dataclass(frozen=True, eq=False)
class Sources:
    """G sources, each of one or more outputs of a table: ``emission`` (cells, outputs).

    ``numbers`` (outputs,) says the source of each output. The likelihoods of sources are sums of
    those of their outputs. On a large map they take long to add up, and only a few mixtures of
    sources are asked for.
    """

    emission: Floats
    numbers: Integers

    @cached_property
    def count(self) -> int:
        """The number of sources."""
        return int(self.numbers.max()) + 1

    def summed(self, values: Floats) -> Floats:
        """Return (..., G), values (..., outputs) added up by source."""
        return np.asarray(np.add.reduceat(values[..., self._order], self._starts, axis=-1))

    def mixed(self, weights: Floats, table: Floats | None = None) -> Floats:
        """Return (cells, k), mixtures of sources with weights (G, k).

        With ``table`` (n, outputs) of these numbers in place of the likelihoods.
        """
        return np.asarray((self.emission if table is None else table) @ weights[self.numbers])

    @cached_property
    def likelihoods(self) -> Floats:
        """The probability of each source at each true cell, (cells, G)."""
        # line by line: four times as fast
        return np.asarray(np.add.reduceat(self.emission.T[self._order], self._starts, axis=0).T)

    @cached_property
    def _order(self) -> Integers:
        return np.argsort(self.numbers, kind="stable")

    @cached_property
    def _starts(self) -> Integers:
        return np.searchsorted(self.numbers[self._order], np.arange(self.count))


@dataclass(frozen=True, eq=False)
class MergedOutputs:
    """G merged outputs, T targets that may be released for them, and what that costs.

    ``targets`` (T,) are outputs; ``own`` (G,) the place in ``targets`` of the guess of each source,
    all different; ``joint`` (n, outputs) is the probability of n places and an output,
    ``place_costs`` (n, T) the cost of releasing a target at each of these places; ``mass`` (G,) the
    probability of each source; ``constant`` the place in ``targets`` of the best constant output,
    and ``constant_cost`` its expected cost.
    """

    sources: Sources
    targets: Integers
    own: Integers
    joint: Floats
    place_costs: Floats
    mass: Floats
    constant: int
    constant_cost: float

    def constant_costs(self) -> Floats:
        """Return (T,) the expected cost of releasing each target, whatever the source."""
        return np.asarray(self.joint.sum(axis=1) @ self.place_costs)

    def costs_to(self, people: Floats, mechanism: Mechanism, costs: Costs) -> CostsToPeople:
        """Return what releasing targets for sources costs people (m,) who are in other cells."""
        if len(people) <= LIKELY_CELLS:
            cells = np.flatnonzero(people > UNLIKELY * people.max())
        else:
            cells = np.argsort(separated(-people), kind="stable")[:LIKELY_CELLS]
            cells = cells[people[cells] > UNLIKELY * people[cells[0]]]
        place_costs = costs.at(cells, self.targets, mechanism)
        return CostsToPeople(cells, people[cells], place_costs)


@dataclass(frozen=True, eq=False)
class CostsToPeople:
    """What releasing T targets for G sources costs people at n cells, not multiplied out.

    The table (G, T) itself takes as long as choosing the sources, and only a few rows and columns
    of it are asked for. ``cells`` (n,) are those where the people are, ``people`` (n,) their
    probabilities, ``place_costs`` (n, T) the cost of each target there.
    """

    cells: Integers
    people: Floats
    place_costs: Floats

    def constant(self) -> Floats:
        """Return (T,) the expected cost of releasing each target, whatever the source."""
        return np.asarray(self.people @ self.place_costs)

    def grouped(self, groups: Groups, places: Integers) -> Floats:
        """Return (k, t), for groups of sources, the cost of the targets at ``places``."""
        joint = groups.at(self.cells) * self.people[:, None]
        return np.asarray(joint.T @ self.place_costs[:, places])


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of sources: ``members`` (G, k) are 1 where a source belongs to a group, else 0."""

    members: Floats
    merged: MergedOutputs

    @cached_property
    def likelihoods(self) -> Floats:
        """The likelihoods of the groups, (cells, k)."""
        return self.merged.sources.mixed(self.members)

    def at(self, cells: Integers) -> Floats:
        """Return the likelihoods of the groups at some cells, (n, k)."""
        sources = self.merged.sources
        if len(sources.emission) <= LIKELY_CELLS:
            return _selected(self.likelihoods, cells, 0)
        return sources.mixed(self.members, sources.emission[cells])

    def costs(self, places: Integers | slice = slice(None)) -> Floats:
        """Return (k, t), the expected cost of releasing the targets at ``places`` for a group.

        Times the probability of the group.
        """
        return np.asarray(self._joint.T @ self.merged.place_costs[:, places])

    @cached_property
    def _joint(self) -> Floats:
        return self.merged.sources.mixed(self.members, self.merged.joint)


def merged_outputs(
    mechanism: Mechanism, people: Floats, costs: Costs, also: int | None = None
) -> MergedOutputs:
    """Return the sources of a mechanism for people who are at cells (m,) so likely.

    The output ``also``, if given, is among the targets.
    """
    if mechanism.grid.size * mechanism.outputs <= WHOLE_TABLE or not has_cells(mechanism):
        matrix = costs.matrix(mechanism)
        best = int(np.argmin(separated(people @ matrix)))
        targets = _likely_targets(mechanism, people, [best] if also is None else [best, also])
        likely = np.flatnonzero(people > UNLIKELY * people.max())
        joint = mechanism.emission()[likely]
        joint *= people[likely, None]
        place_costs = _selected(_selected(matrix, likely, 0), targets, 1)
        return _merged(mechanism.emission(), targets, joint, place_costs, people)
    return _merged_by_rectangle(mechanism, people, costs, also)


@dataclass(frozen=True, eq=False)
class Cut:
    """A map in R rectangles, small where people are likely.

    ``labels`` (m,) says the rectangle of each cell, ``middles`` (R, 2) where its people are on
    average, ``standing`` (R,) the cell that this is in.
    """

    rectangles: list[Rectangle]
    labels: Integers
    middles: Floats
    standing: Integers

    @classmethod
    def of(cls, grid: Grid, people: Floats, most: int) -> Cut:
        """Cut a map into at most ``most`` rectangles for people with these probabilities (m,)."""
        rectangles = likely_rectangles(grid, people, most)
        labels = labels_of(grid, rectangles)
        weights = people + UNLIKELY * people.max() / len(people)  # empty ones have a middle, too
        mass = np.bincount(labels, weights)
        middles = np.column_stack(
            [np.bincount(labels, weights * along) / mass for along in grid.centers.T]
        )
        column, row = np.floor((middles - grid.centers[0]) / grid.cell_size + ROUNDED_UP).T
        boxes = np.array(rectangles)
        row = np.clip(row.astype(np.int64), boxes[:, 0], boxes[:, 1] - 1)
        column = np.clip(column.astype(np.int64), boxes[:, 2], boxes[:, 3] - 1)
        return cls(rectangles, labels, middles, row * grid.columns + column)

    def summed(self, table: Floats, weights: Floats) -> Floats:
        """Return (R, n), the rows of a table (m, n) times weights (m,) added up by rectangle.

        Column by column, so that no second table is made.
        """
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels[order], np.arange(len(self.rectangles)))
        weighed = (column[order] * weights[order] for column in table.T)
        return np.array([np.add.reduceat(column, starts) for column in weighed]).T


def has_cells(mechanism: Mechanism) -> bool:
    """Return whether the outputs of a mechanism are the cells of its map."""
    cells = mechanism.output_cells()
    return cells is not None and np.array_equal(cells, np.arange(mechanism.grid.size))


def _likely_targets(mechanism: Mechanism, people: Floats, also: list[int]) -> Integers:
    """Return the outputs that may be guesses: few, all, or one for each rectangle of the map.

    If the likeliest few were all, a person in another place would be guessed in the midst of them.
    """
    cells = mechanism.output_cells()
    weight = people @ mechanism.emission() if cells is None else people[cells]
    order = np.argsort(separated(-weight), kind="stable")
    if weight[order[:FEW_GUESSES]].sum() >= NEARLY_ALL * weight.sum():
        return np.union1d(order[:FEW_GUESSES], also)
    if mechanism.outputs <= MOST_RECTANGLES or not has_cells(mechanism):
        return np.union1d(order[:MOST_RECTANGLES], also)
    cut = Cut.of(mechanism.grid, people, MOST_RECTANGLES)
    return np.union1d(cut.standing, also)


def _merged(
    emission: Floats, targets: Integers, joint: Floats, place_costs: Floats, predicted: Floats
) -> MergedOutputs:
    """Merge columns of ``emission`` (cells, outputs) that cost least at one of the targets.

    ``joint`` (n, outputs) is the probability of n places and an output, ``place_costs`` (n, T) the
    cost of a target at each place.
    """
    own, numbers = np.unique(separated(joint.T @ place_costs).argmin(axis=1), return_inverse=True)
    sources = Sources(emission, numbers)
    whole = joint.sum(axis=1) @ place_costs
    public = int(np.argmin(separated(whole)))
    mass = sources.summed(predicted @ emission)
    return MergedOutputs(
        sources, targets, own, joint, place_costs, mass, public, float(whole[public])
    )


def _merged_by_rectangle(
    mechanism: Mechanism, predicted: Floats, costs: Costs, also: int | None
) -> MergedOutputs:
    """Merge outputs by rectangles first; a rectangle of cells stands for its middle."""
    grid = mechanism.grid
    cut = Cut.of(grid, predicted, min(MOST_RECTANGLES, TABLE_ENTRIES // grid.size))
    emission = mechanism.rectangles(cut.rectangles)
    joint = cut.summed(emission, predicted)
    standing = cut.standing
    if also is not None:
        standing[cut.labels[also]] = also
    between = costs.between(cut.middles, grid.centers[standing])
    return _merged(emission, standing, joint, between, predicted)


def guessed(
    state: AccountantState, mechanism: Mechanism, budget: float, costs: Costs
) -> ReleaseTable:
    """Return the table of the best public guess given what ``mechanism`` draws.

    Outputs with one guess become one output, whose likelihood is the sum of theirs. In exact
    numbers a sum of likelihoods that keep a guarantee keeps it; the sums in floating point still
    have to be checked. An uninformative mechanism gives the best constant output.
    """
    merged = merged_outputs(mechanism, state.predicted(), costs)
    cells, width = mechanism.grid.size, mechanism.outputs
    if len(merged.mass) == 1 or mechanism.budget == 0.0:
        constant = int(merged.targets[merged.constant])
        return ReleaseTable.constant(constant, cells, width, merged.constant_cost)
    table = normalise_rows(merged.sources.likelihoods)
    outputs = merged.targets[merged.own]
    cost = float(state.predicted() @ costs.by_cell(table, outputs, mechanism))
    return ReleaseTable(table, outputs, width, budget, cost)


DIGITS = 11
"""Probabilities are compared to this many digits: last bits differ between machines."""


def likely_rectangles(grid: Grid, predicted: Floats, most: int) -> list[Rectangle]:
    """Return at most ``most`` rectangles that cover every cell once, in order of their corners.

    The one with the largest probability times diameter is halved first, across its longer side (a
    square across its columns), until there are this many or all are single cells. It depends on
    nothing but its arguments, and not on their last bits.

    >>> grid = Grid(rows=2, columns=4, cell_size=1.0)
    >>> likely_rectangles(grid, np.array([1.0, 0, 0, 0, 0, 0, 0, 0]), 3)
    [(0, 2, 0, 1), (0, 2, 1, 2), (0, 2, 2, 4)]
    """
    table = np.zeros((grid.rows + 1, grid.columns + 1))
    np.cumsum(predicted.reshape(grid.rows, grid.columns), axis=0, out=table[1:, 1:])
    np.cumsum(table[1:, 1:], axis=1, out=table[1:, 1:])
    summed: list[list[float]] = table.tolist()

    def weighed(box: Rectangle) -> tuple[float, int, Rectangle]:
        top, bottom, left, right = box
        area = (bottom - top) * (right - left)
        if area == 1:
            return 1.0, 0, box  # single cells come last: all others have a first entry <= 0
        mass = summed[bottom][right] - summed[top][right] - summed[bottom][left] + summed[top][left]
        diameter = math.hypot(bottom - top - 1, right - left - 1)
        return -round(max(mass, 0.0) * diameter, DIGITS), -area, box

    boxes = [weighed((0, grid.rows, 0, grid.columns))]
    while len(boxes) < most and boxes[0][0] <= 0.0:
        top, bottom, left, right = heapq.heappop(boxes)[2]
        if bottom - top > right - left:
            middle = (top + bottom) // 2
            halves = (top, middle, left, right), (middle, bottom, left, right)
        else:
            middle = (left + right) // 2
            halves = (top, bottom, left, middle), (top, bottom, middle, right)
        for half in halves:
            heapq.heappush(boxes, weighed(half))
    return sorted(box for _, _, box in boxes)


def labels_of(grid: Grid, rectangles: list[Rectangle]) -> NDArray[np.int64]:
    """Return (m,), the number of the rectangle that each cell lies in."""
    labels = np.empty((grid.rows, grid.columns), dtype=np.int64)
    for number, (top, bottom, left, right) in enumerate(rectangles):
        labels[top:bottom, left:right] = number
    return labels.ravel()
