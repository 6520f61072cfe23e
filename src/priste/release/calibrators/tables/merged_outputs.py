"""What a law may tell apart: the mechanism's outputs, merged where they mean the same public guess.

The best public guess for an output is the target of least expected cost given past releases and
that output, under the public prediction. It depends on public things alone, so replacing an output
by its guess cannot weaken anything; outputs with one guess become one source, whose
column is the sum of theirs. Every law is made of such columns, and no other table is.

On large maps the outputs are first merged by rectangles, small where the user is likely, so that
no table of cells times cells is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.mechanisms import Mechanism
from priste.release.calibrators.cost import Costs
from priste.release.calibrators.tables.quadtree import Rectangle, labels_of, likely_rectangles
from priste.release.calibrators.tables.ties import separated

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

WHOLE_TABLE = 2**21
"""Up to this many entries (1,448 cells) the mechanism's whole table is used."""

LAW_ENTRIES = 2**23
"""How many entries the merged table of a larger map may have: 64 MiB."""

MOST_RECTANGLES = 400
"""... and how many rectangles a map is cut into."""

FEW = 96
"""So many outputs, the likeliest, are the guesses, ..."""

NEARLY_EVERYBODY = 0.99
"""... where so large a part of the people is there. Elsewhere guesses are all over the map."""

ROUNDED_UP = 0.5 + 1e-6
"""A place between two cells is in the second, also where it is so but for the last bit."""

LIKELY_CELLS = 2048
"""How many cells, the likeliest, count when a law is priced for others than it was made for."""

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
        """Return what releasing targets for sources costs people (m,) who are elsewhere."""
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

    ``labels`` (m,) tells the rectangle of each cell, ``middles`` (R, 2) where its people are on
    average, ``standing`` (R,) the cell that this is in.
    """

    rectangles: list[Rectangle]
    labels: Integers
    middles: Floats
    standing: Integers

    @classmethod
    def of(cls, grid: Grid, people: Floats, most: int) -> Cut:
        """Cut a map into at most so many rectangles for people who are at cells (m,) so likely."""
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
    """Tell whether the outputs of a mechanism are the cells of its map."""
    cells = mechanism.output_cells()
    return cells is not None and np.array_equal(cells, np.arange(mechanism.grid.size))


def _likely_targets(mechanism: Mechanism, people: Floats, also: list[int]) -> Integers:
    """Return the outputs that may be guesses: few, all, or one for each rectangle of the map.

    If the likeliest few were all, whoever is elsewhere would be guessed in the midst of them.
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


def _merged(law: Floats, targets: Integers, costs: Floats, predicted: Floats) -> MergedOutputs:
    """Merge the columns of ``law`` (cells, n) whose least of ``costs`` (n, T) is at one target."""
    guess = separated(costs).argmin(axis=1)
    order = np.argsort(guess, kind="stable")
    own, starts = np.unique(guess[order], return_index=True)
    merged = np.add.reduceat(law.T[order], starts, axis=0).T  # row by row: four times as fast
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
    cut = Cut.of(grid, predicted, min(MOST_RECTANGLES, LAW_ENTRIES // grid.size))
    law = mechanism.rectangles(cut.rectangles)
    joint = cut.summed(law * predicted[:, None])
    standing = cut.standing
    if also is not None:
        standing[cut.labels[also]] = also
    between = costs.between(cut.middles, grid.centers[standing])
    return _merged(law, standing, joint.T @ between, predicted)
