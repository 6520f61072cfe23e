"""The commented policy that `priste init` writes: it can be used as it stands, and edited."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.policy.places import KM_PER_DEGREE, Place, frequent_places
from priste.traces import Timeline, Trace

MOST_STEPS = 500
LONGEST_DRAFT = timedelta(days=28)
MOST_TRACES = 20
"""Places are looked for in this many traces; a crowd's places are nobody's regions."""

CELLS_ACROSS = 20
_STEPS = ("1min", "5min", "10min", "15min", "30min", "1h", "2h", "3h", "6h", "12h", "1d")
_SECONDS = (60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


@dataclass(frozen=True)
class _Draft:
    bounds: tuple[float, float, float, float]
    cell_size: float
    start: datetime
    step: str
    steps: int
    sigma: float
    places: tuple[tuple[str, Place], ...]
    about: str


def draft_policy(
    traces: Iterable[Trace] | None = None, *, zone: str = "UTC", day: date | None = None
) -> str:
    """Return the text of a policy that ``read_policy`` accepts as it stands.

    From traces: the map from their bounds with a margin, the step from their pace, sigma from how
    far they move in a step, and places where they stay as regions; the event is an
    example. Without traces everything is an example, starting on ``day`` (today).
    The result names places of the traces: it is as private as they are.

    >>> "[events.example]" in draft_policy(day=date(2026, 3, 2))
    True
    """
    draft = _example(day or date.today()) if traces is None else _from_traces(traces, zone)
    return _text(draft, zone)


def _example(day: date) -> _Draft:
    place = Place(52.52, 13.40, 0.0)
    return _Draft(
        bounds=(52.48, 13.33, 52.56, 13.47),
        cell_size=0.5,
        start=datetime.combine(day, time.min),
        step="1h",
        steps=168,
        sigma=1.0,
        places=(("clinic", place),),
        about="An example: put your own map, clock, places and events here.",
    )


def _from_traces(traces: Iterable[Trace], zone: str) -> _Draft:
    kept: list[Trace] = []
    lats: list[float] = []
    lons: set[float] = set()
    intervals: list[float] = []
    first, last = None, None
    for trace in traces:
        if len(kept) < MOST_TRACES:
            kept.append(trace)
        south, _, north, _ = trace.bounds()
        lats += [south, north]
        lons.update(np.unique(np.round(trace.lon, 3)).tolist())
        intervals += (np.diff(trace.times[:2000]) / 1e6).tolist()
        first = trace if first is None or trace.start < first.start else first
        last = trace if last is None or trace.end > last.end else last
    if first is None or last is None:
        raise InvalidParameter("A policy is drafted from at least one trace. Got none.")
    bounds, cell_size = _frame(lats, sorted(lons))
    start = Timeline.covering(first, timedelta(hours=1), zone).time_of(0)
    end = min(last.end, first.start + LONGEST_DRAFT)
    step = _step(intervals, end - start)
    length = timedelta(seconds=_SECONDS[_STEPS.index(step)])
    grid = Grid.covering(*bounds, cell_size)
    return _Draft(
        bounds=bounds,
        cell_size=cell_size,
        start=start.replace(tzinfo=None),
        step=step,
        steps=max(2, math.ceil((end - start) / length)),
        sigma=_spread(kept, grid, Timeline(start, length, zone)),
        places=tuple(
            (f"place{number}", place)
            for number, place in enumerate(frequent_places(kept), start=1)
            if _inside(grid, place)
        ),
        about="Drafted from a trace. It names places where the user stays: keep it as private.",
    )


def _frame(lats: list[float], lons: list[float]) -> tuple[tuple[float, float, float, float], float]:
    """Return the bounds with a margin, and a round cell size for about 20 cells across."""
    corners = len(lons)
    points = Trace(
        None, np.arange(corners), np.full(corners, lats[0]), np.array(lons, dtype=np.float64)
    )
    _, west, _, east = points.bounds()
    south, north = min(lats), max(lats)
    per_lon = KM_PER_DEGREE * max(math.cos(math.radians((south + north) / 2)), 0.01)
    height = (north - south) * KM_PER_DEGREE
    width = ((east - west) % 360.0) * per_lon
    margin = max(0.5, 0.05 * max(height, width))
    cell_size = _round_up((max(height, width) + 2 * margin) / CELLS_ACROSS)
    return (
        round(max(south - margin / KM_PER_DEGREE, -90.0), 4),
        round((west - margin / per_lon + 180.0) % 360.0 - 180.0, 4),
        round(min(north + margin / KM_PER_DEGREE, 90.0), 4),
        round((east + margin / per_lon + 180.0) % 360.0 - 180.0, 4),
    ), cell_size


def _round_up(km: float) -> float:
    scale = 10.0 ** math.floor(math.log10(km))
    return next(round(f * scale, 6) for f in (1, 2, 2.5, 5, 10) if f * scale >= km * (1 - 1e-9))


def _step(intervals: list[float], length: timedelta) -> str:
    """Return the shortest round step that usually holds a fix and keeps the stream short."""
    usual = float(np.median(intervals)) if intervals else 3600.0
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


def _text(draft: _Draft, zone: str) -> str:
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
        _noted(f'zone = "{zone}"', "of the times in this file"),
        f'step = "{draft.step}"',
        _noted(f"steps = {draft.steps}", "or: end = 2026-03-16T00:00:00"),
        "",
        _noted("[mobility]", "how people move: what an adversary is taken to know"),
        'kind = "gaussian"',
        _noted(f"sigma = {draft.sigma}", "km per step and direction"),
        _noted('# kind = "fit"', "instead: learnt from other people's traces"),
        '# traces = "others.csv"',
        _noted('# cycle = "day"', "one matrix per step of the day"),
        "",
        _noted("[mechanism]", "the noise before calibration"),
        'kind = "planar-laplace"',
        _noted(f"alpha = {_round_up(2.0 / draft.cell_size)}", "per km: 2/alpha km on average"),
        "",
        "[release]",
        _noted("epsilon = 1.0", "odds move by at most a factor e^1 = 2.72"),
        _noted('calibrator = "certified"', 'or "remap", "optimal": nearer releases'),
        _noted("pace = 0.1", "the share of what is left of ε that one step may use"),
        "",
        "# Places: each a circle, a box, a polygon, a GeoJSON file or a list of cells.",
        regions,
        "# What must stay deniable. Times are steps, moments or times of the week.",
        *_event(draft, places[-1][0]),
        "",
    ]
    return "\n".join(lines)


def _noted(text: str, note: str) -> str:
    return f"{text:<34} # {note}"


def _event(draft: _Draft, place: str) -> list[str]:
    weekly = [
        f"formula = 'presence({place}, \"wed 14:00-16:00\")'",
        _noted('every = "week"', "each week's is an event of its own"),
    ]
    if draft.steps * timedelta(seconds=_SECONDS[_STEPS.index(draft.step)]) >= timedelta(days=7):
        return ["[events.example]", *weekly]
    return [
        "[events.example]",
        f"formula = 'presence({place}, \"{draft.start:%Y-%m-%d}\")'",
        "",
        "# [events.weekly]",
        *(f"# {line}" for line in weekly),
    ]


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
