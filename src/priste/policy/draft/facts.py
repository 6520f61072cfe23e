"""What a draft takes from traces: map, clock, places, habits, an example event."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

import numpy as np

from priste.errors import InvalidParameter
from priste.extras import need
from priste.maps import Grid, Region
from priste.mobility import Habits, HomeHabits, habits_of, home_habits_of, usual_home
from priste.policy.calendar import read_when, steps_of_when
from priste.policy.draft.area import Frame, east_of, frame_of
from priste.policy.draft.event_templates import WEEKLY, Guard, nothing_left, span_of
from priste.policy.draft.places import (
    STAY_EVERY,
    Place,
    apart_km,
    frequent_places,
)
from priste.policy.draft.stretch import (
    OUTING_SLOT,
    SLOT,
    DraftClock,
    Stretch,
    busiest_stretch,
    clock_of,
    cut,
    length_of,
)
from priste.policy.formula_models import nights
from priste.policy.windows import ZONES, Windows
from priste.traces import Timeline, Trace
from priste.traces.fixes import microseconds, utc_datetime
from priste.traces.zones import zone_of

MOST_TRACES = 60
"""Places and habits are looked for in this many people."""

MOST_PLACES = 4
FEWEST_AT_HOME = 3600.0
LEAST_AT_NIGHT = 0.2
"""Seconds of nights somewhere, and their share of the time there, from which on it may be called
home: an office with some late evenings is not one."""

HOME = "home"
"""The name of such a place."""

_HALF_A_DAY = timedelta(hours=12) // timedelta(microseconds=1)

RADIUS_KM = 0.1
FEWEST_PEOPLE = 5
"""From this many people on, the draft fits its model on them, each person left out of their own."""


Circle = tuple[float, float, float]
"""Latitude, longitude and a radius in km."""


@dataclass(frozen=True)
class NamedPlace:
    """A region of the draft, and what is said about it."""

    name: str
    place: Place
    about: str


@dataclass(frozen=True)
class DraftFacts:
    """All that a draft is written from.

    ``people`` counts all, ``present`` those with fixes while the clock runs, and ``covered`` is the
    share of the recorded time then. ``times`` are those of the example events at ``event_place``;
    they were not read, nor was a ``margin`` on both sides of them.
    ``home_habits`` are those of the one person, if there is a home, or of those people of a crowd
    whose ``homes`` are known: by their names, each a cell of the map.
    """

    frame: Frame
    clock: DraftClock
    zone: str
    places: tuple[NamedPlace, ...]
    event_place: str
    times: tuple[str, ...]
    habits: Habits
    home_habits: HomeHabits | None
    people: int
    present: int
    covered: float
    homes: Mapping[str | None, Circle] = field(default_factory=dict)
    margin: timedelta = timedelta(0)

    @property
    def length(self) -> timedelta:
        """How long the clock runs."""
        return self.clock.steps * length_of(self.clock.step)

    @property
    def home(self) -> str | None:
        """The name of the place that seems to be home: of the one person, or of each person."""
        return HOME if self.homes or any(each.name == HOME for each in self.places) else None


def example_facts(day: date, zone: str) -> DraftFacts:
    """Return what a draft without traces says, from midnight of ``day`` for a week."""
    clinic = NamedPlace("clinic", Place(52.52, 13.40, 0.0), "")
    return DraftFacts(
        frame=Frame((52.48, 13.33, 52.56, 13.47), (52.0, 14.0), 0.5, 0.0),
        clock=DraftClock(datetime.combine(day, time.min), "1h", 168, is_outing=False),
        zone=zone,
        places=(clinic,),
        event_place="clinic",
        times=(WEEKLY,),
        habits=Habits(0.7, 0.95, 2.0),
        home_habits=None,
        people=0,
        present=0,
        covered=1.0,
    )


def facts_of(
    traces: Iterable[Trace],
    *,
    zone: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    homes: bool = False,
    guard: Sequence[str] = (),
) -> DraftFacts:
    """Return what traces tell outside the hours that the draft guards.

    ``since`` and ``until`` (end excluded) are times of the zone. With ``homes`` also where each of
    a crowd lives. ``guard`` are times of the week to guard, else the template.
    """
    zone, chosen, everybody = guarded(list(traces), zone, since, until, guard)
    everybody = [trace.every(STAY_EVERY) for trace in everybody]
    stretch = busiest_stretch(everybody, zone, since, until)
    present = [part for part in (cut(trace, stretch) for trace in everybody) if part is not None]
    found = frequent_places(present[:MOST_TRACES], most=24)
    slot = SLOT if span_of(present) >= timedelta(days=1) else OUTING_SLOT
    slots = [np.unique(trace.times // slot, return_index=True)[1] for trace in present]
    lat = np.concatenate([trace.lat[kept] for trace, kept in zip(present, slots, strict=True)])
    lon = np.concatenate([trace.lon[kept] for trace, kept in zip(present, slots, strict=True)])
    frame = frame_of(lat, lon, found[:2])
    grid = frame.grid
    clock = clock_of(present, zone, stretch, chosen)
    timeline = Timeline(clock.start, length_of(clock.step), zone)
    for text in guard:
        if not steps_of_when(read_when(text), timeline, range(clock.steps)):
            raise _not_held(text, timeline, clock.steps)
    offset = timeline.start.astimezone(timeline.zone).utcoffset() or timedelta(0)
    alone = len(everybody) == 1
    home = _home(grid, found, offset) if alone and not clock.is_outing else None
    ordered = found if home is None else [home, *(each for each in found if each is not home)]
    listed = _apart(grid, ordered) or [_most_visited(grid, lat, lon)]
    places = tuple(
        NamedPlace(
            HOME if place is home else f"place{number}",
            place,
            _about(place, offset, alone, len(present)),
        )
        for number, place in enumerate(listed, 1)
    )
    lived = _homes(present, grid, timeline) if homes and not (alone or clock.is_outing) else {}
    return DraftFacts(
        frame=frame,
        clock=clock,
        zone=zone,
        places=places,
        event_place=_example_place(places, alone).name,
        times=chosen.times,
        habits=_habits(present[:MOST_TRACES], grid, timeline),
        home_habits=_home_habits(
            present, grid, timeline, lived if home is None else {present[0].user: _circle(home)}
        ),
        people=len(everybody),
        present=len(present),
        covered=stretch.share,
        homes=lived,
        margin=chosen.windows.margin,
    )


def _not_held(text: str, timeline: Timeline, steps: int) -> InvalidParameter:
    begin, end = (f"{timeline.time_of(step):%a %d %b %Y %H:%M}" for step in (0, steps))
    return InvalidParameter(
        f"must be a time that the recording holds: a draft of it runs from {begin} to {end}",
        parameter="guard",
        value=text,
        hint="Ask for other hours, or give a longer recording.",
    )


def guarded(
    people: Sequence[Trace],
    zone: str | None,
    since: datetime | None,
    until: datetime | None,
    asked: Sequence[str],
) -> tuple[str, Guard, list[Trace]]:
    """Return the zone, what is guarded, and the traces without the guarded hours.

    Nothing that is returned depends on fixes in the guarded hours. Raises InvalidParameter where
    too little is left outside them.
    """
    if not people:
        raise InvalidParameter(
            "must be at least one", parameter="traces", owner="a draft", got="none"
        )
    rule = Guard.by_rule(asked or [WEEKLY])
    whole = since is None and until is None
    # Until the zone is known, the hours are taken out that may be guarded in any zone.
    free = people if asked or whole else _beyond(people, since, until)
    named = zone or _zone_of(rule.rest_of(free))
    clocks = named or _one_clock(rule, people)
    guard = rule.in_zone(zone_of(clocks))
    rest = guard.rest_of(people)
    held = _within(rest, clocks, since, until)
    if not (held and (asked or _holds_the_template(held, clocks, since or until))):
        # An outing, or days that were asked for and do not hold the afternoon of the template.
        recorded = _within(people, clocks, since, until)
        if asked and rest and not held and not whole:
            raise _nothing_then(rest, clocks)
        if asked or span_of(held) < timedelta(days=1) <= span_of(recorded):
            raise nothing_left(rule.times)
        guard = Guard.amid(recorded or people)
        rest = guard.rest_of(people)
        named = zone if whole else named
    named = named or _zone_of(rest)
    if named is None:
        raise nothing_left(rule.times)
    return named, guard.in_zone(zone_of(named)), rest


def _nothing_then(rest: Sequence[Trace], zone: str) -> InvalidParameter:
    """Return the refusal where nothing but guarded hours was recorded in the time asked for."""
    first = min(trace.start for trace in rest).astimezone(zone_of(zone))
    last = max(trace.end for trace in rest).astimezone(zone_of(zone))
    return InvalidParameter(
        "Outside the hours to be guarded there is no fix in the time that was asked for",
        hint=f"The other fixes reach from {first:%Y-%m-%d} to {last:%Y-%m-%d} ({zone}).",
    )


def _holds_the_template(people: Sequence[Trace], zone: str, asked: datetime | None) -> bool:
    """Return whether a clock of these days holds the hours of the template, as whole weeks do."""
    first = min(trace.start for trace in people).astimezone(zone_of(zone)).date()
    last = max(trace.end for trace in people).astimezone(zone_of(zone)).date()
    if span_of(people) < timedelta(days=1):
        return False
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return asked is None or any(map(read_when(WEEKLY).on, days))


def _within(
    people: Sequence[Trace], zone: str, since: datetime | None, until: datetime | None
) -> list[Trace]:
    """Return the parts of traces in the time that was asked for."""
    place = zone_of(zone)
    begin = (since or datetime(1, 1, 2)).replace(tzinfo=place)
    end = (until or datetime(9999, 12, 30)).replace(tzinfo=place)
    parts = (cut(trace, Stretch(begin, end, 1.0)) for trace in people)
    return [part for part in parts if part is not None]


def _beyond(people: Sequence[Trace], since: datetime | None, until: datetime | None) -> list[Trace]:
    """Return the parts of traces that no zone's clocks show in the time that was asked for."""
    begin = (since or datetime(1, 1, 3)).replace(tzinfo=UTC)
    end = (until or datetime(9999, 12, 30)).replace(tzinfo=UTC)
    span = microseconds(begin + ZONES[0]), microseconds(end + ZONES[1])
    asked = Windows((), (span,), margin=timedelta(hours=1))  # and windows that follow a last fix
    return [part for part in map(asked.outside, people) if part is not None]


def _one_clock(rule: Guard, people: Sequence[Trace]) -> str:
    """Return a zone whose clocks are those of all fixes.

    For hours of which nothing would be left without those of every zone. All fixes must then lie
    where clocks show the same time: so the guarded ones cannot choose the zone.
    """
    places = np.concatenate([np.stack([trace.lat, trace.lon], axis=1) for trace in people])
    zones = sorted({zone_at(*place) for place in np.unique(places.round(3), axis=0).tolist()})
    first = min(int(trace.times[0]) for trace in people)
    last = max(int(trace.until[-1]) for trace in people)
    moments = [utc_datetime(each) for each in range(first, last + _HALF_A_DAY, _HALF_A_DAY)]
    clocks = {
        (
            *(moment.astimezone(place).utcoffset() for moment in moments),
            *rule.windows.in_zone(place).instants(first, last),
        )
        for place in map(zone_of, zones)
    }
    if len(clocks) > 1:
        raise InvalidParameter(
            "The time zone does not follow from what lies outside the guarded hours: the fixes lie "
            "in several zones.",
            hint="Say it: --zone",
        )
    return zones[0]


def _zone_of(people: Sequence[Trace]) -> str | None:
    """Return the zone of the fix of median latitude of what is left, None if nothing is."""
    if not people:
        return None
    lat = np.concatenate([trace.lat for trace in people])
    lon = np.concatenate([trace.lon for trace in people])
    middle = np.lexsort((lon, lat))[(lat.size - 1) // 2]
    return zone_at(float(lat[middle]), float(lon[middle]))


def zone_at(lat: float, lon: float) -> str:
    """Return the time zone of a position, UTC where none is known."""
    need("cli", "Drafting a policy", "tzfpy")
    import tzfpy

    found = str(tzfpy.get_tz(lon, lat) or "UTC")
    try:
        zone_of(found)
    except InvalidParameter:
        return "UTC"  # a name that this machine's zones do not have
    return found


def _apart(grid: Grid, places: Sequence[Place]) -> list[Place]:
    """Return the first places on the map whose regions share no cell, half a cell apart at least.

    Nearer ones would differ by the border that happens to run between them.
    """
    chosen: list[Place] = []
    taken: set[int] = set()
    for place in places:
        if len(chosen) == MOST_PLACES or not _on(grid, place):
            continue
        cells = set(Region.circle_latlon(grid, place.lat, place.lon, RADIUS_KM))
        near = any(_km(place, other) < grid.cell_size / 2 for other in chosen)
        if not near and not cells & taken:
            taken |= cells
            chosen.append(place)
    return chosen


def _km(place: Place, other: Place) -> float:
    return apart_km(place.lat, place.lon, other.lat, other.lon)


def _most_visited(grid: Grid, lat: np.ndarray, lon: np.ndarray) -> Place:
    """Return the middle of the fixes in the cell with the most of them: there are no stays."""
    cells = np.asarray(grid.cell_at(lat, lon, outside="nearest"))
    here = cells == int(np.argmax(np.bincount(cells)))
    east = east_of(lon[here], float(lon[here][0]))
    middle = (float(lon[here][0]) + float(np.median(east)) + 180.0) % 360.0 - 180.0
    place = Place(float(np.median(lat[here])), middle, 0.0)
    if _on(grid, place):
        return place
    inner_lat, inner_lon = grid.latlon(int(cells[here][0]))  # fixes outside the map's border
    return Place(float(inner_lat), float(inner_lon), 0.0)


def _home(grid: Grid, places: Sequence[Place], offset: timedelta) -> Place | None:
    """Return the place on the map where one person's nights are spent, if that is clear."""
    inside = [place for place in places if _on(grid, place)]
    best = max(inside, key=lambda place: place.night_seconds(offset), default=None)
    if best is None:
        return None
    nights = best.night_seconds(offset)
    fewest = max(FEWEST_AT_HOME, LEAST_AT_NIGHT * sum(best.hours))
    return best if nights >= fewest else None


def _on(grid: Grid, place: Place) -> bool:
    x, y = grid.xy(place.lat, place.lon)
    return 0 < x < grid.width and 0 < y < grid.height


def _about(place: Place, offset: timedelta, alone: bool, present: int) -> str:
    if not place.share:
        return "no stay: where most fixes are"
    words = f"{_percent(place.share)} of the recorded time"
    if not alone:
        words += f", by {place.visitors} of {present} people"
    hours = place.usual_hours(offset)
    return words if hours is None else f"{words}, mostly {hours[0]:02d}:00-{hours[1]:02d}:00"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"


def _example_place(places: Sequence[NamedPlace], alone: bool) -> NamedPlace:
    """Return the place of the example event: a rarely visited one, or for a crowd the most
    common."""
    return places[-1] if alone else places[0]


def _habits(people: Sequence[Trace], grid: Grid, timeline: Timeline) -> Habits:
    sequences = [timeline.cells(trace, grid, outside="gap").cells for trace in people]
    return habits_of(grid, sequences, nights(timeline))


def _circle(place: Place) -> Circle:
    return place.lat, place.lon, RADIUS_KM


def _homes(people: Sequence[Trace], grid: Grid, timeline: Timeline) -> dict[str | None, Circle]:
    """Return the middle of the cell where each one's nights are spent, of those where it is clear.

    What makes it clear is what does so for one person.
    """
    night = nights(timeline)
    if night is None:
        return {}
    seconds = timeline.step.total_seconds()
    found = {}
    for trace in people:
        cells = timeline.cells(trace, grid, outside="gap").cells
        home = usual_home(grid, [cells], night)
        asleep = [night[step % len(night)] for step, cell in enumerate(cells) if [cell] == home]
        if sum(asleep) * seconds >= max(FEWEST_AT_HOME, LEAST_AT_NIGHT * len(asleep) * seconds):
            lat, lon = grid.latlon(home[0])
            found[trace.user] = float(lat), float(lon), min(RADIUS_KM, grid.cell_size / 4)
    return found


def _home_habits(
    people: Sequence[Trace],
    grid: Grid,
    timeline: Timeline,
    homes: Mapping[str | None, Circle],
) -> HomeHabits | None:
    """Return the habits of those who have a home, None if nobody has."""
    at_home = [trace for trace in people[:MOST_TRACES] if trace.user in homes]
    if not at_home:
        return None
    cells = [[timeline.cells(trace, grid, outside="nearest").cells] for trace in at_home]
    regions = [Region.circle_latlon(grid, *homes[trace.user]) for trace in at_home]
    return home_habits_of(grid, cells, nights(timeline), regions)
