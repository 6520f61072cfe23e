"""Clock times and recurrences as a person writes them, turned into steps.

A *when* is a text of up to three parts, separated by blanks, in any order:

    dates    2026-03-04            or  2026-03-02..2026-03-13
    days     mon,wed  weekdays  weekends  daily
    times    14:00-16:00           or  14:00   (the step that holds this moment)

A part that is left out does not restrict: ``"wed 14:00-16:00"`` is every Wednesday of the
timeline, ``"2026-03-04"`` the whole day. An end that is not after its start is on the
next day (``22:00-06:00``). A step belongs to a stretch of time when they share an
instant, so what is protected is never less than what was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from priste.traces import Timeline

DAY_NAMES = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_GROUPS = {
    "daily": frozenset(range(7)),
    "weekdays": frozenset(range(5)),
    "weekends": frozenset({5, 6}),
}
_DATE = r"\d{4}-\d{2}-\d{2}"
_CLOCK = r"\d{1,2}:\d{2}"
_DATES = re.compile(rf"({_DATE})(?:\.\.({_DATE}))?")
_TIMES = re.compile(rf"({_CLOCK})(?:-({_CLOCK}))?")
_NUMBER = re.compile(r"\d{1,9}")
_MOMENT = re.compile(rf"({_DATE})T({_CLOCK})")


class NoSteps(ValueError):
    """A correct text that names no step of the timeline."""


@dataclass(frozen=True)
class When:
    """A text that was read: which days, and which stretch of each."""

    text: str
    first: date | None
    last: date | None
    weekdays: frozenset[int]
    begin: time
    end: time | None
    whole_day: bool

    def on(self, day: date) -> bool:
        """Return whether a stretch begins on this day."""
        return (
            day.weekday() in self.weekdays
            and (self.first is None or day >= self.first)
            and (self.last is None or day <= self.last)
        )

    def stretch(self, day: date) -> tuple[datetime, datetime | None]:
        """Return the begin and the end of the stretch that begins on ``day``; None: a moment."""
        begin = datetime.combine(day, self.begin)
        if self.whole_day:
            return begin, begin + timedelta(days=1)
        if self.end is None:
            return begin, None
        end = datetime.combine(day, self.end)
        return begin, end if end > begin else end + timedelta(days=1)


def read_when(text: str) -> When:
    """Read a *when*; a ValueError says which part cannot be read, and what can be written.

    >>> read_when("wed 14:00-16:00").weekdays
    frozenset({2})
    >>> read_when("noon")
    Traceback (most recent call last):
    ...
    ValueError: 'noon' is no date (2026-03-04), day (mon, weekdays, daily) or time (14:00-16:00)
    """
    dates = days = times = None
    for part in text.split():
        if found := _DATES.fullmatch(part):
            if dates:
                raise ValueError(f"{text!r} has two dates; write first..last, or two entries")
            dates = found
        elif found := _TIMES.fullmatch(part):
            if times:
                raise ValueError(f"{text!r} has two times; write two entries")
            times = found
        else:
            if days is not None:
                raise ValueError(f"{text!r} names days twice; join them with commas")
            days = _read_days(part)
    if not (dates or times or days):
        raise ValueError("a time text must not be empty; write for example 'wed 14:00-16:00'")
    first = last = None
    if dates:
        first = _date(dates[1])
        last = _date(dates[2]) if dates[2] else first
        if last < first:
            raise ValueError(f"the dates {dates[0]!r} go backwards")
    return When(
        text=text,
        first=first,
        last=last,
        weekdays=days if days is not None else _GROUPS["daily"],
        begin=_clock(times[1]) if times else time.min,
        end=_clock(times[2]) if times and times[2] else None,
        whole_day=times is None,
    )


def steps_of_when(when: When, timeline: Timeline, within: range) -> list[int]:
    """Return the steps of ``within`` that a *when* names, in order; may be empty."""
    if not len(within):
        return []
    # A stretch may begin on the evening before.
    opening = timeline.time_of(within.start).date() - timedelta(days=1)
    closing = timeline.time_of(within.stop).date()
    return sorted({step for step in _named(when, timeline, opening, closing) if step in within})


def _named(when: When, timeline: Timeline, first: date, last: date) -> set[int]:
    """Return the steps (>= 0) of all stretches that begin on a day from ``first`` to ``last``."""
    found: set[int] = set()
    day = first
    while day <= last:
        if when.on(day):
            begin, end = when.stretch(day)
            # A moment is the step that holds it: the shortest stretch there is.
            found.update(timeline.steps_between(begin, end or begin + timedelta(microseconds=1)))
        day += timedelta(days=1)
    return found


@dataclass(frozen=True)
class Period:
    """A day, or a week from Monday, by its name and its first and last day."""

    name: str
    first: date
    last: date


class StepReader:
    """How the event language reads steps on a timeline.

    Plain numbers are steps; ``2026-03-04T14:00`` is the step that holds that moment, and with
    ``..`` between two such moments all steps of the stretch; anything else is a *when*.

    Within a ``period`` a *when* means the stretches that begin on its days, also where they
    end after it: a night belongs to the day on which it begins. ``cut`` tells afterwards whether a
    stretch of the period reached beyond the clock, so that only a part of it was named. ``whens``
    and ``numbered`` collect what was read: by clock time, and as steps.
    """

    def __init__(self, timeline: Timeline, steps: int, period: Period | None = None) -> None:
        self._timeline = timeline
        self._clock = range(steps)
        self._period = period
        self.cut = False
        self.whens: list[When] = []
        self.numbered: list[range] = []

    def __call__(self, word: str, last: str | None) -> list[int]:
        if _NUMBER.fullmatch(word):
            if self._period is not None:
                raise ValueError(
                    f"an event of every {self._period.name} cannot name step {word}; write a time"
                )
            steps = _numbered(word, last, self._clock)
            self.numbered.append(steps)
            return list(steps)
        if _MOMENT.fullmatch(word):
            between = self._between(word, last)
            self.numbered.append(between)
            found = [step for step in between if step in self._clock]
        else:
            if last is not None:
                raise ValueError(f"{word!r} cannot be followed by '..'; write dates as first..last")
            self.whens.append(read_when(word))
            found = self._when(self.whens[-1])
        if not found:
            begin, end = (self._timeline.time_of(step) for step in (0, self._clock.stop))
            raise NoSteps(
                f"{word!r} names no step: the timeline runs from {_shown(begin)} to {_shown(end)}"
            )
        return found

    def _between(self, word: str, last: str | None) -> range:
        start = _read_moment(word)
        stop = start + timedelta(microseconds=1)
        if last is not None:
            if not _MOMENT.fullmatch(last):
                raise ValueError(f"after '..' write a moment like {word}; found {last!r}")
            stop = _read_moment(last)
            if stop <= start:
                raise ValueError(f"{word}..{last} does not go forward in time")
        period = self._period
        if period is not None and not period.first <= start.date() <= period.last:
            return range(0)
        return self._timeline.steps_between(start, stop)

    def _when(self, when: When) -> list[int]:
        if self._period is None:
            return steps_of_when(when, self._timeline, self._clock)
        named = _named(when, self._timeline, self._period.first, self._period.last)
        found = sorted(step for step in named if step in self._clock)
        opening = self._timeline.time_of(0).replace(tzinfo=None)
        days = (
            self._period.first + timedelta(days=day)
            for day in range((self._period.last - self._period.first).days + 1)
        )
        early = any(when.on(day) and when.stretch(day)[0] < opening for day in days)
        self.cut |= early or len(found) < len(named)
        return found


def periods(timeline: Timeline, steps: int, every: str) -> Iterator[Period]:
    """Yield each day, or each week from Monday, of which a stretch may lie on the timeline.

    That includes the one before the first step: its last night may reach into the timeline.
    """
    here = period_of(timeline.time_of(0).date(), every)
    period = period_of(here.first - timedelta(days=1), every)
    closing = timeline.time_of(steps).replace(tzinfo=None)
    while datetime.combine(period.first, time.min) < closing:
        yield period
        period = period_of(period.last + timedelta(days=1), every)


def period_of(day: date, every: str) -> Period:
    """Return the day, or the week from Monday, that holds a day.

    >>> period_of(date(2026, 3, 4), "week").name
    'week of 2026-03-02'
    """
    if every == "day":
        return Period(str(day), day, day)
    first = day - timedelta(days=day.weekday())
    return Period(f"week of {first}", first, first + timedelta(days=6))


def _read_moment(text: str) -> datetime:
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no moment like 2026-03-04T14:00")
    return datetime.combine(_date(found[1]), _clock(found[2]))


def _numbered(word: str, last: str | None, within: range) -> range:
    if last is not None and not _NUMBER.fullmatch(last):
        raise ValueError(f"after '{word}..' write a step number; found {last!r}")
    first, final = int(word), int(last) if last is not None else int(word)
    if final < first:
        raise ValueError(f"a range must not go down; got {word}..{last}")
    if final not in within:
        raise ValueError(
            f"step {final} is not on the timeline, which has steps {within.start} to "
            f"{within.stop - 1}"
        )
    return range(first, final + 1)


def _read_days(part: str) -> frozenset[int]:
    days: set[int] = set()
    for name in part.lower().split(","):
        if name in _GROUPS:
            days |= _GROUPS[name]
        elif name[:3] in DAY_NAMES and (name[:3] == name or name.endswith("day")):
            days.add(DAY_NAMES.index(name[:3]))
        else:
            raise ValueError(
                f"{part!r} is no date (2026-03-04), day (mon, weekdays, daily) "
                "or time (14:00-16:00)"
            )
    return frozenset(days)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a day of the calendar") from None


def _clock(text: str) -> time:
    hour, minute = map(int, text.split(":"))
    if (hour, minute) == (24, 0):
        return time.min
    try:
        return time(hour, minute)
    except ValueError:
        raise ValueError(f"{text!r} is not a time of day, 00:00 to 24:00") from None


def _shown(when: datetime) -> str:
    return when.strftime("%Y-%m-%d %H:%M")
