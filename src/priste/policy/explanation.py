"""A policy in plain words: what is guaranteed, against which adversary, and what is not."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.events import Secret
from priste.mechanisms import Mechanism, mechanism_words
from priste.policy.adversary_choice import ANY_PRIOR
from priste.policy.draft.text import kilometres
from priste.policy.guarded_rules import rules_of
from priste.policy.policy import OFF_MAP, Policy, PolicyEvent, event_label
from priste.policy.policy_reader import somewhere
from priste.policy.windows import Windows
from priste.quantify import AnyPrior
from priste.release.calibrators import CALIBRATORS
from priste.traces.fixes import microseconds

OUTSIDE = {
    "refuse": "A fix off the map is refused, and the whole run with it.",
    "nearest": "A fix off the map counts as in the nearest border cell: for the events one "
    "is there, and so is what is released.",
    "off-map": "A fix off the map is in a place of its own: one more cell on each side of the "
    "map stands for everywhere off it. It is part of the model and released like any other "
    "cell, and events may name it: off-map.",
    "gap": "A fix off the map counts as missing, so silence reveals that one is off the map: no "
    "guarantee covers that.",
}


@dataclass(frozen=True)
class ExplainedEvent:
    """One event in words and numbers.

    ``lowest`` and ``highest`` bound its probability before any release, over all starts; of a
    secret with more than two ``answers``, the probability of another answer than the last.
    ``epsilon`` is the bound on the ln of likelihood ratios, None where none is bounded; ``partly``
    tells that the clock cuts off a part of the time that was written.
    """

    name: str
    formula: str
    guarantee: str
    epsilon: float | None
    steps: int
    first_time: str
    last_time: str
    worlds: int
    lowest: float
    highest: float
    partly: bool
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """What :func:`explain_policy` found; ``to_dict`` is its JSON form.

    ``against`` is the adversary in words; ``unguarded`` which days and weeks of recurring
    events are not, or only in part, guarded.
    """

    summary: tuple[str, ...]
    against: str
    guaranteed: tuple[str, ...]
    not_guaranteed: tuple[str, ...]
    unguarded: tuple[str, ...]
    events: tuple[ExplainedEvent, ...]
    drawings: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def explain_policy(policy: Policy) -> Explanation:
    """Say in plain words what a policy guarantees, against which adversary, and what it does
    not."""
    grid = policy.grid
    begin, end = policy.timeline.time_of(0), policy.timeline.time_of(policy.steps)
    calibrator = CALIBRATORS.get(str(policy.calibrator.describe()["kind"]))
    summary = [
        f"The map has {grid.columns} by {grid.rows} cells of {kilometres(grid.cell_size)}, "
        f"{grid.width:.1f} by {grid.height:.1f} km.",
        f"There is one release every {_step_length(policy)}, {policy.steps} in all, from "
        f"{begin:%a %d %b %Y %H:%M} to {end:%a %d %b %Y %H:%M} ({policy.timeline.zone}).",
        _what_a_step_means(policy),
        OUTSIDE[policy.outside],
        _mechanism_words(policy.mechanism),
    ]
    summary += _guarded_hours(policy)
    if calibrator is not None:
        summary.append(calibrator.explained)
    for name in policy.own_regions:
        summary.append(
            f"{name} is a personal place, stated for each person by --places or --place. Numbers "
            "of this explanation are for a person who has it where people usually are."
        )
    example = somewhere(policy)
    for home in policy.homes:
        summary.append(
            f"The adversary is assumed to know that you live at {home} and come back there. Once "
            "you are home again, your position reveals less about what you did before."
        )
    if len(policy.models) > 1:
        summary.append(
            f"{len(policy.models)} models of how you move are guarded against: "
            f"{'; '.join(chosen.movers for chosen in policy.chosen_models)}. "
            + (
                "The adversary may hold any one of them."
                if policy.family == "each"
                else "The adversary does not know which of them holds."
            )
        )
    if policy.depends_on_person and all(each.member != "own" for each in policy.chosen_models):
        summary.append(
            "A model of your own days before the first step is guarded against too, if the "
            "protected file has enough of them."
        )
    guaranteed = [
        f"{event.label}: from all releases together, {event.guaranteed}"
        f"{'' if event.epsilon == math.inf else f' (ε = {event.epsilon:g})'}."
        for event in policy.events.values()
    ]
    return Explanation(
        summary=tuple(summary),
        against=f"The guarantee is against {policy.chosen_adversary.words}.",
        guaranteed=(*guaranteed, *covered_combinations(policy))
        if policy.calibrator.guaranteed
        else (),
        not_guaranteed=tuple(_not_guaranteed(policy)),
        unguarded=tuple(gaps_in_the_guard(policy)),
        events=tuple(
            _explained(policy, example.events[label], chances)
            for label, chances in example.chances().items()
        ),
        drawings={
            name: region.drawing() for name, region in policy.regions.items() if region.cells
        },
    )


def _guarded_hours(policy: Policy) -> list[str]:
    """Say of which events the hours reveal nothing, and of which the release tables decide."""
    if not policy.calibrator.guaranteed:
        return []
    silent: dict[str, int] = {}
    decided: list[str] = []
    for event in policy.events.values():
        if event.pad is None:
            decided.append(event.name)
        else:
            silent[event.name] = event.pad
    found = [
        f"{name}: guarded hours. From {span_words(pad * policy.timeline.step)} before it to as "
        "long after it the best public guess is released, whatever you do. The releases of "
        "these hours reveal nothing about them, also to an adversary with another model."
        for name, pad in silent.items()
    ]
    found += [
        f"{name}: no guarded hours. They are switched off, or would take more than half of the "
        "time. Releases in its hours are calibrated, as at all other times."
        for name in dict.fromkeys(decided)
    ]
    return found


def _mechanism_words(mechanism: Mechanism) -> str:
    """Say which noise is drawn before calibration."""
    base = getattr(mechanism, "base", mechanism)
    said = f"The mechanism {mechanism_words(base)}"
    if base is not mechanism:
        said += ", among the cells where the user may well be"
    return f"{said}."


def _what_a_step_means(policy: Policy) -> str:
    """Say what the one cell of a step stands for, with the policy's own numbers."""
    length = _step_length(policy)
    if policy.rule == "any":
        return (
            "An event is about one cell per step. A step counts as in a guarded place if a single "
            f"fix of its {length} was there; else it is the cell of the fix nearest to its middle."
        )
    return (
        "An event is about one cell per step: the cell of the fix nearest to the middle of each "
        f"{length}. A visit that is shorter than {span_words(policy.timeline.step)} may not count, "
        'and is then not guarded. To guard it use shorter steps, or rule = "any" in [clock].'
    )


def _not_guaranteed(policy: Policy) -> list[str]:
    found = []
    if not policy.calibrator.guaranteed:
        found.append("Anything: this calibrator keeps no guarantee. Releases may reveal anything.")
    for event in policy.events.values():
        guarantee = event.guarantee
        if guarantee.belief_cap is not None:
            found.append(f"{event.label}: that it did not happen may be revealed.")
        elif math.inf in (guarantee.up, guarantee.down):
            told = "did not happen" if guarantee.down == math.inf else "happened"
            free = guarantee.up if guarantee.down == math.inf else guarantee.down
            found.append(
                f"{event.label}: that it {told} may be revealed, of at most "
                f"{1 - math.exp(-free):.0%} of the streams in which that is so."
            )
    if policy.chosen_adversary.adversary != AnyPrior():
        found.append(
            "Adversaries who know something else about where you began. Reports also state what "
            f"{ANY_PRIOR} could have learnt."
        )
    found += [
        "Events that are not named here: the mechanism may hide them, but nothing bounds how well.",
        "An adversary with a better model of how this user moves than the models of the policy.",
        *uncovered_combinations(policy),
        "What else the application sees: network addresses, names, the times at which it is used.",
        "Whether a fix was missing: silence is assumed to be independent of where the user was.",
    ]
    return found


def covered_combinations(policy: Policy) -> list[str]:
    """Say which combinations of events the guarantees cover."""
    said: dict[str, None] = {}
    for event in policy.events.values():
        guarded = event.stated
        if not isinstance(guarded, Secret):
            continue
        names = _listed(list(guarded.events))
        if guarded.kind == "answers":
            said[f"{event.name}: which of its answers holds: {', '.join(guarded.answers)}."] = None
        elif event.period is not None and len(event.recurrences) == len(guarded.events):
            periods = {period for _, period, _ in event.recurrences}
            if len(periods) > 1:
                said[
                    f"{event.name}: every combination of {len(periods)} neighbouring periods, such "
                    "as in both, in none, or in exactly one of them."
                ] = None
                continue
            said[f"{event.name}: every combination of {names} in one period."] = None
        else:
            said[f"{event.name}: every combination of {names}."] = None
    return list(said)


def uncovered_combinations(policy: Policy) -> list[str]:
    """Say which combinations of events no guarantee covers."""
    names = list(dict.fromkeys(each.name for each in policy.events.values()))
    found = []
    if len(names) > 1:
        found.append(
            f"Combinations of {_listed(names)}: each is guarded by itself; a combination may be "
            "revealed. List events under together = [...] in [secrets.NAME] to guard them so."
        )
    for name, events in policy.recurring().items():
        found.append(
            f"{name}: that it happened at least once, or every time, in its {len(events)} periods. "
            "`priste audit` says how far both have moved."
        )
    return found


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def gaps_in_the_guard(policy: Policy) -> list[str]:
    """Say which days and weeks of recurring events are not guarded, or only in part."""
    cut = [
        f"{event.label}: the clock holds only a part of its time; that part is guarded."
        for event in policy.events.values()
        if event.partly
    ]
    missed = [
        f"{event_label(gap.event, gap.period)}: not guarded, {gap.reason}."
        for gap in policy.unguarded
    ]
    return cut + missed + _read_when_drafted(policy)


def _read_when_drafted(policy: Policy) -> list[str]:
    """Say of which events the hours were read when the policy was drafted."""
    found = []
    for name, hours in hours_read_when_drafted(policy).items():
        options = " ".join(f"--guard {shlex.quote(each)}" for each in hours) or "--guard HOURS"
        found.append(
            f"{name}: what was done in its hours before the draft. They were read when "
            "this policy was drafted, so its map, places and numbers may reveal them. "
            f"Draft again without them: priste init TRACES {options}, with the other hours "
            "that are guarded."
        )
    return found


def hours_read_when_drafted(policy: Policy) -> dict[str, list[str]]:
    """Return the events and secrets whose hours were read when the policy was drafted.

    With each the times that it writes in quotation marks.
    """
    section = policy.document.drafted
    if section is None:
        return {}
    timeline, places = policy.timeline, {*policy.regions, OFF_MAP}
    without = section.windows(timeline.zone)
    first, last = (
        microseconds(timeline.time_of(step) + days * timedelta(days=7))
        for step, days in ((0, -1), (policy.steps, 1))
    )
    found, written = {}, hours_as_written(policy)
    for rule in rules_of(policy.document):
        guarded = Windows.of_formulas(list(rule.formulas.values()), places, timeline, policy.steps)
        if section.margin is None:  # of an outing whole steps were left out, and nothing around
            guarded = replace(guarded, margin=timedelta(0))
        if not without.cover(guarded, first, last):
            found[rule.name] = written[rule.name]
    return found


def hours_as_written(policy: Policy) -> dict[str, list[str]]:
    """Return the times that each event or secret writes in quotation marks."""
    places = {*policy.regions, OFF_MAP}
    return {
        rule.name: [
            text
            for formula in rule.formulas.values()
            for text in re.findall(r'"([^"]+)"', formula)
            if text not in places
        ]
        for rule in rules_of(policy.document)
    }


def _explained(policy: Policy, event: PolicyEvent, chances: NDArray[np.float64]) -> ExplainedEvent:
    automaton = event.event.automaton()
    first, last = automaton.layers[0].step, automaton.layers[-1].step
    return ExplainedEvent(
        name=event.label,
        formula=event.text,
        guarantee=event.guaranteed,
        epsilon=None if event.epsilon == math.inf else event.epsilon,
        steps=len(automaton.layers),
        first_time=f"{policy.timeline.time_of(first):%a %d %b %H:%M}",
        last_time=f"{policy.timeline.time_of(last):%a %d %b %H:%M}",
        worlds=automaton.width,
        lowest=float(chances.min()),
        highest=float(chances.max()),
        partly=event.partly,
        answers=tuple(event.stated.answers),
    )


def _step_length(policy: Policy) -> str:
    return _length(policy.timeline.step.total_seconds())


def span_words(length: timedelta) -> str:
    """Say a length of time.

    >>> [span_words(timedelta(minutes=minutes)) for minutes in (1.5, 30, 60, 90, 120)]
    ['90 seconds', '30 minutes', '1 hour', '90 minutes', '2 hours']
    """
    words = _length(length.total_seconds())
    return words if words[0].isdigit() else f"1 {words}"


def _length(seconds: float) -> str:
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds % unit == 0:
            count = int(seconds // unit)
            return name if count == 1 else f"{count} {name}s"
    return f"{seconds:g} seconds"
