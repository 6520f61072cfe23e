"""priste and its usual alternatives, measured alike: leakage, belief and mean error.

Leakages are exact for each stream: the audit knows the table of every alternative. Over streams the
largest is reported, so a rare stream that leaks more may exist; for priste the guarantee bounds it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from priste.audit.move_likelihoods import MoveQuantifier
from priste.errors import InvalidParameter
from priste.float_text import number_to_json
from priste.forecast.alternatives_at_work import (
    Alternative,
    Released,
    alternatives_of,
    with_priste,
)
from priste.forecast.policy_cost import every
from priste.forecast.simulated_people import OpenedTrace, drawn_person
from priste.mobility import MarkovModel
from priste.quantify import Adversary, AnyPrior, Family, KnownPrior, Quantifier
from priste.quantify.guarantees import REPORTED_SLACK
from priste.randomness import BitSource, bit_source
from priste.release.guarded_hours import event_steps
from priste.results import TrueSteps, length, odds
from priste.results.other_adversaries import own_model
from priste.results.true_steps import NONE, off_map_cells
from priste.traces import Trace

if TYPE_CHECKING:
    from priste.policy import Policy, PolicyEvent

Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

HOURS_BEFORE, HOURS_AFTER = 24.0, 12.0
"""How long before and after an event streams are followed."""

MOST_STEPS = 96
"""How many steps of a stream are followed at most; of more, every so many."""

DEFAULT_STREAMS = 4

ADVERSARIES = ("reached", "any_prior", "own_history")
"""What each adversary learnt, by the names of ``EventFigures``."""

SURE = ("priste", "constant", "off")
"""What stays within a guarantee whatever happens."""

TRIES = 200
"""How many paths through the guarded hours of a trace are drawn to find one with an event."""


@dataclass(frozen=True)
class Reached:
    """What an adversary learnt about one event at most, after any release of some streams.

    ``leakage`` is over the directions that the guarantee bounds, ``towards`` in the one that speaks
    for the event. ``belief`` is the largest belief, 0 where the guarantee caps none. ``kept`` says
    whether the guarantee holds after every release, against this adversary.
    """

    leakage: float = 0.0
    towards: float = 0.0
    belief: float = 0.0
    kept: bool = True

    def or_more(self, other: Reached) -> Reached:
        """Return the larger of each."""
        return Reached(
            max(self.leakage, other.leakage),
            max(self.towards, other.towards),
            max(self.belief, other.belief),
            self.kept and other.kept,
        )


@dataclass(frozen=True)
class EventFigures:
    """What one way to release reveals about one event: the largest over all streams.

    ``reached`` is against the policy's adversary, ``any_prior`` against every prior, and
    ``own_history`` against an adversary who holds the person's other hours (None without a trace).
    ``before`` is the belief of an adversary who knows the population, ``after`` its mean after
    streams in which the event happens, and ``after_not`` where it does not; nan without such a
    stream. ``epsilon`` is the largest leakage that the guarantee allows, inf where it caps a
    belief.
    """

    reached: Reached
    any_prior: Reached
    own_history: Reached | None
    before: float
    after: float
    after_not: float
    epsilon: float


@dataclass(frozen=True)
class Way:
    """One way to release, measured.

    ``error`` is the mean distance in metres from the true fix to the released point, over steps
    that have both on the map; nan without any. ``silent`` is the share of true fixes on the map
    without a released point, ``off_map`` the share of releases or fixes off the map, apart.
    """

    name: str
    words: str
    error: float
    silent: float
    off_map: float
    events: dict[str, EventFigures]

    @property
    def released(self) -> bool:
        """Whether any point was released."""
        return not math.isnan(self.error)

    @property
    def kept(self) -> bool:
        """Whether the guarantee about every event held in every stream."""
        return all(each.reached.kept for each in self.events.values())

    @property
    def leakage(self) -> float:
        """The largest leakage about any event, against the policy's adversary."""
        return max(each.reached.leakage for each in self.events.values())


@dataclass(frozen=True)
class Comparison:
    """All ways to release, priste first; ``streams`` of ``steps`` releases each.

    ``guarded`` says of each event what it is and what is guaranteed about it. ``happened`` counts
    the streams in which a guarded event happens. ``opened`` says that the person is that of a
    trace, whose figures are private.
    """

    ways: tuple[Way, ...]
    guarded: tuple[str, ...]
    adversary: str
    streams: int
    steps: int
    happened: int
    seed: int
    opened: bool

    def sentence(self) -> str:
        """Return in words which ways kept the guarantee, their errors, and what the others
        reveal."""
        kept = [way for way in self.ways if way.kept]
        broke = [way for way in self.ways if not way.kept]
        best = min((way for way in kept if way.released), key=lambda way: way.error, default=None)
        names = f": {', '.join(way.name for way in kept)}" if kept else ""
        parts = [
            f"{len(kept)} of {len(self.ways)} ways to release kept the policy's guarantee in "
            f"every stream that was tried{names}."
        ]
        if any(way.name not in SURE for way in kept):
            sure = [way.name for way in kept if way.name in SURE]
            parts.append(f"For {', '.join(sure)} this holds in every stream there is.")
        if best is not None:
            parts.append(
                f"Of these {best.name} is nearest to the truth (mean error {length(best.error)})."
            )
        near = [way for way in broke if way.released and (best is None or way.error <= best.error)]
        if near:
            least = min(near, key=lambda way: way.leakage)
            as_near = "" if best is None else " that is at least as near"
            parts.append(
                f"No other way{as_near} kept it; {least.name} moved the odds least, "
                f"{_moved(least.leakage)}."
            )
        if certain := sum(math.isinf(way.leakage) for way in broke):
            parts.append(
                f"With {certain} of the ways, releases prove that an event happened, or that it "
                "did not."
            )
        own = [each.own_history for each in self.ways[0].events.values()]
        if beyond := [each.leakage for each in own if each is not None]:
            parts.append(
                f"To an adversary who holds the person's other hours, {self.ways[0].name} moved "
                f"the odds {_moved(max(beyond))}: that is not guaranteed."
            )
        return " ".join(parts)

    def basis(self) -> str:
        """Say what the figures rest on."""
        whose = "of the opened trace" if self.opened else "of simulated people"
        note = " The guarded hours of the trace were not read." if self.opened else ""
        return (
            f"From {self.streams} stream{'s' * (self.streams != 1)} of at most {self.steps} "
            f"releases {whose}; in "
            f"{self.happened or 'none'} of them a guarded event happens. Each leakage is exact for "
            f"its stream, and the largest is shown.{note} Nothing was released."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; infinite numbers and nan become texts."""
        found = asdict(self)
        for way in found["ways"]:
            way["error"] = number_to_json(way["error"])
            for figures in way["events"].values():
                reached = [figures[name] for name in ADVERSARIES if figures[name] is not None]
                for values in (figures, *reached):
                    numbers = {key: x for key, x in values.items() if isinstance(x, float)}
                    values |= {key: number_to_json(x) for key, x in numbers.items()}
        return {**found, "sentence": self.sentence(), "basis": self.basis()}


def _moved(leakage: float) -> str:
    return odds(leakage) if math.isinf(leakage) else f"by {odds(leakage)}"


def compare(
    policy: Policy,
    names: Sequence[str] = (),
    *,
    trace: Trace | None = None,
    streams: int = DEFAULT_STREAMS,
    seed: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Measure priste under a policy and what people use in its place, on the same people.

    ``names`` are alternatives as ``kind`` or ``kind:number``; the usual ones unless given. People
    are drawn from the policy's model, and every second of them is one to whom an event happens; or,
    with a ``trace``, it is that person, whose guarded hours are not read but drawn from the model.
    Around the first occurrence of each event streams are followed, 24 h before to 12 h after.
    """
    if streams < 1:
        raise InvalidParameter("must be at least 1", parameter="streams", value=streams)
    opened = None if trace is None else OpenedTrace.of(policy, trace)
    chosen = first_occurrences(policy)
    followed = followed_steps(policy, chosen.values())
    if opened is not None:
        followed &= opened.released
    if not followed.any():
        raise InvalidParameter(
            "must have a fix around the first occurrence of an event, or there is nothing "
            "to compare",
            parameter="trace",
            owner="compare",
        )
    people = [_person(policy, opened, list(chosen.values()), run, seed) for run in range(streams)]
    rows = (with_priste(policy), *alternatives_of(policy, names))
    ways: list[Way] = []
    total = len(rows) * len(people) * len(chosen)
    for way in rows:
        measured = _Measured(policy, way, chosen, opened is not None)
        for run, person in enumerate(people):
            bits = bit_source(np.random.default_rng([seed, run, 1]))
            for _ in measured.add(person, followed, bits):
                if on_progress is not None:
                    on_progress(len(ways) * len(people) * len(chosen) + measured.done, total)
        ways.append(measured.way())
    guarded = (f"{each.label}: {each.text}; {each.guaranteed}." for each in chosen.values())
    happened = sum(any(_holds(each, person) for each in chosen.values()) for person in people)
    return Comparison(
        tuple(ways),
        tuple(guarded),
        policy.chosen_adversary.words,
        streams,
        int(followed.sum()),
        happened,
        seed,
        opened is not None,
    )


def first_occurrences(policy: Policy) -> dict[str, PolicyEvent]:
    """Return the first occurrence of each event, by the name of the event."""
    first: dict[str, PolicyEvent] = {}
    for each in policy.events.values():
        first.setdefault(each.name, each)
    return first


def followed_steps(policy: Policy, events: Iterable[PolicyEvent]) -> Flags:
    """Return (T,) the steps around events at which streams are followed."""
    hour = 3600 / policy.timeline.step.total_seconds()
    flags = np.zeros(policy.steps, dtype=np.bool_)
    for each in events:
        steps = event_steps(each.event)
        first, last = min(steps, default=0), max(steps, default=0)
        flags[max(0, first - round(HOURS_BEFORE * hour)) : last + round(HOURS_AFTER * hour) + 1] = 1
    return every(flags, math.ceil(int(flags.sum()) / MOST_STEPS) or 1)


def _person(
    policy: Policy, opened: OpenedTrace | None, events: list[PolicyEvent], run: int, seed: int
) -> TrueSteps:
    """Return the person of a stream; to every second one an event happens, if such a path is
    found."""
    bits = bit_source(np.random.default_rng([seed, run, 0]))
    event = events[run // 2 % len(events)] if run % 2 else None
    if opened is None:
        return drawn_person(policy, bits, None if event is None else event.event)
    person = opened.person(bits)
    for _ in range(TRIES):
        if event is None or _holds(event, person):
            break
        person = opened.person(bits)
    return person


def _holds(each: PolicyEvent, person: TrueSteps) -> bool:
    cells = person.cells[: (each.event.last_step or 0) + 1].tolist()
    return NONE not in cells and each.event.holds(cells)


class _Measured:
    """Adds up one way to release, stream by stream."""

    def __init__(
        self, policy: Policy, way: Alternative, events: dict[str, PolicyEvent], opened: bool
    ) -> None:
        self._policy, self._way, self._events, self._opened = policy, way, events, opened
        self._errors: list[float] = []
        self._fixes = self._silent = self._off_map = self._all = 0
        self._reached: dict[str, list[list[Reached]]] = {name: [] for name in events}
        self._beliefs: dict[str, list[tuple[bool, float, float]]] = {name: [] for name in events}
        self.done = 0

    def add(self, person: TrueSteps, followed: Flags, bits: BitSource) -> Iterator[None]:
        """Release one stream and measure it; yields after every event."""
        released = self._way.release(person, followed, bits)
        self._measure(person, followed, released)
        policy = self._policy
        asked: list[tuple[Sequence[MarkovModel], Adversary, Family]] = [
            (policy.models, policy.chosen_adversary.adversary, policy.family),
            (policy.models, AnyPrior(), policy.family),
        ]
        own = own_model(policy, person) if self._opened else None
        if own is not None:
            from priste.policy.model_choice import ChosenModel

            other = replace(policy, chosen_models=(ChosenModel(own),))
            asked.append((other.models, other.chosen_adversary.adversary, "each"))
        for name, each in self._events.items():
            self._reached[name].append(
                [
                    reached(released, models, each, adversary, family)
                    for models, adversary, family in asked
                ]
            )
            self._beliefs[name].append((_holds(each, person), *_beliefs(policy, each, released)))
            self.done += 1
            yield

    def _measure(self, person: TrueSteps, followed: Flags, released: Released) -> None:
        grid, ring = self._policy.grid, off_map_cells(self._policy)
        on_map = followed & person.known
        shown = on_map & ~np.isnan(released.points[:, 0])
        beyond = np.zeros_like(shown)
        where = released.points[shown]
        beyond[shown] = ring[grid.cell_at_xy(where[:, 0], where[:, 1], "nearest")]
        measured = shown & ~beyond
        apart = person.places[measured] - released.points[measured]
        self._errors += (1000.0 * np.hypot(apart[:, 0], apart[:, 1])).tolist()
        self._fixes += int(on_map.sum())
        self._silent += int((on_map & ~shown).sum())
        self._off_map += int(beyond.sum()) + int((followed & person.off_map).sum())
        self._all += int(followed.sum())

    def way(self) -> Way:
        """Return what was measured."""
        events = {}
        for name, each in self._events.items():
            most, any_prior, *own = (
                reduce(Reached.or_more, streams)
                for streams in zip(*self._reached[name], strict=True)
            )
            beliefs = self._beliefs[name]
            events[name] = EventFigures(
                most,
                any_prior,
                own[0] if own else None,
                beliefs[0][1],
                _mean([after for holds, _, after in beliefs if holds]),
                _mean([after for holds, _, after in beliefs if not holds]),
                each.epsilon,
            )
        return Way(
            self._way.name,
            self._way.words,
            _mean(self._errors),
            self._silent / self._fixes if self._fixes else math.nan,
            self._off_map / self._all,
            events,
        )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _asked(
    released: Released,
    models: Sequence[MarkovModel],
    each: PolicyEvent,
    adversary: Adversary,
    family: Family,
) -> Quantifier | MoveQuantifier:
    if any(likelihood is not None and likelihood.ndim == 2 for likelihood in released.likelihoods):
        return MoveQuantifier(models, each.event, adversary, family)
    return Quantifier(models, each.event, adversary, family=family, method="stream")


def reached(
    released: Released,
    models: Sequence[MarkovModel],
    each: PolicyEvent,
    adversary: Adversary,
    family: Family,
) -> Reached:
    """Return what an adversary learnt about an event at most, after any release of a stream."""
    asked = _asked(released, models, each, adversary, family)
    guarantee, most = each.guarantee, Reached()
    for likelihood in released.likelihoods:
        asked.observe(likelihood)
        if likelihood is not None:
            directions = asked.directions()
            belief = asked.belief() if guarantee.belief_cap is not None else 0.0
            kept = guarantee.is_kept(*directions, belief, REPORTED_SLACK)
            now = Reached(guarantee.leakage(*directions), directions[0], belief, kept)
            most = most.or_more(now)
    return most


def _beliefs(policy: Policy, each: PolicyEvent, released: Released) -> tuple[float, float]:
    """Return the belief before and after a stream, of an adversary who knows the population."""
    asked = _asked(released, [policy.model], each, KnownPrior(policy.population), "joint")
    before = asked.belief()
    for likelihood in released.likelihoods:
        asked.observe(likelihood)
    return before, asked.belief()
