"""An event as a sentence that says when it happens, made from its tree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from priste.policy.calendar import read_when
from priste.traces import Timeline

DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{1,2}:\d{2}")


def sentence(
    structure: Mapping[str, Any] | None, every: str | None, timeline: Timeline, span: int = 1
) -> str:
    """Return what must stay deniable, as a sentence to the person it is about.

    >>> from datetime import datetime, timedelta
    >>> line = Timeline(datetime(2026, 3, 2), timedelta(hours=1), "UTC")
    >>> tree = {"kind": "presence", "region": "clinic", "when": ["wed 14:00-16:00"]}
    >>> sentence(tree, "week", line)
    'You are at clinic at some time on Wednesdays from 14:00 to 16:00. Each week is an event of \
its own.'
    """
    if structure is None:
        return "A formula of many parts: it means what its text says."
    said = _clause(structure, timeline)
    own = "" if every is None else f" {_how_often(every, span)}"
    first = len(said) - len(said.lstrip("("))
    return f"{said[:first]}{said[first].upper()}{said[first + 1 :]}.{own}"


def _how_often(every: str, span: int) -> str:
    if span == 1:
        return f"Each {every} is an event of its own."
    return f"Each {span} neighbouring {every}s are guarded together."


def answers_sentence(answers: Sequence[str], every: str | None) -> str:
    """Return which answers no release may distinguish.

    >>> answers_sentence(["clinic only", "neither"], None)
    'No two of these 2 answers can be distinguished: clinic only; neither.'
    """
    own = "" if every is None else f" Each {every} is a secret of its own."
    listed = "; ".join(answers)
    return f"No two of these {len(answers)} answers can be distinguished: {listed}.{own}"


def _clause(tree: Mapping[str, Any], timeline: Timeline) -> str:
    kind = tree["kind"]
    if kind == "true":
        return "this always happens"
    if kind == "false":
        return "this never happens"
    if kind == "at":
        return f"you are {_place(tree['region'])} {_time(tree['when'], timeline)}"
    if kind == "presence":
        return f"you are {_place(tree['region'])} at some time {_times(tree['when'], timeline)}"
    if kind == "at_least":
        return (
            f"you are {_place(tree['region'])} at {tree['times']} or more of the steps "
            f"{_times(tree['when'], timeline)}"
        )
    if kind == "pattern":
        stops = [f"{_place(p['region'])} {_time(p['when'], timeline)}" for p in tree["places"]]
        return f"you are {', and '.join(stops)}"
    if kind == "not":
        return f"it is not so that {_bracketed(tree['part'], timeline)}"
    return f", {kind} ".join(_bracketed(part, timeline) for part in tree["parts"])


def _bracketed(tree: Mapping[str, Any], timeline: Timeline) -> str:
    """Return a clause inside another one; brackets say what belongs together."""
    said = _clause(tree, timeline)
    return f"({said})" if tree["kind"] in ("and", "or", "pattern") else said


def _place(region: str | Mapping[str, Sequence[int]]) -> str:
    if isinstance(region, str):
        return f"at {region}"
    count = len(region["cells"])
    return f"in cell {region['cells'][0]}" if count == 1 else f"in one of {count} cells"


def _times(whens: Sequence[str], timeline: Timeline) -> str:
    return " or ".join(_time(when, timeline) for when in whens)


def _time(when: str, timeline: Timeline) -> str:
    first, _, last = when.partition("..")
    if first.isdigit():
        if not last:
            return f"at step {first} ({timeline.time_of(int(first)):%a %d %b %H:%M})"
        begin, end = timeline.time_of(int(first)), timeline.time_of(int(last) + 1)
        return f"from {begin:%a %d %b %H:%M} to {end:%a %d %b %H:%M}"
    if _MOMENT.fullmatch(first):
        if not last:
            return f"at {_moment(first)}"
        if first[:10] == last[:10]:
            return f"from {first[11:]} to {_moment(last)}"
        return f"from {_moment(first)} to {_moment(last)}"
    return _recurring(when)


def _moment(text: str) -> str:
    day, _, clock = text.partition("T")
    return f"{clock} on {_date(date.fromisoformat(day))}"


def _date(day: date | datetime) -> str:
    return f"{day:%a} {day.day} {day:%b %Y}"


def _recurring(text: str) -> str:
    """Say a *when* of the calendar."""
    when = read_when(text)
    parts = []
    if when.first is not None and when.last is not None:
        same = when.first == when.last
        parts.append(
            f"on {_date(when.first)}" if same else f"from {_date(when.first)} to {_date(when.last)}"
        )
    if when.weekdays == frozenset(range(5)):
        parts.append("on weekdays")
    elif when.weekdays == frozenset({5, 6}):
        parts.append("on weekends")
    elif len(when.weekdays) < 7:
        parts.append(f"on {' and '.join(DAYS[day] for day in sorted(when.weekdays))}")
    elif when.first is None and not when.whole_day:
        parts.append("on any day")
    if when.whole_day and not parts:
        parts.append("on any day")
    if not when.whole_day:
        if when.end is None:
            parts.append(f"at {when.begin:%H:%M}")
        else:
            parts.append(f"from {when.begin:%H:%M} to {when.end:%H:%M}")
    return " ".join(parts)
