"""A policy in plain words: what is promised, against whom, and what is not."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from priste.policy.policy import Policy, PolicyEvent
from priste.quantify import Quantifier

CALIBRATORS = {
    "certified": "Before each release the largest budget is chosen at which every possible output "
    "keeps the promise. The choice depends on past releases alone, so the promise also holds "
    "against somebody who knows the code, this policy and the budget in use.",
    "remap": "The mechanism draws at its full budget; what it drew is merged with others or "
    "replaced by something public, by the cheapest of a few laws under which every possible output "
    "keeps the promise. The law depends on past releases alone, so the promise also holds against "
    "somebody who knows the code, this policy and the law in use.",
    "optimal": "The mechanism draws at its full budget; what it drew is sent on by a randomised "
    "table that is optimised before each release for the least expected distance, such that every "
    "possible output keeps the promise. The table depends on past releases alone (and on how fast "
    "the machine is), so the promise also holds against somebody who knows the code, this policy "
    "and the table in use.",
    "paper": "Each release follows the published loop: draw, check, halve the budget, draw again. "
    "Its check does not cover the rejected draws, so somebody who knows the loop can learn MORE "
    "than ε. Use it to reproduce results, not to protect people.",
}


@dataclass(frozen=True)
class ExplainedEvent:
    """One event in words and numbers.

    ``lowest`` and ``highest`` bound its probability before any release, over all starts.
    """

    name: str
    formula: str
    epsilon: float
    odds_factor: float
    steps: int
    first_time: str
    last_time: str
    worlds: int
    lowest: float
    highest: float


@dataclass(frozen=True)
class Explanation:
    """What :func:`explain_policy` found; ``to_dict`` is its JSON form."""

    summary: tuple[str, ...]
    promised: tuple[str, ...]
    not_promised: tuple[str, ...]
    events: tuple[ExplainedEvent, ...]
    drawings: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def explain_policy(policy: Policy) -> Explanation:
    """Say in plain words what a policy promises and what it does not."""
    grid, step = policy.grid, policy.timeline.step
    begin, end = policy.timeline.time_of(0), policy.timeline.time_of(policy.steps)
    summary = (
        f"The map has {grid.rows} by {grid.columns} cells of {1000 * grid.cell_size:g} m, "
        f"{grid.width:.1f} by {grid.height:.1f} km.",
        f"There is one release every {_length(step.total_seconds())}, {policy.steps} in all, from "
        f"{begin:%a %d %b %Y %H:%M} to {end:%a %d %b %Y %H:%M} ({policy.timeline.zone}).",
        f"The mechanism is {policy.mechanism!r}, at this budget or a smaller one.",
        CALIBRATORS[policy.calibrator.describe()["kind"]],
    )
    promised = tuple(
        f"{event.name}: from all releases together, the odds that it happened move by at most a "
        f"factor {math.exp(event.epsilon):.2f} (ε = {event.epsilon:g}), up or down, whatever the "
        "observer believed about where the user began."
        for event in policy.events.values()
    )
    not_promised = (
        "Events that are not named here: each is as well or as badly hidden as the mechanism hides "
        "it.",
        "An observer who knows better how this user moves than the mobility model does: the "
        "promise is against those who know the model, not against those who know more.",
        "Two events together: ε holds for each event by itself.",
        "What else the application sees: network addresses, names, the times at which it is used.",
        "Whether a fix was missing: silence is taken to be independent of where the user was.",
    )
    return Explanation(
        summary=summary,
        promised=promised if policy.calibrator.describe()["kind"] != "paper" else (),
        not_promised=not_promised,
        events=tuple(_explained(policy, event) for event in policy.events.values()),
        drawings={name: region.drawing() for name, region in policy.regions.items()},
    )


def _explained(policy: Policy, event: PolicyEvent) -> ExplainedEvent:
    automaton = event.event.automaton()
    chances = Quantifier(policy.model, event.event).prior_by_start()
    first, last = automaton.layers[0].step, automaton.layers[-1].step
    return ExplainedEvent(
        name=event.name,
        formula=event.text,
        epsilon=event.epsilon,
        odds_factor=math.exp(event.epsilon),
        steps=len(automaton.layers),
        first_time=f"{policy.timeline.time_of(first):%a %d %b %H:%M}",
        last_time=f"{policy.timeline.time_of(last):%a %d %b %H:%M}",
        worlds=automaton.width,
        lowest=float(chances.min()),
        highest=float(chances.max()),
    )


def _length(seconds: float) -> str:
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds % unit == 0:
            count = int(seconds // unit)
            return name if count == 1 else f"{count} {name}s"
    return f"{seconds:g} seconds"
