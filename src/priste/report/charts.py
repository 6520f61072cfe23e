"""Charts as plain values, which a page draws as SVG and a file by matplotlib.

A chart is lines through points in shares of its width and height, and labels placed in percent. On
a page paths stretch with the window and labels are ordinary text, so a chart is readable on a phone
and follows the colours of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 1000, 100
"""The box in which paths are drawn."""

MOST_TICKS = 5
MOST_TIMES = 3

NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Steps between ticks are one of these times a power of ten."""


@dataclass(frozen=True)
class Mark:
    """A text at a place, in percent from the left or the top of the chart."""

    at: float
    text: str


@dataclass(frozen=True)
class Band:
    """A shaded stretch, in percent from the left."""

    begin: float
    width: float


Points = tuple[tuple[float, float] | None, ...]
"""Points in shares of the width and of the height from below; a line breaks at None."""


@dataclass(frozen=True)
class Line:
    """One line: what it is, its style, and the points it goes through."""

    label: str
    style: str
    points: Points

    @property
    def path(self) -> str:
        """The line as a path of SVG."""
        return path(self.points)


@dataclass(frozen=True)
class Chart:
    """What is needed to draw a chart; ``words`` describes it for people who cannot see it."""

    title: str
    words: str
    lines: tuple[Line, ...]
    across: tuple[Mark, ...]
    up: tuple[Mark, ...]
    levels: tuple[Mark, ...] = ()
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True)
class ValueBar:
    """A value in percent of the width, with an interval where ``low`` < ``high``; ``words`` say it.

    The ``style`` is "good" or "bad"; ``level`` is a mark on the same scale.
    """

    name: str
    style: str
    width: float
    words: str
    low: float = 0.0
    high: float = 0.0
    level: float | None = None


@dataclass(frozen=True)
class BarGroup:
    """What bars are about: a setting, or a way to release."""

    name: str
    words: str
    bars: tuple[ValueBar, ...]


@dataclass(frozen=True)
class Scale:
    """A stretch of numbers, shown from 0 to 1."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Return where a number is, 0 to 1; beyond the ends it stays at them."""
        share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))

    def ticks(self, most: int = MOST_TICKS) -> list[float]:
        """Return round numbers on the scale, at most ``most`` + 1 of them.

        >>> Scale(0.0, 1.3).ticks(), Scale(0.0, 0.0009).ticks(3)
        ([0.0, 0.5, 1.0], [0.0, 0.0005])
        """
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(n * power for n in NICE if n * power >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def path(points: Sequence[tuple[float, float] | None]) -> str:
    """Return the path through points, each in shares of the width and of the height from below.

    None breaks the path, and a point between two breaks is drawn as a dot. Points in the middle
    of a level stretch are left out.

    >>> path([(0, 0), (0.5, 0), (1, 0.5), None, (1, 1)])
    'M0 100L500 100L1000 50M1000 0h0'
    """
    parts: list[str] = []
    run: list[tuple[int, float]] = []

    def finish() -> None:
        kept = [
            p
            for k, p in enumerate(run)
            if k in (0, len(run) - 1) or not run[k - 1][1] == p[1] == run[k + 1][1]
        ]
        if len(kept) == 1:
            parts.append(f"M{kept[0][0]} {kept[0][1]:g}h0")
        elif kept:
            parts.append("M" + "L".join(f"{x} {y:g}" for x, y in kept))
        run.clear()

    for point in points:
        if point is None:
            finish()
        else:
            run.append((round(WIDTH * point[0]), round(HEIGHT * (1 - point[1]), 1)))
    finish()
    return "".join(parts)


def over_steps(
    values: Sequence[float],
    steps: range,
    scale: Scale,
    silent: Sequence[bool],
) -> Points:
    """Return the points of values over steps; a gap where nothing was released.

    Values without limit run along the top.
    """
    across = Scale(steps.start - 0.5, max(steps.stop - 0.5, steps.start + 0.5))
    return tuple(
        None
        if silent[step] or math.isnan(values[step])
        else (across.at(step), scale.at(values[step]))
        for step in steps
    )


def bands_of(event_steps: Sequence[int], steps: range) -> tuple[Band, ...]:
    """Return the stretches of ``steps`` of which an event speaks.

    >>> bands_of((2, 3, 5), range(10))
    (Band(begin=20.0, width=20.0), Band(begin=50.0, width=10.0))
    """
    runs: list[list[int]] = []
    for step in sorted(set(event_steps) & set(steps)):
        if runs and step == runs[-1][1] + 1:
            runs[-1][1] = step
        else:
            runs.append([step, step])
    one = 100 / len(steps)
    return tuple(
        Band(round((a - steps.start) * one, 3), round((b - a + 1) * one, 3)) for a, b in runs
    )


def time_marks(times: Sequence[str], steps: range) -> tuple[Mark, ...]:
    """Return labels for a stretch of steps, ``times`` being like "Mon 02 Mar 22:00".

    Weekday and hour where it is short, the hour alone while the day stays the same; the date where
    it is a week or more.

    >>> times = [f"Mon 02 Mar {hour:02d}:00" for hour in range(3)] + ["Tue 03 Mar 00:00"]
    >>> [mark.text for mark in time_marks(times, range(4))]
    ['Mon 00:00', '02:00', 'Tue 00:00']
    """
    count = min(len(steps), MOST_TIMES)
    if not count:
        return ()
    chosen = sorted({steps[round(k * (len(steps) - 1) / max(count - 1, 1))] for k in range(count)})
    days = len({times[step].rpartition(" ")[0] for step in steps})
    found = []
    before = ""
    for step in chosen:
        date, _, hour = times[step].rpartition(" ")
        text = hour if date == before else f"{date.split(' ')[0]} {hour}"
        place = round(100 * (step - steps.start + 0.5) / len(steps), 2)
        found.append(Mark(place, text if days < 7 else date))
        before = date
    return tuple(found)


def value_marks(scale: Scale) -> tuple[Mark, ...]:
    """Return labels for the height, in percent from the top."""
    return tuple(
        Mark(round(100 * (1 - scale.at(value)), 2), f"{value:g}") for value in scale.ticks(3)
    )


def level(value: float, text: str, scale: Scale) -> Mark:
    """Return a horizontal line with its text."""
    return Mark(round(100 * (1 - scale.at(value)), 2), text)


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram: its range in words, how many, and its height in percent."""

    words: str
    count: int
    height: float


def histogram(
    values: Sequence[float], words: Sequence[str], edges: Sequence[float]
) -> tuple[Bar, ...]:
    """Count values between ``edges``; the last bar takes everything from the last edge on.

    >>> [bar.count for bar in histogram([0.0, 0.5, 9.0], ["< 1", "1 and more"], [0.0, 1.0])]
    [2, 1]
    """
    counts = [0] * len(edges)
    for value in values:
        place = sum(value >= edge for edge in edges) - 1
        counts[max(place, 0)] += 1
    top = max([*counts, 1])
    return tuple(
        Bar(word, count, round(100 * count / top, 1))
        for word, count in zip(words, counts, strict=True)
    )
