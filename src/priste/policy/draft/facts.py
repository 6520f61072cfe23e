"""What traces tell about the policy that suits them: map, clock, places, habits, an event."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import Grid, Region
from priste.mobility import Habits, HomeHabits, habits_of, home_habits_of, usual_home
from priste.policy.calendar import DAY_NAMES
from priste.policy.draft.area import Frame, east_of, frame_of
from priste.policy.draft.places import (
    KM_PER_DEGREE,
    STAY_EVERY,
    STAY_RADIUS_KM,
    Place,
    apart_km,
    frequent_places,
)
from priste.policy.draft.stretch import SLOT, DraftClock, busiest_stretch, clock_of, cut, length_of
from priste.policy.formula_models import nights
from priste.traces import Timeline, Trace
from priste.traces.fixes import utc_datetime
from priste.traces.zones import zone_of

MOST_TRACES = 60
"""Places and habits are looked for in this many people."""

MOST_PLACES = 4
FEWEST_AT_HOME = 3600.0
LEAST_AT_NIGHT = 0.2
"""Seconds of nights somewhere, and their share of the time there, from which on it may be called
home: an office where it gets late sometimes is none."""

HOME = "home"
"""What such a place is called."""

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
    share of the recorded time then. ``when`` is the time of the example event at ``event_place``.
    ``home_habits`` are those of the one person, if there is a home, or of those people of a crowd
    whose ``homes`` are known: by their names, each a cell of the map.
    """

    frame: Frame
    clock: DraftClock
    zone: str
    places: tuple[NamedPlace, ...]
    event_place: str
    when: str
    habits: Habits
    home_habits: HomeHabits | None
    people: int
    present: int
    covered: float
    homes: Mapping[str | None, Circle] = field(default_factory=dict)

    @property
    def length(self) -> timedelta:
        """How long the clock runs."""
        return self.clock.steps * length_of(self.clock.step)

    @property
    def home(self) -> str | None:
        """The name of the place that seems to be home: of the one person, or everybody's own."""
        return HOME if self.homes or any(each.name == HOME for each in self.places) else None


def example_facts(day: date, zone: str) -> DraftFacts:
    """Return what a draft without traces says, from midnight of ``day`` for a week."""
    clinic = NamedPlace("clinic", Place(52.52, 13.40, 0.0), "")
    return DraftFacts(
        frame=Frame((52.48, 13.33, 52.56, 13.47), 0.5, 0.0),
        clock=DraftClock(datetime.combine(day, time.min), "1h", 168, is_outing=False),
        zone=zone,
        places=(clinic,),
        event_place="clinic",
        when="wed 14:00-16:00",
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
) -> DraftFacts:
    """Return what traces tell. ``since`` and ``until`` (end excluded) are times of the zone.

    With ``homes`` also where each of a crowd lives.
    """
    everybody = [trace.every(STAY_EVERY) for trace in traces]
    if not everybody:
        raise InvalidParameter("A policy is drafted from at least one trace. Got none.")
    longest = max(everybody, key=len)
    zone = zone or zone_at(float(np.median(longest.lat)), float(longest.lon[len(longest) // 2]))
    stretch = busiest_stretch(everybody, zone, since, until)
    present = [part for part in (cut(trace, stretch) for trace in everybody) if part is not None]
    found = frequent_places(present[:MOST_TRACES], most=24)
    slots = [np.unique(trace.times // SLOT, return_index=True)[1] for trace in present]
    lat = np.concatenate([trace.lat[kept] for trace, kept in zip(present, slots, strict=True)])
    lon = np.concatenate([trace.lon[kept] for trace, kept in zip(present, slots, strict=True)])
    frame = frame_of(lat, lon, found[:2])
    grid = Grid.covering(*frame.bounds, frame.cell_size)
    clock = clock_of(present, zone)
    timeline = Timeline(clock.start, length_of(clock.step), zone)
    offset = timeline.start.astimezone(timeline.zone).utcoffset() or timedelta(0)
    alone = len(everybody) == 1
    home = _home(grid, found, offset) if alone and not clock.is_outing else None
    ordered = found if home is None else [home, *(each for each in found if each is not home)]
    chosen = _apart(grid, ordered) or [_most_visited(grid, lat, lon)]
    places = tuple(
        NamedPlace(
            HOME if place is home else f"place{number}",
            place,
            _about(place, offset, alone, len(present)),
        )
        for number, place in enumerate(chosen, 1)
    )
    event = _example_place(places, alone)
    lived = _homes(present, grid, timeline) if homes and not (alone or clock.is_outing) else {}
    return DraftFacts(
        frame=frame,
        clock=clock,
        zone=zone,
        places=places,
        event_place=event.name,
        when=_usual_time(present, event.place, zone, clock, offset),
        habits=_habits(present[:MOST_TRACES], grid, timeline),
        home_habits=_home_habits(
            present, grid, timeline, lived if home is None else {present[0].user: _circle(home)}
        ),
        people=len(everybody),
        present=len(present),
        covered=stretch.share,
        homes=lived,
    )


def zone_at(lat: float, lon: float) -> str:
    """Return the time zone of a position, UTC where none is known."""
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
    inner_lat, inner_lon = grid.latlon(int(cells[here][0]))  # fixes beyond the map's border
    return Place(float(inner_lat), float(inner_lon), 0.0)


def _home(grid: Grid, places: Sequence[Place], offset: timedelta) -> Place | None:
    """Return the place on the map where one person's nights are spent, if it can be told."""
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
    """Return what the example is about: a place seldom visited, or among people the most common."""
    return places[-1] if alone else places[0]


def _usual_time(
    people: Sequence[Trace], place: Place, zone: str, clock: DraftClock, offset: timedelta
) -> str:
    """Return when a place is visited most: two hours of a weekday, a small part of an outing."""
    slot = _part_of(clock)
    thinned = min(SLOT, length_of(clock.step) // timedelta(microseconds=1))
    here: Counter[tuple[str, int]] = Counter()
    anywhere: Counter[tuple[str, int]] = Counter()
    where = zone_of(zone)
    for trace in people:
        kept = np.unique(trace.times // thinned, return_index=True)[1]
        east = east_of(trace.lon[kept], place.lon) * math.cos(math.radians(place.lat))
        away = np.hypot(trace.lat[kept] - place.lat, east) * KM_PER_DEGREE
        near = away <= 2 * STAY_RADIUS_KM
        for instant, is_near in zip(trace.times[kept].tolist(), near.tolist(), strict=True):
            local = utc_datetime(instant).astimezone(where)
            day = f"{local:%Y-%m-%d}" if clock.is_outing else DAY_NAMES[local.weekday()]
            begins = timedelta(hours=local.hour, minutes=local.minute) // slot
            (here if is_near else anywhere)[day, begins] += 1
    usual = _in_usual_hours(here, place, slot, offset) or here or anywhere
    (day, number), _ = max(usual.items(), key=lambda item: (item[1], item[0]))
    return f"{day} {_hour(number * slot)}-{_hour((number + 1) * slot)}"


def _in_usual_hours(
    counts: Counter[tuple[str, int]], place: Place, slot: timedelta, offset: timedelta
) -> Counter[tuple[str, int]]:
    """Return the counts of the slots that begin in the usual hours of a place, if it has any."""
    hours = place.usual_hours(offset)
    if hours is None:
        return counts
    begin, end = hours
    held = (end - begin) % 24 or 24
    return Counter(
        {
            (day, number): count
            for (day, number), count in counts.items()
            if (number * slot // timedelta(hours=1) - begin) % 24 < held
        }
    )


def _part_of(clock: DraftClock) -> timedelta:
    """Return how long an example event is: two hours, of an outing about a tenth."""
    step = length_of(clock.step)
    if not clock.is_outing:  # steps of minutes are for those who record an hour now and then
        return timedelta(hours=2) if step >= timedelta(minutes=15) else timedelta(minutes=30)
    tenth = clock.steps * step / 10
    lengths = [timedelta(minutes=minutes) for minutes in (5, 10, 15, 30, 60, 120)]
    return max((each for each in lengths if each <= tenth), default=max(step, lengths[0]))


def _hour(since_midnight: timedelta) -> str:
    minutes = since_midnight // timedelta(minutes=1)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


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
