"""The commented policy that `priste init` writes: it can be used as it stands, and edited."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from priste.policy.calendar import DAY_NAMES
from priste.policy.draft.area import round_up
from priste.policy.draft.facts import (
    FEWEST_PEOPLE,
    RADIUS_KM,
    DraftFacts,
    NamedPlace,
    example_facts,
    facts_of,
)
from priste.traces import Trace


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
) -> PolicyDraft:
    """Return a policy that ``read_policy`` accepts as it stands, and what it was made from.

    From traces: the clock holds the two weeks with the most data, or what ``since`` and ``until``
    ask for; the map is a box of where people are then (of a large one, a square around where
    most time is spent) and everything else is elsewhere; the zone follows from the coordinates
    unless given, the step from the pace; places where people stay, in different cells, are regions,
    and the event is an example at one of them. With at least ``FEWEST_PEOPLE`` people over days
    and their ``source``, a path from the policy's folder or several, the model is fitted on them;
    else it has three numbers, how often people stay and how far they go. With ``homes``, the name
    of a table beside the policy, the model also knows where each of a crowd lives, as it does of
    one person: the table says where, for those with whom it is clear. Without traces everything is
    an example, starting on ``day`` (today). The result names places of the traces: it is as private
    as they are.
    """
    if traces is None:
        facts = example_facts(day or date.today(), zone or "UTC")
    else:
        facts = facts_of(traces, zone=zone, since=since, until=until, homes=homes is not None)
    # Of outings a count knows one way only: in the long run everybody would be where they ended.
    many = facts.people >= FEWEST_PEOPLE and not facts.clock.is_outing
    fitted_on = source if many else None
    return PolicyDraft(
        _text(facts, fitted_on, format, homes or ""),
        tuple(_notes(facts, fitted_on, homes or "")),
        _table_of_homes(facts) if facts.homes else None,
    )


def _table_of_homes(facts: DraftFacts) -> str:
    """Return a table of places of everybody's own, as runs of many users read it."""
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
    if facts.people > 1:
        some = "" if facts.present == facts.people else f", {facts.present} of them in this time"
        notes.insert(0, f"{facts.people} people{some}.")
    notes.append(
        "Model: learnt from these people, each left out of their own."
        if source is not None
        else "Model: people who stay, or go near rather than far; its numbers are from the "
        "trace and tell how often its user moves, not where."
    )
    if facts.homes:
        others = "" if len(facts.homes) == facts.people else " Where the others live nobody knows."
        notes.append(
            f"Homes: of {len(facts.homes)} of {facts.people} people it is clear where they live. "
            f"{homes} says it: keep it as private as the traces. Adversaries are taken to know "
            f"it.{others}"
        )
    return notes


def _beyond(facts: DraftFacts) -> str:
    if not facts.frame.outside:
        return "All of that time is on it."
    return f"{_share(facts.frame.outside)} of that time is beyond it and counts as elsewhere."


def _share(share: float) -> str:
    if share < 0.001:
        return "less than 0.1 %"
    if share < 0.1:
        return f"{100 * share:.1f} %"
    return f"{min(100 * share, 99.9):.0f} %" if share < 0.995 else "more than 99 %"


def kilometres(km: float) -> str:
    """Say a length in metres below a kilometre, and in kilometres from there.

    >>> kilometres(0.25), kilometres(1.5), kilometres(20.0)
    ('250 m', '1.5 km', '20 km')
    """
    return f"{1000 * km:g} m" if km < 1 else f"{km:g} km"


def _text(
    facts: DraftFacts, source: str | Sequence[str] | None, format: str | None, homes: str
) -> str:
    south, west, north, east = facts.frame.bounds
    cell = facts.frame.cell_size
    clock = facts.clock
    about = (
        "Drafted from traces. It names places where people stay: keep it as private as they are."
        if facts.people
        else "An example: put your own map, clock, places and events here."
    )
    lines = [
        f"# A policy of priste. {about}",
        "# Every key is explained in docs/policy.md; `priste explain` says what it guarantees.",
        "",
        _noted("[map]", "the part of the earth that is cut into cells"),
        f"south = {south}",
        f"west = {west}",
        f"north = {north}",
        f"east = {east}",
        _noted(f"cell_size = {cell}", "km"),
        "",
        _noted("[clock]", "one release per step"),
        f"start = {clock.start:%Y-%m-%dT%H:%M:%S}",
        _noted(f'zone = "{facts.zone}"', "of the times in this file"),
        f'step = "{clock.step}"',
        _noted(f"steps = {clock.steps}", f"or: end = {_end(facts):%Y-%m-%dT%H:%M:%S}"),
        "",
        *_mobility(facts, source, format),
        "",
        _noted("[mechanism]", "the noise before calibration"),
        'kind = "planar-laplace"',
        _noted(f"alpha = {round_up(2.0 / cell)}", "per km: 2/alpha km on average, about a cell"),
        "",
        *_adversary(facts),
        "",
        "[guarantee]",
        _noted("epsilon = 1.0", "odds move by at most a factor e^1 = 2.72, up or down"),
        _noted("# odds_up = 1.0", "instead: only that it happened stays deniable"),
        _noted("# belief_at_most = 0.2", "instead: nobody gets more than 20 % sure of it"),
        "",
        "[release]",
        _noted('calibrator = "optimal"', "tells what is harmless, pools the rest"),
        _noted('outside = "off-map"', "beyond the map is a place of its own around it"),
        *_left_outside(facts),
        "",
        "# Places: each a circle, a box, a polygon or a GeoJSON file.",
        *map(_region, facts.places),
        *_own_home(facts, homes),
        "# What must stay deniable. Times are steps, moments or times of the week.",
        *_event(facts),
        "",
    ]
    return "\n".join(lines)


def _end(facts: DraftFacts) -> datetime:
    return facts.clock.start + facts.length


def _left_outside(facts: DraftFacts) -> list[str]:
    if not facts.frame.outside:
        return []
    return [_noted("", f"({_share(facts.frame.outside)} of the recorded time)")]


def _mobility(
    facts: DraftFacts, source: str | Sequence[str] | None, format: str | None
) -> list[str]:
    head = _noted("[mobility]", "how people move: what an adversary is taken to know")
    if source is not None:
        paths = source if isinstance(source, str) else list(source)
        lines = [
            head,
            _noted('kind = "fit"', "learnt from these people; each is left out of their own model"),
            f"traces = {json.dumps(paths, ensure_ascii=False)}",
            _noted('memory = "auto"', "by hour or not: what predicts people left out best"),
        ]
        if facts.homes:
            lines.append(_noted(f'home = "{facts.home}"', "and come home: how often is learnt too"))
        return lines if format is None else [*lines, f'format = "{format}"']
    habits = facts.habits
    lines = [
        head,
        _noted('kind = "stay-or-go"', "people stay, or go near rather than far"),
        _noted(f"stay = {habits.stay}", "the chance to be in the same cell a step later"),
    ]
    if habits.stay_at_night is not None:
        lines.append(_noted(f"stay_at_night = {habits.stay_at_night}", "from 22:00 to 06:00"))
    lines.append(_noted(f"decay = {habits.decay}", "the larger, the rarer long ways are"))
    away = min(max(round(facts.frame.outside, 2), 0.01), 0.99)
    lines.append(_noted(f"away_share = {away}", "of the time people are beyond the map"))
    lines += _homecoming(facts)
    if facts.people:
        lines.append("# These numbers are from the trace: they tell how its user moves, not where.")
    return [
        *lines,
        _noted('# kind = "fit"', "instead: learnt from other people's traces"),
        '# traces = "others.csv"',
        '# memory = "auto"',
    ]


def _homecoming(facts: DraftFacts) -> list[str]:
    """Return the lines about somebody's home: who knows it knows that they come back."""
    habits = facts.home_habits
    if facts.home is None or habits is None:
        return []
    lines = [
        _noted(f'home = "{facts.home}"', "and come home: who may know where you live knows that"),
        _noted(
            f"stay_home = {habits.stay}", "the chance of those at home to be there a step later"
        ),
        _noted(f"back_home = {habits.back}", "that of those who are not to be home then"),
    ]
    at_night = {"stay_home": habits.stay_at_night, "back_home": habits.back_at_night}
    return lines + [
        f"{name}_at_night = {share}" for name, share in at_night.items() if share is not None
    ]


def _adversary(facts: DraftFacts) -> list[str]:
    """Return the section with its reasons: whom a first policy should be against."""
    lines = [
        "# Whom the guarantee is against. Against anybody at all, whatever they believe, little",
        "# can be released; people who know how others move here, and perhaps where you live,",
        "# are the usual ones, and against them much more can be.",
        _noted("[adversary]", 'or knows = "anything": the strongest guarantee'),
        _noted('knows = "population"', "knows where people are at the first step"),
    ]
    if facts.home is not None:
        lines.append(_noted(f'also = ["{facts.home}"]', "and perhaps that you began there"))
    return lines


def _own_home(facts: DraftFacts, homes: str) -> list[str]:
    """Return the region that is everybody's own, where each of a crowd lives."""
    if not facts.homes:
        return []
    about = f"where each of them lives: protect with --places {homes}"
    return [f"[regions.{facts.home}]", f"{_noted('own = true', about)}\n"]


def _noted(text: str, note: str) -> str:
    return f"{text:<34} # {note}"


def _event(facts: DraftFacts) -> list[str]:
    lines = ["[events.example]", f"formula = 'presence({facts.event_place}, \"{facts.when}\")'"]
    if facts.length >= timedelta(days=7) and facts.when[:3] in DAY_NAMES:
        lines.append(_noted('every = "week"', "each week's is an event of its own"))
    return lines


def _region(named: NamedPlace) -> str:
    about = f"  # {named.about}" if named.about else ""
    place = named.place
    return (
        f"[regions.{named.name}]{about}\n"
        f"circle = {{ lat = {place.lat:.4f}, lon = {place.lon:.4f}, radius_km = {RADIUS_KM} }}\n"
    )
