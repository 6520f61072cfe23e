"""The policy: one TOML file as the objects that carry it out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter, PolicyError
from priste.events import Event, Guarded
from priste.maps import Grid, Region
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.policy.adversary_choice import AdversaryChoice, ChosenAdversary
from priste.policy.document import Document
from priste.policy.formula_models import Ground, Rule
from priste.policy.guarded_rules import Recurrence, Unguarded, all_formulas
from priste.policy.model_choice import ChosenModel, own_days
from priste.policy.sections import Outside
from priste.policy.windows import Windows, within
from priste.quantify import Guarantee
from priste.quantify.quantifier import Family
from priste.randomness import BitSource, Seed
from priste.release import Calibrator, Protector, StreamTree, make_terms
from priste.release.guarded_hours import guarded_hours_of, stretches
from priste.traces import StepCells, Timeline, Trace
from priste.traces.fingerprints import fingerprints
from priste.traces.fixes import microseconds

OFF_MAP: Literal["off-map"] = "off-map"
"""The name of everywhere off the map, in events of a policy that has a place for it."""


@dataclass(frozen=True)
class PolicyEvent:
    """An event of a policy: its name, the formula as written, the event, and its guarantee.

    ``period`` names the day or week of a recurring event, and is None for an event that happens
    once. ``partly`` says that the clock cuts off a part of the time that was written, so that
    only the rest is guarded. ``recurrences`` names each recurring event in it, its period and the
    event then: one for a day or week, several where neighbouring ones or several events are guarded
    together. ``pad`` is how many steps before and after it are guarded hours, None for an event
    without them: its release tables are calibrated at every step. ``unplaced`` names
    a personal place that it speaks of and that is not stated; ``stated`` then has a cell in its
    stead, and only the times of the event hold.
    """

    name: str
    period: str | None
    text: str
    stated: Guarded
    guarantee: Guarantee
    partly: bool = False
    pad: int | None = None
    unplaced: str | None = None
    recurrences: tuple[Recurrence, ...] = ()

    @property
    def event(self) -> Guarded:
        """The event; raises PolicyError while it speaks of a personal place that is not stated."""
        if self.unplaced is not None:
            raise PolicyError(
                f"The event {self.name!r} speaks of {self.unplaced!r}, a personal place (own = "
                "true), and nothing says where that is for this person",
                hint="State it: in a table (--places) or a column of the input (--place "
                f"{self.unplaced}).",
            )
        return self.stated

    @property
    def label(self) -> str:
        """The text that stands for (name, period) in ledgers and tables; it is never read back."""
        return event_label(self.name, self.period)

    @property
    def guaranteed(self) -> str:
        """What is guaranteed about it, as part of a sentence."""
        return self.guarantee.words(len(self.stated.answers))

    @property
    def epsilon(self) -> float:
        """The largest ln of the likelihood ratio that is allowed in a bounded direction.

        inf for a guarantee about beliefs, which bounds no ratio.
        """
        return self.guarantee.largest_leakage


def event_label(name: str, period: str | None) -> str:
    """Return the text that stands for an event, or for one period of a recurring event.

    >>> event_label("visit", None), event_label("visit", "2026-03-04")
    ('visit', 'visit, 2026-03-04')
    """
    return name if period is None else f"{name}, {period}"


@dataclass(frozen=True, eq=False)
class Policy:
    """Everything a policy file fixes; made by :func:`~priste.policy.load_policy`.

    ``steps`` is the length of the stream. ``events`` are in the order of the file, by their labels;
    a recurring one stands there once per period, and ``unguarded`` lists the periods of the clock
    for which it could not be. All ``models`` are guarded against; ``family`` says how.
    """

    source: str = field(repr=False)
    document: Document = field(repr=False)
    folder: Path
    grid: Grid
    timeline: Timeline
    steps: int
    chosen_models: tuple[ChosenModel, ...]
    mechanism: Mechanism
    calibrator: Calibrator
    adversary_choice: AdversaryChoice
    regions: Mapping[str, Region]
    events: Mapping[str, PolicyEvent]
    unguarded: tuple[Unguarded, ...] = ()

    def __repr__(self) -> str:
        map_ = f"{self.grid.rows} x {self.grid.columns} cells of {self.grid.cell_size:g} km"
        events = ", ".join(self.events)
        return f"<Policy: {events}; {self.steps} steps of {self.timeline.step}; {map_}>"

    @cached_property
    def windows(self) -> Windows:
        """The time that the events guard."""
        places = {*self.regions, OFF_MAP}
        return Windows.of_formulas(all_formulas(self.document), places, self.timeline, self.steps)

    @property
    def guarded_time(self) -> Windows:
        """The time that the events guard, and the guarded hours before and after it."""
        pad = max((each.pad or 0 for each in self.events.values()), default=0)
        return replace(self.windows, margin=self.windows.margin + pad * self.timeline.step)

    @property
    def files(self) -> dict[str, Path]:
        """The files that the policy names, by words for what they are."""
        return self.document.files(self.folder)

    @property
    def family(self) -> Family:
        """Whether the adversary holds one of the models ("each"), or is unsure which holds
        ("joint")."""
        asked = {section.family_mode for section in self.document.mobility}
        return "joint" if "joint" in asked else "each"

    @property
    def rule(self) -> Rule:
        """How the fixes of a step become its cell."""
        return self.document.clock.rule

    @property
    def outside(self) -> Outside:
        """What becomes of a fix off the map."""
        return self.document.release.outside

    @property
    def models(self) -> tuple[MarkovModel, ...]:
        """How people move, which the adversary is assumed to know."""
        return tuple(chosen.model for chosen in self.chosen_models)

    @property
    def model(self) -> MarkovModel:
        """The first model, with which predictions are made."""
        return self.models[0]

    @cached_property
    def chosen_adversary(self) -> ChosenAdversary:
        """The adversary that the guarantee is against, and in words."""
        movers = [chosen.movers for chosen in self.chosen_models]
        return self.adversary_choice.adversary(self.models, movers, self.family)

    @property
    def homes(self) -> tuple[str, ...]:
        """The regions where the models know that one lives."""
        named = [chosen.home.region for chosen in self.chosen_models if chosen.home is not None]
        return tuple(dict.fromkeys(named))

    @property
    def own_regions(self) -> tuple[str, ...]:
        """The regions of personal places, which have no cells until they are stated."""
        return tuple(name for name, region in self.regions.items() if not region.cells)

    @property
    def is_placed(self) -> bool:
        """Whether every place is stated that an event speaks of; a stream needs that."""
        return all(each.unplaced is None for each in self.events.values())

    @cached_property
    def population(self) -> NDArray[np.float64]:
        """(m,) the distribution of people at the first step: the policy's, or that of the first
        model."""
        shares = self.adversary_choice.shares
        return self.model.stationary() if shares is None else shares

    @property
    def public_prior(self) -> NDArray[np.float64] | None:
        """(m,) where predictions begin, if that does not follow from the adversary.

        Against any prior it is the population. Otherwise None: it
        is what the guarded adversaries believe on average.
        """
        return None if self.chosen_adversary.adversary.states_prior else self.population

    @cached_property
    def guarded_hours(self) -> tuple[range, ...]:
        """The stretches of steps at which the best public guess is released at every cell."""
        if not self.calibrator.guaranteed:
            return ()
        steps = frozenset[int]().union(
            *(
                guarded_hours_of(each.stated, each.pad)
                for each in self.events.values()
                if each.pad is not None
            )
        )
        return tuple(stretches(steps & frozenset(range(self.steps))))

    @property
    def guarded_cells(self) -> frozenset[int]:
        """The cells of all places that events speak of."""
        return frozenset().union(
            *(
                cells
                for each in self.events.values()
                for layer in each.event.automaton().layers
                for cells in layer.classes
            )
        )

    def recurring(self) -> dict[str, tuple[Event, ...]]:
        """Return each recurring event, by name, as it is in each of its days or weeks.

        Without those that recur once only, and those all of whose days or weeks are guarded in one
        secret.
        """
        found: dict[str, dict[str, Event]] = {}
        whole: set[str] = set()
        for each in self.events.values():
            for name, period, event in each.recurrences:
                found.setdefault(name, {})[period] = event
        for each in self.events.values():
            names = [name for name, _, _ in each.recurrences]
            whole |= {name for name in names if names.count(name) == len(found[name])}
        return {
            name: tuple(periods.values())
            for name, periods in found.items()
            if len(periods) > 1 and name not in whole
        }

    def chances(self) -> dict[str, NDArray[np.float64]]:
        """Return Pr(event | first cell) of each event before any release, under every model."""
        found = self.protector().state.prior_by_start()
        return dict(zip(self.events, found, strict=True))

    def protector(
        self,
        *,
        rng: Seed | BitSource = None,
        journal: Path | None = None,
        calibrator: Calibrator | None = None,
    ) -> Protector:
        """Return a fresh stream for one user under this policy.

        ``calibrator`` stands in for the policy's own, for comparisons. For a user whose own traces
        the model may have been fitted on, ask :meth:`for_user` first.
        """
        tree = self._tree if calibrator is None else self._tree_with(calibrator)
        return Protector.sharing(tree, rng, journal=journal)

    @cached_property
    def _tree(self) -> StreamTree:
        """What the streams of all users have in common."""
        return self._tree_with(self.calibrator)

    def _tree_with(self, calibrator: Calibrator) -> StreamTree:
        terms = make_terms(
            self.models,
            {name: each.event for name, each in self.events.items()},
            self.mechanism,
            {name: each.guarantee for name, each in self.events.items()},
            self.public_prior,
            self.chosen_adversary.adversary,
            self.family,
            {name: each.pad for name, each in self.events.items()},
        )
        return StreamTree.of(terms, calibrator)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what every process computes for itself."""
        return {name: value for name, value in vars(self).items() if name != "_tree"}

    def for_user(self, trace: Trace, since: datetime | None = None) -> Policy:
        """Return the policy for one person: with models that were not fitted on their days.

        With ``kind = "fit"`` the person is left out of their own model. Raises PolicyError for
        a saved model that was fitted on these days. Where the family has "own" and the trace has
        days before the clock, a model of these days is one more that is guarded against; of the
        days before ``since``, for a stream that began earlier than the clock.
        """
        found = self._without(self._fingerprints(trace))
        own = found._own_days(trace, since or self.timeline.start)
        return found if own is None else replace(found, chosen_models=(*found.chosen_models, own))

    @property
    def depends_on_person(self) -> bool:
        """Whether :meth:`for_user` may add a model of the person's own days."""
        sections = self.document.mobility
        return len(sections) == 1 and "own" in sections[0].members

    def _own_days(self, trace: Trace, since: datetime) -> ChosenModel | None:
        """Return the model of a person's days before a time, without the guarded time of any."""
        if not self.depends_on_person:
            return None
        begin = microseconds(since)
        before = within(trace, [(int(trace.times[0]), begin - 1)]) if trace.times.size else None
        rest = None if before is None else self.guarded_time.outside(before)
        return None if rest is None else own_days(self.chosen_models[0], rest, self._ground)

    @property
    def _ground(self) -> Ground:
        return Ground(self.grid, self.timeline, self.rule, self.outside, self.windows)

    def _fingerprints(self, trace: Trace) -> frozenset[str]:
        """Return the fingerprints of a person: of the whole trace, and without guarded time."""
        rest = self.windows.outside(trace)
        return fingerprints(trace) | (fingerprints(rest) if rest is not None else frozenset())

    def for_each_fitted(self) -> Iterator[Policy]:
        """Yield the policy of every person on whom its own models are fitted, one after the other.

        Public people have none: they are never released. With these policies, the person of a
        ledger can be found without a trace.
        """
        people = {
            person.sources
            for chosen in self.chosen_models
            if chosen.fitting is not None and not chosen.fitting.public
            for person in chosen.fitting.people
        }
        if len(people) > 1:  # nobody is guarded by a model of nobody
            for sources in sorted(people, key=sorted):
                yield self._without(sources)

    def _without(self, sources: frozenset[str]) -> Policy:
        try:
            models = tuple(chosen.without(sources) for chosen in self.chosen_models)
        except InvalidParameter as error:
            raise PolicyError(str(error), (str(error),)) from None
        return self if models == self.chosen_models else replace(self, chosen_models=models)

    def starting_at(self, step: int, events: Mapping[str, PolicyEvent]) -> Policy:
        """Return the policy of a stream that begins at a later step, with events in its steps.

        The models are those of that time of day or week, and with them what the adversary knows.
        """
        models = tuple(replace(c, model=c.model.starting_at(step)) for c in self.chosen_models)
        return replace(self, chosen_models=models, events=events)

    def cells(self, trace: Trace) -> StepCells:
        """Return the cell of each step of the clock for one person's trace.

        Raises PolicyError if the model was fitted on this very trace: see :meth:`for_user`.
        """
        self._refuse_fitted(trace)
        return self.true_cells(trace)

    def _refuse_fitted(self, trace: Trace) -> None:
        sources = self._fingerprints(trace)
        origins = (model.origin for model in self.models)
        if any(origin is not None and origin.knows(sources) for origin in origins):
            raise PolicyError(
                "The model was fitted on the very days that are to be protected, so the "
                "releases would reveal something about them",
                hint="Ask for_user(trace) for a policy without them.",
            )

    def stream_cells(self, trace: Trace, also: Iterable[int] = ()) -> tuple[int | None, ...]:
        """Return the cells that a trace is released from, up to the last step with a fix.

        What happened in guarded hours, and whether there was a fix, is not read. A stretch of
        them is released whole where the trace has fixes before and after it, and otherwise not
        at all; since a release in guarded hours does not depend on the cell, that is cell 0. The
        other cells follow from the rest of the trace. A stream ends with its last fix outside
        guarded hours, so that it can continue when there are more. ``also`` are further steps of
        guarded hours: those of events of earlier policies that the stream still guards.

        Raises PolicyError as :meth:`cells` does.
        """
        self._refuse_fitted(trace)
        guarded = self.guarded_hours
        if self.calibrator.guaranteed:
            further = frozenset(also) & frozenset(range(self.steps))
            guarded = tuple(stretches(further.union(*guarded)))
        rest = self._outside(guarded, trace) if trace.times.size else None
        cells = list(self.true_cells(rest).cells) if rest is not None else []
        known = [step for step, cell in enumerate(cells) if cell is not None]
        for hours in guarded if known else ():
            if known[0] < hours.start and hours.stop <= known[-1]:
                cells[hours.start : hours.stop] = [0] * len(hours)
        return tuple(cells[: known[-1] + 1]) if known else ()

    def _outside(self, guarded: Iterable[range], trace: Trace) -> Trace | None:
        """Return a trace without what lies in stretches of steps, None if nothing is left."""
        begin, free = int(trace.times[0]), []
        for stretch in guarded:
            start, stop = (
                microseconds(self.timeline.time_of(step)) for step in (stretch.start, stretch.stop)
            )
            free.append((begin, start - 1))
            begin = max(begin, stop)
        free.append((begin, int(trace.until[-1])))
        return within(trace, [(first, last) for first, last in free if first <= last])

    def true_cells(self, trace: Trace, *, refuse: bool = True) -> StepCells:
        """Return the cell of each step for one person's trace, to compare releases with.

        Whatever the models were fitted on: nothing may be released from these cells. Without
        ``refuse`` a position off the map, where the policy has no place for it, is a gap.
        """
        outside = "nearest" if self.outside == OFF_MAP else self.outside
        return self.timeline.cells(
            trace,
            self.grid,
            self.rule,
            "gap" if outside == "refuse" and not refuse else outside,
            steps=self.steps,
            guarded=self.guarded_cells if self.rule == "any" else (),
        )

    def fingerprint(self) -> str:
        """Return a digest of the text and of the models: what a stream was made under."""
        digest = hashlib.sha256(self.source.encode())
        for model in self.models:
            digest.update(model.fingerprint().encode())
        return digest.hexdigest()


PolicyOf = Callable[[str | None], Policy]
"""The policy of a user by name, whose own places may stand for its regions."""
