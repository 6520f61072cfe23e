"""What releases are worth: mean distance over "nothing" and over the mechanism alone.

``python -m benchmarks.usefulness`` moves people of a built-in city, fits a model of movement by
time of day on others than those who are released, and compares calibrators, observers, promises
and step lengths. ``--geolife DIR`` takes real people from a Geolife folder instead; nothing of
them is stored but means.

- *nothing*: the one cell that is nearest to everybody on average;
- *alone*: the mechanism without any promise;
- *far*: more than six hours before the event begins or after it ends.

Writes ``benchmarks/results/usefulness.json``: for each line of the table the mean over people of
their own ratio with a 95 % Student interval, their median, the ratio of the means with a 95 %
jackknife interval, the largest true leakage of any release (that of the law that
was drawn from, as its columns are what is checked) and CPU milliseconds a step.
A person counts once, however many days there are. Each pair of days is a stream of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from re import fullmatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from priste import (
    Belief,
    Grid,
    MarkovModel,
    Odds,
    PlanarLaplace,
    Priors,
    PristeError,
    Protector,
    presence,
)
from priste.release import Calibrator, Certified, Optimal

RESULTS = Path(__file__).parent / "results" / "usefulness.json"
Floats = NDArray[np.float64]
Cells = NDArray[np.int64]

SIDE = 16
"""The city is so many cells wide and high."""

KILOMETRES = 31.0
ALPHA = 2.0
EVENT_HOURS = 3
FAR_HOURS = 6
BEIJING = (39.80, 116.20, 40.08, 116.56)
"""South, west, north, east of the part of Geolife that is taken: about 31 km each way."""


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    name: str
    calibrator: Calibrator
    promise: Any
    rows: str = "population + home"
    day: int = 0
    per_hour: int = 4


def lines(whole: bool) -> list[Line]:
    """Return what is compared; ``whole`` adds every ε and step length."""
    upwards, belief = Odds(up=1.0, down=math.inf), Belief(0.2)
    chosen = [
        Line("optimal", Optimal(), 1.0),
        Line("optimal, a day later", Optimal(), 1.0, day=1),
        Line("optimal, upwards", Optimal(), upwards),
        Line("optimal, upwards, a day later", Optimal(), upwards, day=1),
        Line("optimal, belief 0.2", Optimal(), belief),
        Line("optimal, pace 0.1", Optimal(pace=0.1), 1.0),
        Line("optimal, population", Optimal(), 1.0, rows="population"),
        Line("certified, pace 0.1", Certified(pace=0.1), 1.0),
        Line("certified, pace 0.1, no guess", Certified(pace=0.1, guess=False), 1.0),
        Line("optimal, 1 h steps", Optimal(), 1.0, per_hour=1),
    ]
    if whole:
        chosen += [Line(f"optimal, ε {e}", Optimal(), e) for e in (0.5, 2.0)]
        chosen += [
            Line(f"optimal, ε {e}, upwards", Optimal(), Odds(e, math.inf)) for e in (0.5, 2.0)
        ]
        chosen += [
            Line("certified, pace 0.1, a day later", Certified(pace=0.1), 1.0, day=1),
            Line("optimal, 5 min steps", Optimal(), 1.0, per_hour=12),
            Line("optimal, pace 0.1, 5 min steps", Optimal(pace=0.1), 1.0, per_hour=12),
        ]
    return chosen


class City:
    """People on a grid: who was where, in cells, day by day."""

    def __init__(self, per_hour: int, people: dict[str, list[Cells]], rank: int) -> None:
        self.rank = rank  # the event is at the place of this rank of each person, home being 0
        self.per_hour, self.day = per_hour, 24 * per_hour
        self.grid = Grid(rows=SIDE, columns=SIDE, cell_size=KILOMETRES / SIDE)
        self.people = people
        centers = self.grid.centers
        self.apart = np.hypot(
            centers[:, 0][:, None] - centers[:, 0], centers[:, 1][:, None] - centers[:, 1]
        )

    def model_without(self, person: str) -> tuple[MarkovModel, Floats]:
        """Fit movement by hour of the day on all others; return it with its midnight prior."""
        cells = self.grid.size
        counts = np.zeros((24, cells, cells))
        for name, days in self.people.items():
            for path in days if name != person else []:
                hours = np.arange(len(path)) // self.per_hour % 24
                np.add.at(counts, (hours[:-1], path[:-1], path[1:]), 1.0)
        near = np.exp(-0.5 * (self.apart / 2.0) ** 2)
        stay = 0.9 * np.eye(cells) + 0.0995 * near / near.sum(axis=1, keepdims=True)
        stay += 0.0005 / cells
        everything = counts.sum(axis=0) + 5.0 * stay
        everything /= everything.sum(axis=1, keepdims=True)
        hourly = []
        for hour in range(24):
            around = counts[hour] + 0.5 * (counts[hour - 1] + counts[(hour + 1) % 24])
            around = around + 10.0 * everything
            hourly.append(around / around.sum(axis=1, keepdims=True))
        prior = np.full(cells, 1.0 / cells)
        for step in range(2 * self.day):
            prior = prior @ hourly[step % self.day // self.per_hour]
        matrices = [matrix for matrix in hourly for _ in range(self.per_hour)]
        return MarkovModel(self.grid, matrices, cycle=True), prior / prior.sum()

    def streams(self, most: int, days: int) -> Iterator[tuple[str, Cells, int, int]]:
        """Yield people with two days, a place they visit, and the hour at which they usually do."""
        for name, paths in self.people.items():
            everywhere = np.concatenate(paths)
            hour = np.concatenate([np.arange(len(path)) % self.day for path in paths])
            counts = np.bincount(everywhere, minlength=self.grid.size)
            order = np.argsort(-counts, kind="stable")
            if not counts[order[self.rank]]:
                continue
            place = int(order[self.rank])
            middle = int(np.median(hour[everywhere == place]))
            for path in paths[:days]:
                yield name, path, place, middle
            most -= 1
            if not most:
                return


def built_in_city(per_hour: int, people: int = 40, seed: int = 1) -> City:
    """Return people with homes, jobs and evenings; two days each, six times."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[Cells]] = {}
    hubs = rng.integers(3, SIDE - 3, (6, 2))
    for number in range(people):
        home = rng.integers(0, SIDE, 2)
        work, evening = hubs[rng.integers(0, 3)], hubs[rng.integers(3, 6)]
        found[f"person {number}"] = [
            _two_days(rng, home, work, evening, per_hour) for _ in range(6)
        ]
    return City(per_hour, found, rank=2)


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


def geolife(folder: Path, per_hour: int) -> City:
    """Return the people of a Geolife folder who stayed in the map for two days on end."""
    found: dict[str, list[Cells]] = {}
    south, west, north, east = BEIJING
    for person in sorted(path for path in folder.iterdir() if path.is_dir()):
        slots: dict[int, int] = {}
        files = sorted(person.glob("Trajectory/*.plt"))
        if not 4e6 < sum(file.stat().st_size for file in files) < 45e6:
            continue
        for file in files:
            for text in file.read_text().splitlines()[6::12]:
                parts = text.split(",")
                lat, lon, days = float(parts[0]), float(parts[1]), float(parts[4])
                if south < lat < north and west < lon < east:
                    row = int((lat - south) / (north - south) * SIDE)
                    column = int((lon - west) / (east - west) * SIDE)
                    slot = math.floor((days * 24 + 8) * per_hour)  # China is eight hours ahead
                    slots[slot] = row * SIDE + column
        paths = _filled_days(slots, per_hour)
        if paths:
            found[person.name] = paths
    return City(per_hour, found, rank=1)


def _filled_days(slots: dict[int, int], per_hour: int) -> list[Cells]:
    day = 24 * per_hour
    seen: dict[int, int] = {}
    for slot in slots:
        seen[slot // day] = seen.get(slot // day, 0) + 1
    good = {number for number, count in seen.items() if count >= 5 * per_hour}
    paths, after = [], -1
    for number in sorted(good):
        if number < after or number + 1 not in good:
            continue
        steps = np.arange(number * day, (number + 2) * day)
        known = np.array([step for step in steps if step in slots])
        latest = np.maximum(np.searchsorted(known, steps, side="right") - 1, 0)
        path = np.array([slots[int(known[place])] for place in latest], dtype=np.int64)
        if len(np.unique(path)) >= 3:
            paths.append(path)
            after = number + 2
    return paths


def measured(line: Line, city: City, people: int, days: int) -> dict[str, Any]:
    """Release every stream under one line of the table; return the means and their intervals."""
    mechanism = PlanarLaplace(city.grid, alpha=ALPHA)
    table, leaks, cpu, streams = mechanism.emission(), [], [], 0
    sums: dict[str, Floats] = {}  # by person: released, nothing, alone; the same far away
    refused, last_person = 0, ""
    for number, (person, path, place, middle) in enumerate(city.streams(people, days)):
        if person != last_person:
            model, prior = city.model_without(person)
            last_person = person
        first = max(1, middle - EVENT_HOURS * city.per_hour // 2) + line.day * city.day
        first = min(first, len(path) - EVENT_HOURS * city.per_hour)
        last = first + EVENT_HOURS * city.per_hour - 1
        rows = [prior]
        if line.rows == "population + home":
            rows.append(np.eye(city.grid.size)[path[0]])
        try:
            protector = Protector(
                model,
                presence([place], range(first, last + 1)),
                mechanism,
                line.promise,
                line.calibrator,
                rng=number,
                observer=Priors(rows),
            )
        except PristeError:  # a cap below what is believed before any release
            refused += 1
            continue
        released = []
        for step, cell in enumerate(path):
            begin = time.process_time()
            release = protector.release(int(cell))
            if step > 1:
                cpu.append(1e3 * (time.process_time() - begin))
            released.append(int(release.cell or 0))
            leaks.append(release.leakage[0])
        distance = city.apart[path, released]
        constant = city.apart[path, _constant(city, model, prior)]
        rng = np.random.default_rng(number)
        noise = [rng.choice(city.grid.size, p=table[c] / table[c].sum()) for c in path]
        alone = city.apart[path, noise]
        steps = np.arange(len(path))
        far = (steps < first - FAR_HOURS * city.per_hour) | (
            steps > last + FAR_HOURS * city.per_hour
        )
        kinds = (distance, constant, alone)
        found = [each.sum() for each in kinds] + [each[far].sum() for each in kinds]
        sums[person] = sums.get(person, np.zeros(6)) + found
        streams += 1
    if not sums:
        return {"name": line.name, "streams": 0, "refused": refused}
    whole = np.array(list(sums.values()))
    each = whole[:, 0] / whole[:, 1]
    spread = each.std(ddof=1) if len(each) > 1 else math.inf
    width = student.ppf(0.975, max(len(each) - 1, 1)) * spread / math.sqrt(len(each))
    return {
        "name": line.name,
        "people": len(each),
        "streams": streams,
        "refused": refused,
        "over_nothing": round(float(each.mean()), 3),
        "interval": round(float(width), 3),
        "median_over_nothing": round(float(np.median(each)), 3),
        **_ratio(whole, 0, 1, "means_over_nothing"),
        **_ratio(whole, 0, 2, "means_over_alone"),
        **_ratio(whole, 3, 4, "far_over_nothing"),
        **_ratio(whole, 3, 5, "far_over_alone"),
        "largest_leakage": round(float(max(leaks)), 4),
        "cpu_ms_median": round(float(np.median(cpu)), 1),
        "cpu_ms_95": round(float(np.percentile(cpu, 95)), 1),
    }


def _ratio(sums: Floats, top: int, bottom: int, name: str) -> dict[str, float]:
    """Return the ratio of two sums over people with the half width of a jackknife interval."""
    above, below, people = sums[:, top], sums[:, bottom], len(sums)
    ratio = float(above.sum() / below.sum())
    if people < 2:
        return {name: round(ratio, 3)}
    without = (above.sum() - above) / (below.sum() - below)
    error = math.sqrt((people - 1) * float(((without - without.mean()) ** 2).mean()))
    width = float(student.ppf(0.975, people - 1)) * error
    return {name: round(ratio, 3), f"{name}_interval": round(width, 3)}


def _constant(city: City, model: MarkovModel, prior: Floats) -> int:
    """Return the one cell that is nearest to everybody, over a day."""
    everybody, now = np.zeros(city.grid.size), prior
    for step in range(city.day):
        everybody += now
        now = model.transition(step).push(now)
    return int(np.argmin(everybody @ city.apart))


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Print the table and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--geolife", type=Path, help="a Geolife folder (its Data)")
    parser.add_argument("--people", type=int, default=4)
    parser.add_argument("--days", type=int, default=1, help="pairs of days of each")
    parser.add_argument("--all", action="store_true", help="every ε and step length")
    parser.add_argument("--only", default=".*", help="a regular expression for lines")
    parser.add_argument("--results", type=Path, help="where to write, if not to the results")
    chosen = parser.parse_args(arguments if arguments is not None else [])
    found: list[dict[str, Any]] = []
    cities: dict[int, City] = {}
    results: dict[str, Any] = {}
    for line in lines(chosen.all):
        if not fullmatch(chosen.only, line.name):
            continue
        if line.per_hour not in cities:
            cities[line.per_hour] = (
                built_in_city(line.per_hour)
                if chosen.geolife is None
                else geolife(chosen.geolife, line.per_hour)
            )
        found.append(measured(line, cities[line.per_hour], chosen.people, chosen.days))
        print(json.dumps(found[-1], ensure_ascii=False), flush=True)
        name = "usefulness_geolife.json" if chosen.geolife else RESULTS.name
        source = "geolife" if chosen.geolife else "built-in city"
        results = {"source": source, "people": chosen.people, "days": chosen.days, "lines": found}
        text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
        (chosen.results or RESULTS.with_name(name)).write_text(text, encoding="utf-8")
    return results


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
