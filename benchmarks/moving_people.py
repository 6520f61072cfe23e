"""People whose releases are measured: of a built-in city, or of a Geolife folder.

Everybody is on one map of the same cells. Whoever is measured has no part in the model: that is
fitted on others. Of Geolife there are two groups. The constants of the tables were chosen on those
``tuned``; figures are quoted of those ``measured``, who were never looked at before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from priste import Grid, MarkovModel
from priste.mobility import (
    HomeHabits,
    fit_population,
    home_habits_of,
    memories_of,
    with_home,
)
from priste.mobility.home import usual_home

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]
Walk = list[int | None]
"""A cell per step, None for a step without a fix."""

SIDE = 16
"""The map is so many cells wide and high."""

KILOMETRES = 31.0
BEIJING = (39.80, 116.20, 40.08, 116.56)
"""South, west, north, east of the part of Geolife that is taken: about 31 km each way."""

FINEST = 12
"""Fixes are kept for so many slots of an hour; longer steps take the last one of several."""

WELL_KNOWN = 20
"""A day counts when so many of its quarters of an hour have a fix."""

FIRST_TUNED = 8
"""So many people of Geolife, in the order of their folders, are never measured: tables were chosen
by looking at them."""

MEASURED_PAIRS, TUNED_PAIRS = 10, 4
"""How many pairs of days somebody must have who is measured, and who is tuned on."""

GOLDEN = 0.6180339887498949


NIGHT = (22, 6)
"""Home is where somebody is most from the first hour to the second."""


@dataclass(frozen=True)
class Stream:
    """Two days of somebody: the cell of each step, the guarded place, and when they are there.

    ``home`` is where their nights are spent, on all their days.
    """

    person: int
    pair: int
    path: Cells
    place: int
    middle: int
    home: int


@dataclass(frozen=True)
class Public:
    """What is known of everybody, or of everybody with one home.

    ``midnight`` is where the model expects people at midnight, after two days of it, and
    ``constant`` the one cell that is nearest to them over a day: telling nothing.
    """

    model: MarkovModel
    midnight: Floats
    constant: int


class City:
    """People on a grid, cell by step: ``others`` to fit a model on, ``people`` to release.

    Both begin at midnight; paths of ``people`` are two days long, and ``others`` may have gaps.
    What is guarded is the place of this ``rank`` of each person, their home being 0.
    """

    def __init__(
        self, per_hour: int, people: list[list[Cells]], others: list[list[Walk]], rank: int
    ) -> None:
        self.per_hour, self.day = per_hour, 24 * per_hour
        self.grid = Grid(rows=SIDE, columns=SIDE, cell_size=KILOMETRES / SIDE)
        centers = self.grid.centers
        self.apart = np.hypot(*(centers[:, None, :] - centers[None, :, :]).transpose(2, 0, 1))
        self._people, self._others, self._rank = people, others, rank

    @cached_property
    def _roaming(self) -> MarkovModel:
        """Movement by the clock as it predicts people best whom it has not seen."""
        clocks = memories_of(datetime(2026, 3, 2), timedelta(hours=1) / self.per_hour)
        del clocks["week"]  # paths begin at any day of the week
        return fit_population(self.grid, self._others, clocks).model

    @cached_property
    def _habits(self) -> HomeHabits:
        return home_habits_of(self.grid, self._others, self._night)

    @property
    def _night(self) -> list[bool]:
        hours = [step // self.per_hour for step in range(self.day)]
        return [hour >= NIGHT[0] or hour < NIGHT[1] for hour in hours]

    @cache  # noqa: B019 - a city is kept as long as it is asked
    def public(self, home: int | None) -> Public:
        """Return what is known of people, or of those who live in a cell."""
        model = self._roaming
        if home is not None:
            model = with_home(model, [home], self._habits, self._night)
        now = np.full(self.grid.size, 1.0 / self.grid.size)
        for step in range(2 * self.day):
            now = model.transition(step).push(now)
        midnight, everybody = now / now.sum(), np.zeros(self.grid.size)
        for step in range(self.day):
            everybody += now
            now = model.transition(step).push(now)
        return Public(model, midnight, int(np.argmin(everybody @ self.apart)))

    def streams(self, people: int, pair: int) -> list[Stream]:
        """Return a pair of days of each of the first people who have so many."""
        found = []
        for number, paths in enumerate(self._people[:people]):
            if pair >= len(paths):
                continue
            everywhere = np.concatenate(paths)
            hour = np.concatenate([np.arange(len(path)) % self.day for path in paths])
            counts = np.bincount(everywhere, minlength=self.grid.size)
            place = int(np.argsort(-counts, kind="stable")[self._rank])
            middle = int(np.median(hour[everywhere == place]))
            (home,) = usual_home(self.grid, paths, self._night)
            spread = np.argsort(np.arange(len(paths)) * GOLDEN % 1.0)  # over all their days
            found.append(Stream(number, pair, paths[spread[pair]], place, middle, home))
        return found


def built_in_city(per_hour: int, measured: int = 10, seed: int = 1) -> City:
    """Return people with homes, jobs and evenings; six times two days of each."""
    rng = np.random.default_rng(seed)
    found: list[list[Cells]] = []
    hubs = rng.integers(3, SIDE - 3, (6, 2))
    for _ in range(40):
        home = rng.integers(0, SIDE, 2)
        work, evening = hubs[rng.integers(0, 3)], hubs[rng.integers(3, 6)]
        found.append([_two_days(rng, home, work, evening, per_hour) for _ in range(6)])
    others: list[list[Walk]] = [[path.tolist() for path in paths] for paths in found[measured:]]
    return City(per_hour, found[:measured], others, rank=2)


def _two_days(
    rng: np.random.Generator, home: Cells, work: Cells, evening: Cells, per_hour: int
) -> Cells:
    corners: list[tuple[float, Cells]] = [(0.0, home)]
    for day in range(2):
        start = 24 * day + 8.5 + rng.normal(0, 0.7)
        end = start + 8.5 + rng.normal(0, 0.7)
        corners += [(start - 0.7, home), (start, work), (end, work)]
        if rng.random() < 0.5:
            corners += [(end + 0.6, evening), (end + 2.5, evening)]
        corners.append((corners[-1][0] + 0.7, home))
    corners.append((48.0, home))
    when = (np.arange(48 * per_hour) + 0.5) / per_hour
    hours = np.array([hour for hour, _ in corners])
    places = np.array([place for _, place in corners], dtype=np.float64)
    row = np.rint(np.interp(when, hours, places[:, 0])).astype(np.int64)
    column = np.rint(np.interp(when, hours, places[:, 1])).astype(np.int64)
    return row * SIDE + column


class Geolife:
    """The people of a Geolife folder who are in the map on whole days."""

    def __init__(self, folder: Path) -> None:
        known = [_slots_of(person) for person in sorted(folder.iterdir()) if person.is_dir()]
        self._slots = [slots for slots in known if slots]
        self._days = [_known_days(slots) for slots in self._slots]
        self._pairs = [
            [day for day in days if day + 1 in days and _moves(slots, day)]
            for slots, days in zip(self._slots, self._days, strict=True)
        ]
        walking = [number for number, pairs in enumerate(self._pairs) if pairs]
        first = set(walking[:FIRST_TUNED])
        self._measured = [
            number
            for number in walking
            if number not in first and len(self._pairs[number]) >= MEASURED_PAIRS
        ]
        self._tuned = [
            number
            for number in walking
            if number not in self._measured and len(self._pairs[number]) >= TUNED_PAIRS
        ]

    def city(self, per_hour: int, group: str) -> City:
        """Return one group on steps of this length, with a model of the people of no group.

        The model of those measured is fitted on those tuned, too.
        """
        chosen = self._measured if group == "measured" else self._tuned
        apart = {*self._measured, *chosen}
        people = [
            [self._path(number, day, 2, per_hour) for day in self._pairs[number]]
            for number in chosen
        ]
        others = [
            [self._known_cells(number, *run, per_hour) for run in _runs(self._days[number])]
            for number in range(len(self._slots))
            if number not in apart
        ]
        return City(per_hour, people, [paths for paths in others if paths], rank=1)

    def _known_cells(self, number: int, first: int, days: int, per_hour: int) -> Walk:
        """Return the cell of the last fix in each step of some days, None where there is none."""
        slots, each = self._slots[number], FINEST // per_hour
        begins = range(first * 24 * FINEST, (first + days) * 24 * FINEST, each)
        known = ([slots[slot] for slot in range(at, at + each) if slot in slots] for at in begins)
        return [cells[-1] if cells else None for cells in known]

    def _path(self, number: int, first: int, days: int, per_hour: int) -> Cells:
        """Return the last known cell at each step of some days."""
        slots = self._slots[number]
        steps = np.arange(first * 24 * FINEST, (first + days) * 24 * FINEST)
        known = np.array([step for step in steps.tolist() if step in slots])
        latest = np.maximum(np.searchsorted(known, steps, side="right") - 1, 0)
        finest = np.array([slots[int(step)] for step in known], dtype=np.int64)[latest]
        each = FINEST // per_hour
        return finest[each - 1 :: each]


def _slots_of(person: Path) -> dict[int, int]:
    """Return the cell of each slot that has a fix in the map; slots count from 1899 in China."""
    south, west, north, east = BEIJING
    slots: dict[int, int] = {}
    for file in sorted(person.glob("Trajectory/*.plt")):
        for text in file.read_text(encoding="utf-8").splitlines()[6::6]:
            parts = text.split(",")
            lat, lon, days = float(parts[0]), float(parts[1]), float(parts[4])
            if south < lat < north and west < lon < east:
                row = int((lat - south) / (north - south) * SIDE)
                column = int((lon - west) / (east - west) * SIDE)
                slots[math.floor((days * 24 + 8) * FINEST)] = row * SIDE + column
    return slots


def _known_days(slots: dict[int, int]) -> list[int]:
    quarters = np.unique(np.array(list(slots)) // (FINEST // 4))
    days, counts = np.unique(quarters // 96, return_counts=True)
    return [int(day) for day in days[counts >= WELL_KNOWN]]


def _moves(slots: dict[int, int], day: int) -> bool:
    """Tell whether three cells or more are seen on this day and the next."""
    steps = range(day * 24 * FINEST, (day + 2) * 24 * FINEST)
    return len({slots[step] for step in steps if step in slots}) >= 3


def _runs(days: list[int]) -> list[tuple[int, int]]:
    """Return the stretches of days on end: the first, and how many.

    >>> _runs([3, 4, 5, 9])
    [(3, 3), (9, 1)]
    """
    runs: list[tuple[int, int]] = []
    for day in days:
        if runs and day == sum(runs[-1]):
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((day, 1))
    return runs
