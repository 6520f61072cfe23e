"""The commented policy that `priste init` writes: it can be used as it stands, and edited."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import PurePath
from typing import Any

from priste.policy.calendar import read_when
from priste.policy.draft.area import round_up
from priste.policy.draft.event_templates import DAILY
from priste.policy.draft.facts import (
    FEWEST_PEOPLE,
    RADIUS_KM,
    DraftFacts,
    example_facts,
    facts_of,
)
from priste.traces import Trace

NOTES_AT = 35
"""The column in which notes begin."""

REMARK_WIDTH = 88
"""The longest line of a remark."""


@dataclass(frozen=True)
class PolicyDraft:
    """The text of a policy, and what was made of the traces, in sentences without a location.

    ``homes`` is the text of the table that says where each of a crowd lives, if it needs one.
    """

    text: str
    notes: tuple[str, ...]
    homes: str | None = None


def draft_policy(
    traces: Iterable[Trace] | None = None,
    *,
    zone: str | None = None,
    day: date | None = None,
    source: str | Sequence[str] | None = None,
    format: str | None = None,
) -> str:
    """Return the text of a policy that ``read_policy`` accepts as it stands.

    See :func:`drafted`, which also says what was made of the traces.

    >>> "[events.example]" in draft_policy(day=date(2026, 3, 2))
    True
    """
    return drafted(traces, zone=zone, day=day, source=source, format=format).text


def drafted(
    traces: Iterable[Trace] | None = None,
    *,
    zone: str | None = None,
    day: date | None = None,
    source: str | Sequence[str] | None = None,
    format: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    homes: str | None = None,
    guard: Sequence[str] = (),
    kind: str | None = None,
) -> PolicyDraft:
    """Return a policy that ``read_policy`` accepts as it stands, and what it was made from.

    The event is an example by rule: at one of the places where people stay, or with ``kind``, the
    path of a GeoJSON file of places of one kind, at all of those; at the times of the week
    ``guard``, or else at those of a template. The traces are read without these hours, so that the
    draft does not depend on what it guards.

    Of the rest: the clock holds the two whole weeks with the most data, or what ``since`` and
    ``until`` ask for; the map is made of blocks of the public lattice around where people are then
    (of a large area, around where most time is spent) and everything else is off the map; the zone
    follows from the coordinates unless given, the step from the pace; places where people stay, in
    different cells, are regions. With at least ``FEWEST_PEOPLE`` people over days and their
    ``source``, a path from the policy's folder or several, the model is fitted on them; else it has
    a few numbers, how often people stay and how far they go. With ``homes``, the name of a table
    next to the policy, the model also knows where each of a crowd lives. Without traces everything
    is an example, starting on ``day`` (today). The result names places of the traces: it is as
    private as they are. Raises InvalidParameter where too little lies outside the guarded hours.
    """
    if traces is None:
        facts = example_facts(day or date.today(), zone or "UTC")
    else:
        times = guard or ([DAILY] if kind is not None else [])
        facts = facts_of(
            traces, zone=zone, since=since, until=until, homes=homes is not None, guard=times
        )
    # Of outings a count knows one way only: in the long run everybody would be where they ended.
    many = facts.people >= FEWEST_PEOPLE and not facts.clock.is_outing
    fitted_on = source if many else None
    return PolicyDraft(
        _text(facts, fitted_on, format, homes or "", kind),
        tuple(_notes(facts, fitted_on, homes or "")),
        _table_of_homes(facts) if facts.homes else None,
    )


def _table_of_homes(facts: DraftFacts) -> str:
    """Return a table of personal places, as runs of many users read it."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("user", "region", "lat", "lon", "radius_km"))
    for user, (lat, lon, radius) in sorted(facts.homes.items(), key=lambda item: item[0] or ""):
        rows.writerow((user or "", facts.home, f"{lat:.6f}", f"{lon:.6f}", f"{radius:g}"))
    return out.getvalue()


def _notes(facts: DraftFacts, source: object, homes: str) -> list[str]:
    if not facts.people:
        return []
    clock, end = facts.clock, facts.clock.start + facts.length
    whole = "all of the recorded time"
    if facts.covered < 1.0:
        whole = f"{_share(facts.covered)} of the recorded time; --from and --to choose another"
    notes = [
        f"Clock: {clock.start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} ({facts.zone}), "
        f"{clock.steps} steps of {clock.step}: {whole}.",
        f"Map: cells of {kilometres(facts.frame.cell_size)}. {_beyond(facts)}",
    ]
    hours = " and ".join(facts.times)
    notes.append(
        f"Read without the guarded hours, {hours}: the draft does not depend on what happened then."
    )
    if facts.people > 1:
        some = "" if facts.present == facts.people else f", {facts.present} of them in this time"
        notes.insert(0, f"{facts.people} people{some}.")
    notes.append(
        "Model: learnt from these people, each left out of their own."
        if source is not None
        else "Model: people who stay, or go near rather than far; its numbers are from the trace "
        "and say how often its user moves, not where."
    )
    if facts.homes:
        others = (
            "" if len(facts.homes) == facts.people else " The homes of the others are not known."
        )
        notes.append(
            f"Homes: {homes} has the homes of {len(facts.homes)} of {facts.people} people: keep it "
            f"as private as the traces. Adversaries are assumed to know them.{others}"
        )
    return notes


def _beyond(facts: DraftFacts) -> str:
    if not facts.frame.outside:
        return "All of that time is on it."
    return f"{_share(facts.frame.outside)} of that time is off it."


def _share(share: float) -> str:
    if share < 0.001:
        return "less than 0.1 %"
    if share < 0.1:
        return f"{100 * share:.1f} %"
    return f"{min(100 * share, 99.9):.0f} %" if share < 0.995 else "more than 99 %"


def kilometres(km: float) -> str:
    """Return a length in words: in metres below a kilometre, in kilometres from there on.

    >>> kilometres(0.25), kilometres(1.5), kilometres(20.0)
    ('250 m', '1.5 km', '20 km')
    """
    return f"{1000 * km:g} m" if km < 1 else f"{km:g} km"


def _text(
    facts: DraftFacts,
    source: str | Sequence[str] | None,
    format: str | None,
    homes: str,
    kind: str | None,
) -> str:
    out = _Writer()
    about = (
        "Drafted from traces. It names places where people stay: keep it as private as they are."
        if facts.people
        else "An example: put your own map, clock, places and events here."
    )
    out.remark(
        f"A policy of priste. {about} Every key is explained in docs/reference/policy.md; "
        "`priste explain` says what it guarantees."
    )
    south, west, north, east = facts.frame.bounds
    clock, cell = facts.clock, facts.frame.cell_size
    out.section(
        ["map"],
        "the part of the earth that is cut into cells",
        ("south", south, ""),
        ("west", west, ""),
        ("north", north, ""),
        ("east", east, ""),
        ("cell_size", cell, "km"),
        (
            "lattice",
            list(facts.frame.origin),
            "cells are those of the public lattice",
        ),
    )
    end = clock.start + facts.length
    out.section(
        ["clock"],
        "one release per step",
        ("start", clock.start, ""),
        ("zone", facts.zone, "of the times in this file"),
        ("step", clock.step, ""),
        ("steps", clock.steps, f"or: end = {end:%Y-%m-%dT%H:%M:%S}"),
    )
    out.section(
        ["mobility"],
        "how people move: an adversary is assumed to know it",
        *_mobility(facts, source, format),
    )
    alpha = round_up(2.0 / cell)
    out.section(
        ["mechanism"],
        "the noise before calibration",
        ("kind", "planar-laplace", ""),
        ("alpha", alpha, "per km: 2/alpha km on average, about a cell"),
    )
    out.remark(
        "The adversary. Against one with any prior, little can be released. The usual adversary "
        "knows how people move here, and perhaps where you live; then releases are more exact."
    )
    home = [] if facts.home is None else [facts.home]
    also = [("also", home, "and perhaps that you began there")] if home else []
    out.section(
        ["adversary"],
        'or knows = "anything": the strongest guarantee',
        ("knows", "population", "knows where people are at the first step"),
        *also,
    )
    out.section(
        ["guarantee"],
        "",
        ("epsilon", 1.0, "odds move by at most a factor e^1 = 2.72, up or down"),
        "odds_up = 1.0: instead, only that it happened stays deniable",
        "belief_at_most = 0.2: instead, the adversary believes at most 20 % that it happened",
    )
    off = "off the map is a place of its own around it"
    if facts.frame.outside:
        off += f" ({_share(facts.frame.outside)} of the recorded time)"
    out.section(
        ["release"],
        "",
        (
            "calibrator",
            "optimal",
            "the best guess where the guarantee allows it, else a coarser point",
        ),
        ("outside", "off-map", off),
    )
    out.remark("Places: each a circle, a box, a polygon, a GeoJSON file, or cells of the map.")
    for each in facts.places:
        circle = {
            "lat": round(each.place.lat, 4),
            "lon": round(each.place.lon, 4),
            "radius_km": RADIUS_KM,
        }
        out.section(["regions", each.name], each.about, ("circle", circle, ""))
    if facts.homes:
        where = f"where each of them lives: protect with --places {homes}"
        out.section(["regions", str(facts.home)], "", ("own", True, where))
    place = facts.event_place
    if kind is not None:
        place = _name_of(kind)
        out.section(["regions", place], "", ("geojson", kind, "every place of this kind"))
    out.remark(
        "What must stay deniable. This is an example. Guard by rule (a place and hours of every "
        "week), not the visits that you remember: the choice of an event is information too."
    )
    if facts.people:
        out.remark(
            f"Everything above was made without reading {' and '.join(facts.times)}. To guard "
            "other hours draft again: priste init --guard 'fri 18:00-20:00'."
        )
    for number, when in enumerate(facts.times, 1):
        name = "example" if number == 1 else f"example{number}"
        out.section(["events", name], "", *_event(place, when, facts))
    if facts.people:
        margin = f"{facts.margin // timedelta(minutes=1)}min"
        out.section(
            ["drafted"],
            "hours that were not read: `priste explain` compares",
            ("without", list(facts.times), ""),
            *([("margin", margin, "before and after them too")] if facts.margin else []),
        )
    return out.text()


def _name_of(path: str) -> str:
    """Return the name of a kind of place from that of its file."""
    name = re.sub(r"\W+", "_", PurePath(path).stem).strip("_").lower()
    return name if name and not name[0].isdigit() else f"kind_{name}"


def _event(place: str, when: str, facts: DraftFacts) -> list[Entry]:
    if ".." in when:
        return [("formula", _formula(f"presence({place}, {when})"), "")]
    formula = _formula(f'presence({place}, "{when}")')
    read = read_when(when)
    if read.first is not None or facts.clock.is_outing:
        return [("formula", formula, "")]
    every = "day" if len(read.weekdays) == 7 else "week"
    return [("formula", formula, ""), ("every", every, f"each {every} is an event of its own")]


def _formula(text: str) -> Any:
    import tomlkit

    return tomlkit.string(text, literal=True)


def _mobility(
    facts: DraftFacts, source: str | Sequence[str] | None, format: str | None
) -> list[Entry | str]:
    if source is not None:
        found: list[Entry | str] = [
            ("kind", "fit", "learnt from these people; each is left out of their own model"),
            ("traces", source if isinstance(source, str) else list(source), ""),
            ("memory", "auto", "by hour or not: chosen by cross-validation"),
        ]
        if facts.homes:
            found.append(("home", facts.home, "and they come home, as often as these people"))
        return found if format is None else [*found, ("format", format, "")]
    habits = facts.habits
    found = [
        ("kind", "stay-or-go", "people stay, or go near rather than far"),
        ("stay", habits.stay, "the chance to be in the same cell a step later"),
    ]
    if habits.stay_at_night is not None:
        found.append(("stay_at_night", habits.stay_at_night, "from 22:00 to 06:00"))
    found.append(("decay", habits.decay, "a larger number makes long ways rarer"))
    away = min(max(round(facts.frame.outside, 2), 0.01), 0.99)
    found.append(("away_share", away, "share of the time off the map"))
    found += _homecoming(facts)
    if facts.people:
        found.append("These numbers are from the trace: they say how its user moves, not where.")
    found.append('Instead, learnt from others: kind = "fit", traces = "o.csv", memory = "auto"')
    return found


def _homecoming(facts: DraftFacts) -> list[Entry | str]:
    """Return the entries about a person's home: an adversary who knows it knows that the person
    comes back."""
    habits = facts.home_habits
    if facts.home is None or habits is None:
        return []
    found: list[Entry | str] = [
        ("home", facts.home, "they come home, and the adversary knows it"),
        ("stay_home", habits.stay, "the chance to be still at home a step later"),
        ("back_home", habits.back, "the chance to be back home a step later"),
    ]
    at_night = {"stay_home": habits.stay_at_night, "back_home": habits.back_at_night}
    return found + [
        (f"{name}_at_night", share, "") for name, share in at_night.items() if share is not None
    ]


Entry = tuple[str, Any, str]
"""A key, its value and a note about it."""


class _Writer:
    """A TOML document with notes next to its keys, in one column."""

    def __init__(self) -> None:
        import tomlkit

        self._document = tomlkit.document()
        self._after_remark = True

    def remark(self, text: str) -> None:
        """Add lines of their own."""
        import tomlkit

        if not self._after_remark:
            self._document.add(tomlkit.nl())
        self._after_remark = True
        for line in textwrap.wrap(text, REMARK_WIDTH):
            self._document.add(tomlkit.comment(line))

    def section(self, path: Sequence[str], note: str, *entries: Entry | str) -> None:
        """Add a table; an entry that is a text is a remark in it."""
        import tomlkit

        table = tomlkit.table()
        for entry in entries:
            if isinstance(entry, str):
                table.add(tomlkit.comment(entry))
                continue
            key, value, about = entry
            item: Any = tomlkit.inline_table() if isinstance(value, dict) else tomlkit.item(value)
            if isinstance(value, dict):
                item.update(value)
            table.add(key, item)
            self._note(item, about, len(f"{key} = {item.as_string()}"))
        target = self._document
        for name in path[:-1]:
            if name not in target:
                target.add(name, tomlkit.table(is_super_table=True))
            target = target[name]
        target.add(path[-1], table)
        self._note(table, note, len(".".join(path)) + 2)
        self._after_remark = False

    @staticmethod
    def _note(item: Any, text: str, width: int) -> None:
        if text:
            item.comment(text)
            item.trivia.comment_ws = " " * max(1, NOTES_AT - width)

    def text(self) -> str:
        """Return the document."""
        import tomlkit

        return tomlkit.dumps(self._document)
