"""Reading a policy file: every mistake is told at once, and what is right is still read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any, get_args

import numpy as np

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
from priste.policy.adversary_choice import AdversaryChoice
from priste.policy.calendar import NoSteps, StepReader, periods
from priste.policy.formula_models import Ground
from priste.policy.mistakes import Mistakes
from priste.policy.model_choice import ChosenModel, chosen_models
from priste.policy.policy import Policy, PolicyEvent, Unguarded
from priste.policy.sections import (
    MOST_STEPS,
    AdversarySection,
    ClockSection,
    EventSection,
    MapSection,
    MechanismSection,
    MobilitySection,
    Outside,
    RegionSection,
    ReleaseSection,
)
from priste.policy.workload import check_map
from priste.quantify import OddsBound, Quantifier
from priste.release import Calibrator
from priste.release.calibrators import CALIBRATORS
from priste.traces import Timeline
from priste.traces.zones import zone_of

SECTIONS = ("map", "clock", "mobility", "mechanism", "adversary", "release", "regions", "events")
REQUIRED = ("map", "clock", "mobility", "mechanism", "release", "events")
ELSEWHERE = "elsewhere"
"""The name of everywhere beyond the map, in events of a policy that has a place for it."""

_STEP = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|min|m|h|hour|hours|d|day|days)")
_UNIT = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "hours": 3600}
_UNIT |= {"d": 86400, "day": 86400, "days": 86400}

ChooseModels = Callable[
    [MobilitySection, Ground, Mapping[str, Region], Path], Sequence[ChosenModel]
]
"""Makes the models of a [mobility] section."""


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
    return PolicyReader(text, _tables(text, path.name), path.parent, path.name).ground()


def read_policy(
    text: str,
    *,
    folder: str | Path = ".",
    name: str = "The policy",
    choose_models: ChooseModels = chosen_models,
) -> Policy:
    """Read a policy from its text; see :func:`load_policy`.

    Who reads many policies with the same people gives ``choose_models`` that remember them.
    """
    return PolicyReader(text, _tables(text, name), Path(folder), name, choose_models).policy()


def with_regions(policy: Policy, regions: Mapping[str, Region]) -> Policy:
    """Return the policy of somebody whose own places stand for regions of the same names.

    All else stays, and is shared: the map, the mechanism, and the models unless they know where
    one lives. Raises PolicyError for a name that the policy has no region of, and for an event
    that always or never happens there.
    """
    unknown = sorted(set(regions) - set(policy.regions))
    if unknown:
        raise PolicyError(
            f"The policy has no region {unknown[0]!r} that could be somebody's own. It has "
            f"{', '.join(policy.regions) or 'none'}."
        )
    if policy.outside == "elsewhere":  # places reach no further than the map itself
        regions = {
            name: Region(policy.grid, frozenset(region) - policy.grid.border)
            for name, region in regions.items()
        }
    beyond = sorted(name for name, region in regions.items() if not region.cells)
    if beyond:
        raise PolicyError(f"The place {beyond[0]!r} lies beyond the map; make the map larger.")
    own = {**policy.regions, **regions}
    reader = PolicyReader(policy.source, tomllib.loads(policy.source), Path(), "The policy")
    return reader.with_places(policy, own)


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


class PolicyReader:
    """One reading of one file: parts that fail are noted, and the others are still read."""

    def __init__(
        self,
        text: str,
        tables: dict[str, Any],
        folder: Path,
        name: str,
        choose_models: ChooseModels = chosen_models,
    ) -> None:
        self._choose_models = choose_models
        self._text = text
        self._tables = tables
        self._folder = folder
        self._mistakes = Mistakes(text, name)

    def policy(self) -> Policy:
        problems = self._mistakes
        for key in self._tables:
            if key not in SECTIONS:
                problems.unknown((key,), list(SECTIONS))
        for key in REQUIRED:
            if key not in self._tables:
                problems.add((key,), f"this section is missing; write [{key}]")
        release, calibrator = self._release()
        outside: Outside = release.outside if release else "refuse"
        grid = self._grid(outside)
        clock = self._read(ClockSection, "clock")
        timeline, steps = self._timeline(clock) if clock else (None, 0)
        mobility = self._mobility()
        mechanism_section = self._read(MechanismSection, "mechanism")
        adversary = self._read(AdversarySection, "adversary")
        regions = self._regions(grid, outside)
        named: dict[str, Any] = dict(regions)
        if grid and outside == "elsewhere":
            named[ELSEWHERE] = grid.border
        events, unguarded = self._events(named, timeline, steps, release)
        mechanism = None
        if grid and mechanism_section:
            with problems.at(("mechanism",)):
                mechanism = _mechanism(grid, mechanism_section)
        models: tuple[ChosenModel, ...] = ()
        choice = None
        # Fitting can take a while: only when everything else is in order.
        if grid and timeline and mobility and clock and not problems:
            with problems.at(("mobility",)):
                ground = Ground(grid, timeline, clock.rule, outside)
                models = tuple(
                    model
                    for each in mobility
                    for model in self._choose_models(each, ground, regions, self._folder)
                )
        if grid and timeline and models and not problems:
            with problems.at(("adversary",)):
                choice = AdversaryChoice.read(adversary, grid, regions, timeline.step, self._folder)
                choice.adversary([each.model for each in models])
        problems.raise_if_any()
        if not (
            grid and timeline and models and mechanism and release and calibrator and clock
        ) or (choice is None):
            raise PolicyError("The policy is incomplete.")
        policy = Policy(
            source=self._text,
            grid=grid,
            timeline=timeline,
            steps=steps,
            rule=clock.rule,
            chosen_models=models,
            mechanism=mechanism,
            calibrator=calibrator,
            adversary_choice=choice,
            points=release.points,
            outside=outside,
            regions=regions,
            events=events,
            unguarded=tuple(unguarded),
        )
        self._refuse_vacuous(policy)
        with problems.at(("release",)):
            policy.protector()
        problems.raise_if_any()
        return policy

    def with_places(self, policy: Policy, regions: dict[str, Region]) -> Policy:
        """Return a policy that was read from this text with other regions."""
        release, _ = self._release()
        named: dict[str, Any] = dict(regions)
        if policy.outside == "elsewhere":
            named[ELSEWHERE] = policy.grid.border
        events, unguarded = self._events(named, policy.timeline, policy.steps, release)
        self._mistakes.raise_if_any()
        choice = policy.adversary_choice
        places = {name: tuple(regions[name].cells) for name in choice.places}
        return replace(
            policy,
            regions=regions,
            events=events,
            unguarded=tuple(unguarded),
            adversary_choice=replace(choice, places=places),
            chosen_models=tuple(chosen.living_in(regions) for chosen in policy.chosen_models),
        )

    def _refuse_vacuous(self, policy: Policy) -> None:
        """Refuse events that the models make impossible, or certain, wherever one begins."""
        for label, each in policy.events.items():
            key = ("events", each.name, "formula")
            with self._mistakes.at(key):
                chances = np.concatenate(
                    [Quantifier(model, each.event).prior_by_start() for model in policy.models]
                )
                if chances.max() == 0.0 or chances.min() == 1.0:
                    word = "impossible" if chances.max() == 0.0 else "certain"
                    self._mistakes.add(
                        key,
                        f"{label} is {word} under the mobility model, wherever the user begins; "
                        "there is nothing to protect. Check the place, the times and the model",
                    )
        self._mistakes.raise_if_any()

    def ground(self) -> Ground:
        for key in ("map", "clock"):
            if key not in self._tables:
                self._mistakes.add((key,), f"this section is missing; write [{key}]")
        written: Any = (self._table("release") or {}).get("outside")
        outside: Outside = written if written in get_args(Outside) else "refuse"
        grid = self._grid(outside)
        clock = self._read(ClockSection, "clock")
        timeline = self._timeline(clock)[0] if clock else None
        self._mistakes.raise_if_any()
        if not (grid and timeline):
            raise PolicyError("The policy has no usable map and clock.")
        return Ground(grid, timeline, clock.rule, outside)

    def _table(self, key: str) -> dict[str, Any] | None:
        table = self._tables.get(key)
        if table is not None and not isinstance(table, dict):
            self._mistakes.add((key,), f"this must be a table, written [{key}]; got {table!r:.40}")
            return None
        return table

    def _read(self, kind: Any, key: str) -> Any:
        table = self._table(key)
        return None if table is None else self._mistakes.section(kind, table, (key,))

    def _mobility(self) -> list[MobilitySection]:
        """Read [mobility], or several [[mobility]]: models that are guarded against jointly."""
        tables = self._tables.get("mobility")
        if isinstance(tables, list) and tables:
            found = [
                self._mistakes.section(MobilitySection, each, ("mobility",))
                for each in tables
                if isinstance(each, dict)
            ]
            return [each for each in found if each is not None]
        section = self._read(MobilitySection, "mobility")
        return [] if section is None else [section]

    def _release(self) -> tuple[ReleaseSection | None, Calibrator | None]:
        """Read [release]: what is not of the section itself are parameters of the calibrator."""
        table = self._table("release")
        if table is None:
            return None, None
        name = table.get("calibrator", ReleaseSection.model_fields["calibrator"].default)
        known = CALIBRATORS[name].parameters if name in CALIBRATORS else {}
        given = {key: value for key, value in table.items() if key in known}
        section = self._mistakes.section(
            ReleaseSection,
            {key: value for key, value in table.items() if key not in given},
            ("release",),
            also_known=tuple(known),
        )
        calibrator = None
        if section is not None:
            with self._mistakes.at(("release",)):
                calibrator = CALIBRATORS[name].make(**{**CALIBRATORS[name].in_policies, **given})
        return section, calibrator

    def _grid(self, outside: Outside) -> Grid | None:
        section = self._read(MapSection, "map")
        if section is None:
            return None
        with self._mistakes.at(("map",)):
            grid = Grid.covering(
                section.south, section.west, section.north, section.east, section.cell_size
            )
            adversary = self._tables.get("adversary")
            knows = adversary.get("knows") if isinstance(adversary, dict) else None
            with self._mistakes.at(("map", "cell_size")):
                check_map(grid, few_rows=knows == "population")
                return grid.bordered() if outside == "elsewhere" else grid
        return None

    def _timeline(self, clock: ClockSection) -> tuple[Timeline | None, int]:
        problems = self._mistakes
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
        try:
            step = timedelta(seconds=float(length[1]) * _UNIT[length[2]])
        except OverflowError:
            problems.add(("clock", "step"), f"this is too long; got {clock.step!r:.40}")
            return None, 0
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

    def _regions(self, grid: Grid | None, outside: Outside) -> dict[str, Region]:
        regions: dict[str, Region] = {}
        for name, table in (self._table("regions") or {}).items():
            path = ("regions", name)
            if not isinstance(table, dict):
                self._mistakes.add(path, "a region is a table; write [regions.NAME]")
                continue
            section = self._mistakes.section(RegionSection, table, path)
            if section and grid:
                with self._mistakes.at(path):
                    regions[name] = _region(grid, section, self._folder)
                    if outside == "elsewhere" and not section.own:
                        regions[name] = self._on_the_map(name, section, regions[name])
        return regions

    def _on_the_map(self, name: str, section: RegionSection, region: Region) -> Region:
        """Return the part of a region that lies on the map itself, not in what is elsewhere."""
        path = ("regions", name)
        if name == ELSEWHERE:
            self._mistakes.add(
                path, "with outside = 'elsewhere' this name means beyond the map; choose another"
            )
        if section.cells is not None:
            self._mistakes.add(
                path,
                "with outside = 'elsewhere' the map has one more cell on each side, so numbers of "
                "cells mean others than before; give the place as a circle, box or polygon",
            )
        inside = frozenset(region) - region.grid.border
        if not inside:
            self._mistakes.add(path, "the place lies beyond the map; make the map larger")
            return region
        return Region(region.grid, inside)

    def _events(
        self,
        regions: Mapping[str, Any],
        timeline: Timeline | None,
        steps: int,
        release: ReleaseSection | None,
    ) -> tuple[dict[str, PolicyEvent], list[Unguarded]]:
        # A region that could not be read is one mistake, not one more per event that names it.
        named: dict[str, Any] = dict.fromkeys(self._table("regions") or {}, (0,)) | dict(regions)
        events: dict[str, PolicyEvent] = {}
        unguarded: list[Unguarded] = []
        tables = self._table("events")
        if tables is not None and not tables:
            self._mistakes.add(("events",), "name at least one event; write [events.NAME]")
        for name, table in (tables or {}).items():
            path = ("events", name)
            if not isinstance(table, dict):
                self._mistakes.add(path, "an event is a table; write [events.NAME]")
                continue
            section = self._mistakes.section(EventSection, table, path)
            if section is None or timeline is None:
                continue
            guarantee = section.guarantee() or (
                release.guarantee() if release else OddsBound(1.0, 1.0)
            )
            if guarantee is None:
                self._mistakes.add(
                    path, "this event has no guarantee, and [release] none for all; give 'epsilon'"
                )
                continue
            with self._mistakes.at((*path, "formula")):
                found, missed = occurrences(name, section, named, timeline, steps)
                unguarded += missed
                for period, event, partly in found:
                    if (constant := event.automaton().constant) is not None:
                        self._mistakes.add(
                            (*path, "formula"),
                            f"this event {'always' if constant else 'never'} happens, whatever "
                            "the user does; there is nothing to protect",
                        )
                        break
                    made = PolicyEvent(name, period, section.formula, event, guarantee, partly)
                    if made.label in events:
                        self._mistakes.add(
                            path, f"two events are called {made.label!r}; rename one"
                        )
                    events[made.label] = made
        return events, unguarded


def occurrences(
    name: str,
    section: EventSection,
    regions: Mapping[str, Any],
    timeline: Timeline,
    steps: int,
) -> tuple[list[tuple[str | None, Event, bool]], list[Unguarded]]:
    """Return the event with period None, or one per period in which each of its times has a step.

    Each with whether the clock cuts a part of it off; and the periods that have to be left out.
    """
    if section.every is None:
        reader = StepReader(timeline, steps)
        return [(None, parse_event(section.formula, regions, steps=reader), False)], []
    found: list[tuple[str | None, Event, bool]] = []
    missed = []
    opening = timeline.time_of(0).date()
    for period in periods(timeline, steps, section.every):
        reader = StepReader(timeline, steps, period)
        try:
            event = parse_event(section.formula, regions, steps=reader)
        except EventSyntaxError as error:
            if not isinstance(error.__cause__, NoSteps):
                raise
            if period.last >= opening:  # the period before the clock is not missed
                missed.append(Unguarded(name, period.name, str(error.__cause__)))
            continue
        found.append((period.name, event, reader.cut))
    if not found:
        raise NoSteps(f"no {section.every} of the timeline holds a step for every time in it")
    return found, missed


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
    return Region(grid, section.cells or ())  # nowhere if it is everybody's own


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


def _as_datetime(value: datetime | date) -> datetime:
    """Return a datetime; a date alone is its midnight."""
    return value if isinstance(value, datetime) else datetime.combine(value, time.min)
