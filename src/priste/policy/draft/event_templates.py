"""What a draft guards: decided by rule, before any fix of these hours is read.

An event that is guarded because it happened reveals that it happened. So the hours of a drafted
event follow from a template, or from what the user asks for. And nothing else in the draft may
depend on what happened in these hours: they are taken out of the traces first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from priste.errors import InvalidParameter
from priste.policy.calendar import When
from priste.policy.windows import Windows
from priste.traces import Trace
from priste.traces.fixes import microseconds, utc_datetime

WEEKLY = "wed 14:00-16:00"
"""The template: an afternoon of the week. A clock of whole weeks always holds it."""

DAILY = "10:00-16:00"
"""The template for a kind of place ("any clinic"): most opening hours, every day."""

LONGEST_STEP = timedelta(hours=2)
"""No step of a draft is longer, so that a window is not widened to half a day."""

SHORT_STEP = timedelta(minutes=5)
"""The longest step of an outing of less than a day."""

SHORTEST_OUTING = timedelta(minutes=20)
"""The window of a shorter one follows from its first fix only: the last may lie in it."""

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Guard:
    """The times of a draft's events as they are written, and the windows that they are.

    ``longest_step`` bounds the steps of the draft, and is what the windows are widened by.
    ``end`` is an instant that the clock must reach.
    """

    times: tuple[str, ...]
    windows: Windows
    longest_step: timedelta = LONGEST_STEP
    end: datetime | None = None

    @classmethod
    def by_rule(cls, texts: Sequence[str]) -> Guard:
        """Return the guard of times of the week such as ``"fri 18:00-20:00"``.

        Raises InvalidParameter for a text that is none.
        """
        try:
            windows = Windows.of_texts(texts, LONGEST_STEP)
        except ValueError as error:
            raise InvalidParameter(
                f"must be a time of the day or week: {error}", parameter="guard"
            ) from None
        longest = min(LONGEST_STEP, *(_length(when) for when in windows.whens))
        return cls(tuple(texts), Windows(windows.whens, margin=longest), longest)

    @classmethod
    def amid(cls, people: Sequence[Trace]) -> Guard:
        """Return the guard of a stretch in the middle of what was recorded.

        It follows from the first fix and the last only, and does not hold them. Of an outing that
        is too short for that it follows from the first fix, and ends before ``SHORTEST_OUTING``.
        """
        first = utc_datetime(min(int(trace.times[0]) for trace in people))
        last = utc_datetime(max(int(trace.until[-1]) for trace in people))
        span = last - first
        unit = LONGEST_STEP if span >= _DAY else SHORT_STEP
        if span < SHORTEST_OUTING:
            begin, end = _down(first, unit) + 2 * unit, _down(first, unit) + 3 * unit
        else:
            begin = _down(first + 0.4 * span, unit)
            end = max(begin + unit, _down(first + 0.5 * span, unit))
        if span >= _DAY:
            end = begin + unit
        # Steps of an outing begin with its windows, as all zones are whole quarters of an hour.
        margin = unit if span >= _DAY else timedelta(0)
        spans = ((microseconds(begin), microseconds(end)),)
        return cls((), Windows((), spans, margin=margin), unit, end)

    @property
    def is_template(self) -> bool:
        """Whether its only time is the template."""
        return self.times == (WEEKLY,)

    def in_zone(self, zone: tzinfo) -> Guard:
        """Return the same guard, with its times as clocks of a zone show them."""
        windows = self.windows.in_zone(zone)
        shown = [
            "..".join(f"{utc_datetime(each).astimezone(zone):%Y-%m-%dT%H:%M}" for each in span)
            for span in windows.spans
        ]
        return replace(self, windows=windows, times=(*self.times, *shown))

    def rest_of(self, people: Sequence[Trace]) -> list[Trace]:
        """Return what is left of traces outside the windows, without people who have none."""
        return [part for part in map(self.windows.outside, people) if part is not None]


def _length(when: When) -> timedelta:
    begin, end = when.stretch(datetime(2000, 1, 3).date())
    return max((end or begin) - begin, timedelta(minutes=1))


def _down(moment: datetime, unit: timedelta) -> datetime:
    """Return the last multiple of ``unit`` after midnight (UTC) up to a moment."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return moment - (moment - midnight) % unit


def span_of(people: Sequence[Trace]) -> timedelta:
    """Return how long it is from the first fix to the last, of all people."""
    if not people:
        return timedelta(0)
    return max(trace.end for trace in people) - min(trace.start for trace in people)


def nothing_left(times: Sequence[str]) -> InvalidParameter:
    """Return the error for too little data outside the guarded hours, with the possible
    remedies."""
    return InvalidParameter(
        f"Too little was recorded outside the hours to be guarded ({', '.join(times)}). A map "
        "that was drawn from these hours would reveal something about them.",
        hint="Take a longer recording, other people's traces, other hours (--guard), or start from "
        "the example: priste init without traces.",
    )
