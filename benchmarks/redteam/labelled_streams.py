"""Worlds with labels: people with and without the event, and what is released about them.

- ``model``: people drawn from the policy's own model, exactly as they are given the event and given
  its negation. The guarantee speaks of them.
- ``residents``: people of the built-in town who have no part in the model. They do not move as it
  says.
- ``ada``: one person, in weeks with her treatment and in the same weeks without it.
- ``geolife``, ``cabs``: days of people who have no part in the model, from folders that are given.

Streams are kept as released points with nan for silence, and as likelihoods.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from priste.forecast.alternatives_at_work import Released, alternatives_of, with_priste
from priste.forecast.alternatives_compared import (
    first_occurrences,
    followed_steps,
    reached,
)
from priste.policy import Policy, load_policy
from priste.policy.town_policy import RESIDENTS, town_policy
from priste.randomness import bit_source
from priste.release.guarded_hours import event_steps
from priste.results import TrueSteps, true_steps
from priste.results.true_steps import NONE
from priste.traces import Trace, write_traces
from priste.traces.fixes import microseconds
from priste.traces.town import FIRST_DAY, TOWN_ZONE, ada, residents, town_places

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WAYS = (
    "priste", "exact", "coarse:1", "coarse:3", "coarse:5", "rounding:2", "zones:0.5", "zones:1.5",
    "delay", "sampling", "landmarks", "laplace", "remapped", "adaptive", "velocity", "pglp",
    "hours-off", "constant",
)  # fmt: skip
"""What is attacked. Nothing can be learnt from "off"."""

SEEN = (
    "036", "067", "082", "092", "128", "167", "044", "024", "163", "096", "126", "019",
    "017", "022", "025", "035", "038", "039", "041", "050", "052", "064", "068", "071",
)  # fmt: skip
"""People of Geolife that earlier choices have seen: they are in the model, never attacked."""

DAY = datetime(2026, 3, 4, tzinfo=UTC)
"""All days of Geolife and Cabspotting are moved to this one."""

DAY_POLICY = """\
[map]
south = {south}
west = {west}
north = {north}
east = {east}
cell_size = {cell}

[clock]
start = 2026-03-04T00:00:00
step = "1h"
steps = 24

[mobility]
kind = "fit"
traces = "days.csv"
public = true
memory = "auto"

[mechanism]
kind = "planar-laplace"
alpha = {alpha}

[adversary]
knows = "population"

[guarantee]
epsilon = 1.0

[regions.place]
cells = [{place}]

[events.visit]
formula = 'presence(place, "12:00-14:00")'
"""

MAPS = {
    "geolife": ((39.80, 116.20, 40.08, 116.56), 3.1, 8),
    "cabs": ((37.70, -122.52, 37.82, -122.36), 1.4, -7),
}
"""South, west, north, east; the side of a cell in km; hours from Greenwich."""

MOST_DAYS = 40
"""So many days of one person at most."""

USUAL = 0.3
"""The guarded place is that which about so large a share of the days is at, at noon."""


@dataclass(frozen=True, eq=False)
class World:
    """A policy, people with labels, and whose they are: attackers are tried on other people."""

    name: str
    policy: Policy
    followed: Flags
    people: Sequence[TrueSteps]
    labels: Flags
    owners: NDArray[np.int64]

    @property
    def steps(self) -> NDArray[np.int64]:
        """The steps at which there are releases."""
        return np.flatnonzero(self.followed)


@dataclass(frozen=True, eq=False)
class Streams:
    """What one way released about everybody: points (n, T, 2), and likelihoods per person."""

    points: Floats
    likelihoods: Sequence[Sequence[Floats | None]]


def town(folder: Path) -> Policy:
    """Return the policy of the built-in town, with its residents in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "policy.toml").exists():
        write_traces(residents(RESIDENTS), folder / "residents.csv")
        (folder / "policy.toml").write_text(town_policy())
    return load_policy(folder / "policy.toml")


def window(policy: Policy) -> Flags:
    """Return (T,) the steps around the first occurrence of each event."""
    return followed_steps(policy, first_occurrences(policy).values())


def model_world(policy: Policy, each: int, seed: int = 1) -> World:
    """Return ``each`` people with the event and as many without, drawn from the policy's model."""
    rng = np.random.default_rng([seed, 11])
    followed = window(policy)
    event = next(iter(policy.events.values())).event
    steps, last = sorted(event_steps(event)), int(np.flatnonzero(followed)[-1])
    place = np.zeros(policy.grid.size, dtype=np.bool_)
    place[list(policy.guarded_cells)] = True
    moves = [np.cumsum(policy.model.transition(step).toarray(), axis=1) for step in range(last)]
    kept: dict[bool, list[NDArray[np.int64]]] = {True: [], False: []}
    while min(sum(map(len, paths)) for paths in kept.values()) < each:
        count = 20_000
        cells = np.empty((count, last + 1), dtype=np.int64)
        cells[:, 0] = rng.choice(policy.grid.size, size=count, p=policy.population)
        for step, table in enumerate(moves):
            drawn = rng.random(count)[:, None]
            cells[:, step + 1] = (
                (table[cells[:, step]] < drawn).sum(axis=1).clip(max=policy.grid.size - 1)
            )
        happens = place[cells[:, steps]].any(axis=1)
        for label, paths in kept.items():
            missing = each - sum(map(len, paths))
            if missing > 0:
                paths.append(cells[happens == label][:missing])
    people = []
    for label in (True, False):
        for path in np.concatenate(kept[label]):
            full = np.concatenate([path, np.full(policy.steps - len(path), path[-1])])
            shift = policy.grid.cell_size * (rng.random((policy.steps, 2)) - 0.5)
            places = policy.grid.centers[full] + shift
            people.append(TrueSteps(full, places, np.zeros(policy.steps, dtype=np.bool_)))
    labels = np.repeat([True, False], each)
    return World("model", policy, followed, people, labels, np.arange(2 * each))


def residents_world(policy: Policy, count: int, seed: int = 77) -> World:
    """Return residents who have no part in the model, as they move."""
    traces = residents(count, days=7, seed=seed)
    people = [true_steps(policy, trace) for trace in traces]
    return _labelled("residents", policy, people, np.arange(count))


def ada_world(policy: Policy, weeks: int) -> World:
    """Return Ada in so many weeks with her treatment, and in the same weeks without it."""
    lat, lon = town_places()["office"]
    midnight = microseconds(datetime.combine(FIRST_DAY, time.min, ZoneInfo(TOWN_ZONE)))
    people = []
    for week in range(weeks):
        with_it = ada(7, seed=1000 + week)
        local = (with_it.times - midnight) / 3_600_000_000
        away = (local >= 2 * 24 + 13.3) & (local < 2 * 24 + 16.7)
        noise = np.random.default_rng([week, 5]).normal(0, 1e-4, (2, int(away.sum())))
        there = [with_it.lat.copy(), with_it.lon.copy()]
        there[0][away], there[1][away] = lat + noise[0], lon + noise[1]
        without = Trace(with_it.user, with_it.times, there[0], there[1])
        people += [true_steps(policy, with_it), true_steps(policy, without)]
    return _labelled("ada", policy, people, np.repeat(np.arange(weeks), 2))


def days_world(name: str, source: Path, folder: Path, *, most: int) -> World:
    """Return days of people of Geolife or Cabspotting who have no part in the model."""
    (south, west, north, east), cell, hours = MAPS[name]
    read = _geolife_days if name == "geolife" else _cab_days
    training: list[Trace] = []
    attacked: list[tuple[int, Trace]] = []
    owners = 0
    for number, (person, found) in enumerate(read(source, hours)):
        inside = [
            day for each in found[:MOST_DAYS] if (day := _inside(each, south, west, north, east))
        ]
        if not inside:
            continue
        if person in SEEN or (name == "cabs" and number % 3 == 0) or number % 4 == 0:
            training += inside
        elif len(attacked) < 2 * most:
            attacked += [(owners, day) for day in inside]
            owners += 1
    folder.mkdir(parents=True, exist_ok=True)
    named = [Trace(f"d{k:05d}", d.times, d.lat, d.lon) for k, d in enumerate(training)]
    write_traces(named, folder / "days.csv", overwrite=True)
    text = DAY_POLICY.format(
        south=south, west=west, north=north, east=east, cell=cell, alpha=2.0 / cell, place="{place}"
    )
    (folder / "policy.toml").write_text(text.replace("{place}", "0"))
    policy = load_policy(folder / "policy.toml")
    shares = np.zeros(policy.grid.size)
    noons = 0
    for _, trace in attacked:
        cells = true_steps(policy, trace).cells[12:14]
        if (cells != NONE).all():
            shares[np.unique(cells)] += 1
            noons += 1
    place = int(np.abs(shares / max(noons, 1) - USUAL).argmin())
    (folder / "policy.toml").write_text(text.replace("{place}", str(place)))
    policy = load_policy(folder / "policy.toml")
    truths = [(owner, true_steps(policy, day)) for owner, day in attacked]
    known = [(owner, each) for owner, each in truths if (each.cells[12:14] != NONE).all()][:most]
    return _labelled(
        name, policy, [each for _, each in known], np.array([owner for owner, _ in known])
    )


def _labelled(
    name: str, policy: Policy, people: list[TrueSteps], owners: NDArray[np.int64]
) -> World:
    event = next(iter(policy.events.values())).event
    steps = sorted(event_steps(event))
    place = list(policy.guarded_cells)
    labels = np.array([bool(np.isin(each.cells[steps], place).any()) for each in people])
    return World(name, policy, window(policy), people, labels, owners)


def _inside(trace: Trace, south: float, west: float, north: float, east: float) -> Trace | None:
    here = (trace.lat > south) & (trace.lat < north) & (trace.lon > west) & (trace.lon < east)
    hours = np.unique(trace.times[here] // 3_600_000_000)
    if len(hours) < 6:
        return None
    return Trace(trace.user, trace.times[here], trace.lat[here], trace.lon[here])


def _cut(person: str, seconds: Floats, lat: Floats, lon: Floats, hours: int) -> list[Trace]:
    local = seconds + 3600 * hours
    days, into = np.divmod(local, 86_400)
    found = []
    for day in np.unique(days):
        here = days == day
        times = DAY.timestamp() * 1e6 + into[here] * 1e6
        times, first = np.unique(times.astype(np.int64), return_index=True)
        found.append(Trace(person, times, lat[here][first], lon[here][first]))
    return found


def _cab_days(source: Path, hours: int) -> Iterator[tuple[str, list[Trace]]]:
    for path in sorted(source.glob("new_*.txt")):
        table = np.loadtxt(path, ndmin=2)
        yield path.stem, _cut(path.stem, table[:, 3], table[:, 0], table[:, 1], hours)


def _geolife_days(source: Path, hours: int) -> Iterator[tuple[str, list[Trace]]]:
    for person in sorted(source.iterdir()):
        rows = []
        for path in sorted((person / "Trajectory").glob("*.plt")):
            lines = path.read_text().splitlines()[6::12]  # every minute or so
            rows += [line.split(",") for line in lines]
        if not rows:
            continue
        lat, lon = (np.array([float(row[k]) for row in rows]) for k in (0, 1))
        seconds = np.array([(float(row[4]) - 25_569) * 86_400 for row in rows])
        good = (np.abs(lat) <= 90) & (np.abs(lon) <= 180)
        yield person.name, _cut(person.name, seconds[good], lat[good], lon[good], hours)


def released(world: World, way: str, seed: int = 3) -> Streams:
    """Release everybody of a world in one way."""
    chosen = (
        with_priste(world.policy) if way == "priste" else alternatives_of(world.policy, [way])[0]
    )
    points, likelihoods = [], []
    for number, person in enumerate(world.people):
        bits = bit_source(np.random.default_rng([seed, number]))
        followed = world.followed & (person.cells != NONE)
        stream = chosen.release(person, followed, bits)
        points.append(stream.points[world.steps])
        full = [*stream.likelihoods, *[None] * (int(world.steps[-1]) + 1 - len(stream.likelihoods))]
        likelihoods.append(full)
    return Streams(np.array(points), likelihoods)


def digest(world: World, streams: Streams) -> str:
    """Return a hash of all that attackers are given: model, labels, owners, points, likelihoods.

    Of numbers in single precision, so that another processor or library finds the same.
    """
    found = hashlib.sha256()
    steps = range(int(world.steps[-1]))
    moves = (world.policy.model.transition(step).toarray() for step in steps)
    told = (each for stream in streams.likelihoods for each in stream)
    of_world = (world.steps, world.labels, world.owners, world.policy.population)
    for each in (*of_world, *moves, streams.points, *told):
        numbers = np.array(np.nan if each is None else each, dtype="<f4")
        found.update(f"{numbers.shape}".encode() + (numbers + 0.0).tobytes())
    return found.hexdigest()[:8]


def some_of(world: World, each: int) -> World:
    """Return at most ``each`` people with the event and as many without."""
    sides = [np.flatnonzero(world.labels == side)[:each] for side in (True, False)]
    kept = np.concatenate(sides)
    people = [world.people[number] for number in kept]
    return replace(world, people=people, labels=world.labels[kept], owners=world.owners[kept])


def leakage(policy: Policy, likelihoods: Sequence[Floats | None]) -> float:
    """Return the exact leakage of a stream about the first event, for the policy's adversary."""
    return reached(
        Released(likelihoods, np.empty((0, 2))),
        policy.models,
        next(iter(policy.events.values())),
        policy.chosen_adversary.adversary,
        policy.family,
    ).leakage


def mean_error(world: World, streams: Streams) -> float:
    """Return the mean distance in metres from true fixes to released points; nan without any."""
    true = np.stack([person.places[world.steps] for person in world.people])
    known = np.stack([person.cells[world.steps] != NONE for person in world.people])
    apart = np.hypot(*np.moveaxis(true - streams.points, 2, 0))
    there = known & ~np.isnan(apart)
    return 1000.0 * float(apart[there].mean()) if there.any() else float("nan")
