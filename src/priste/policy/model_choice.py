"""The mobility section of a policy: a formula, a model fitted on traces, or a saved one."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain, pairwise
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import Grid, kilometres
from priste.mobility import (
    GaussianPrior,
    HomeHabits,
    MarkovModel,
    ModelOrigin,
    PopulationChoice,
    choose_own_strength,
    choose_population,
    day_windows,
    home_habits_of,
    memories_of,
    own_history,
    with_home,
)
from priste.mobility.memory import MOST_JUDGED
from priste.policy.adversary_choice import PEOPLE
from priste.policy.formula_models import (
    DECAY,
    WIDTHS,
    Ground,
    Rule,
    Spreading,
    StayingOrGoing,
    nights,
)
from priste.policy.sections import FamilyMember, Memory, MobilitySection
from priste.policy.windows import Windows
from priste.traces import Timeline, Trace, read_traces
from priste.traces.fingerprints import fingerprints

Cycle = Literal["day", "week"]

FEWEST_OWN_MOVES = 50
"""A person's own days make a model from this many known moves on: half a day of steps of 15
minutes."""

VARIANTS: dict[FamilyMember | None, str] = {
    None: "",
    "narrow": ", in shorter moves",
    "wide": ", in longer moves",
    "plain": ", at all hours alike",
    "day": ", by the hour of the day",
    "week": ", by the hour of the week",
}
"""How the movement of a family's members differs from that of its first model."""

CellSequence = tuple[int | None, ...]


@dataclass(frozen=True)
class PersonCells:
    """One person's cells at the steps of a timeline, and the fingerprints of their days."""

    cells: CellSequence
    sources: frozenset[str]

    def __repr__(self) -> str:  # cells are true locations
        return f"<PersonCells, {len(self.cells)} steps>"


@dataclass(frozen=True)
class Fitting:
    """What a model was fitted on, kept so that it can be fitted without one of the people.

    ``public`` people are never released: all of their time was read, and none of them is left out.
    Relatives have no ``memory``: they are a plain count, with a ``cycle`` or another ``width``.
    """

    grid: Grid
    timeline: Timeline
    people: tuple[PersonCells, ...]
    memory: Memory | None
    public: bool = False
    cycle: Cycle | None = None
    width: float | None = None
    _choices: dict[tuple[frozenset[str], ...], PopulationChoice] = field(
        default_factory=dict, repr=False, compare=False
    )

    doubts: ClassVar[tuple[FamilyMember, ...]] = ("narrow", "wide", "plain")

    def without(self, sources: frozenset[str]) -> Fitting:
        """Return the fitting on everybody who has none of these days."""
        if self.public:
            raise InvalidParameter(
                "[mobility] says that the people of its model are public, and one of them is "
                "to be protected",
                hint="Leave public = true out, or fit the model on other people.",
            )
        others = tuple(person for person in self.people if person.sources.isdisjoint(sources))
        if not others:
            raise InvalidParameter(
                "The model of [mobility] would be fitted only on the person it protects",
                hint="Give the traces of other people, or kind = 'gaussian'.",
            )
        return replace(self, people=others)

    def model(self) -> MarkovModel:
        """Return the fitted model."""
        if self.memory is not None:
            # The guarded person has no part in the choice either; most of many share one.
            judges = self.people[:MOST_JUDGED]
            key = tuple(person.sources for person in judges)
            if key not in self._choices:
                self._choices[key] = chosen_memory(self.grid, self.timeline, judges, self.memory)
            return population_model(self.grid, self.timeline, self.people, self._choices[key])
        sigma = None
        if self.width is not None:
            sigma = self.width * _usual_spread(self.grid, self.people)
        return fitted_model(self.grid, self.timeline, self.people, cycle=self.cycle, sigma=sigma)

    def relative(self, member: FamilyMember) -> Fitting:
        """Return the fitting of another member of the family: a count on a Gaussian."""
        if member in WIDTHS:
            return replace(self, width=WIDTHS[member], memory=None)
        cycles: dict[FamilyMember, Cycle | None] = {"plain": None, "day": "day", "week": "week"}
        return replace(self, cycle=cycles[member], memory=None)


@dataclass(frozen=True)
class Home:
    """Where a person lives, their habits, and the model without a home.

    For a person whose home is not known (no ``cells``) the model without a home counts.
    ``learnt`` says that the habits are those of the people on whom the model was fitted.
    """

    region: str
    cells: frozenset[int]
    habits: HomeHabits
    learnt: bool
    timeline: Timeline
    roaming: MarkovModel

    def model(self) -> MarkovModel:
        """Return the model of a person who lives there."""
        if not self.cells:
            return self.roaming
        return with_home(self.roaming, self.cells, self.habits, nights(self.timeline))


@dataclass(frozen=True)
class ChosenModel:
    """A model of a policy; ``made`` says how, unless it was read from a file.

    ``member`` is its name in the family, None for the first one.
    """

    model: MarkovModel
    made: Fitting | Spreading | StayingOrGoing | None = None
    home: Home | None = None
    member: FamilyMember | None = None

    @property
    def movers(self) -> str:
        """Who moves by it, as part of a sentence."""
        if self.member == "own":
            return "your own earlier days"
        if self.member == "roaming":
            return f"{PEOPLE} without a home"
        home = "" if self.home is None else " with your home"
        return f"{PEOPLE}{home}{VARIANTS[self.member]}"

    @property
    def fitting(self) -> Fitting | None:
        """What it was fitted on, if the policy itself says that."""
        return self.made if isinstance(self.made, Fitting) else None

    def relatives(self) -> dict[FamilyMember, MarkovModel]:
        """Return the models that may describe people better than this one."""
        found: dict[FamilyMember, MarkovModel] = {}
        if self.made is not None:
            found = {member: self.made.relative(member).model() for member in self.made.doubts}
        if self.home is None:
            return found
        own = {member: replace(self.home, roaming=each).model() for member, each in found.items()}
        return {**own, "roaming": self.home.roaming}

    def without(self, sources: frozenset[str]) -> ChosenModel:
        """Return the model for somebody with these days: one that was not fitted on them.

        A model that is fitted on the days it guards makes the releases depend on the truth in a way
        that no check covers.
        """
        origin = self.model.origin
        if origin is None or not origin.knows(sources):
            return self
        if self.fitting is None:
            raise InvalidParameter(
                "The saved model was fitted on the very days that are to be protected, so the "
                "releases would reveal something about them",
                hint="Fit it on other people or other days (priste fit), or write kind = 'fit': "
                "then each person is left out of their own model.",
            )
        others = self.fitting.without(sources)
        found = ChosenModel(others.model(), others, member=self.member)
        home = self.home
        if home is None:
            return found
        given = None if home.learnt else home.habits
        return found.at_home(home.region, home.cells, given, home.timeline)

    def at_home(
        self, region: str, cells: Collection[int], given: HomeHabits | None, timeline: Timeline
    ) -> ChosenModel:
        """Return the model of somebody known to live in these cells; this one knows no home.

        Without ``given`` habits they are those of the people whom it was fitted on.
        """
        habits = given
        if habits is None:
            people = () if self.fitting is None else self.fitting.people
            cells_of_each = ([person.cells] for person in people)
            habits = home_habits_of(self.model.grid, cells_of_each, nights(timeline))
        home = Home(region, frozenset(cells), habits, given is None, timeline, self.model)
        return replace(self, model=home.model(), home=home)

    def living_in(self, regions: Mapping[str, Collection[int]]) -> ChosenModel:
        """Return the model of somebody whose own regions these are."""
        if self.home is None or self.home.cells == frozenset(regions[self.home.region]):
            return self
        moved = replace(self.home, cells=frozenset(regions[self.home.region]))
        return replace(self, model=moved.model(), home=moved)


def chosen_models(
    section: MobilitySection,
    ground: Ground,
    regions: Mapping[str, Collection[int]],
    folder: Path,
) -> tuple[ChosenModel, ...]:
    """Return the model that a policy's mobility section describes, and then its family."""
    return at_home_of(section, roaming_models(section, ground, folder), regions, ground.timeline)


def roaming_models(
    section: MobilitySection, ground: Ground, folder: Path
) -> tuple[ChosenModel, ...]:
    """Return the models of a section without a home; :func:`at_home_of` adds the home."""
    grid, timeline = ground.grid, ground.timeline
    family = [member for member in section.members if member not in ("own", "roaming")]
    own: Fitting | Spreading | StayingOrGoing
    away = [name for name in ("away_hours", "away_share") if getattr(section, name) is not None]
    if away and ground.outside != "off-map":
        raise InvalidParameter(
            "is about people off the map, which this policy has no place for",
            parameter=away[0],
            hint="Leave it out, or write outside = 'off-map' in [release].",
        )
    if section.kind == "gaussian":
        own = Spreading(ground, section.sigma or 0.0, section.away_hours, section.away_share)
        return _with_family(own, family)
    if section.kind == "stay-or-go":
        own = StayingOrGoing(
            ground,
            section.stay or 0.0,
            section.stay_at_night,
            section.decay or DECAY,
            section.away_hours,
            section.away_share,
        )
        return _with_family(own, family)
    if section.kind == "saved":
        model = MarkovModel.load(folder / (section.path or ""))
        if model.grid != grid:
            raise InvalidParameter(
                f"The saved model {section.path!r} is for another map ({model.grid.rows} by "
                f"{model.grid.columns} cells of {model.grid.cell_size} km)",
                hint="Fit one on this map: priste fit",
            )
        return (ChosenModel(on_clock(model, timeline, f"The saved model {section.path!r}")),)
    paths = [section.traces] if isinstance(section.traces, str) else section.traces or []
    traces: Iterable[Trace] = chain.from_iterable(
        read_traces(folder / path, section.format, zone=timeline.zone) for path in paths
    )
    if not section.public:
        traces = without_windows(traces, ground.windows)
    people = tuple(cell_sequences(traces, grid, timeline, rule=ground.rule, outside=ground.beyond))
    if not section.public:
        check_enough(people)
    own = Fitting(grid, timeline, people, section.memory or "auto", bool(section.public))
    return _with_family(own, family)


def at_home_of(
    section: MobilitySection,
    roaming: Sequence[ChosenModel],
    regions: Mapping[str, Collection[int]],
    timeline: Timeline,
) -> tuple[ChosenModel, ...]:
    """Return the models of a section, with its ``home`` if it names one."""
    if section.home is None:
        return tuple(roaming)
    if section.home not in regions:
        raise InvalidParameter(
            f"must name a region of this policy: {', '.join(regions) or 'none'}",
            parameter="home",
            value=section.home,
        )
    given = None
    if section.stay_home is not None and section.back_home is not None:
        given = HomeHabits(
            section.stay_home,
            section.back_home,
            section.stay_home_at_night,
            section.back_home_at_night,
        )
    drawn = [each.at_home(section.home, regions[section.home], given, timeline) for each in roaming]
    if "roaming" not in section.members:
        return tuple(drawn)
    return (*drawn, replace(roaming[0], member="roaming"))


def own_days(population: ChosenModel, trace: Trace, ground: Ground) -> ChosenModel | None:
    """Return the model of a person's own days, shrunk towards a model of others.

    ``trace`` holds no guarded time and no step that is released. None where fewer than
    ``FEWEST_OWN_MOVES`` moves are known, or if the population's model cannot serve for that.
    """
    model, timeline = population.model, ground.timeline
    if model.order != 1 or model.period is None:
        return None
    (person,) = cell_sequences(
        [trace], ground.grid, timeline, rule=ground.rule, outside=ground.beyond
    )
    moves = sum(None not in pair for pair in pairwise(person.cells))
    if moves < FEWEST_OWN_MOVES:
        return None
    shown = timeline.start.astimezone(timeline.zone).replace(tzinfo=None)
    windows = day_windows(shown, timeline.step)
    strength = choose_own_strength(model, [person.cells], windows)
    history = own_history(model, [person.cells], windows, strength=strength)
    return ChosenModel(history, member="own")


def _with_family(
    own: Fitting | Spreading | StayingOrGoing, family: Sequence[FamilyMember]
) -> tuple[ChosenModel, ...]:
    first = ChosenModel(own.model(), own)
    makers = {member: own.relative(member) for member in family}
    others = (ChosenModel(maker.model(), maker, None, name) for name, maker in makers.items())
    return (first, *others)


def on_clock(model: MarkovModel, timeline: Timeline, what: str) -> MarkovModel:
    """Return the model started at the phase of the timeline's step 0, or refuse another clock."""
    origin = model.origin
    if origin is None:
        raise InvalidParameter(
            f"{what} does not say how long its steps are: it was not written by priste fit",
            hint="Fit it for this clock: priste fit",
        )
    if origin.step != timeline.step:
        raise InvalidParameter(
            f"{what} has steps of {origin.step}, this clock of {timeline.step}: people move "
            "further in a longer step",
            hint="Fit it for this clock: priste fit",
        )
    if model.period == 1:
        return model
    if origin.zone != str(timeline.zone):
        raise InvalidParameter(
            f"{what} repeats with the days of {origin.zone}, this clock is of {timeline.zone}",
            hint="Fit it for this clock: priste fit",
        )
    # Hours of the day, not elapsed time: across a change of clocks 08:00 stays 08:00.
    begins = timeline.start.astimezone(timeline.zone).replace(tzinfo=None)
    began = origin.start.astimezone(timeline.zone).replace(tzinfo=None)
    late = begins - began
    if late % origin.step:
        raise InvalidParameter(
            f"{what} has steps that begin at {began:%H:%M} and every {origin.step} from "
            f"there; those of this clock begin at {begins:%H:%M}",
            hint="Start the clock on one of them.",
        )
    if model.period is None:
        if late:
            raise InvalidParameter(
                f"{what} describes the moves from {began:%Y-%m-%d %H:%M} on, and this clock "
                f"begins at {begins:%Y-%m-%d %H:%M}",
                hint="Fit it for this clock: priste fit",
            )
        return model
    return model.starting_at(late // origin.step % model.period)


FEWEST_MOVES = 6
"""A model is not fitted on fewer moves than that. It does not depend on how much was left out,
which would reveal something about the guarded time."""


def without_windows(traces: Iterable[Trace], windows: Windows) -> Iterator[Trace]:
    """Yield what is left of traces without guarded time, without people who have no fix left."""
    return (part for part in map(windows.outside, traces) if part is not None)


def check_enough(people: Sequence[PersonCells]) -> None:
    """Refuse to fit a model on too few moves, and name the remedies."""
    moves = sum(None not in pair for person in people for pair in pairwise(person.cells))
    if moves < FEWEST_MOVES:
        raise InvalidParameter(
            f"Without the hours that its events guard, {moves} moves are left to fit the "
            f"model on, and {FEWEST_MOVES} are the least",
            hint="A model must not know the hours that it guards. Give traces of other days, or "
            "traces of other people who are never released (public = true), or write a "
            "model by formula (kind = 'stay-or-go').",
        )


def cell_sequences(
    traces: Iterable[Trace],
    grid: Grid,
    timeline: Timeline,
    *,
    rule: Rule = "nearest",
    outside: Literal["nearest", "gap"] = "gap",
) -> list[PersonCells]:
    """Return each trace as cells at the timeline's steps, None for gaps.

    What lies off the map is a gap too, or in the ``nearest`` border cell.

    Each person's own weeks are counted from the same hour and day as the timeline's, so that a
    cycle means the same for all. The rule ``any`` favours guarded places and
    would bend the model towards them; people are then read by the nearest fix.
    """
    people = []
    for trace in traces:
        own = Timeline(_same_phase(trace.start, timeline), timeline.step, timeline.zone)
        read = own.cells(trace, grid, "nearest" if rule == "any" else rule, outside)
        people.append(PersonCells(read.cells, fingerprints(trace)))
    return people


def fitted_model(
    grid: Grid,
    timeline: Timeline,
    people: Sequence[PersonCells],
    *,
    cycle: Cycle | None = None,
    sigma: float | None = None,
) -> MarkovModel:
    """Return the model fitted on people's cells at the timeline's steps.

    Unseen moves are smoothed with a Gaussian of ``sigma`` km, taken from the data unless given.
    ``cycle`` fits one matrix per step of the day or week; the step must divide it. The model notes
    the clock and whose days it was fitted on.
    """
    smoothing = GaussianPrior(sigma=sigma)
    sequences = [person.cells for person in people]
    origin = _origin(timeline, people)
    if cycle is None:
        return MarkovModel.fit(grid, sequences, smoothing).with_origin(origin)
    length = timedelta(days=7 if cycle == "week" else 1)
    if length % timeline.step:
        raise InvalidParameter(
            f"must divide the {cycle} for a model with a matrix per step of it",
            parameter="step",
            owner="the clock",
            got=f"steps of {timeline.step}",
        )
    model = MarkovModel.fit(grid, sequences, smoothing, cycle=length // timeline.step)
    return model.with_origin(origin)


def chosen_memory(
    grid: Grid, timeline: Timeline, people: Sequence[PersonCells], memory: Memory
) -> PopulationChoice:
    """Return the memory and the strengths of shrinkage that predict left-out people best.

    The people's cells begin where a week of the timeline does. "auto" compares every memory that
    the step allows, and the plain fit; any other is taken as it is said.
    """
    shown = timeline.start.astimezone(timeline.zone).replace(tzinfo=None)
    memories = memories_of(shown, timeline.step)
    if memory != "auto" and memory not in memories:
        raise InvalidParameter(
            "needs a step that divides the day into parts that differ",
            parameter="memory",
            got=f"steps of {timeline.step}",
            hint="Say memory = 'none' or 'auto'.",
        )
    asked: dict[str, tuple[int, ...]] = memories if memory == "auto" else {memory: memories[memory]}
    sequences = ([person.cells] for person in people)
    return choose_population(grid, sequences, asked, plain=memory == "auto")


def population_model(
    grid: Grid, timeline: Timeline, people: Sequence[PersonCells], choice: PopulationChoice
) -> MarkovModel:
    """Return the chosen model fitted on people; it notes the clock and whose days it saw."""
    model = choice.model(grid, ([person.cells] for person in people))
    return model.with_origin(_origin(timeline, people))


def _usual_spread(grid: Grid, people: Sequence[PersonCells]) -> float:
    """Return the spread of people's moves in km per direction, at least one cell."""
    moves = [
        (a, b)
        for person in people
        for a, b in pairwise(person.cells)
        if a is not None and b is not None
    ]
    if not moves:
        return grid.cell_size
    sources, targets = np.array(moves).T
    apart = kilometres(grid, sources, targets)
    return max(grid.cell_size, math.sqrt(float(np.mean(apart * apart)) / 2.0))


def _origin(timeline: Timeline, people: Sequence[PersonCells]) -> ModelOrigin:
    sources: frozenset[str] = frozenset().union(*(person.sources for person in people))
    return ModelOrigin(timeline.start, timeline.step, str(timeline.zone), sources)


def _same_phase(moment: datetime, timeline: Timeline) -> datetime:
    """Return the last instant up to ``moment`` at which a week of the timeline begins."""
    return moment - (moment - timeline.start) % timedelta(days=7)
