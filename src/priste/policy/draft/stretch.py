"""The clock of a draft: the stretch of time that a first policy is about, and its steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.policy.draft.area import everyday
from priste.policy.draft.event_templates import Guard, span_of
from priste.policy.windows import within
from priste.traces import Trace
from priste.traces.fixes import microseconds, utc_datetime
from priste.traces.zones import zone_of

MOST_STEPS = 1400
MOST_OF_ACTIVITIES = 4100
SELDOM = 0.05
"""If fixes cover less than this share of the time, as for a person who records runs, a clock may
have more steps, because most are silent and cost hardly anything."""

LONGEST = timedelta(days=14)
"""A draft is about this many days, those with the most data, by default."""

SLOT = timedelta(minutes=5) // timedelta(microseconds=1)
"""Data are counted in slots of five minutes, so that a fast logger is not more data."""

OUTING_SLOT = timedelta(minutes=1) // timedelta(microseconds=1)
"""Of less than a day, slots of five minutes would be too few to lay out a map by."""

STEPS = ("1min", "5min", "10min", "15min", "30min", "1h", "2h")
_SECONDS = (60, 300, 600, 900, 1800, 3600, 7200)
_HOUR = timedelta(hours=1) // timedelta(microseconds=1)
_DAY = 24 * _HOUR
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
    """Return the days that were asked for, or the weeks of ``LONGEST`` with the most everyday data.

    ``since`` and ``until`` (end excluded) are clock times of ``zone``; what is asked for is cut
    only where there is no data. Otherwise weeks are whole, from Monday. Data are everyday within a
    square around where most time is spent: weeks of a journey are not typical. Of equally busy
    fortnights the last is taken.
    """
    place = zone_of(zone)
    firsts = [np.unique(person.times // SLOT, return_index=True) for person in people]
    slots = np.concatenate([numbers for numbers, _ in firsts]) * SLOT
    asked = slots
    if since is not None:
        asked = asked[asked >= microseconds(since.replace(tzinfo=place)) // SLOT * SLOT]
    if until is not None:
        asked = asked[asked < microseconds(until.replace(tzinfo=place))]
    days = _days(slots, place)
    if not asked.size:
        raise InvalidParameter(
            "There is no fix in the time that was asked for",
            hint=f"The data reach from {_date(int(days.min()))} to {_date(int(days.max()))} "
            f"({zone}).",
        )
    held = _days(asked, place)
    first, last = int(held.min()), int(held.max())
    if since is None and until is None:
        first = _monday(first)
        if last - first >= LONGEST.days:
            lat = np.concatenate([p.lat[kept] for p, (_, kept) in zip(people, firsts, strict=True)])
            lon = np.concatenate([p.lon[kept] for p, (_, kept) in zip(people, firsts, strict=True)])
            usual = days[everyday(lat, lon)]
            first = _busiest(*np.unique(usual, return_counts=True))
            last = first + LONGEST.days - 1
        last = _monday(last) + 6
    inside = (days >= first) & (days <= last)
    return Stretch(
        datetime.combine(_date(first), time.min, place),
        datetime.combine(_date(last + 1), time.min, place),
        float(np.count_nonzero(inside)) / slots.size,
    )


def _days(slots: NDArray[np.int64], zone: tzinfo) -> NDArray[np.int64]:
    """Return the day of the zone (from 1970-01-01) of each slot."""
    hours, number = np.unique(slots // _HOUR, return_inverse=True)
    offsets = np.array(
        [
            (utc_datetime(int(hour) * _HOUR).astimezone(zone).utcoffset() or timedelta(0))
            // timedelta(microseconds=1)
            for hour in hours
        ]
    )
    found: NDArray[np.int64] = (slots + offsets[number.reshape(-1)]) // _DAY
    return found


def _monday(day: int) -> int:
    return (day - _FIRST_MONDAY) // 7 * 7 + _FIRST_MONDAY


def _date(day: int) -> date:
    return date(1970, 1, 1) + timedelta(days=day)


def _busiest(days: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """Return the Monday that begins the busiest stretch, of equally busy ones the last."""
    sums = np.concatenate([[0], np.cumsum(counts)])
    mondays = np.arange(*((day - _FIRST_MONDAY) // 7 for day in (days[0], days[-1] + 7)))
    mondays = mondays * 7 + _FIRST_MONDAY
    ends = np.searchsorted(days, mondays + LONGEST.days)
    held = sums[ends] - sums[np.searchsorted(days, mondays)]
    return int(mondays[np.flatnonzero(held == held.max())[-1]])


def cut(trace: Trace, stretch: Stretch) -> Trace | None:
    """Return the part of a trace in a stretch, None if there is none."""
    return within(trace, [(microseconds(stretch.begin), microseconds(stretch.end) - 1)])


@dataclass(frozen=True)
class DraftClock:
    """When step 0 begins (a clock time of the zone), the steps, and whether it is but an outing."""

    start: datetime
    step: str
    steps: int
    is_outing: bool


def clock_of(people: Sequence[Trace], zone: str, stretch: Stretch, guard: Guard) -> DraftClock:
    """Return the clock of a stretch: all of its days, or of an outing from its first hour on.

    A clock whose guard is the template has whole weeks, which hold it.
    """
    is_outing = span_of(people) < timedelta(days=1) and not guard.is_template
    start, end = stretch.begin, stretch.end
    if is_outing:
        first = min(trace.start for trace in people).astimezone(zone_of(zone))
        start = first.replace(minute=0, second=0, microsecond=0)
        # The last fix is in the last step.
        end = max(trace.end for trace in people) + timedelta(microseconds=1)
        end = max(end, guard.end or end)
    # Elapsed time, as steps are: a day on which clocks change has more or fewer of them.
    length = end.astimezone(UTC) - start.astimezone(UTC)
    step = _step(people, length, guard.longest_step)
    steps = math.ceil(length / length_of(step))
    return DraftClock(start.replace(tzinfo=None), step, max(2, steps), is_outing)


def _step(people: Sequence[Trace], length: timedelta, longest: timedelta) -> str:
    """Return the shortest round step that usually holds a fix and keeps the stream short.

    None is longer than ``longest``, however long the stream is then.
    """
    intervals = np.concatenate([np.diff(trace.times[:5000]) / 1e6 for trace in people])
    usual = float(np.median(intervals)) if intervals.size else 3600.0
    most = MOST_STEPS
    if length > timedelta(days=1):
        recorded = max(np.unique(trace.times // SLOT).size for trace in people)
        if recorded * SLOT < SELDOM * (length // timedelta(microseconds=1)):
            usual, most = max(usual, 300.0), MOST_OF_ACTIVITIES
        else:
            usual = max(usual, 900.0)
    allowed = [name for name in STEPS if length_of(name) <= longest]
    for name in allowed:
        seconds = length_of(name).total_seconds()
        if seconds >= usual and length.total_seconds() / seconds <= most:
            return name
    return allowed[-1]
