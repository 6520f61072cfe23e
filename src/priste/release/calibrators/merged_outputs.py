"""What a table may tell apart: outputs of the mechanism, merged where they mean the same guess.

The best public guess for an output is the target of least expected cost given past releases and
that output, under the public prediction. It depends on public things only, so replacing an output
by its guess cannot weaken anything; outputs with one guess become one source, whose
likelihood is the sum of theirs. Every table is made of such likelihoods, and of no others.

On large maps the outputs are first merged by rectangles, small where the user is likely and large
in other places, so that no table of cells times cells is ever made.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.mechanisms import Mechanism
from priste.mechanisms.mechanism import normalise_rows
from priste.release.accountant import AccountantState
from priste.release.calibrators.cost import Costs, separated
from priste.release.release_tables import ReleaseTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

Rectangle = tuple[int, int, int, int]
"""First row, row after the last, first column, column after the last."""

WHOLE_TABLE = 2**21
"""Up to this many entries (1,448 cells) the mechanism's whole table is used."""

TABLE_ENTRIES = 2**23
"""How many entries the merged table of a larger map may have: 64 MiB."""

MOST_RECTANGLES = 400
"""... and how many rectangles a map is cut into."""

FEW = 96
"""This many outputs, the likeliest, are the guesses, ..."""

NEARLY_EVERYBODY = 0.99
"""... where so large a part of the people is there. Otherwise guesses are all over the map."""

ROUNDED_UP = 0.5 + 1e-6
"""A place between two cells is in the second, also where it is so but for the last bit."""

LIKELY_CELLS = 2048
"""How many cells, the likeliest, count when a table is priced for others than it was made for."""

UNLIKELY = 1e-9
"""Cells less likely than this, relative to the likeliest, do not count in a guess."""


@dataclass(frozen=True, eq=False)
class MergedOutputs:
    """G merged outputs, T targets that may be released for them, and what that costs.

    ``likelihoods`` (cells, G) is the probability of each source at each true cell; ``targets``
    (T,) are outputs; ``own`` (G,) the place in ``targets`` of the guess of each source, all
    different; ``costs`` (G, T) the expected cost of releasing a target for a source, times the
    probability of the source; ``mass`` (G,) that probability; ``constant`` the place in
    ``targets`` of the best constant output, and ``constant_cost`` its expected cost.
    """

    likelihoods: Floats
    targets: Integers
    own: Integers
    costs: Floats
    mass: Floats
    constant: int
    constant_cost: float

    def costs_to(self, people: Floats, mechanism: Mechanism, costs: Costs) -> CostsToPeople:
        """Return what releasing targets for sources costs people (m,) who are in other cells."""
        if len(people) <= LIKELY_CELLS:
            cells = np.flatnonzero(people > UNLIKELY * people.max())
        else:
            cells = np.argsort(separated(-people), kind="stable")[:LIKELY_CELLS]
            cells = cells[people[cells] > UNLIKELY * people[cells[0]]]
        apart = costs.at(cells, self.targets, mechanism)
        return CostsToPeople(self.likelihoods[cells], people[cells], apart)


@dataclass(frozen=True, eq=False)
class CostsToPeople:
    """What releasing T targets for G sources costs people at n cells, not multiplied out.

    The table (G, T) itself takes as long as choosing the sources, and only a few rows and columns
    of it are asked for. ``likelihoods`` (n, G) are those of the sources at the cells, ``people``
    (n,) the probability of each cell, ``apart`` (n, T) the cost of each target there.
    """

    likelihoods: Floats
    people: Floats
    apart: Floats

    def constant(self) -> Floats:
        """Return (T,) the expected cost of releasing each target, whatever the source."""
        return np.asarray((self.people * self.likelihoods.sum(axis=1)) @ self.apart)

    def grouped(self, groups: Floats, places: Integers) -> Floats:
        """Return (k, t), for groups (G, k) of sources, the cost of the targets at ``places``."""
        joint = (self.likelihoods @ groups) * self.people[:, None]
        return np.asarray(joint.T @ self.apart[:, places])


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
        return _merged(
            mechanism.emission(), targets, joint.T @ matrix[np.ix_(likely, targets)], people
        )
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

    def summed(self, table: Floats) -> Floats:
        """Return (R, n), the rows of a table (m, n) added up by rectangle."""
        order = np.argsort(self.labels, kind="stable")
        starts = np.searchsorted(self.labels[order], np.arange(len(self.rectangles)))
        return np.asarray(np.add.reduceat(table[order], starts, axis=0))


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
    if weight[order[:FEW]].sum() >= NEARLY_EVERYBODY * weight.sum():
        return np.union1d(order[:FEW], also)
    if mechanism.outputs <= MOST_RECTANGLES or not has_cells(mechanism):
        return np.union1d(order[:MOST_RECTANGLES], also)
    cut = Cut.of(mechanism.grid, people, MOST_RECTANGLES)
    return np.union1d(cut.standing, also)


def _merged(emission: Floats, targets: Integers, costs: Floats, predicted: Floats) -> MergedOutputs:
    """Merge columns of ``emission`` (cells, n) whose least of ``costs`` (n, T) is at one target."""
    guess = separated(costs).argmin(axis=1)
    order = np.argsort(guess, kind="stable")
    own, starts = np.unique(guess[order], return_index=True)
    merged = np.add.reduceat(emission.T[order], starts, axis=0).T  # row by row: four times as fast
    by_source = np.add.reduceat(costs[order], starts, axis=0)
    whole = by_source.sum(axis=0)
    public = int(np.argmin(separated(whole)))
    mass = predicted @ merged
    return MergedOutputs(merged, targets, own, by_source, mass, public, float(whole[public]))


def _merged_by_rectangle(
    mechanism: Mechanism, predicted: Floats, costs: Costs, also: int | None
) -> MergedOutputs:
    """Merge outputs by rectangles first; a rectangle of cells stands for its middle."""
    grid = mechanism.grid
    cut = Cut.of(grid, predicted, min(MOST_RECTANGLES, TABLE_ENTRIES // grid.size))
    emission = mechanism.rectangles(cut.rectangles)
    joint = cut.summed(emission * predicted[:, None])
    standing = cut.standing
    if also is not None:
        standing[cut.labels[also]] = also
    between = costs.between(cut.middles, grid.centers[standing])
    return _merged(emission, standing, joint.T @ between, predicted)


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
    table = normalise_rows(merged.likelihoods)
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
