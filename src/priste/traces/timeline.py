"""The clock of a stream: steps of equal length, and the one cell of each step.

A step is a stretch of elapsed time, so a day in which clocks are changed has more or fewer
steps. Only the conversions from and to clock times know about zones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_int
from priste.errors import InvalidParameter, OutsideMap
from priste.maps import Cells, Grid
from priste.traces.fixes import Trace, microseconds, utc_datetime
from priste.traces.zones import Zone, jump_over, readings, zone_of

Rule = Literal["nearest", "interpolated", "any"]
OutsideChoice = Literal["refuse", "nearest", "gap"]

CellOfEachStep: TypeAlias = Sequence[int | None]
"""The cell of each step of a stream, None where there is none."""

LARGEST_TIMELINE = 10_000_000
"""The most steps of one stream; more is taken for a wrong clock or step length."""

_MICROSECOND = timedelta(microseconds=1)
_NO_CELL = -1


@dataclass(frozen=True)
class StepCells:
    """One cell per step of a timeline, None where the trace has a gap.

    ``early`` and ``late`` count fixes (and stays that ended or began) before the first and after
    the last step, ``outside`` the positions off the map that were moved to its border or left as
    gaps.
    """

    user: str | None
    cells: tuple[int | None, ...]
    early: int
    late: int
    outside: int

    def __repr__(self) -> str:  # cells are true locations
        return f"<StepCells of {self.user!r}, {len(self.cells)} steps, {self.gaps} gaps>"

    @property
    def gaps(self) -> int:
        """How many steps have no cell."""
        return self.cells.count(None)

    def runs(self) -> Iterator[list[int]]:
        """Yield the stretches between gaps, in order: what a mobility model is fitted on.

        >>> list(StepCells(None, (None, 3, 4, None, 5), 0, 0, 0).runs())
        [[3, 4], [5]]
        """
        run: list[int] = []
        for cell in self.cells:
            if cell is not None:
                run.append(cell)
            elif run:
                yield run
                run = []
        if run:
            yield run


@dataclass(frozen=True, init=False)
class Timeline:
    """Steps 0, 1, 2, … of equal elapsed time since ``start``; ``zone`` is where clocks are read.

    Step k is the half-open stretch [start + k·step, start + (k+1)·step). ``start`` is an aware
    datetime, or a clock time of ``zone`` that its clocks showed exactly once. ``step`` is a
    timedelta > 0. Timelines are values: frozen, compared and hashed by content.

    >>> line = Timeline(datetime(2024, 10, 27), timedelta(hours=1), "Europe/Paris")
    >>> line.step_at(datetime(2024, 10, 27, 12))      # clocks went back: 13 hours since midnight
    13
    >>> line.time_of(13).isoformat()
    '2024-10-27T12:00:00+01:00'
    >>> line.steps_between(datetime(2024, 10, 27, 1, 30), datetime(2024, 10, 27, 4))
    range(1, 5)
    """

    start: datetime
    step: timedelta
    zone: tzinfo

    def __init__(self, start: datetime, step: timedelta, zone: Zone = "UTC") -> None:
        if not isinstance(step, timedelta) or step <= timedelta(0):
            raise InvalidParameter(
                "must be a timedelta > 0", parameter="step", owner="Timeline", value=step
            )
        if not isinstance(start, datetime):
            raise InvalidParameter(
                "must be a datetime",
                parameter="start",
                owner="Timeline",
                got=f"{type(start).__name__}",
            )
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "zone", zone_of(zone))
        object.__setattr__(self, "start", self._instant(start).astimezone(UTC))

    @classmethod
    def covering(cls, trace: Trace, step: timedelta, zone: Zone = "UTC") -> Timeline:
        """Return the timeline that starts at the midnight of ``zone`` before the first fix.

        Where clocks skip midnight itself, it starts when they jumped.
        """
        place = zone_of(zone)
        midnight = datetime.combine(trace.start.astimezone(place).date(), time.min)
        when = readings(midnight, place)
        return cls(when[0] if when else jump_over(midnight, place), step, place)

    # Clock times and steps

    def step_at(self, when: datetime) -> int:
        """Return the step that holds ``when``, which must not be before the start.

        A datetime without a zone is a clock time of ``zone``; its ``fold`` chooses between the
        two instants of a time shown twice, and a time that the clocks skipped is an error.
        """
        step = (microseconds(self._instant(when)) - self._start) // self._length
        if step < 0:
            raise InvalidParameter(
                f"{when.isoformat()} is before the start of the timeline, "
                f"{self.time_of(0).isoformat()}",
                hint="Start the timeline earlier.",
            )
        return step

    def time_of(self, step: int) -> datetime:
        """Return the first instant of a step, on the clocks of ``zone``."""
        return utc_datetime(self._start + self._step_number(step) * self._length).astimezone(
            self.zone
        )

    def middle_of(self, step: int) -> datetime:
        """Return the middle of a step, the moment its cell stands for (to the microsecond)."""
        since = self._step_number(step) * self._length + self._length // 2
        return utc_datetime(self._start + since).astimezone(self.zone)

    def steps_between(self, begin: datetime, end: datetime) -> range:
        """Return the steps that share an instant with [begin, end), none of them negative.

        Datetimes without a zone are clock times of ``zone``. Of a time shown twice, ``begin``
        takes the first instant and ``end`` the second, and a skipped time is the jump itself: the
        range is the widest that the clock times can mean, which protects more rather than less.
        """
        first, last = (self._edge(begin, latest=False), self._edge(end, latest=True))
        if last < first:
            raise InvalidParameter(
                "must not be before its 'begin'",
                parameter="end",
                owner="steps_between",
                got=f"{begin.isoformat()} and {end.isoformat()}",
            )
        if first == last:
            return range(0)
        low = (first - self._start) // self._length
        high = -((self._start - last) // self._length)
        return range(max(low, 0), max(high, 0))

    def steps_of(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the steps of instants in microseconds since 1970; negative before the start."""
        return (times - self._start) // self._length

    # Fixes to cells

    def instants(self, trace: Trace, steps: int) -> Trace:
        """Return the fixes as instants: a stay at its ends and in the middle of each step."""
        if not trace.has_stays:
            return trace
        return trace.at(self._start + np.arange(steps) * self._length + self._length // 2)

    def cells(
        self,
        trace: Trace,
        grid: Grid,
        rule: Rule = "nearest",
        outside: OutsideChoice = "refuse",
        *,
        steps: int | None = None,
        longest_gap: timedelta | None = None,
        guarded: Cells = (),
    ) -> StepCells:
        """Return the cell of each step from 0 to the last fix, or of exactly ``steps`` steps.

        A stay fills every step that it shares an instant with. ``rule`` chooses what a step with
        fixes gets:

        - ``nearest``: the cell of the fix nearest in time to the middle of the step (the earlier
          one of two);
        - ``interpolated``: the cell at the middle of the step on the straight line between the
          fixes around it, when those are at most ``longest_gap`` apart (two steps by default);
          else as ``nearest``;
        - ``any``: as ``nearest``, but among the fixes in the cells ``guarded`` if there are any: a
          step is in a guarded place if a single fix of it was.

        A step without a fix is None, except that ``interpolated`` crosses it when its neighbours
        are close enough. ``outside`` says what a position off the map does: ``refuse`` raises
        :class:`OutsideMap`, ``nearest`` takes the border cell, ``gap`` counts as no cell.
        """
        if rule not in get_args(Rule):
            raise InvalidParameter(f"must be one of {get_args(Rule)}", parameter="rule", value=rule)
        if outside not in get_args(OutsideChoice):
            raise InvalidParameter(
                f"must be one of {get_args(OutsideChoice)}", parameter="outside", value=outside
            )
        preferred = frozenset(guarded)
        if (rule == "any") != bool(preferred):
            raise InvalidParameter(
                "must be given with rule='any', and with no other rule",
                parameter="guarded",
                owner="Timeline.cells",
                got=f"rule={rule!r} and {len(preferred)} guarded cells",
            )
        if longest_gap is not None and longest_gap <= timedelta(0):
            raise InvalidParameter("must be > 0", parameter="longest_gap", value=longest_gap)
        count = self._count(trace, steps)
        early = int(np.count_nonzero(self.steps_of(trace.until) < 0))
        late = int(np.count_nonzero(self.steps_of(trace.times) >= count))
        trace = self.instants(trace, count)
        numbers = self.steps_of(trace.times)
        inside = (numbers >= 0) & (numbers < count)
        found = np.full(count, _NO_CELL, dtype=np.int64)
        missed = 0
        if inside.any():
            cells, missed = _cells_at(grid, trace.lat[inside], trace.lon[inside], outside)
            held, times = numbers[inside], trace.times[inside]
            first = np.isin(cells, np.fromiter(preferred, dtype=np.int64))
            self._put_nearest(found, held, cells, times, first)
        if rule == "interpolated":
            gap = 2 * self._length if longest_gap is None else longest_gap // _MICROSECOND
            missed += self._put_interpolated(found, trace, grid, outside, gap)
        listed = [None if cell == _NO_CELL else cell for cell in found.tolist()]
        return StepCells(trace.user, tuple(listed), early, late, missed)

    def _put_nearest(
        self,
        found: NDArray[np.int64],
        steps: NDArray[np.int64],
        cells: NDArray[np.int64],
        times: NDArray[np.int64],
        preferred: NDArray[np.bool_],
    ) -> None:
        into = times - self._start - steps * self._length
        from_middle = np.abs(2 * into - self._length)  # doubled: the middle may be half a tick
        order = np.lexsort((times, from_middle, ~preferred, steps))
        chosen = order[np.unique(steps[order], return_index=True)[1]]
        found[steps[chosen]] = cells[chosen]

    def _put_interpolated(
        self,
        found: NDArray[np.int64],
        trace: Trace,
        grid: Grid,
        outside: OutsideChoice,
        longest_gap: int,
    ) -> int:
        """Overwrite steps whose middle lies between two fixes close enough; count those outside."""
        doubled = 2 * trace.times
        middles = 2 * (self._start + np.arange(found.size) * self._length) + self._length
        after = np.searchsorted(doubled, middles, side="left")
        before = after - 1
        usable = (after < len(trace)) & (before >= 0)
        usable[usable] = trace.times[after[usable]] - trace.times[before[usable]] <= longest_gap
        steps = np.flatnonzero(usable)
        if not steps.size:
            return 0
        left, right = before[steps], after[steps]
        part = (middles[steps] - doubled[left]) / (doubled[right] - doubled[left])
        east = (trace.lon[right] - trace.lon[left] + 180.0) % 360.0 - 180.0  # the short way round
        lat = trace.lat[left] + part * (trace.lat[right] - trace.lat[left])
        lon = (trace.lon[left] + part * east + 180.0) % 360.0 - 180.0
        found[steps], missed = _cells_at(grid, lat, lon, outside)
        return missed

    # Checks

    @property
    def _start(self) -> int:
        return microseconds(self.start)

    @property
    def _length(self) -> int:
        return self.step // _MICROSECOND

    def _instant(self, when: datetime) -> datetime:
        if not isinstance(when, datetime):
            raise InvalidParameter(
                "must be a datetime",
                parameter="when",
                owner="Timeline",
                got=f"{type(when).__name__}",
            )
        if when.tzinfo is not None:
            return when
        found = readings(when, self.zone)
        if not found:
            raise InvalidParameter(
                f"Clocks of {self.zone} skipped {when.isoformat()}",
                hint="State a time they showed.",
            )
        return found[-1] if when.fold else found[0]

    def _edge(self, when: datetime, *, latest: bool) -> int:
        if not isinstance(when, datetime) or when.tzinfo is not None:
            return microseconds(self._instant(when))
        found = readings(when, self.zone) or (jump_over(when, self.zone),)
        return microseconds(found[-1] if latest else found[0])

    def _step_number(self, step: int) -> int:
        return check_int(step, "step", "a Timeline")

    def _count(self, trace: Trace, steps: int | None) -> int:
        last = int(self.steps_of(trace.until[-1:])[0])
        count = max(last + 1, 0) if steps is None else self._step_number(steps)
        if count > LARGEST_TIMELINE:
            raise InvalidParameter(
                f"must be at most {LARGEST_TIMELINE}",
                parameter="steps",
                owner="a Timeline",
                value=count,
                hint="Check its start and the length of a step, or state the number of steps.",
            )
        return count


def _cells_at(
    grid: Grid, lat: NDArray[np.float64], lon: NDArray[np.float64], outside: OutsideChoice
) -> tuple[NDArray[np.int64], int]:
    """Return the cells of positions, -1 for a gap, and how many lay off the map."""
    x, y = grid.xy(lat, lon)
    inside = (x >= 0.0) & (x <= grid.width) & (y >= 0.0) & (y <= grid.height)
    missed = int(inside.size - np.count_nonzero(inside))
    if missed and outside == "refuse":
        raise OutsideMap(
            f"{missed} of {inside.size} positions lie off the map.",
            hint="Make the map larger, or choose what becomes of such positions ('outside').",
        )
    cells = grid.cell_at_xy(x, y, outside="nearest")
    if outside == "gap":
        cells = np.where(inside, cells, _NO_CELL)
    return cells, missed
