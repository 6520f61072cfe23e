"""From the fixes of one person to stretches of cells, and from those to walks.

What is recorded and what is made up take the same way from here on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from priste.errors import TraceError
from priste.maps import Grid, LocalProjection
from priste.randomness import bit_source
from priste.traces import Timeline, Trace
from priste.traces.fixes import microseconds


@dataclass(frozen=True)
class Cut:
    """How a city and a day are cut: ``side`` × ``side`` cells of ``cell_size`` km, and steps.

    A step lasts ``minutes``. Its cell is where the straight line between the fixes around its
    middle is, if these are at most ``longest_gap`` minutes apart; else that of the fix of the step
    nearest to its middle; else there is none.
    """

    side: int = 20
    cell_size: float = 0.5
    minutes: float = 1.0
    longest_gap: float = 10.0

    @property
    def extent(self) -> float:
        """The length of the map's side in km."""
        return self.side * self.cell_size

    def grid_around(self, latitude: float, longitude: float) -> Grid:
        """Return the map with this centre, in degrees."""
        corner = -self.extent / 2
        projection = LocalProjection(latitude, longitude, corner, corner)
        return Grid(self.side, self.side, self.cell_size, projection=projection)

    @property
    def _step(self) -> timedelta:
        return timedelta(minutes=self.minutes)

    def essential(self, trace: Trace) -> Trace:
        """Return the fixes that decide the cells of steps: the two around each step's middle.

        Guarantee: :meth:`stretches` of the result is that of the whole trace, on any map and
        for any ``longest_gap``. A receiver that writes each second is thinned to a few per cent.
        """
        timeline = Timeline.covering(trace, self._step)
        step = self._step // timedelta(microseconds=1)
        doubled = 2 * (trace.times - microseconds(timeline.start))  # a middle may be half a tick
        middles_so_far = (doubled + step) // (2 * step)
        across = np.diff(middles_so_far) > 0
        kept = np.zeros(len(trace), dtype=np.bool_)
        kept[[0, -1]] = True  # the first one tells where the timeline starts
        kept[:-1] |= across
        kept[1:] |= across
        return Trace(trace.user, trace.times[kept], trace.lat[kept], trace.lon[kept])

    def stretches(self, trace: Trace, grid: Grid) -> Stretches:
        """Return the unbroken stretches of a trace on a map; what is beyond it is a gap."""
        timeline = Timeline.covering(trace, self._step)
        cells = timeline.cells(
            trace,
            grid,
            "interpolated",
            outside="gap",
            longest_gap=timedelta(minutes=self.longest_gap),
        )
        return Stretches(cells.runs())

    def __str__(self) -> str:
        return (
            f"{self.side} x {self.side} cells of {self.cell_size:g} km, "
            f"steps of {self.minutes:g} min"
        )


class Stretches:
    """Stretches of consecutive cells of one person, in the order of time; immutable.

    A *window* of n steps is n consecutive steps of one stretch; a stretch of length L has
    L - n + 1 of them, which overlap. Cells are true locations: no message here shows one.
    """

    def __init__(self, stretches: Iterable[Iterable[int]]) -> None:
        kept = [np.array(list(stretch), dtype=np.int64) for stretch in stretches]
        for cells in kept:
            cells.flags.writeable = False
        self._cells = tuple(cells for cells in kept if cells.size)

    def __repr__(self) -> str:
        return f"<{len(self.cells)} stretches, {self.steps} steps>"

    @property
    def cells(self) -> tuple[NDArray[np.int64], ...]:
        """The stretches as read-only arrays: what a mobility model is fitted on."""
        return self._cells

    @cached_property
    def steps(self) -> int:
        """How many steps there are in all."""
        return sum(cells.size for cells in self._cells)

    @cached_property
    def visited(self) -> tuple[int, ...]:
        """The cells that occur, in the order of their numbers."""
        if not self._cells:
            return ()
        return tuple(int(cell) for cell in np.unique(np.concatenate(self._cells)))

    @cached_property
    def moving(self) -> float:
        """The share of the moves from step to step that lead to another cell; 0.0 of none."""
        moves = sum(cells.size - 1 for cells in self._cells)
        elsewhere = sum(int(np.count_nonzero(np.diff(cells))) for cells in self._cells)
        return elsewhere / moves if moves else 0.0

    def windows(self, steps: int) -> int:
        """Return how many windows of ``steps`` steps there are."""
        return sum(max(0, cells.size - steps + 1) for cells in self._cells)

    def walk(self, seed: int, steps: int) -> tuple[int, ...]:
        """Return one window, every one alike, chosen by the seed (with replacement).

        Raises :class:`TraceError` when no stretch is that long; none is ever continued by
        anything that was not observed.
        """
        count = self.windows(steps)
        if not count:
            longest = max((cells.size for cells in self._cells), default=0)
            raise TraceError(
                f"A walk is a stretch of consecutive steps. None of {steps} steps was recorded; "
                f"the longest has {longest}. Ask for fewer steps, cross a longer 'longest_gap', or "
                "take another user."
            )
        number = bit_source(seed).below(count)
        before = np.cumsum([0, *(max(0, cells.size - steps + 1) for cells in self._cells)])
        chosen = int(np.searchsorted(before, number, side="right")) - 1
        first = number - int(before[chosen])
        return tuple(self._cells[chosen][first : first + steps].tolist())
