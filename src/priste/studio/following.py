"""A run, step by step: what is released, and what each release reveals, with and without priste.

The draws are those of ``priste protect`` under the same policy and seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.policy import Policy, PolicyEvent
from priste.quantify import KnownPrior, Leakage, Quantifier
from priste.register import ContinuedStreams, KeptStream, guarded_by
from priste.release import Ledger, Protector, Release, Uncalibrated
from priste.release.seeded_steps import SeededSteps, seed_of_user
from priste.report.strip import level, strip_of
from priste.results import (
    any_prior_leakage,
    keeps_its_guarantees,
    moved,
    released_cells,
    true_steps,
    usefulness,
    verdict,
)
from priste.results.true_steps import NONE
from priste.results.wording import surest_words
from priste.studio.event_reading import answers_of, chance_before, steps_of
from priste.studio.policies import Policies
from priste.studio.wire import whole_numbers
from priste.studio.worker import Tell
from priste.traces import Trace

GOES_ON = (
    "Something was released about this person before, up to {}. The run continues from there: "
    "those releases count, and none of them is drawn again."
)

MOST_WORST = 8
"""How many cells of a worst prior are shown with each step."""


@dataclass(frozen=True)
class RunOrder:
    """What a run is made from. ``trace`` is the truth: it is never printed.

    ``past`` is the stream that the run continues, as the register keeps it.
    """

    folder: Path
    text: str
    trace: Trace = field(repr=False)
    seed: int | None
    past: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RunMade:
    """What a run made: the ledger, that of the uncalibrated mechanism, and the true cells.

    ``kept`` is the whole stream with what was released before, as the register keeps it.
    """

    order: RunOrder
    ledger: Ledger = field(repr=False)
    uncalibrated: Ledger = field(repr=False)
    truth: tuple[int | None, ...] = field(repr=False)
    kept: bytes = field(repr=False)


def own_policy(policies: Policies, order: RunOrder) -> Policy:
    """Return the policy of an order for its person: no model was fitted on them."""
    past = _past(order)
    since = None if past is None else past.start
    return policies.policy(order.text).for_user(order.trace, since)


def _past(order: RunOrder) -> KeptStream | None:
    return None if order.past is None else KeptStream.read(order.past, Path("an earlier stream"))


def follow(policies: Policies, order: RunOrder, tell: Tell) -> tuple[dict[str, Any], RunMade]:
    """Release a person's steps one by one and report each; return a summary and the results."""
    policy, past = own_policy(policies, order), _past(order)
    cells = policy.stream_cells(order.trace, () if past is None else guarded_by(past, policy))
    positions = true_steps(policy, order.trace, len(cells))
    truth = tuple(None if cell == NONE else cell for cell in positions.cells.tolist())
    population = KnownPrior(policy.population)
    known = [Quantifier(policy.models, each.event, population) for each in policy.events.values()]
    tell("start", _start(policy, order, len(truth), known))
    seeded = None if order.seed is None else SeededSteps(seed_of_user(order.seed, order.trace.user))
    stream, before = policy.protector(rng=seeded), 0
    if past is not None:
        stream, before = ContinuedStreams().protector(policy, past, seeded)
    guarded = _Side(policy, stream, known, before)
    uncalibrated = _Side(policy, policy.protector(rng=order.seed, calibrator=Uncalibrated()), known)
    for step, cell in enumerate(truth):
        if seeded is not None:
            seeded.begin(step)
        shown, beside = guarded.take(cells[step]), uncalibrated.take(cell)
        for told, found in zip(shown["events"], guarded.leakages(), strict=True):
            told["worst"] = heaviest(worst_prior(policy, found), MOST_WORST)
        tell("step", _step(policy, step, cell, positions.places[step], shown, beside))
    kept = KeptStream.of(
        stream,
        policy,
        before,
        len(cells),
        stream="" if past is None else past.stream,
        binding={},
        past=past,
    )
    guarantees = [event.guarantee for event in policy.events.values()]
    ledger = kept.ledger(tuple(policy.events), guarantees, stream.ledger.against)
    made = RunMade(order, ledger, uncalibrated.ledger, truth, kept.to_bytes())
    return _done(policy, guarded, made), made


class _Side:
    """One way of releasing: its stream, and what adversaries believe who see it.

    ``known`` are quantifiers before any release, one per event, of who knows the population.
    ``before`` is the step of the stream at which the clock of the policy begins.
    """

    def __init__(
        self, policy: Policy, protector: Protector, known: Sequence[Quantifier], before: int = 0
    ) -> None:
        self._policy = policy
        self._protector = protector
        self._step = before
        names = protector.ledger.event_names
        self._places = [names.index(name) for name in policy.events]
        self._known = [quantifier.copy() for quantifier in known]
        self.highest = [0.0] * len(known)
        self.surest = [0.0] * len(known)

    @property
    def ledger(self) -> Ledger:
        return self._protector.ledger

    def leakages(self) -> list[Leakage]:
        """Return what all releases so far reveal about each event of the policy."""
        found = self._protector.leakages()
        return [found[place] for place in self._places]

    def take(self, cell: int | None) -> dict[str, Any]:
        """Release a step, unless it was released before; return what it reveals."""
        step, self._step = self._step, self._step + 1
        nothing = [0.0] * (max(self._places, default=0) + 1)
        release = Release(step, None, 0.0, tuple(nothing), 0, belief=tuple(nothing))
        if step >= 0:  # else the stream has not begun
            release = self._protector.release(cell, step=step)
        column = None if release.cell is None else self.ledger.likelihood(step)
        for known in self._known:
            known.observe(column)
        leakage = [release.leakage[place] for place in self._places]
        belief = [release.belief[place] for place in self._places]
        self.highest = list(map(max, self.highest, leakage))
        self.surest = list(map(max, self.surest, belief))
        rows = zip(leakage, belief, self._known, strict=True)
        return {
            "released": released_cells(self._policy, (release,))[0],
            "budget": release.budget,
            "attempts": release.attempts,
            "events": [
                {"leakage": leakage, "belief": known.posterior(), "surest": surest}
                for leakage, surest, known in rows
            ],
        }


def worst_prior(policy: Policy, found: Leakage) -> NDArray[np.float64]:
    """Return (m,) the prior that learns most: where the stream began, or the user was seen last."""
    return policy.chosen_adversary.adversary.first_cells(found, policy.grid.size)


def heaviest(weights: NDArray[np.float64], most: int) -> list[list[float]]:
    """Return the cells with most weight and their weights, the heaviest first.

    Cells with less than a tenth of the heaviest one's weight are not shown.

    >>> heaviest(np.array([0.05, 0.25, 0.7]), most=8)
    [[2, 0.7], [1, 0.25]]
    """
    cells = np.argsort(-weights, kind="stable")[:most]
    least = weights.max() / 10
    return [[int(cell), float(weights[cell])] for cell in cells if weights[cell] > least]


def _start(
    policy: Policy, order: RunOrder, steps: int, known: Sequence[Quantifier]
) -> dict[str, Any]:
    events = zip(policy.events.values(), known, strict=True)
    return {
        "steps": steps,
        "goes_on": _goes_on(policy, _past(order)),
        "events": [_event(policy, event, population) for event, population in events],
    }


def _goes_on(policy: Policy, past: KeptStream | None) -> str:
    if past is None:
        return ""
    return GOES_ON.format(f"{past.end.astimezone(policy.timeline.zone):%d %b %Y %H:%M}")


def _event(policy: Policy, event: PolicyEvent, known: Quantifier) -> dict[str, Any]:
    guarantee = event.guarantee
    return {
        "name": event.label,
        "event": event.name,
        "text": event.text,
        "answers": len(answers_of(event.event)) or 2,
        "guarantee": event.guaranteed,
        "bound": event.epsilon if guarantee.belief_cap is None else None,
        "cap": guarantee.belief_cap,
        "steps": whole_numbers(steps_of(event.event)),
        "before": chance_before(policy, event, known),
    }


def _step(
    policy: Policy,
    step: int,
    cell: int | None,
    fix: NDArray[np.float64],
    guarded: dict[str, Any],
    uncalibrated: dict[str, Any],
) -> dict[str, Any]:
    time = policy.timeline.time_of(step)
    error = _km(policy, fix, guarded["released"])
    return {
        "step": step,
        "time": time.isoformat(),
        "label": f"{time:%a %d %b %H:%M}",
        "true": -1 if cell is None else cell,
        "true_at": _place(policy, cell),
        "released_at": _place(policy, guarded["released"]),
        "error_m": None if error is None else 1000 * error,
        "level": level(error, policy.grid.cell_size),
        **guarded,
        "released": -1 if guarded["released"] is None else guarded["released"],
        "uncalibrated": {
            "released": -1 if uncalibrated["released"] is None else uncalibrated["released"],
            "at": _place(policy, uncalibrated["released"]),
            "error_m": None
            if (off := _km(policy, fix, uncalibrated["released"])) is None
            else 1000 * off,
            "events": uncalibrated["events"],
        },
    }


def _km(policy: Policy, fix: NDArray[np.float64], released: int | None) -> float | None:
    """Return the km from the true fix of a step to the released point; None without either."""
    if released is None or np.isnan(fix[0]):
        return None
    return math.dist(fix.tolist(), policy.grid.centers[released].tolist())


def _place(policy: Policy, cell: int | None) -> list[float] | None:
    return None if cell is None else [float(degrees) for degrees in policy.grid.latlon(cell)]


def _done(policy: Policy, guarded: _Side, made: RunMade) -> dict[str, Any]:
    line = policy.timeline
    released = released_cells(policy, made.ledger)
    worth = usefulness(policy, true_steps(policy, made.order.trace, len(released)), released)
    found = verdict(policy.calibrator, [keeps_its_guarantees(policy, made.ledger)])
    times = [line.time_of(step) for step in range(len(made.truth))]
    marked = {step for event in policy.events.values() for step in steps_of(event.event)}
    days = strip_of(times, line.step, worth.errors, policy.grid.cell_size, marked)
    return {
        "verdict": str(found),
        "sentence": found.sentence,
        "ways": {name: asdict(way) for name, way in worth.ways.items()},
        "usefulness": worth.sentence(),
        "strip": [asdict(day) for day in days],
        "events": list(_ends(policy, guarded, made)),
    }


def _ends(policy: Policy, guarded: _Side, made: RunMade) -> Iterator[dict[str, Any]]:
    """Yield what was reached about each event, and what other adversaries could have learnt."""
    learnt = any_prior_leakage([(policy, made.ledger)])
    others: list[float | None] = [
        None if learnt is None else learnt.leakage[name] for name in policy.events
    ]
    rows = zip(policy.events, guarded.highest, guarded.surest, others, strict=True)
    for name, highest, surest, other in rows:
        yield {
            "name": name,
            "leakage": highest,
            "reached": f"odds moved {moved(max(highest, 0.0))}; "
            + surest_words(surest, policy.events[name].stated.answers),
            "any_prior": other,
            "other_words": "" if other is None else outsider_words(other),
        }


def outsider_words(leakage: float) -> str:
    """Return in words what adversaries learn that the guarantee does not cover."""
    return (
        "Not guaranteed: with any belief about where you began, and the same model of movement, "
        f"odds moved {moved(leakage)}."
    )
