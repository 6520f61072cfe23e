"""The strip: every day a row, every hour a place, coloured by how vague the releases were.

It shows at one look what a mean hides: accurate all week, vague around the event.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

LEVELS = (1.0, 2.0, 3.0, 10.0)
"""Up to how many cells' sides off each level goes; the last level is everything beyond."""

NO_RELEASE = -1

VAGUE = 3
"""From this level on a release is called vague."""

LEVEL_WORDS = (
    "within 1 cell",
    "within 2 cells",
    "within 3 cells",
    "within 10 cells",
    "farther off",
)


@dataclass(frozen=True)
class Stretch:
    """A part of a day of one level; ``begin`` and ``width`` are shares of the day in percent."""

    begin: float
    width: float
    level: int
    words: str


@dataclass(frozen=True)
class Day:
    """One row of the strip: its date, what was released when, when its events are, and when its
    guarded hours are, in which releases do not depend on the truth."""

    label: str
    stretches: tuple[Stretch, ...]
    events: tuple[Stretch, ...]
    guarded: tuple[Stretch, ...] = ()


@dataclass(frozen=True)
class _Place:
    day: str
    begin: float
    end: float
    clock: str


def level(error: float | None, cell_size: float) -> int:
    """Return how far off a release was, in levels of cells; ``NO_RELEASE`` without an error.

    >>> [level(error, 0.5) for error in (0.5, 1.0, 1.1, 4.0, 9.0, None)]
    [0, 1, 2, 3, 4, -1]
    """
    if error is None:
        return NO_RELEASE
    tolerance = 1 + 1e-9
    return sum(error > bound * cell_size * tolerance for bound in LEVELS)


def strip_of(
    starts: Sequence[datetime],
    step: timedelta,
    errors: Sequence[float | None],
    cell_size: float,
    event_steps: Collection[int],
    guarded_hours: Collection[int] = (),
) -> tuple[Day, ...]:
    """Lay the steps out as days; ``starts`` are their first instants on the clocks of the place.

    Neighbouring steps of one level become one stretch, so the strip is small however short the
    steps are. A step that goes over midnight is drawn on the day on which it begins.
    """
    places = [_place(start, step) for start in starts]
    levels = [level(error, cell_size) for error in errors]

    def marked(steps: Collection[int], numbers: Sequence[int]) -> tuple[Stretch, ...]:
        inside = [0 if number in steps else NO_RELEASE for number in range(len(starts))]
        return tuple(s for s in _stretches(numbers, places, inside) if s.level == 0)

    days = []
    for label, group in groupby(range(len(starts)), key=lambda number: places[number].day):
        numbers = list(group)
        days.append(
            Day(
                label,
                _stretches(numbers, places, levels),
                marked(event_steps, numbers),
                marked(guarded_hours, numbers),
            )
        )
    return tuple(days)


def longest_vague(days: Sequence[Day]) -> str:
    """Say when the releases were vague for longest; nothing where they never were.

    >>> vague = tuple(Stretch(25.0 * k, 25.0, level, "") for k, level in enumerate((0, 3, 4, 1)))
    >>> longest_vague([Day("Wed 04 Mar", vague, ())])
    'The longest stretch of more than 3 cells off is Wed 04 Mar, 6:00 to 18:00.'
    >>> longest_vague([Day("Wed 04 Mar", vague[:1], ())])
    ''
    """
    found: list[tuple[float, str, float]] = []  # percent of a day, which day, from where
    for day in days:
        run = 0.0
        for part in day.stretches:
            run = run + part.width if part.level >= VAGUE else 0.0
            found.append((round(run, 2), day.label, part.begin + part.width - run))
    length, label, begin = max(found, default=(0.0, "", 0.0), key=lambda each: each[0])
    if length <= 0:
        return ""

    def clock(percent: float) -> str:
        minutes = round(percent / 100 * 1440)
        return f"{minutes // 60}:{minutes % 60:02d}"

    return (
        f"The longest stretch of more than {LEVELS[VAGUE - 1]:g} cells off is {label}, "
        f"{clock(begin)} to {clock(begin + length)}."
    )


def _place(start: datetime, step: timedelta) -> _Place:
    seconds = start.hour * 3600 + start.minute * 60 + start.second
    begin = 100 * seconds / 86400
    end = min(100.0, begin + 100 * step.total_seconds() / 86400)
    return _Place(f"{start:%a %d %b}", begin, end, f"{start:%H:%M}")


def _stretches(
    numbers: Sequence[int], places: Sequence[_Place], levels: Sequence[int]
) -> tuple[Stretch, ...]:
    found = []
    for at, group in groupby(numbers, key=lambda number: levels[number]):
        members = list(group)
        first, last = places[members[0]], places[members[-1]]
        words = "no error" if at == NO_RELEASE else LEVEL_WORDS[at]
        found.append(
            Stretch(
                round(first.begin, 3),
                round(max(0.0, last.end - first.begin), 3),
                at,
                f"{first.day}, from {first.clock}: {words}",
            )
        )
    return tuple(found)
