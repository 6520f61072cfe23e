"""The true position of a person at each step of a clock, if there is a fix.

Everything here is a true location: it is never written next to the releases.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.traces import CellOfEachStep, Timeline, Trace

if TYPE_CHECKING:
    from priste.policy import Policy

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

NONE = -1
"""The cell of a step without one."""


@dataclass(frozen=True)
class TrueSteps:
    """The truth of each step: the cell (T,), ``NONE`` without one, and the position (T, 2) in km.

    ``places`` are the fixes nearest to the middle of each step, on the plane of the map; nan where
    a step has no fix. ``off_map`` (T,) says which of the
    fixes lie off the map.
    """

    cells: Integers = field(repr=False)
    places: Floats = field(repr=False)
    off_map: Flags = field(repr=False)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def known(self) -> Flags:
        """(T,) which steps have a fix on the map."""
        return ~np.isnan(self.places[:, 0]) & ~self.off_map

    def first(self, steps: int) -> TrueSteps:
        """Return the first steps, as many as given."""
        return TrueSteps(self.cells[:steps], self.places[:steps], self.off_map[:steps])

    @classmethod
    def of_cells(cls, grid: Grid, cells: CellOfEachStep) -> TrueSteps:
        """Return steps of which only the cells are known: each position is a centre."""
        numbers = numbered(cells)
        places = np.full((len(numbers), 2), np.nan)
        there = numbers >= 0
        places[there] = grid.centers[numbers[there]]
        return cls(numbers, places, np.zeros(len(numbers), dtype=np.bool_))


def numbered(cells: CellOfEachStep) -> Integers:
    """Return cells as an array, ``NONE`` where there is none."""
    return np.array([NONE if cell is None else cell for cell in cells], dtype=np.int64)


def true_steps(policy: Policy, trace: Trace, steps: int | None = None) -> TrueSteps:
    """Return the truth of the first ``steps`` steps of the policy's clock, of all unless given.

    Nobody is refused here: positions off the map are so before anything is drawn, except in guarded
    hours, where they are not read.
    """
    count = policy.steps if steps is None else steps
    cells = numbered(policy.true_cells(trace, refuse=False).cells[:count])
    places = positions(policy.timeline, policy.grid, trace, count)
    return TrueSteps(cells, places, beyond(policy, places))


def positions(line: Timeline, grid: Grid, trace: Trace, steps: int) -> Floats:
    """Return (steps, 2) the fix nearest to the middle of each step in km; nan where there is none.

    Of two equally near ones it is the earlier.
    """
    found = np.full((steps, 2), np.nan)
    trace = line.instants(trace, steps)
    numbers = line.steps_of(trace.times)
    inside = np.flatnonzero((numbers >= 0) & (numbers < steps))
    if not inside.size:
        return found
    held = numbers[inside]
    times = trace.times[inside]
    length = round(line.step.total_seconds() * 1e6)
    into = times - (round(line.start.timestamp() * 1e6) + held * length)
    order = np.lexsort((times, np.abs(2 * into - length), held))
    chosen = inside[order[np.unique(held[order], return_index=True)[1]]]
    found[numbers[chosen]] = np.stack(grid.xy(trace.lat[chosen], trace.lon[chosen]), axis=1)
    return found


def beyond(policy: Policy, places: Floats) -> Flags:
    """Return (T,) which positions lie off the map; a ring of off-map cells is off it."""
    grid = policy.grid
    edge = grid.cell_size if has_ring(policy) else 0.0
    x, y = places[:, 0], places[:, 1]
    with np.errstate(invalid="ignore"):
        outside = (x < edge) | (x > grid.width - edge) | (y < edge) | (y > grid.height - edge)
    return np.asarray(outside & ~np.isnan(x))


def has_ring(policy: Policy) -> bool:
    """Return whether the border cells of the policy's map stand for everything off it."""
    return policy.outside == "off-map"


def off_map_cells(policy: Policy) -> Flags:
    """Return (m,) which cells stand for everything off the map."""
    grid = policy.grid
    ring = np.zeros((grid.rows, grid.columns), dtype=np.bool_)
    if has_ring(policy):
        ring[[0, -1], :] = True
        ring[:, [0, -1]] = True
    return ring.ravel()
