"""A city that does not exist, and somebody who lives in it: the stand-in for a data set.

The person sleeps at home, works, runs errands at places they like and now and then at new ones,
and travels along streets that run east-west and north-south. The receiver is off at night and
hears nothing in many buildings. No real person's movement is in it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from priste.maps import Grid
from priste.traces import Trace

CENTRE = (0.0, 0.0)
"""Latitude and longitude of the middle of the city: in the ocean, where nobody lives."""


FIX_EVERY = 0.5
"""Minutes between two fixes."""

GPS_ERROR = 0.012
"""Standard deviation of a fix in each direction, in km."""

SPEEDS = ((1.2, 4.8), (4.0, 13.0), (float("inf"), 26.0))
"""Ways of at most so many km are made at so many km an hour: on foot, by bicycle, by bus."""

SILENT_AT_WORK, SILENT_ON_ERRANDS = 0.9, 0.4
"""How often a building lets no signal in."""

_FIRST_DAY = datetime(2007, 4, 2, tzinfo=UTC)  # a Monday
_DAY = 24.0 * 60.0
_LIKED_PLACES = 20
_NEW_PLACE = 0.05
_UNTIL_SILENT = 3.0  # minutes after arriving
_MARGIN = 0.03  # of the city's extent, along its border, where nothing is

Point = tuple[float, float]


def city_dweller(seed: int, grid: Grid, days: int) -> Trace:
    """Return the fixes of somebody in a city as large as ``grid``, a square map around CENTRE.

    A pure function of its arguments; all places lie on the map.
    """
    rng = np.random.default_rng([seed, 0x636974])
    diary = _Diary(_Town(rng, grid.width), rng)
    for day in range(days):
        diary.add_day(day)
    when, x, y = diary.fixes(days)
    lat, lon = grid.latlon_at(x, y)
    start = int(_FIRST_DAY.timestamp()) * 1_000_000
    return Trace(f"dweller-{seed}", start + (when * 60e6).astype(np.int64), lat, lon)


class _Town:
    """Home, work, and the places that the person likes, the first ones most."""

    def __init__(self, rng: np.random.Generator, extent: float) -> None:
        self._rng, self._extent = rng, extent
        self.middle = (extent / 2, extent / 2)
        self.home = self.near(self.middle, 0.25)
        self.work = self.near(self.middle, 0.15)
        around = (self.home, self.work, self.middle)
        self._liked = [self.near(around[int(rng.integers(3))], 0.12) for _ in range(_LIKED_PLACES)]
        weights = 1.0 / np.arange(1, _LIKED_PLACES + 1)
        self._weights = weights / weights.sum()

    def near(self, point: Point, spread: float) -> Point:
        """Draw a place around a point; ``spread`` is a share of the city's extent."""
        low, high = _MARGIN * self._extent, (1 - _MARGIN) * self._extent
        while True:
            x, y = self._rng.normal(point, spread * self._extent)
            if low <= x <= high and low <= y <= high:
                return float(x), float(y)

    def errand(self) -> Point:
        """Draw where an errand leads: to a place one likes, or to a new one."""
        if self._rng.random() < _NEW_PLACE:
            return self.near(self.middle, 0.3)
        return self._liked[int(self._rng.choice(_LIKED_PLACES, p=self._weights))]


class _Diary:
    """Where somebody was: corners of a line in minutes and km, and when nothing was received."""

    def __init__(self, town: _Town, rng: np.random.Generator) -> None:
        self._town, self._rng = town, rng
        self._minutes: list[float] = [0.0]
        self._places: list[Point] = [town.home]
        self._silent: list[tuple[float, float]] = []

    def add_day(self, day: int) -> None:
        """Live one day: from home, and back there in the end."""
        rng, midnight = self._rng, day * _DAY
        at_work = day % 7 < 5 and rng.random() < 0.92
        leaves = rng.normal(8.3, 0.4) if at_work else rng.normal(10.5, 1.0)
        self._sleep_until(midnight + 60 * float(leaves))
        if at_work:
            self._work(60 * float(rng.normal(4.0, 0.3)))
            if rng.random() < 0.5:
                self._run_errand(self._town.near(self._town.work, 0.04), rng.uniform(20, 50))
            self._work(60 * float(rng.normal(4.0, 0.5)))
        for _ in range(int(rng.integers(0, 3)) if at_work else int(rng.integers(1, 5))):
            self._run_errand(self._town.errand(), rng.lognormal(np.log(40.0), 0.7))
        self._travel(self._town.home)

    def fixes(
        self, days: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the minutes of the fixes, and where they say one was (km east and north)."""
        when = np.arange(int(days * _DAY / FIX_EVERY)) * FIX_EVERY
        begins, ends = np.array(self._silent).T
        last = np.searchsorted(begins, when, side="right") - 1
        when = when[(last < 0) | (when >= ends[last])]
        x, y = (
            np.interp(when, self._minutes, [place[axis] for place in self._places])
            + self._rng.normal(0.0, GPS_ERROR, when.size)
            for axis in range(2)
        )
        return when, x, y

    def _work(self, minutes: float) -> None:
        self._travel(self._town.work)
        self._stay(minutes, SILENT_AT_WORK)

    def _run_errand(self, place: Point, minutes: float) -> None:
        self._travel(place)
        self._stay(minutes, SILENT_ON_ERRANDS)

    def _travel(self, place: Point) -> None:
        (x, y), now = self._places[-1], self._minutes[-1]
        length = abs(place[0] - x) + abs(place[1] - y)
        speed = next(speed for farthest, speed in SPEEDS if length <= farthest)
        corner = (place[0], y) if self._rng.random() < 0.5 else (x, place[1])
        first = abs(corner[0] - x) + abs(corner[1] - y)
        self._minutes += [now + 60 * first / speed, now + 60 * length / speed]
        self._places += [corner, place]

    def _stay(self, minutes: float, silent: float) -> None:
        now = self._minutes[-1]
        until = now + max(minutes, _UNTIL_SILENT)
        if self._rng.random() < silent:
            self._silent.append((now + _UNTIL_SILENT, until))
        self._minutes.append(until)
        self._places.append(self._places[-1])

    def _sleep_until(self, minute: float) -> None:
        now = self._minutes[-1]
        until = max(minute, now + 60.0)
        self._silent.append((now + _UNTIL_SILENT, until - _UNTIL_SILENT))
        self._minutes.append(until)
        self._places.append(self._places[-1])
