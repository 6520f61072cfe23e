"""Guarded windows: the time that events speak of.

What a policy is made of (map, step, places, habits, fitted models) must not depend on what happened
in its guarded windows, because the releases follow from it. So whatever is computed from traces
that may be released reads them without these windows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta, tzinfo

import numpy as np
from numpy.typing import NDArray

from priste.events import parse_event
from priste.policy.calendar import StepReader, When, read_when
from priste.traces import Timeline, Trace
from priste.traces.fixes import microseconds, utc_datetime

ZONES = (timedelta(hours=-14), timedelta(hours=12))
"""From a clock time to the earliest and latest instant at which some zone shows it."""

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Windows:
    """Stretches of time: by rule on all days, or between two instants (microseconds of UTC).

    ``whens`` are clock times of ``zone``; without a zone they hold in every zone. ``margin`` is
    added on both sides of each: a step that shares an instant with a window belongs to it whole.
    """

    whens: tuple[When, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    zone: tzinfo | None = None
    margin: timedelta = timedelta(0)

    @classmethod
    def of_formulas(
        cls,
        formulas: Iterable[str],
        places: Collection[str],
        timeline: Timeline,
        steps: int,
    ) -> Windows:
        """Return the windows of the formulas of a policy, which speak of ``places`` by name.

        A time of the day or week is guarded on all days, also on those that the clock of the
        policy does not hold: the same habit shows there.
        """
        reader = StepReader(timeline, steps)
        for formula in formulas:
            parse_event(formula, dict.fromkeys(places, (0,)), steps=reader)
        spans = tuple(
            (microseconds(timeline.time_of(held.start)), microseconds(timeline.time_of(held.stop)))
            for held in reader.numbered
        )
        return cls(tuple(dict.fromkeys(reader.whens)), spans, timeline.zone, timeline.step)

    @classmethod
    def of_texts(cls, texts: Sequence[str], margin: timedelta) -> Windows:
        """Return the windows of times of the day or week, in whatever zone."""
        return cls(tuple(map(read_when, texts)), margin=margin)

    def in_zone(self, zone: tzinfo) -> Windows:
        """Return the same clock times in one zone."""
        return replace(self, zone=zone)

    def hold(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell of instants (microseconds of UTC, ascending) which lie in a window."""
        inside = np.zeros(times.size, dtype=np.bool_)
        if not times.size:
            return inside
        for begin, end in self.instants(int(times[0]), int(times[-1])):
            first, last = np.searchsorted(times, (begin, end))
            inside[first:last] = True
        return inside

    def outside(self, trace: Trace) -> Trace | None:
        """Return a trace without what lies in windows, None if nothing is left of it.

        A stay that reaches into a window is cut there.
        """
        return within(trace, self._free(int(trace.times[0]), int(trace.until[-1])))

    def cover(self, other: Windows, first: int, last: int) -> bool:
        """Return whether these hold all that others hold between two instants."""
        free = self._free(first, last)
        return not any(
            begin <= until and since < end
            for since, until in free
            for begin, end in other.instants(first, last)
        )

    def _free(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the stretches from one instant to another, both included, without the windows."""
        found = []
        for begin, end in sorted(self.instants(first, last)):
            if begin > first:
                found.append((first, min(begin - 1, last)))
            first = max(first, end)
        if first <= last:
            found.append((first, last))
        return [(begin, end) for begin, end in found if begin <= end]

    def instants(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the windows between two instants, as instants."""
        margin = self.margin // timedelta(microseconds=1)
        found = [(begin - margin, end + margin) for begin, end in self.spans]
        day = utc_datetime(first).date() - 3 * _DAY
        until = utc_datetime(last).date() + 2 * _DAY
        while day <= until:
            found += [self._stretch(when, day, margin) for when in self.whens if when.on(day)]
            day += _DAY
        return found

    def _stretch(self, when: When, day: date, margin: int) -> tuple[int, int]:
        begin, end = when.stretch(day)
        end = end or begin + timedelta(microseconds=1)
        if self.zone is None:
            begins = [(begin + ZONES[0]).replace(tzinfo=UTC)]
            ends = [(end + ZONES[1]).replace(tzinfo=UTC)]
        else:  # of a clock time that happens twice or never, the widest reading
            begins = [begin.replace(tzinfo=self.zone, fold=fold) for fold in (0, 1)]
            ends = [end.replace(tzinfo=self.zone, fold=fold) for fold in (0, 1)]
        return (
            min(microseconds(each) for each in begins) - margin,
            max(microseconds(each) for each in ends) + margin,
        )


def within(trace: Trace, stretches: Sequence[tuple[int, int]]) -> Trace | None:
    """Return the parts of a trace in stretches (microseconds, both ends included, in order)."""
    parts = []
    for begin, end in stretches:
        first = int(np.searchsorted(trace.until, begin))
        held = slice(first, int(np.searchsorted(trace.times, end, side="right")))
        if held.start < held.stop:
            times = np.maximum(trace.times[held], begin)
            until = np.minimum(trace.until[held], end)
            parts.append((times, trace.lat[held], trace.lon[held], until))
    if not parts:
        return None
    return Trace(trace.user, *(np.concatenate(column) for column in zip(*parts, strict=True)))


NO_WINDOWS = Windows()
"""No time at all."""
