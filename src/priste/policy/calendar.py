"""When: clock times and recurrences as a person writes them, turned into steps.

A *when* is a text of up to three parts, separated by blanks, in any order:

    dates    2026-03-04            or  2026-03-02..2026-03-13
    days     mon,wed  weekdays  weekends  daily
    times    14:00-16:00           or  14:00   (the step that holds this moment)

What is left out does not restrict: ``"wed 14:00-16:00"`` is every Wednesday of the
timeline, ``"2026-03-04"`` the whole day. An end that is not after its start is on the
next day (``22:00-06:00``). A step belongs to a stretch of time when they share an
instant, so what is protected is never less than what was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
    """A text that is well written but names no step of the timeline."""


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
        """Tell whether a stretch begins on this day."""
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
    """Read a *when*; a ValueError says which part cannot be read and what would be.

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
    found: set[int] = set()
    opening = timeline.time_of(within.start).date()
    closing = timeline.time_of(within.stop).date()
    day = opening - timedelta(days=1)  # a stretch may begin on the evening before
    while day <= closing:
        if when.on(day):
            begin, end = when.stretch(day)
            # A moment is the step that holds it: the shortest stretch there is.
            steps = timeline.steps_between(begin, end or begin + timedelta(microseconds=1))
            found.update(range(max(steps.start, within.start), min(steps.stop, within.stop)))
        day += timedelta(days=1)
    return sorted(found)


def step_reader(timeline: Timeline, within: range) -> Callable[[str, str | None], list[int]]:
    """Return how the event language reads steps on this timeline.

    Plain numbers are steps; ``2026-03-04T14:00`` is the step that holds that moment, and with
    ``..`` between two such moments all steps of the stretch; anything else is a *when*.
    """

    def read(word: str, last: str | None) -> list[int]:
        if _NUMBER.fullmatch(word):
            return _numbered(word, last, within)
        if moment := _MOMENT.fullmatch(word):
            start = datetime.combine(_date(moment[1]), _clock(moment[2]))
            stop = start + timedelta(microseconds=1)
            if last is not None:
                closing = _MOMENT.fullmatch(last)
                if closing is None:
                    raise ValueError(f"after '..' write a moment like {word}; found {last!r}")
                stop = datetime.combine(_date(closing[1]), _clock(closing[2]))
                if stop <= start:
                    raise ValueError(f"{word}..{last} does not go forward in time")
            steps = timeline.steps_between(start, stop)
            found = list(range(max(steps.start, within.start), min(steps.stop, within.stop)))
        else:
            if last is not None:
                raise ValueError(f"{word!r} cannot be followed by '..'; write dates as first..last")
            found = steps_of_when(read_when(word), timeline, within)
        if not found:
            begin, end = timeline.time_of(within.start), timeline.time_of(within.stop)
            raise NoSteps(
                f"{word!r} names no step: the timeline runs from {_shown(begin)} to {_shown(end)}"
            )
        return found

    return read


def periods(timeline: Timeline, steps: int, every: str) -> Iterator[tuple[str, range]]:
    """Yield a name and the steps of each day, or of each week from Monday, of the timeline."""
    day = timeline.time_of(0).date()
    if every == "week":
        day -= timedelta(days=day.weekday())
    length = timedelta(days=7 if every == "week" else 1)
    closing = timeline.time_of(steps)
    while datetime.combine(day, time.min) < closing.replace(tzinfo=None):
        begin = datetime.combine(day, time.min)
        found = timeline.steps_between(begin, begin + length)
        inside = range(min(found.start, steps), min(found.stop, steps))
        if len(inside):
            yield (f"week of {day}" if every == "week" else str(day)), inside
        day += length


def _numbered(word: str, last: str | None, within: range) -> list[int]:
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
    return list(range(first, final + 1))


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
