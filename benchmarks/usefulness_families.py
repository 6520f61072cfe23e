"""What it costs to guard several mobility models, and what adversaries with others still learn.

``python -m benchmarks.usefulness_families --geolife DIR --rows FILE`` releases two days of people
of Geolife at ε = 1 in steps of 15 minutes. ``--group chosen`` are people on whom constants of the
release tables were chosen, ``last`` people whom no choice has seen; the figures of the other
groups are known. All are named below and none has a part in the
population model. Nothing of them is stored but sums and numbers of their folders.

``--cabs DIR --group cabs`` instead releases cabs of San Francisco (Cabspotting) on a map of the
same size, with a population model of sixty others.

Four kinds of events, each of three hours or less: a *rare* stay (a place of an hour or more on at
most one day in seven), *work* (where they are most from 9 to 17 h, except home), a *commute* (at
home from 7 to 8 h and at work from 9 to 10 h), *near* home (the most visited cell next to it). Of
each kind one pair of days with the event and one without.

Steps with a fix are released, the others are silent, as in ``priste protect``. A line with *every
step* releases those too, from the last known cell. Errors are expected over the table of each
step and count on steps with a fix. *constant* is the best constant cell for somebody
with that usual home, *uncalibrated* the mechanism by itself, *far* more than six hours from the
event.
Leakages are the largest over the stream, under each guarded model and under five that are not.
*parts* divide the error by what the step was: guarded hours, a constant table, or a table that
reveals something, in a cell that the first model predicts with ``EXPECTED`` or more, or with less.

One row per line and stream is appended to ``--rows``; a later run takes them as done. ``--write``
keeps the summary of the group in ``benchmarks/results/usefulness_families.json``.
"""

from __future__ import annotations

import json
import math
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from re import search
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks import moving_people
from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances
from benchmarks.moving_people import FINEST, KILOMETRES, SIDE, _known_days, _slots_of
from priste import (
    Grid,
    KnownPrior,
    MarkovModel,
    OddsBound,
    PlanarLaplace,
    PristeError,
    Protector,
    presence,
)
from priste.audit import leakage_by_model, moves_scaled
from priste.events import Event
from priste.mobility import (
    HomeHabits,
    choose_own_strength,
    day_windows,
    fit_population,
    habits_of,
    home_habits_of,
    memories_of,
    own_history,
    stay_or_go,
    usual_home,
    with_home,
)
from priste.release.guarded_hours import event_steps

Floats = NDArray[np.float64]
Row = dict[str, Any]

SEEN = ("019", "024", "036", "044", "067", "082", "092", "096", "126", "128", "163", "167")
"""People whose figures were looked at while earlier versions were made: used for choosing only."""

EARLIER = ("017", "022", "025", "035", "038", "039", "041", "050", "052", "064", "068", "071")
"""No choice had seen these until the weights of populations were chosen on some of them."""

CHOSEN = (*SEEN, "037", "084")
"""On these the constants of release tables for families were chosen."""

TWENTY = (
    "007", "008", "011", "015", "016", "018", "020", "023", "026", "032", "042", "043", "057",
    "065", "094", "104", "105", "131", "150", "179",
)  # fmt: skip
"""Their figures, with earlier tables, were known when the present ones were made. Few of their days
have 20 quarters of an hour with a fix: use ``--known-quarters 12``, also for those below."""

SEVEN = ("009", "013", "014", "028", "030", "033", "034")
"""Other tables were compared with the present ones on these, and not kept."""

FRESH = (
    "010", "012", "029", "046", "055", "058", "061", "073", "075", "081", "083", "089", "101",
    "103", "110", "112", "113", "115", "122", "135", "140", "141", "147", "155", "169", "174",
)  # fmt: skip
"""``--known-quarters 8``, and only people with five such days or more. The size of the programme
and the shares of the bound were chosen with the figures of all groups so far in view."""

LAST = (
    "006", "059", "074", "091", "095", "097", "111", "114", "139", "145", "154", "181",
)  # fmt: skip
"""Those with four days or more who are left: ``--known-quarters 6``. No choice has seen these."""

HELD_OUT = (
    "040", "045", "051", "062", "066", "078", "085", "088", "106", "119", "125", "130", "138",
    "142", "143", "144", "152", "153", "157", "159", "165", "168",
)  # fmt: skip
"""Homes and the shares of the bound were chosen with their figures in view."""

CABS = (
    "abboip", "abcoij", "abdremlu", "abgibo", "abjoolaw", "abmuyawm", "abniar", "abnovkak",
    "abtyff", "abwecnij", "abyalwif", "acdiyito",
)  # fmt: skip
"""The first of Cabspotting by name. Their figures are known since an earlier version."""

OTHER_CABS = 60
"""So many cabs, the next by name, make the population."""

LATER_CABS = (
    "arcuim", "arcurbig", "arhilby", "arlwras", "arphaud", "artgagvu", "ascley", "ashgati",
    "asigno", "askmecle", "aslagni", "aswift", "atcilav", "atfrav", "atfrim", "atidfi",
    "atnokvo", "atsfiv", "atzumbon", "aucjun", "auctjir", "aupclik", "aurjyen", "avdyab",
)  # fmt: skip
"""Those after the cabs of the population. No choice has seen these."""

SAN_FRANCISCO = (37.56, -122.55, 37.84, -122.198)
"""South, west, north, east: about 31 km each way."""

RESULTS = Path(__file__).parent / "results" / "usefulness_families.json"

GROUPS = {
    "chosen": CHOSEN,
    "earlier": EARLIER,
    "twenty": TWENTY,
    "seven": SEVEN,
    "held-out": HELD_OUT,
    "fresh": FRESH,
    "last": LAST,
    "cabs": CABS,
    "later-cabs": LATER_CABS,
}

PER_HOUR, DAY = 4, 96
ALPHA, FAR = 2.0, 6 * PER_HOUR
LONGEST_STAY = 12 * PER_HOUR
"""A gap between two fixes in one cell is a stay if it is not longer; any other gap is missing."""

EXPECTED = 0.001
PARTS = ("guarded hours", "constant table", "expected cell", "unexpected cell")

KINDS = ("rare", "work", "commute", "near")
START, STEP = datetime(2026, 3, 2), timedelta(minutes=15)


@dataclass(frozen=True)
class Line:
    """One way to guard."""

    name: str
    models: tuple[str, ...] = ("home",)
    family: Any = "each"
    pad: int | None = PER_HOUR
    guarantee: Any = 1.0
    every_step: bool = False


ALL = ("home", "own", "roaming")
UNBOUNDED = 50.0
"""So large a bound binds nowhere: guarded hours and the mechanism are all that is left."""

LINES = [
    Line("home, table", pad=None),
    Line("home"),
    Line("home + own", ("home", "own")),
    Line("home + own + roaming", ALL),
    Line("home + own + roaming, joint", ALL, "joint"),
    Line("home + own + roaming, pad 0", ALL, pad=0),
    Line("home + own + roaming, pad 2 h", ALL, pad=2 * PER_HOUR),
    Line("home + own + roaming, every step", ALL, every_step=True),
    Line("home + own + roaming, ε = 0.5", ALL, guarantee=0.5),
    Line("home + own + roaming, upwards", ALL, guarantee=OddsBound(1.0, math.inf)),
    Line("home, upwards", guarantee=OddsBound(1.0, math.inf)),
    Line("home, guarded hours only", guarantee=UNBOUNDED),
]


class Person:
    """The cells of one person in steps of 15 minutes, by day; None where nothing is known."""

    def __init__(self, slots: dict[int, int]) -> None:
        self.slots = slots
        self.days = _known_days(slots)
        self.pairs = [day for day in self.days if day + 1 in self.days]

    def fixes(self, day: int, days: int = 1) -> list[int | None]:
        """Return the cell of the last fix within each step, None where there is none."""
        each = FINEST // PER_HOUR
        found: list[int | None] = []
        for step in range(day * DAY, (day + days) * DAY):
            inside = [self.slots.get(step * each + part) for part in range(each)]
            known = [cell for cell in inside if cell is not None]
            found.append(known[-1] if known else None)
        return found

    def with_stays(self, day: int, days: int = 1) -> list[int | None]:
        """Return the fixes with gaps filled that begin and end in one cell."""
        cells = self.fixes(day, days)
        known = [step for step, cell in enumerate(cells) if cell is not None]
        for first, second in pairwise(known):
            if cells[first] == cells[second] and second - first <= LONGEST_STAY:
                cells[first:second] = [cells[first]] * (second - first)
        return cells

    def path(self, day: int) -> NDArray[np.int64]:
        """Return the last known cell at each step of two days."""
        cells = self.fixes(day, 2)
        last = next(cell for cell in cells if cell is not None)
        found = []
        for cell in cells:
            last = last if cell is None else cell
            found.append(last)
        return np.array(found)


@dataclass(frozen=True)
class Case:
    """An event of somebody, and the first of the two days that are released."""

    who: str
    kind: str
    happened: bool
    day: int
    event: Event


def geolife_slots(folder: Path) -> dict[str, dict[int, int]]:
    """Return the cell of each slot of everybody in Geolife."""
    return {each.name: _slots_of(each) for each in sorted(folder.iterdir())}


def cab_slots(folder: Path) -> dict[str, dict[int, int]]:
    """Return the cell of each slot of the cabs that are used, in the time of San Francisco."""
    south, west, north, east = SAN_FRANCISCO
    files = sorted(folder.glob("new_*.txt"))[: len(CABS) + OTHER_CABS + len(LATER_CABS)]
    found = {}
    for file in files:
        fixes = np.loadtxt(file, ndmin=2)
        lat, lon, _, seconds = fixes[np.argsort(fixes[:, 3], kind="stable")].T
        inside = (south < lat) & (lat < north) & (west < lon) & (lon < east)
        rows = ((lat - south) / (north - south) * SIDE)[inside].astype(int)
        columns = ((lon - west) / (east - west) * SIDE)[inside].astype(int)
        slots = ((seconds[inside] / 3600 - 7) * FINEST).astype(int)
        cells = rows * SIDE + columns
        found[file.stem.removeprefix("new_")] = dict(
            zip(slots.tolist(), cells.tolist(), strict=True)
        )
    return found


class City:
    """Everybody in a folder on one map, and the models of those who are not released."""

    def __init__(
        self, folder: Path, cache: Path | None, read: Callable[[Path], Any] = geolife_slots
    ) -> None:
        self.grid = Grid(rows=SIDE, columns=SIDE, cell_size=KILOMETRES / SIDE)
        self.apart = self.grid.distances()
        self.night = [step < 6 * PER_HOUR or step >= 22 * PER_HOUR for step in range(DAY)]
        if cache is not None and cache.exists():
            slots = pickle.loads(cache.read_bytes())
        else:
            slots = read(folder)
            if cache is not None:
                cache.write_bytes(pickle.dumps(slots))
        self.people = {name: Person(each) for name, each in slots.items() if each}
        apart = {who for group in GROUPS.values() for who in group}
        self.others = [
            [person.with_stays(day) for day in person.days]
            for name, person in self.people.items()
            if name not in apart and person.days
        ]

    @cached_property
    def roaming(self) -> MarkovModel:
        """The population without a home."""
        clocks = memories_of(START, STEP)
        clocks.pop("week", None)
        return fit_population(self.grid, self.others, clocks).model

    @cached_property
    def habits(self) -> HomeHabits:
        """How people come home."""
        return home_habits_of(self.grid, self.others, self.night)

    @cached_property
    def plain(self) -> MarkovModel:
        """Counts of everybody's moves, without hours."""
        return MarkovModel.fit(self.grid, [path for paths in self.others for path in paths])

    @cached_property
    def staying(self) -> MarkovModel:
        """Stay or go by distance."""
        found = habits_of(self.grid, [path for paths in self.others for path in paths])
        return stay_or_go(self.grid, found.stay, found.decay)

    def home_of(self, who: str) -> int:
        """Return where somebody's nights are spent."""
        person = self.people[who]
        begins = [day for day in person.days if day - 1 not in person.days]
        ends = [day for day in person.days if day + 1 not in person.days]
        paths = [
            person.with_stays(begin, end + 1 - begin)
            for begin, end in zip(begins, ends, strict=True)
        ]
        (home,) = usual_home(self.grid, paths, self.night)
        return home

    def cases(self, who: str, kinds: Sequence[str]) -> list[Case]:
        """Return the events of somebody, with and without, where their days hold such."""
        found = []
        for kind in kinds:
            event = self._event(who, kind)
            if event is None:
                continue
            person = self.people[who]
            for happened in (True, False):
                days = [day for day in person.pairs if event.holds(person.path(day)) == happened]
                if days:
                    day = days[int(len(days) * 0.618) % len(days)]
                    found.append(Case(who, kind, happened, day, event))
        return found

    def _event(self, who: str, kind: str) -> Event | None:
        person, home = self.people[who], self.home_of(who)
        days = np.array([person.path(day)[:DAY] for day in person.pairs])
        if not days.size:
            return None
        work_hours = days[:, 9 * PER_HOUR : 17 * PER_HOUR]
        counts = np.bincount(work_hours[work_hours != home], minlength=self.grid.size)
        work = int(counts.argmax())
        if kind in ("work", "commute") and not counts.any():
            return None
        if kind == "work":
            return presence([work], range(10 * PER_HOUR, 13 * PER_HOUR))
        if kind == "commute":
            leaves = presence([home], range(7 * PER_HOUR, 8 * PER_HOUR))
            return leaves & presence([work], range(9 * PER_HOUR, 10 * PER_HOUR))
        hours = days[:, 6 * PER_HOUR : 22 * PER_HOUR]
        if kind == "near":
            away = self.apart[home] * SIDE / KILOMETRES
            beside = np.flatnonzero((away > 0) & (away < 1.6))
            visits = [(hours == cell).sum() for cell in beside]
            if not max(visits):
                return None
            place = int(beside[int(np.argmax(visits))])
        else:
            stays = np.array(
                [(hours == cell).sum(axis=1) >= PER_HOUR for cell in range(self.grid.size)]
            )
            share = stays.mean(axis=1)
            rare = np.flatnonzero((share > 0) & (share <= max(1 / 7, 1.001 / len(days))))
            rare = rare[rare != home]
            if not rare.size:
                return None
            place = int(rare[np.argmax(stays[rare].sum(axis=1))])
        when = np.argwhere(hours == place)[:, 1]
        middle = int(np.median(when)) + 6 * PER_HOUR
        first = min(max(middle - 6, 2), DAY - 14)
        return presence([place], range(first, first + 3 * PER_HOUR))

    def own(self, who: str, case: Case, windows: Sequence[int]) -> MarkovModel:
        """Return the model of somebody's other days, without the hours of the event."""
        person = self.people[who]
        days = [day for day in person.days if day not in (case.day, case.day + 1)]
        guarded = {
            step % DAY + part
            for step in event_steps(case.event)
            for part in range(-PER_HOUR, PER_HOUR + 1)
        }
        mask = [step in guarded for step in range(DAY)]
        paths = [person.with_stays(day) for day in days]
        population = with_home(self.roaming, [self.home_of(who)], self.habits, self.night)
        leave_out = [mask] * len(paths)
        strength = choose_own_strength(population, paths, windows, leave_out=leave_out)
        return own_history(population, paths, windows, leave_out=leave_out, strength=strength)

    def midnight(self, model: MarkovModel) -> Floats:
        """Return where a model expects people at midnight, after two days."""
        now = np.full(self.grid.size, 1.0 / self.grid.size)
        for step in range(2 * DAY):
            now = model.transition(step).push(now)
        return np.asarray(now / now.sum())

    def constant(self, model: MarkovModel, midnight: Floats) -> int:
        """Return the cell that is nearest to people of a model over a day."""
        now, everybody = midnight, np.zeros(self.grid.size)
        for step in range(DAY):
            everybody = everybody + now
            now = model.transition(step).push(now)
        return int(np.argmin(everybody @ self.apart))


@dataclass(frozen=True)
class Models:
    """All models of one case, by name, with their priors."""

    models: dict[str, MarkovModel]
    priors: dict[str, KnownPrior]
    constant: int
    path: NDArray[np.int64]


def models_of(city: City, case: Case) -> Models:
    """Return the three guarded models and the five others."""
    home = with_home(city.roaming, [city.home_of(case.who)], city.habits, city.night)
    found = {
        "home": home,
        "own": city.own(case.who, case, day_windows(START, STEP)),
        "roaming": city.roaming,
        "own, no hours": city.own(case.who, case, (0,)),
        "plain counts": city.plain,
        "stay or go": city.staying,
        "moves x 1/2": moves_scaled(home, 0.5),
        "moves x 2": moves_scaled(home, 2.0),
    }
    path = city.people[case.who].path(case.day)
    begin = np.eye(city.grid.size)[int(path[0])]
    midnights = {name: city.midnight(model) for name, model in found.items()}
    priors = {name: KnownPrior([each, begin]) for name, each in midnights.items()}
    return Models(found, priors, city.constant(home, midnights["home"]), path)


def measured(line: Line, city: City, case: Case, known: Models) -> Row:
    """Release one stream under one line; return means over steps with a fix."""
    row: Row = {"line": line.name, "who": case.who, "kind": case.kind, "happened": case.happened}
    mechanism = PlanarLaplace(city.grid, alpha=ALPHA)
    try:
        protector = Protector(
            [known.models[name] for name in line.models],
            case.event,
            mechanism,
            line.guarantee,
            rng=int(case.who) if case.who.isdigit() else crc32(case.who.encode()),
            adversary=[known.priors[name] for name in line.models],
            family=line.family,
            guarded_hours=line.pad,
        )
    except PristeError as problem:
        return {**row, "refused": str(problem)[:80]}
    fixes = np.array([cell is not None for cell in city.people[case.who].fixes(case.day, 2)])
    errors, parts, cpu = np.zeros(len(fixes)), np.full(len(fixes), -1), []
    likelihoods: list[Floats | None] = []
    for step, cell in enumerate(known.path.tolist()):
        if not (fixes[step] or line.every_step):
            protector.release(None)
            likelihoods.append(None)
            continue
        begin = time.process_time()
        node = protector.node
        table = node.rule.table  # type: ignore[attr-defined]  # a checked table
        release = protector.release(cell)
        cpu.append(1e3 * (time.process_time() - begin))
        errors[step] = table.likelihoods[cell] @ city.apart[cell, table.outputs]
        expected = node.state.predicted()[cell] >= EXPECTED
        revealing = bool((table.likelihoods != table.likelihoods[0]).any())
        parts[step] = 0 if node.guarded else 1 if not revealing else 2 if expected else 3
        likelihoods.append(
            table.likelihoods[:, int(np.flatnonzero(table.outputs == release.cell)[0])]
        )
    steps = np.arange(len(fixes))
    inside = event_steps(case.event)
    far = fixes & ((steps < inside[0] - FAR) | (steps > inside[-1] + FAR))
    uncalibrated = np.einsum("lo,lo->l", mechanism.emission(), city.apart)[known.path]
    constant = city.apart[known.path, known.constant]
    leakage = leakage_by_model(
        known.models, {"event": case.event}, likelihoods, priors=known.priors
    )
    kinds = {"released": errors, "constant": constant, "uncalibrated": uncalibrated}
    return {
        **row,
        **{name: round(float(each[fixes].sum()), 3) for name, each in kinds.items()},
        **{f"far_{name}": round(float(each[far].sum()), 3) for name, each in kinds.items()},
        "fixes": int(fixes.sum()),
        "parts": {
            name: [int(some.sum()), round(float(errors[some].sum()), 3)]
            for number, name in enumerate(PARTS)
            for some in [fixes & (parts == number)]
        },
        "leakage": {name: round(each["event"], 3) for name, each in leakage.items()},
        "cpu_ms": round(float(np.median(cpu[2:])), 2),
    }


def some_of(cases: list[Case], most: int, turn: int) -> list[Case]:
    """Return ``most`` of somebody's cases, other kinds for other ``turn``s, in their order."""
    order = sorted(range(len(cases)), key=lambda place: (place + turn) * moving_people.GOLDEN % 1.0)
    return [cases[place] for place in sorted(order[:most])]


def summary(line: Line, rows: list[Row]) -> dict[str, Any]:
    """Return the means of one line."""
    kept = [row for row in rows if "refused" not in row and row["constant"] > 0]
    if not kept:
        return {"name": line.name, "streams": 0}

    def total(name: str, some: list[Row]) -> float:
        return float(sum(row[name] for row in some))

    people = sorted({row["who"] for row in kept})
    mine = [[row for row in kept if row["who"] == who] for who in people]
    each = [total("released", some) / total("constant", some) for some in mine]
    leakage = {
        name: [row["leakage"][name] for row in kept if name in row["leakage"]]
        for name in kept[0]["leakage"]
    }
    return {
        "name": line.name,
        "people": people,
        "streams": len(kept),
        "with_event": sum(row["happened"] for row in kept),
        "over_constant": round(float(np.mean(each)), 3),
        "interval": round(1.96 * float(np.std(each)) / math.sqrt(len(each)), 3),
        "over_constant_streams": round(
            float(np.mean([row["released"] / row["constant"] for row in kept])), 3
        ),
        "sums_over_constant": round(total("released", kept) / total("constant", kept), 3),
        "far_over_uncalibrated": round(
            total("far_released", kept) / max(total("far_uncalibrated", kept), 1e-9), 3
        ),
        "by_kind": {
            kind: round(
                total("released", [row for row in kept if row["kind"] == kind])
                / max(total("constant", [row for row in kept if row["kind"] == kind]), 1e-9),
                3,
            )
            for kind in KINDS
        },
        "parts": _parts([row for row in kept if "parts" in row]),
        "streams_in_parts": sum("parts" in row for row in kept),
        "leakage": {
            name: [round(float(np.percentile(found, part)), 2) for part in (50, 90, 100)]
            for name, found in leakage.items()
        },
        "cpu_ms": round(float(np.median([row["cpu_ms"] for row in kept])), 1),
    }


def _parts(rows: list[Row]) -> dict[str, list[float]]:
    """Return per part its share of the steps, and its error over that of the constant point."""
    steps = max(sum(row["fixes"] for row in rows), 1)
    constant = max(sum(row["constant"] for row in rows), 1e-9)
    return {
        name: [
            round(sum(row["parts"][name][0] for row in rows) / steps, 3),
            round(sum(row["parts"][name][1] for row in rows) / constant, 3),
        ]
        for name in PARTS
    }


def main(arguments: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Measure what is missing and print one summary a line."""
    parser = parser_of(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--geolife", type=Path, help="a Geolife folder (its Data)")
    source.add_argument("--cabs", type=Path, help="a folder of Cabspotting")
    parser.add_argument("--group", choices=tuple(GROUPS), default="last")
    parser.add_argument("--people", type=int, default=99)
    parser.add_argument("--streams", type=int, default=99, help="of each person, at most")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only", default="", help="a regular expression that lines must match")
    parser.add_argument("--rows", type=Path, required=True, help="where rows are kept")
    parser.add_argument("--cache", type=Path, help="where the cells of the folder are kept")
    parser.add_argument("--print", action="store_true", dest="only_print", help="measure nothing")
    parser.add_argument("--write", action="store_true", help="keep the summary with the results")
    parser.add_argument(
        "--known-quarters",
        type=int,
        default=moving_people.WELL_KNOWN,
        help="of an hour, on a day that is used",
    )
    chosen = parser.parse_args(arguments)
    moving_people.WELL_KNOWN = chosen.known_quarters
    kept = chosen.rows.read_text().splitlines() if chosen.rows.exists() else []
    rows = [json.loads(text) for text in kept]
    lines = [line for line in LINES if search(chosen.only, line.name)]
    people = GROUPS[chosen.group][: chosen.people]
    if not chosen.only_print:
        done = {(row["line"], row["who"], row["kind"], row["happened"]) for row in rows}
        city = (
            City(chosen.geolife, chosen.cache)
            if chosen.cabs is None
            else City(chosen.cabs, chosen.cache, cab_slots)
        )
        for who in people:
            cases = city.cases(who, chosen.kinds.split(","))
            for case in some_of(cases, chosen.streams, people.index(who)):
                here = (case.who, case.kind, case.happened)
                missing = [line for line in lines if (line.name, *here) not in done]
                known = models_of(city, case) if missing else None
                for line in missing:
                    assert known is not None
                    rows.append(measured(line, city, case, known))
                    with chosen.rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
    found = [
        summary(line, [row for row in rows if row["line"] == line.name and row["who"] in people])
        for line in lines
    ]
    for each in found:
        print(json.dumps(each, ensure_ascii=False), flush=True)
    if chosen.write:
        held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        held[chosen.group] = {
            "lines": [each for each in found if each["streams"]],
            "known_quarters": chosen.known_quarters,
            "circumstances": circumstances(),
        }
        text = json.dumps(held, indent=1, ensure_ascii=False) + "\n"
        RESULTS.write_text(text, encoding="utf-8")
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
