"""The commented policy that `priste init` writes: it can be used as it stands, and edited."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.policy.calendar import DAY_NAMES
from priste.policy.places import KM_PER_DEGREE, STAY_RADIUS_KM, Place, frequent_places
from priste.traces import Timeline, Trace
from priste.traces.fixes import utc_datetime
from priste.traces.zones import zone_of

MOST_STEPS = 1400
LONGEST_DRAFT = timedelta(days=14)
MOST_TRACES = 20
"""Places are looked for in this many traces; a crowd's places are nobody's regions."""

CELLS_ACROSS = 18
MOST_PLACES = 4
FEWEST_PEOPLE = 5
"""From this many people on, the draft fits its model on them, each person left out of their own."""

LARGE_MAP_KM = 24.0
"""A larger map than that is cut to a square of this side around where most time is spent."""

_THINNED = timedelta(minutes=5) // timedelta(microseconds=1)
_STEPS = ("1min", "5min", "10min", "15min", "30min", "1h", "2h", "3h", "6h", "12h", "1d")
_SECONDS = (60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


@dataclass(frozen=True)
class _Draft:
    bounds: tuple[float, float, float, float]
    cell_size: float
    start: datetime
    zone: str
    step: str
    steps: int
    sigma: float
    places: tuple[tuple[str, Place], ...]
    about: str
    when: str = "wed 14:00-16:00"
    outside: float = 0.0
    people: int = 1


def draft_policy(
    traces: Iterable[Trace] | None = None,
    *,
    zone: str | None = None,
    day: date | None = None,
    source: str | None = None,
    format: str | None = None,
) -> str:
    """Return the text of a policy that ``read_policy`` accepts as it stands.

    From traces: the map from where they are (of a large one only a square around where most
    time is spent, so that one trip does not make all cells huge), the zone from the coordinates
    unless given, the step from their pace, and places where they stay, in different
    cells, as regions; the event is an example at the last of them. With at least ``FEWEST_PEOPLE``
    people and their ``source``, a path from the policy's folder, the model is fitted on them; else
    it is a Gaussian whose sigma is how far they move in a step. Without traces everything is an
    example, starting on ``day`` (today). The result names places of the traces: it is as private
    as they are.

    >>> "[events.example]" in draft_policy(day=date(2026, 3, 2))
    True
    """
    if traces is None:
        draft = _example(day or date.today(), zone or "UTC")
    else:
        draft = _from_traces(traces, zone)
    return _text(draft, source if draft.people >= FEWEST_PEOPLE else None, format)


def _example(day: date, zone: str) -> _Draft:
    place = Place(52.52, 13.40, 0.0)
    return _Draft(
        bounds=(52.48, 13.33, 52.56, 13.47),
        cell_size=0.5,
        start=datetime.combine(day, time.min),
        zone=zone,
        step="1h",
        steps=168,
        sigma=1.0,
        places=(("clinic", place),),
        about="An example: put your own map, clock, places and events here.",
    )


def _from_traces(traces: Iterable[Trace], zone: str | None) -> _Draft:
    kept: list[Trace] = []
    lats: list[NDArray[np.float64]] = []
    lons: list[NDArray[np.float64]] = []
    intervals: list[float] = []
    first, last, middle = None, None, None
    corners = [90.0, -90.0, 180.0, -180.0]  # south, north; west and east of the middle
    people = 0
    for trace in traces:
        people += 1
        if len(kept) < MOST_TRACES:
            kept.append(trace)
        # One fix every few minutes, so that the box follows time and not the rate of a logger.
        thin = np.unique(trace.times // _THINNED, return_index=True)[1]
        lats.append(trace.lat[thin])
        lons.append(trace.lon[thin])
        corners[0] = min(corners[0], float(trace.lat.min()))
        corners[1] = max(corners[1], float(trace.lat.max()))
        middle = float(trace.lon[0]) if middle is None else middle
        east_of = _east_of(trace.lon, middle)
        corners[2] = min(corners[2], float(east_of.min()))
        corners[3] = max(corners[3], float(east_of.max()))
        intervals += (np.diff(trace.times[:2000]) / 1e6).tolist()
        first = trace if first is None or trace.start < first.start else first
        last = trace if last is None or trace.end > last.end else last
    if first is None or last is None or middle is None:
        raise InvalidParameter("A policy is drafted from at least one trace. Got none.")
    lat, lon = np.concatenate(lats), np.concatenate(lons)
    bounds, cell_size, outside = _frame(lat, _east_of(lon, middle), middle, corners)
    zone = zone or _zone_at(float(np.median(lat)), middle)
    end = min(last.end, first.start + LONGEST_DRAFT)
    is_outing = end - first.start < timedelta(days=1)
    start = Timeline.covering(first, timedelta(hours=1), zone).time_of(0)
    if is_outing:  # not a day but an outing: from the hour in which it begins
        start += (first.start - start) // timedelta(hours=1) * timedelta(hours=1)
    step = _step(intervals, end - start)
    length = timedelta(seconds=_SECONDS[_STEPS.index(step)])
    grid = Grid.covering(*bounds, cell_size)
    places = _named_places(kept, grid, known_home=end - first.start >= timedelta(days=2))
    return _Draft(
        bounds=bounds,
        cell_size=cell_size,
        start=start.replace(tzinfo=None),
        zone=zone,
        step=step,
        steps=max(2, math.ceil((end - start) / length)),
        sigma=_spread(kept, grid, Timeline(start, length, zone)),
        places=places,
        when=_usual_time(kept, places, zone, is_outing),
        about="Drafted from a trace. It names places where the user stays: keep it as private.",
        outside=outside,
        people=people,
    )


def _usual_time(
    traces: list[Trace], places: tuple[tuple[str, Place], ...], zone: str, is_outing: bool
) -> str:
    """Return when the last of the places is visited most: two hours of a weekday, or of a date."""
    times = np.concatenate([trace.times for trace in traces])
    if places:
        lat = np.concatenate([trace.lat for trace in traces])
        lon = np.concatenate([trace.lon for trace in traces])
        place = places[-1][1]
        east = _east_of(lon, place.lon) * math.cos(math.radians(place.lat))
        near = np.hypot(lat - place.lat, east) * KM_PER_DEGREE <= 2 * STAY_RADIUS_KM
        times = times[near] if near.any() else times
    counts: Counter[tuple[str, int]] = Counter()
    for instant in np.unique(times // _THINNED * _THINNED).tolist():
        local = utc_datetime(instant).astimezone(zone_of(zone))
        day = f"{local:%Y-%m-%d}" if is_outing else DAY_NAMES[local.weekday()]
        counts[day, local.hour // 2 * 2] += 1
    (day, hour), _ = max(counts.items(), key=lambda item: (item[1], item[0]))
    return f"{day} {hour:02d}:00-{hour + 2:02d}:00"


def _zone_at(lat: float, lon: float) -> str:
    """Return the time zone of a position, UTC where none is known."""
    import tzfpy

    found = str(tzfpy.get_tz(lon, lat) or "UTC")
    try:
        zone_of(found)
    except InvalidParameter:
        return "UTC"  # a name that this machine's zones do not have
    return found


def _named_places(
    traces: list[Trace], grid: Grid, *, known_home: bool
) -> tuple[tuple[str, Place], ...]:
    """Return places in different cells, the one where most time is spent first, as home."""
    named: list[tuple[str, Place]] = []
    taken: set[int] = set()
    for place in frequent_places(traces, most=12):
        if not _inside(grid, place):
            continue
        cell = grid.cell_at(place.lat, place.lon)
        if cell not in taken and len(named) < MOST_PLACES:
            taken.add(cell)
            is_home = known_home and not named
            named.append(("home" if is_home else f"place{len(named) + 1}", place))
    return tuple(named)


def _east_of(lon: NDArray[np.float64], middle: float) -> NDArray[np.float64]:
    """Return degrees east of a longitude, the short way round."""
    return (lon - middle + 180.0) % 360.0 - 180.0


def _everyday(lat: NDArray[np.float64], east_of: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which positions lie within a square of ``LARGE_MAP_KM`` around where most time is."""
    # Squares of a quarter of that are counted; at these latitudes a degree is as wide as here.
    tile = LARGE_MAP_KM / 4
    scale = KM_PER_DEGREE * np.maximum(np.cos(np.radians(lat)), 0.01)
    tiles = np.stack([lat * KM_PER_DEGREE // tile, east_of * scale // tile], axis=1)
    _, number, counts = np.unique(tiles, axis=0, return_inverse=True, return_counts=True)
    most = number.reshape(-1) == int(np.argmax(counts))
    middle_lat, middle_east = float(lat[most].mean()), float(east_of[most].mean())
    here = KM_PER_DEGREE * max(math.cos(math.radians(middle_lat)), 0.01)
    inside: NDArray[np.bool_] = (np.abs(lat - middle_lat) * KM_PER_DEGREE <= LARGE_MAP_KM / 2) & (
        np.abs(east_of - middle_east) * here <= LARGE_MAP_KM / 2
    )
    return inside


def _frame(
    lat: NDArray[np.float64], east_of: NDArray[np.float64], middle: float, corners: list[float]
) -> tuple[tuple[float, float, float, float], float, float]:
    """Return the bounds with a margin, a round cell size, and the share of time left outside."""
    south, north, west, east = corners
    per_lon = KM_PER_DEGREE * max(math.cos(math.radians((south + north) / 2)), 0.01)
    outside = 0.0
    if max((north - south) * KM_PER_DEGREE, (east - west) * per_lon) > LARGE_MAP_KM:
        inside = _everyday(lat, east_of)
        south, north = float(lat[inside].min()), float(lat[inside].max())
        west, east = float(east_of[inside].min()), float(east_of[inside].max())
        per_lon = KM_PER_DEGREE * max(math.cos(math.radians((south + north) / 2)), 0.01)
        outside = 1.0 - float(np.count_nonzero(inside)) / inside.size
    height, width = (north - south) * KM_PER_DEGREE, (east - west) * per_lon
    margin = max(0.5, 0.05 * max(height, width))
    cell_size = _round_up((max(height, width) + 2 * margin) / CELLS_ACROSS)
    return (
        (
            round(max(south - margin / KM_PER_DEGREE, -90.0), 4),
            round((middle + west - margin / per_lon + 180.0) % 360.0 - 180.0, 4),
            round(min(north + margin / KM_PER_DEGREE, 90.0), 4),
            round((middle + east + margin / per_lon + 180.0) % 360.0 - 180.0, 4),
        ),
        cell_size,
        outside,
    )


def _round_up(km: float) -> float:
    scale = 10.0 ** math.floor(math.log10(km))
    return next(
        round(f * scale, 6) for f in (1, 1.5, 2, 2.5, 3, 4, 5, 10) if f * scale >= km * (1 - 1e-9)
    )


def _step(intervals: list[float], length: timedelta) -> str:
    """Return the shortest round step that usually holds a fix and keeps the stream short."""
    usual = float(np.median(intervals)) if intervals else 3600.0
    if length > timedelta(days=1):
        usual = max(usual, 900.0)
    for name, seconds in zip(_STEPS, _SECONDS, strict=True):
        if seconds >= usual and length.total_seconds() / seconds <= MOST_STEPS:
            return name
    return _STEPS[-1]


def _spread(traces: list[Trace], grid: Grid, timeline: Timeline) -> float:
    """Return the root mean square move per step and direction in km, at least half a cell."""
    squares: list[float] = []
    for trace in traces:
        for run in timeline.cells(trace, grid, outside="gap").runs():
            moves = np.diff(grid.centers[run], axis=0)
            squares += (moves**2).ravel().tolist()
    typical = math.sqrt(sum(squares) / len(squares)) if squares else 0.0
    return round(max(typical, grid.cell_size / 2), 3)


def _inside(grid: Grid, place: Place) -> bool:
    x, y = grid.xy(place.lat, place.lon)
    return 0.0 <= x <= grid.width and 0.0 <= y <= grid.height


def _text(draft: _Draft, source: str | None, format: str | None) -> str:
    south, west, north, east = draft.bounds
    places = draft.places or (("place1", _middle(draft.bounds)),)
    regions = "\n".join(_region(name, place) for name, place in places)
    lines = [
        f"# A policy of priste. {draft.about}",
        "# Every key is explained in docs/policy.md; `priste explain` says what it promises.",
        "",
        _noted("[map]", "the part of the earth that is cut into cells"),
        f"south = {south}",
        f"west = {west}",
        f"north = {north}",
        f"east = {east}",
        _noted(f"cell_size = {draft.cell_size}", "km"),
        "",
        _noted("[clock]", "one release per step"),
        f"start = {draft.start:%Y-%m-%dT%H:%M:%S}",
        _noted(f'zone = "{draft.zone}"', "of the times in this file"),
        f'step = "{draft.step}"',
        _noted(f"steps = {draft.steps}", "or: end = 2026-03-16T00:00:00"),
        "",
        *_mobility(draft, source, format),
        "",
        _noted("[mechanism]", "the noise before calibration"),
        'kind = "planar-laplace"',
        _noted(f"alpha = {_round_up(2.0 / draft.cell_size)}", "per km: 2/alpha km on average"),
        "",
        *_observer(places),
        "",
        "[release]",
        _noted("epsilon = 1.0", "odds move by at most a factor e^1 = 2.72, up or down"),
        _noted("# odds_up = 1.0", "instead: only that it happened stays deniable"),
        _noted("# belief_at_most = 0.2", "instead: nobody gets more than 20 % sure of it"),
        _noted('calibrator = "optimal"', "tells what is harmless, pools the rest"),
        *_outside(draft),
        "",
        "# Places: each a circle, a box, a polygon, a GeoJSON file or a list of cells.",
        regions,
        "# What must stay deniable. Times are steps, moments or times of the week.",
        *_event(draft, places[-1][0]),
        "",
    ]
    return "\n".join(lines)


def _mobility(draft: _Draft, source: str | None, format: str | None) -> list[str]:
    head = _noted("[mobility]", "how people move: what an observer is taken to know")
    if source is not None:
        lines = [
            head,
            _noted('kind = "fit"', "learnt from these people; each is left out of their own model"),
            f"traces = {json.dumps(source)}",
        ]
        return lines if format is None else [*lines, f'format = "{format}"']
    return [
        head,
        'kind = "gaussian"',
        _noted(f"sigma = {draft.sigma}", "km per step and direction; from the trace: tells how"),
        _noted("", "far its user moves, not where"),
        _noted('# kind = "fit"', "instead: learnt from other people's traces"),
        '# traces = "others.csv"',
        _noted('# cycle = "day"', "one matrix per step of the day"),
    ]


def _observer(places: tuple[tuple[str, Place], ...]) -> list[str]:
    """Return the section with its reasons: whom a first policy should be against."""
    lines = [
        "# Whom the promise is against. Against anybody at all, whatever they believe, little",
        "# can be released; people who know how others move here, and perhaps where you live,",
        "# are the usual ones, and against them much more can be.",
        _noted("[observer]", 'or knows = "anything": the strongest promise'),
        _noted('knows = "population"', "knows where people are at the first step"),
    ]
    if places[0][0] == "home":
        lines.append(_noted('also = ["home"]', "and perhaps that you began there"))
    return lines


def _outside(draft: _Draft) -> list[str]:
    if not draft.outside:
        return []
    return [_noted('outside = "nearest"', f"{draft.outside:.1%} of the time lies beyond the map")]


def _noted(text: str, note: str) -> str:
    return f"{text:<34} # {note}"


def _event(draft: _Draft, place: str) -> list[str]:
    length = draft.steps * timedelta(seconds=_SECONDS[_STEPS.index(draft.step)])
    lines = ["[events.example]", f"formula = 'presence({place}, \"{draft.when}\")'"]
    if length >= timedelta(days=7) and draft.when[:3] in DAY_NAMES:
        lines.append(_noted('every = "week"', "each week's is an event of its own"))
    return lines


def _middle(bounds: tuple[float, float, float, float]) -> Place:
    south, west, north, east = bounds
    lon = (west + ((east - west) % 360.0) / 2 + 180.0) % 360.0 - 180.0
    return Place((south + north) / 2, lon, 0.0)


def _region(name: str, place: Place) -> str:
    about = f"  # {place.share:.0%} of the time" if place.share else ""
    return (
        f"[regions.{name}]{about}\n"
        f"circle = {{ lat = {place.lat:.4f}, lon = {place.lon:.4f}, radius_km = 0.1 }}\n"
    )
