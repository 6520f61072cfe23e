"""A small made-up town for the demonstration, for examples and for tests.

Its people sleep at home, go to work, shop, walk and see doctors. Everything is a pure function of a
seed, so it can be repeated. No real person's movement is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_int
from priste.maps import Grid
from priste.traces.fixes import Trace, microseconds

TOWN_BOUNDS = (46.000, 7.000, 46.054, 7.078)
"""South, west, north and east of the town, in degrees: about 6 km each way."""

TOWN_ZONE = "Europe/Zurich"
FIRST_DAY = date(2026, 3, 2)
"""A Monday, four weeks before clocks change."""

FIX_EVERY = timedelta(minutes=10)
SPEED = 12.0
"""Kilometres an hour on the way between two places."""

GPS_ERROR = 0.012
"""Standard deviation of a fix in each direction, in km."""

_PLACES_KM = {
    "home": (1.25, 1.25),
    "office": (4.25, 4.75),
    "hospital": (4.75, 1.25),
    "market": (2.75, 2.75),
    "gym": (3.25, 5.25),
    "park": (1.25, 3.75),
    "school": (2.25, 4.75),
    "station": (3.25, 1.75),
}
_EVENINGS = ("market", "gym", "park", "station")

Stay = tuple[float, float, tuple[float, float]]
"""From minute, to minute (since the first midnight), and where in km."""


def town_places() -> Mapping[str, tuple[float, float]]:
    """Return the named places of the town as (lat, lon).

    >>> sorted(town_places())[:3]
    ['gym', 'home', 'hospital']
    """
    plan = _plan()
    return MappingProxyType({name: plan.latlon_at(*at) for name, at in _PLACES_KM.items()})


def ada(days: int = 14, *, weeks_before: int = 0, seed: int = 1) -> Trace:
    """Return the fixes of Ada, who lives at home, works at the office and sees the hospital.

    She is treated there each Wednesday from 14:00 to 16:00; nobody at work needs to know. Up to
    four ``weeks_before`` the first day are her history; the days after it do not depend on them.

    >>> len(ada(7, weeks_before=1)) == 2 * len(ada(7))
    True
    """
    if weeks_before:
        past, now = ada(7 * weeks_before, seed=seed + 1000), ada(days, seed=seed)
        earlier = past.times - weeks_before * 7 * 24 * 60 * 60 * 1_000_000
        return Trace(
            now.user,
            np.concatenate([earlier, now.times]),
            np.concatenate([past.lat, now.lat]),
            np.concatenate([past.lon, now.lon]),
        )
    rng = np.random.default_rng([seed, 0])
    stays: list[Stay] = []
    for day in range(_days(days)):
        visits = []
        if _is_workday(day):
            if (FIRST_DAY + timedelta(days=day)).weekday() == 2:
                visits += [(8.5, 13.4, "office"), (14.0, 16.0, "hospital"), (16.6, 18.0, "office")]
            else:
                visits += [(8.5, 17.2, "office")]
            if rng.random() < 0.6:
                visits.append((18.3, 20.0, str(rng.choice(_EVENINGS))))
        else:
            visits.append((10.5, 12.5, "market"))
            if rng.random() < 0.7:
                visits.append((14.5, 17.0, "park"))
        stays += _day(day, _PLACES_KM["home"], [(a, b, _PLACES_KM[p]) for a, b, p in visits], rng)
    return _trace("ada", days, stays, rng)


def residents(count: int, days: int = 14, *, seed: int = 1) -> list[Trace]:
    """Return the fixes of ``count`` other people of the town, each with a home and a job.

    They are what a mobility model of the town is fitted on: one in eight works at the
    hospital, and one in fifteen weekdays somebody goes there as a patient.
    """
    check_int(count, "count", "residents", least=1)
    return [_resident(number, days, seed) for number in range(1, count + 1)]


def _resident(number: int, days: int, seed: int) -> Trace:
    rng = np.random.default_rng([seed, number])
    home = (float(rng.uniform(0.3, 5.7)), float(rng.uniform(0.3, 5.7)))
    if rng.random() < 0.125:
        work = _PLACES_KM["hospital"]
    else:
        work = _PLACES_KM[str(rng.choice(["office", "school", "market", "station"]))]
    stays: list[Stay] = []
    for day in range(_days(days)):
        visits: list[tuple[float, float, tuple[float, float]]] = []
        if _is_workday(day):
            start = 8.5 + float(rng.normal(0, 0.5))
            if rng.random() < 1 / 15:
                away = start + float(rng.uniform(1, 5))
                visits += [
                    (start, away, work),
                    (away + 0.5, away + 2.0, _PLACES_KM["hospital"]),
                ]
            else:
                visits.append((start, start + 8.5, work))
        if rng.random() < 0.6:
            visits.append((18.6, 20.2, _PLACES_KM[str(rng.choice(_EVENINGS))]))
        stays += _day(day, home, visits, rng)
    return _trace(f"resident-{number:03d}", days, stays, rng)


def _plan() -> Grid:
    south, west, north, east = TOWN_BOUNDS
    return Grid.covering(south, west, north, east, cell_size=0.5)


def _days(days: int) -> int:
    # After four weeks the clocks change, and midnights are no longer 24 hours apart.
    return check_int(days, "days", "the town", least=1, most=28)


def _is_workday(day: int) -> bool:
    return (FIRST_DAY + timedelta(days=day)).weekday() < 5


def _day(
    day: int,
    home: tuple[float, float],
    visits: list[tuple[float, float, tuple[float, float]]],
    rng: np.random.Generator,
) -> list[Stay]:
    """Return the stays of one day: at home between the visits, with time left for the way."""
    midnight = 24.0 * 60 * day
    stays: list[Stay] = []
    here, since = home, 0.0
    for begin, end, place in visits:
        late = float(rng.normal(0, 0.08))
        arrive = max(60 * (begin + late), since + _way(here, place))
        stays.append((midnight + since, midnight + arrive - _way(here, place), here))
        here, since = place, arrive
        leave = max(60 * (end + late), arrive + 20)
        stays.append((midnight + arrive, midnight + leave, place))
        since = leave
    back = since + _way(here, home)
    if back < 24 * 60:
        stays.append((midnight + back, midnight + 24 * 60, home))
    return stays


def _way(start: tuple[float, float], end: tuple[float, float]) -> float:
    """Return the minutes from one place to another."""
    return 60.0 * float(np.hypot(end[0] - start[0], end[1] - start[1])) / SPEED


def _trace(user: str, days: int, stays: list[Stay], rng: np.random.Generator) -> Trace:
    corners = [(minute, at) for begin, end, at in stays for minute in (begin, end)]
    minutes = np.maximum.accumulate([minute for minute, _ in corners])
    places = np.array([at for _, at in corners])
    every = FIX_EVERY.total_seconds() / 60
    when: NDArray[np.float64] = np.arange(days * 24 * 60 / every) * every + rng.uniform(1, 9)
    x = np.interp(when, minutes, places[:, 0]) + rng.normal(0, GPS_ERROR, when.size)
    y = np.interp(when, minutes, places[:, 1]) + rng.normal(0, GPS_ERROR, when.size)
    lat, lon = _plan().latlon_at(x, y)
    midnight = microseconds(datetime.combine(FIRST_DAY, time.min, ZoneInfo(TOWN_ZONE)))
    times = midnight + (when * 60_000_000).astype(np.int64)
    return Trace(user, times, lat, lon)
