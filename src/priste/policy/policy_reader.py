"""From the document to the policy: every mistake of meaning is reported at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np

from priste.errors import PolicyError
from priste.maps import Grid, Region
from priste.policy.adversary_choice import AdversaryChoice
from priste.policy.document import Document, GroundDocument, text_of
from priste.policy.formula_models import Ground
from priste.policy.guarded_rules import (
    Unguarded,
    all_formulas,
    check_secrets,
    occurrences,
    rules_of,
)
from priste.policy.lattice import lattice_grid
from priste.policy.mistakes import Mistakes
from priste.policy.model_choice import ChosenModel, chosen_models
from priste.policy.policy import OFF_MAP, Policy, PolicyEvent
from priste.policy.sections import (
    MOST_STEPS,
    ClockSection,
    MapSection,
    MobilitySection,
    Outside,
    RegionSection,
    as_datetime,
    read_length,
)
from priste.policy.windows import Windows
from priste.policy.workload import check_map
from priste.quantify import Family
from priste.release.guarded_hours import fitting_pads
from priste.traces import Timeline
from priste.traces.zones import zone_of

PAD = timedelta(hours=1)
"""How long before and after an event the guarded hours reach, unless a policy says otherwise.

About the time of a way through a town; docs/evidence/usefulness.md has what is measured."""

ChooseModels = Callable[
    [MobilitySection, Ground, Mapping[str, Region], Path], Sequence[ChosenModel]
]
"""Makes the models of a [mobility] section."""

Events = tuple[dict[str, PolicyEvent], list[Unguarded]]


def load_policy(path: str | Path, *, try_events: bool = True) -> Policy:
    """Read a policy file; relative paths in it start at its own folder.

    Raises PolicyError with all mistakes of form, or if there are none with all mistakes of
    meaning; each with its line, the rule and, where there is one, a suggestion. Nothing is written.

    ``try_events`` False leaves out whether the models decide an event: for a caller whose streams
    begin later, and are refused then.
    """
    path = Path(path)
    return read_policy(text_of(path), folder=path.parent, name=path.name, try_events=try_events)


def read_policy(
    text: str,
    *,
    folder: str | Path = ".",
    name: str = "The policy",
    choose_models: ChooseModels = chosen_models,
    try_events: bool = True,
) -> Policy:
    """Read a policy from its text; see :func:`load_policy`.

    Who reads many policies with the same people gives ``choose_models`` that remember them.
    """
    document = Document.from_toml(text, name)
    reader = PolicyReader(document, Mistakes(text, name), Path(folder), choose_models)
    return reader.policy(text, try_events=try_events)


def load_ground(path: str | Path) -> Ground:
    """Read the map, the clock and the guarded time of a policy file, whose model may not exist."""
    path = Path(path)
    text = text_of(path)
    document = Document.from_toml(text, path.name)
    mistakes = Mistakes(text, path.name)
    ground = ground_of(document, mistakes)
    with mistakes.at(("events",)):
        steps = _timeline(document.clock, mistakes)[1]
        ground = replace(ground, windows=windows_of(document, ground.timeline, steps))
    mistakes.raise_if_any()
    return ground


def ground_of(document: GroundDocument, mistakes: Mistakes | None = None) -> Ground:
    """Return the map and the clock of a document."""
    problems = mistakes or Mistakes("", "The policy")
    grid = _grid(document, problems)
    timeline, _ = _timeline(document.clock, problems)
    problems.raise_if_any()
    if not (grid and timeline):
        raise PolicyError("The policy has no usable map and clock.")
    return Ground(grid, timeline, document.clock.rule, document.release.outside)


def with_regions(policy: Policy, regions: Mapping[str, Region]) -> Policy:
    """Return the policy of somebody whose own places stand for regions of the same names.

    All else stays, and is shared: the map, the mechanism, and the models unless they know where
    one lives. Raises PolicyError for a name that the policy has no region of, and for an event
    that always or never happens there.
    """
    unknown = sorted(set(regions) - set(policy.regions))
    if unknown:
        raise PolicyError(
            f"The policy has no region {unknown[0]!r} that could be a personal place",
            hint=f"It has {', '.join(policy.regions) or 'none'}.",
        )
    inside = {name: on_the_map(region, policy.outside) for name, region in regions.items()}
    beyond = sorted(name for name, region in inside.items() if not region.cells)
    if beyond:
        raise PolicyError(f"The place {beyond[0]!r} lies off the map; make the map larger.")
    reader = PolicyReader(policy.document, Mistakes(policy.source, "The policy"), policy.folder)
    return reader.with_places(policy, {**policy.regions, **inside})


def somewhere(policy: Policy) -> Policy:
    """Return the policy of an example person, with personal places where people usually are.

    Each personal place that is not stated is the likeliest cell of the population that no region
    holds: for explanations and forecasts. The policy itself if all places are stated.
    """
    taken = set[int]().union(*(region.cells for region in policy.regions.values()))
    if policy.outside == OFF_MAP:
        taken |= policy.grid.border
    free = (int(cell) for cell in np.argsort(-policy.population, kind="stable"))
    cells = (cell for cell in free if cell not in taken)
    stated = {name: Region(policy.grid, [next(cells)]) for name in policy.own_regions}
    return with_regions(policy, stated) if stated else policy


class PolicyReader:
    """One reading of one document: parts that fail are noted, and the others are still read."""

    def __init__(
        self,
        document: Document,
        mistakes: Mistakes,
        folder: Path,
        choose_models: ChooseModels = chosen_models,
    ) -> None:
        self._document = document
        self._mistakes = mistakes
        self._folder = folder
        self._choose_models = choose_models

    def policy(self, source: str, *, try_events: bool = True) -> Policy:
        """Return the policy; ``source`` is the text that the document was read from."""
        document, problems = self._document, self._mistakes
        outside = document.release.outside
        grid = _grid(document, problems)
        timeline, steps = _timeline(document.clock, problems)
        regions = self._regions(grid) if grid else {}
        events: dict[str, PolicyEvent] = {}
        unguarded: list[Unguarded] = []
        mechanism = calibrator = choice = None
        if grid and timeline:
            events, unguarded = self._events(regions, grid, timeline, steps)
        if grid:
            with problems.at(("mechanism",)):
                mechanism = document.mechanism.make(grid)
        with problems.at(("release",)):
            calibrator = document.release.make_calibrator()
        models: tuple[ChosenModel, ...] = ()
        # Fitting can take a while: only when everything else is in order.
        if grid and timeline and not problems:
            with problems.at(("mobility",)):
                windows = windows_of(document, timeline, steps)
                ground = Ground(grid, timeline, document.clock.rule, outside, windows)
                models = tuple(
                    model
                    for each in document.mobility
                    for model in self._choose_models(each, ground, regions, self._folder)
                )
        if grid and timeline and models:
            with problems.at(("adversary",)):
                choice = AdversaryChoice.read(
                    document.adversary, grid, regions, timeline.step, self._folder
                )
                modes = {each.family_mode for each in document.mobility}
                family: Family = "joint" if "joint" in modes else "each"
                choice.adversary([each.model for each in models], family=family)
        problems.raise_if_any()
        if not (grid and timeline and mechanism and calibrator and choice):
            raise PolicyError("The policy is incomplete.")
        policy = Policy(
            source=source,
            document=document,
            folder=self._folder,
            grid=grid,
            timeline=timeline,
            steps=steps,
            chosen_models=models,
            mechanism=mechanism,
            calibrator=calibrator,
            adversary_choice=choice,
            regions=regions,
            events=events,
            unguarded=tuple(unguarded),
        )
        if try_events:
            with problems.at(("events",)):  # one that the models decide, or that cannot be guarded
                somewhere(policy).protector()
        problems.raise_if_any()
        return policy

    def with_places(self, policy: Policy, regions: dict[str, Region]) -> Policy:
        """Return a policy that was read from this document with other regions."""
        events, unguarded = self._events(regions, policy.grid, policy.timeline, policy.steps)
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

    def _regions(self, grid: Grid) -> dict[str, Region]:
        outside = self._document.release.outside
        regions: dict[str, Region] = {}
        for name, section in self._document.regions.items():
            path = ("regions", name)
            with self._mistakes.at(path):
                found = on_the_map(_region(grid, section, outside, self._folder), outside)
                if outside == OFF_MAP and name == OFF_MAP:
                    self._mistakes.add(path, "this name means off the map; choose another")
                if not found.cells and not section.own:
                    self._mistakes.add(path, "the place lies off the map; make the map larger")
                regions[name] = found
        return regions

    def _events(
        self, regions: Mapping[str, Region], grid: Grid, timeline: Timeline, steps: int
    ) -> Events:
        named = places_of_events(regions, grid, self._document.release.outside)
        # A region that could not be read is one mistake, not one more per event that names it.
        named = dict.fromkeys(self._document.regions, (0,)) | named
        unstated = [each for each, region in regions.items() if not region.cells]
        named |= {each: (number % grid.size,) for number, each in enumerate(unstated)}
        events: dict[str, PolicyEvent] = {}
        unguarded: list[Unguarded] = []
        wrong = check_secrets(self._document)
        for path, message in wrong:
            self._mistakes.add(path, message)
        rules = [] if wrong else rules_of(self._document)
        for rule in rules:
            guarantee = rule.section.guarantee() or self._document.guarantee.guarantee()
            if guarantee is None:
                self._mistakes.add(
                    rule.path,
                    "this event has no guarantee, and there is none for all; give 'epsilon'",
                )
                continue
            place = (*rule.path, "formula") if rule.joined == "alone" else rule.path
            spoken = [n for n in unstated if any(_speaks_of(f, n) for f in rule.formulas.values())]
            with self._mistakes.at(place):
                found, missed = occurrences(rule, named, timeline, steps)
                unguarded += missed
                for each in found:
                    constant = None if spoken else each.guarded.automaton().constant
                    if constant is not None:
                        self._mistakes.add(
                            place,
                            f"this event {'always' if constant else 'never'} happens, whatever "
                            "the user does; there is nothing to protect",
                        )
                        break
                    guarantee.comparisons(len(each.guarded.answers), each.guarded.has_rest)
                    made = PolicyEvent(
                        rule.name,
                        each.period,
                        rule.text,
                        each.guarded,
                        guarantee,
                        each.partly,
                        unplaced=spoken[0] if spoken else None,
                        recurrences=each.recurrences,
                    )
                    if made.label in events:
                        self._mistakes.add(
                            rule.path, f"two events are called {made.label!r}; rename one"
                        )
                    events[made.label] = made
        pads = {rule.name: rule.section.guarded_hours for rule in rules}
        return self._with_guarded_hours(events, pads, timeline, steps), unguarded

    def _with_guarded_hours(
        self,
        events: dict[str, PolicyEvent],
        own: Mapping[str, str | None],
        timeline: Timeline,
        steps: int,
    ) -> dict[str, PolicyEvent]:
        """Return the events with their pads; see :data:`PAD` and ``fitting_pads``."""
        asked = []
        for event in events.values():
            words = own[event.name] or self._document.guarantee.guarded_hours or "auto"
            length = PAD if words == "auto" else None if words == "off" else read_length(words)
            asked.append(None if length is None else math.ceil(length / timeline.step))
        pads = fitting_pads([each.stated for each in events.values()], asked, steps)
        return {
            label: replace(event, pad=pad)
            for (label, event), pad in zip(events.items(), pads, strict=True)
        }


def _grid(document: GroundDocument, mistakes: Mistakes) -> Grid | None:
    adversary = document.adversary
    with mistakes.at(("map",)):
        grid = map_of(document.map)
        with mistakes.at(("map", "cell_size")):
            check_map(grid, few_rows=adversary is not None and adversary.knows == "population")
            return grid.bordered() if document.release.outside == OFF_MAP else grid
    return None


def _timeline(clock: ClockSection, mistakes: Mistakes) -> tuple[Timeline | None, int]:
    with mistakes.at(("clock",)):
        timeline = Timeline(clock.begin, clock.step_length, zone_of(clock.zone))
        if clock.steps is not None:
            return timeline, clock.steps
        if clock.end is not None:
            found = timeline.steps_between(clock.begin, as_datetime(clock.end))
            if 0 < found.stop <= MOST_STEPS:
                return timeline, found.stop
        mistakes.add(
            ("clock", "end"),
            f"the end must be after the start, and at most {MOST_STEPS} steps after it",
        )
    return None, 0


def windows_of(document: Document, timeline: Timeline, steps: int) -> Windows:
    """Return the time that the events of a document guard."""
    places = {*document.regions, OFF_MAP}
    return Windows.of_formulas(all_formulas(document), places, timeline, steps)


def _speaks_of(formula: str, name: str) -> bool:
    """Return whether a formula names a region, by its plain name or in quotation marks."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", formula) is not None


def map_of(section: MapSection) -> Grid:
    """Return the map of a section, without what lies around it."""
    box = (section.south, section.west, section.north, section.east)
    if section.lattice is None:
        return Grid.covering(*box, section.cell_size)
    return lattice_grid(section.lattice, box, section.cell_size)


def places_of_events(
    regions: Mapping[str, Region], grid: Grid, outside: Outside
) -> dict[str, Collection[int]]:
    """Return what events may name: the regions and, where it is a place, off the map."""
    named: dict[str, Collection[int]] = dict(regions)
    return named | {OFF_MAP: grid.border} if outside == OFF_MAP else named


def on_the_map(region: Region, outside: Outside) -> Region:
    """Return the part of a region that lies on the map itself, not in the ring around it."""
    if outside != OFF_MAP:
        return region
    return Region(region.grid, frozenset(region) - region.grid.border)


def ringed(grid: Grid, cells: Collection[int]) -> list[int]:
    """Return numbers of cells of a map as those of the same cells with the ring around it.

    >>> ringed(Grid(rows=4, columns=5, cell_size=1.0), [0, 2, 3])
    [6, 8, 11]
    """
    inner = grid.columns - 2
    if any(cell >= inner * (grid.rows - 2) for cell in cells):
        raise ValueError(f"the cells of this map are 0 to {inner * (grid.rows - 2) - 1}")
    return [(cell // inner + 1) * grid.columns + cell % inner + 1 for cell in cells]


def unringed(grid: Grid, cells: Collection[int]) -> list[int]:
    """Return numbers of cells of a map with a ring as those of the map without it.

    >>> unringed(Grid(rows=4, columns=5, cell_size=1.0), [6, 8, 11])
    [0, 2, 3]
    """
    if not grid.border.isdisjoint(cells):
        raise ValueError("a place must lie on the map itself, not in the ring around it")
    inner = grid.columns - 2
    return [(cell // grid.columns - 1) * inner + cell % grid.columns - 1 for cell in cells]


def _region(grid: Grid, section: RegionSection, outside: Outside, folder: Path) -> Region:
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
    cells = section.cells or []  # nowhere if it is a personal place
    return Region(grid, ringed(grid, cells) if outside == OFF_MAP else cells)
