"""The policy: what a person wrote in one TOML file, as the objects that carry it out."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Literal

from priste.errors import EventSyntaxError, PolicyError
from priste.events import Event, parse_event
from priste.maps import Grid, Region
from priste.mechanisms import (
    Identity,
    LocationSet,
    Mechanism,
    PlanarIsotropic,
    PlanarLaplace,
    Uniform,
)
from priste.mobility import MarkovModel
from priste.policy.calendar import NoSteps, periods, step_reader
from priste.policy.mistakes import Mistakes
from priste.policy.model_choice import model_of
from priste.policy.sections import (
    MOST_STEPS,
    ClockSection,
    EventSection,
    MapSection,
    MechanismSection,
    MobilitySection,
    RegionSection,
    ReleaseSection,
)
from priste.randomness import BitSource, Seed
from priste.release import Calibrator, Certified, Optimal, Paper, Protector, Remap
from priste.traces import Timeline
from priste.traces.zones import zone_of

SECTIONS = ("map", "clock", "mobility", "mechanism", "release", "regions", "events")
REQUIRED = ("map", "clock", "mobility", "mechanism", "release", "events")
DEFAULT_PACE = 0.1
"""The share of what is left of ε that one step may use; see docs/policy.md for what it buys."""

DEFAULT_SECONDS = 1.0
"""How long the programme of the optimal calibrator may take a step."""

_STEP = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|min|m|h|hour|hours|d|day|days)")
_UNIT = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "hours": 3600}
_UNIT |= {"d": 86400, "day": 86400, "days": 86400}


@dataclass(frozen=True)
class PolicyEvent:
    """An event of a policy: its name, the formula as written, the event, and its ε."""

    name: str
    text: str
    event: Event
    epsilon: float


@dataclass(frozen=True, eq=False)
class Policy:
    """Everything a policy file fixes; made by :func:`load_policy` or :func:`read_policy`.

    ``steps`` is the length of the stream. ``events`` are in the order of the file; a
    recurring one stands there once per period.
    """

    source: str = field(repr=False)
    grid: Grid
    timeline: Timeline
    steps: int
    rule: Literal["nearest", "majority", "interpolated"]
    model: MarkovModel
    mechanism: Mechanism
    calibrator: Calibrator
    points: Literal["centre", "random"]
    outside: Literal["refuse", "nearest", "gap"]
    regions: Mapping[str, Region]
    events: Mapping[str, PolicyEvent]

    def protector(
        self,
        *,
        rng: Seed | BitSource = None,
        journal: Path | None = None,
        calibrator: Calibrator | None = None,
    ) -> Protector:
        """Return a fresh stream for one user under this policy.

        ``calibrator`` stands in for the policy's own, for comparisons.
        """
        return Protector(
            self.model,
            {name: each.event for name, each in self.events.items()},
            self.mechanism,
            {name: each.epsilon for name, each in self.events.items()},
            calibrator or self.calibrator,
            rng,
            journal=journal,
        )

    def fingerprint(self) -> str:
        """Return a digest of the text and of the fitted model: what a stream was made under."""
        digest = hashlib.sha256(self.source.encode())
        digest.update(self.model.fingerprint().encode())
        return digest.hexdigest()


@dataclass(frozen=True)
class Ground:
    """The map and the clock of a policy: what a mobility model is fitted on."""

    grid: Grid
    timeline: Timeline
    rule: Literal["nearest", "majority", "interpolated"]


def load_policy(path: str | Path) -> Policy:
    """Read a policy file; relative paths in it start at its own folder.

    Raises PolicyError with all mistakes at once, each with its line, the rule and, where
    there is one, a suggestion. Nothing is written.
    """
    path = Path(path)
    return read_policy(_text_of(path), folder=path.parent, name=path.name)


def load_ground(path: str | Path) -> Ground:
    """Read only the map and the clock of a policy file, whose model may not exist yet."""
    path = Path(path)
    text = _text_of(path)
    return _PolicyReader(text, _tables(text, path.name), path.parent, path.name).ground()


def read_policy(text: str, *, folder: str | Path = ".", name: str = "The policy") -> Policy:
    """Read a policy from its text; see :func:`load_policy`."""
    return _PolicyReader(text, _tables(text, name), Path(folder), name).policy()


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(
            f"There is no policy file {str(path)!r}. Write one with: priste init"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"The policy file {str(path)!r} cannot be read: {error}.") from error


def _tables(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{name} is not TOML: {error}.", (str(error),)) from error


class _PolicyReader:
    """One reading of one file: parts that fail are noted, and the others are still read."""

    def __init__(self, text: str, tables: dict[str, Any], folder: Path, name: str) -> None:
        self._text = text
        self._tables = tables
        self._folder = folder
        self._problems = Mistakes(text, name)

    def policy(self) -> Policy:
        problems = self._problems
        for key in self._tables:
            if key not in SECTIONS:
                problems.unknown((key,), list(SECTIONS))
        for key in REQUIRED:
            if key not in self._tables:
                problems.add((key,), f"this section is missing; write [{key}]")
        grid = self._grid()
        clock = self._read(ClockSection, "clock")
        timeline, steps = self._timeline(clock) if clock else (None, 0)
        mobility = self._read(MobilitySection, "mobility")
        mechanism_section = self._read(MechanismSection, "mechanism")
        release = self._read(ReleaseSection, "release")
        regions = self._regions(grid)
        events = self._events(regions, timeline, steps, release)
        mechanism = None
        if grid and mechanism_section:
            with problems.at(("mechanism",)):
                mechanism = _mechanism(grid, mechanism_section)
        model = None
        # Fitting can take a while: only when everything else is in order.
        if grid and timeline and mobility and clock and not problems:
            with problems.at(("mobility",)):
                model = model_of(mobility, grid, timeline, clock.rule, self._folder)
        if mechanism and model and release and not problems:
            with problems.at(("release",)):
                known = {name: each.event for name, each in events.items()}
                epsilons = {name: each.epsilon for name, each in events.items()}
                Protector(model, known, mechanism, epsilons, _calibrator(release))
        problems.raise_if_any()
        if not (grid and timeline and model and mechanism and release and clock):
            raise PolicyError("The policy is incomplete.")
        return Policy(
            source=self._text,
            grid=grid,
            timeline=timeline,
            steps=steps,
            rule=clock.rule,
            model=model,
            mechanism=mechanism,
            calibrator=_calibrator(release),
            points=release.points,
            outside=release.outside,
            regions=regions,
            events=events,
        )

    def ground(self) -> Ground:
        for key in ("map", "clock"):
            if key not in self._tables:
                self._problems.add((key,), f"this section is missing; write [{key}]")
        grid = self._grid()
        clock = self._read(ClockSection, "clock")
        timeline = self._timeline(clock)[0] if clock else None
        self._problems.raise_if_any()
        if not (grid and timeline):
            raise PolicyError("The policy has no usable map and clock.")
        return Ground(grid, timeline, clock.rule)

    def _table(self, key: str) -> dict[str, Any] | None:
        table = self._tables.get(key)
        if table is not None and not isinstance(table, dict):
            self._problems.add((key,), f"this must be a table, written [{key}]; got {table!r:.40}")
            return None
        return table

    def _read(self, kind: Any, key: str) -> Any:
        table = self._table(key)
        return None if table is None else self._problems.section(kind, table, (key,))

    def _grid(self) -> Grid | None:
        section = self._read(MapSection, "map")
        if section is None:
            return None
        with self._problems.at(("map",)):
            return Grid.covering(
                section.south, section.west, section.north, section.east, section.cell_size
            )
        return None

    def _timeline(self, clock: ClockSection) -> tuple[Timeline | None, int]:
        problems = self._problems
        zone = None
        with problems.at(("clock", "zone")):
            zone = zone_of(clock.zone)
        length = _STEP.fullmatch(clock.step.strip())
        if not length or float(length[1]) == 0:
            problems.add(
                ("clock", "step"), f"write a length like '30min' or '1h'; got {clock.step!r:.40}"
            )
            return None, 0
        if zone is None:
            return None, 0
        step = timedelta(seconds=float(length[1]) * _UNIT[length[2]])
        with problems.at(("clock",)):
            timeline = Timeline(_as_datetime(clock.start), step, zone)
            if clock.steps is not None:
                return timeline, clock.steps
            if clock.end is not None:
                found = timeline.steps_between(_as_datetime(clock.start), _as_datetime(clock.end))
                if 0 < found.stop <= MOST_STEPS:
                    return timeline, found.stop
            problems.add(
                ("clock", "end"),
                f"the end must be after the start, and at most {MOST_STEPS} steps after it",
            )
        return None, 0

    def _regions(self, grid: Grid | None) -> dict[str, Region]:
        regions: dict[str, Region] = {}
        for name, table in (self._table("regions") or {}).items():
            path = ("regions", name)
            if not isinstance(table, dict):
                self._problems.add(path, "a region is a table; write [regions.NAME]")
                continue
            section = self._problems.section(RegionSection, table, path)
            if section and grid:
                with self._problems.at(path):
                    regions[name] = _region(grid, section, self._folder)
        return regions

    def _events(
        self,
        regions: Mapping[str, Region],
        timeline: Timeline | None,
        steps: int,
        release: ReleaseSection | None,
    ) -> dict[str, PolicyEvent]:
        # A region that could not be read is one mistake, not one more per event that names it.
        named = {name: regions.get(name, (0,)) for name in (self._table("regions") or {})}
        events: dict[str, PolicyEvent] = {}
        tables = self._table("events")
        if tables is not None and not tables:
            self._problems.add(("events",), "name at least one event; write [events.NAME]")
        for name, table in (tables or {}).items():
            path = ("events", name)
            if not isinstance(table, dict):
                self._problems.add(path, "an event is a table; write [events.NAME]")
                continue
            section = self._problems.section(EventSection, table, path)
            if section is None or timeline is None:
                continue
            epsilon = section.epsilon or (release.epsilon if release else 1.0)
            with self._problems.at((*path, "formula")):
                for label, event in _occurrences(name, section, named, timeline, steps):
                    if (constant := event.automaton().constant) is not None:
                        self._problems.add(
                            (*path, "formula"),
                            f"this event {'always' if constant else 'never'} happens, whatever "
                            "the user does; there is nothing to protect",
                        )
                        break
                    events[label] = PolicyEvent(label, section.formula, event, epsilon)
        return events


def _occurrences(
    name: str,
    section: EventSection,
    regions: Mapping[str, Any],
    timeline: Timeline,
    steps: int,
) -> list[tuple[str, Event]]:
    """Return the event, or one per period in which each of its times has a step."""
    if section.every is None:
        reader = step_reader(timeline, range(steps))
        return [(name, parse_event(section.formula, regions, steps=reader))]
    found = []
    for period, within in periods(timeline, steps, section.every):
        reader = step_reader(timeline, within)
        try:
            event = parse_event(section.formula, regions, steps=reader)
        except EventSyntaxError as error:
            if isinstance(error.__cause__, NoSteps):
                continue
            raise
        found.append((f"{name}, {period}", event))
    if not found:
        raise NoSteps(f"no {section.every} of the timeline holds a step for every time in it")
    return found


def _region(grid: Grid, section: RegionSection, folder: Path) -> Region:
    if section.circle:
        at = section.circle
        return Region.circle_latlon(grid, at.lat, at.lon, at.radius_km, cover=section.cover)
    if section.box:
        box = section.box
        return Region.box_latlon(
            grid, box.south, box.west, box.north, box.east, cover=section.cover
        )
    if section.polygon:
        return Region.polygon_latlon(grid, section.polygon, cover=section.cover)
    if section.geojson:
        return Region.geojson(grid, folder / section.geojson, cover=section.cover)
    return Region(grid, section.cells or ())


def _mechanism(grid: Grid, section: MechanismSection) -> Mechanism:
    alpha = section.alpha or 0.0
    if section.kind == "planar-isotropic":
        return PlanarIsotropic(grid, alpha=alpha, delta=section.delta)
    base: Mechanism
    if section.kind == "planar-laplace":
        base = PlanarLaplace(grid, alpha=alpha)
    else:
        base = Identity(grid) if section.kind == "identity" else Uniform(grid)
    return base if section.delta is None else LocationSet(base, section.delta)


def _calibrator(section: ReleaseSection) -> Calibrator:
    if section.calibrator == "paper":
        return Paper()
    pace = DEFAULT_PACE if section.pace is None else section.pace
    if section.calibrator == "remap":
        return Remap(pace=pace)
    if section.calibrator == "optimal":
        seconds = DEFAULT_SECONDS if section.seconds is None else section.seconds
        return Optimal(pace=pace, seconds=seconds)
    return Certified(pace=pace)


def _as_datetime(value: datetime | date) -> datetime:
    """Return a datetime; a date alone is its midnight."""
    return value if isinstance(value, datetime) else datetime.combine(value, time.min)
