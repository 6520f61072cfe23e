"""The clock of a draft: the stretch of time that a first policy is about, and its steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.policy.draft.area import everyday
from priste.traces import Timeline, Trace
from priste.traces.fixes import microseconds, utc_datetime
from priste.traces.zones import zone_of

MOST_STEPS = 1400
MOST_OF_ACTIVITIES = 4100
SELDOM = 0.05
"""Where fixes are in less than this share of the time, as of somebody who records runs, a clock may
have more steps: most are silent and cost next to nothing."""

LONGEST = timedelta(days=14)
"""A draft is about so many days, those with the most data, unless told otherwise."""

SLOT = timedelta(minutes=5) // timedelta(microseconds=1)
"""Data are counted in slots of five minutes, so that a fast logger is not more data."""

STEPS = ("1min", "5min", "10min", "15min", "30min", "1h", "2h", "3h", "6h", "12h", "1d")
_SECONDS = (60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
_DAY = timedelta(days=1) // timedelta(microseconds=1)
_FIRST_MONDAY = 4  # days from 1970-01-01, a Thursday


@dataclass(frozen=True)
class Stretch:
    """From when to when (aware, end excluded), and the share of the recorded time in it."""

    begin: datetime
    end: datetime
    share: float


def length_of(step: str) -> timedelta:
    """Return how long one of ``STEPS`` is."""
    return timedelta(seconds=_SECONDS[STEPS.index(step)])


def busiest_stretch(
    people: Sequence[Trace], zone: str, since: datetime | None, until: datetime | None
) -> Stretch:
    """Return the days that were asked for, or those of ``LONGEST`` with the most everyday data.

    ``since`` and ``until`` (end excluded) are clock times of ``zone``; what is asked for is cut
    only where there is no data. Data are everyday within a square around where most time is spent:
    a journey is no fortnight to guard a week by. A fortnight begins on a Monday; of equally busy
    ones the last is taken.
    """
    place = zone_of(zone)
    firsts = [np.unique(person.times // SLOT, return_index=True) for person in people]
    slots = np.concatenate([numbers for numbers, _ in firsts]) * SLOT
    shift = utc_datetime(int(np.median(slots))).astimezone(place).utcoffset() or timedelta(0)
    offset = shift // timedelta(microseconds=1)
    asked = slots
    if since is not None:
        asked = asked[asked >= microseconds(since.replace(tzinfo=place)) // SLOT * SLOT]
    if until is not None:
        asked = asked[asked < microseconds(until.replace(tzinfo=place))]
    if not asked.size:
        raise InvalidParameter(
            "There is no fix in the time that was asked for. The data reach from "
            f"{_shown(int(slots.min()), offset)} to {_shown(int(slots.max()), offset)} ({zone})."
        )
    days = (asked + offset) // _DAY
    first, last = int(days.min()), int(days.max())
    if since is None and until is None and last - first >= LONGEST.days:
        lat = np.concatenate([p.lat[kept] for p, (_, kept) in zip(people, firsts, strict=True)])
        lon = np.concatenate([p.lon[kept] for p, (_, kept) in zip(people, firsts, strict=True)])
        usual = slots[everyday(lat, lon)]
        first = _busiest(*np.unique((usual + offset) // _DAY, return_counts=True))
        last = first + LONGEST.days - 1
    begin = utc_datetime(first * _DAY - offset)
    end = utc_datetime((last + 1) * _DAY - offset)
    inside = (slots >= microseconds(begin)) & (slots < microseconds(end))
    return Stretch(begin, end, float(np.count_nonzero(inside)) / slots.size)


def _busiest(days: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """Return the Monday that begins the busiest stretch, of equally busy ones the last."""
    sums = np.concatenate([[0], np.cumsum(counts)])
    mondays = np.arange(*((day - _FIRST_MONDAY) // 7 for day in (days[0], days[-1] + 7)))
    mondays = mondays * 7 + _FIRST_MONDAY
    ends = np.searchsorted(days, mondays + LONGEST.days)
    held = sums[ends] - sums[np.searchsorted(days, mondays)]
    return int(mondays[np.flatnonzero(held == held.max())[-1]])


def _shown(slot: int, offset: int) -> str:
    return f"{utc_datetime(slot + offset):%Y-%m-%d}"


def cut(trace: Trace, stretch: Stretch) -> Trace | None:
    """Return the part of a trace in a stretch, None if there is none."""
    begin, end = microseconds(stretch.begin), microseconds(stretch.end)
    first, last = np.searchsorted(trace.times, (begin, end)).tolist()
    if first == last:
        return None
    kept = slice(first, last)
    return Trace(trace.user, trace.times[kept], trace.lat[kept], trace.lon[kept])


@dataclass(frozen=True)
class DraftClock:
    """When step 0 begins (a clock time of the zone), the steps, and whether it is but an outing."""

    start: datetime
    step: str
    steps: int
    is_outing: bool


def clock_of(people: Sequence[Trace], zone: str) -> DraftClock:
    """Return a clock that holds all fixes: from midnight, or the hour in which an outing begins."""
    first = min(people, key=lambda trace: trace.start)
    end = max(trace.end for trace in people)
    start = Timeline.covering(first, timedelta(hours=1), zone).time_of(0)
    is_outing = end - first.start < timedelta(days=1)
    if is_outing:
        end += timedelta(microseconds=1)  # the last fix is in the last step
        start += (first.start - start) // timedelta(hours=1) * timedelta(hours=1)
    else:
        end = start + math.ceil((end - start) / timedelta(days=1)) * timedelta(days=1)
    step = _step(people, end - start)
    steps = math.ceil((end - start) / length_of(step))
    return DraftClock(start.replace(tzinfo=None), step, max(2, steps), is_outing)


def _step(people: Sequence[Trace], length: timedelta) -> str:
    """Return the shortest round step that usually holds a fix and keeps the stream short."""
    intervals = np.concatenate([np.diff(trace.times[:5000]) / 1e6 for trace in people])
    usual = float(np.median(intervals)) if intervals.size else 3600.0
    most = MOST_STEPS
    if length > timedelta(days=1):
        recorded = max(np.unique(trace.times // SLOT).size for trace in people)
        if recorded * SLOT < SELDOM * (length // timedelta(microseconds=1)):
            usual, most = max(usual, 300.0), MOST_OF_ACTIVITIES
        else:
            usual = max(usual, 900.0)
    for name, seconds in zip(STEPS, _SECONDS, strict=True):
        if seconds >= usual and length.total_seconds() / seconds <= most:
            return name
    return STEPS[-1]
