"""A person's stream continues under a policy: the past counts, and what was guaranteed stays so.

The releases of an earlier run, silence since, and the releases to come are one stream. It is
guarded for the events of the policy, and for events of earlier policies about which later releases
could still reveal too much. The first step stays that of the earliest run, and the adversary's
prior is about that step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np

from priste.errors import ReleaseRefused, StateError
from priste.events import Event, Secret, parse_event
from priste.policy import Policy, PolicyEvent
from priste.quantify import Guarantee
from priste.randomness import BitSource, Seed
from priste.register.kept_streams import Events, KeptStream
from priste.release import Protector, StreamTree, make_terms
from priste.release.stream_file.header import ground_of, map_digest

_NO_BOUND = 600.0
"""Stands for "not asked about": odds of e**600 are beyond any that a stream could reach."""


MOST_POLICIES = 16
"""For how many policies what people share is kept: where every user has a model without
themselves, there are as many policies as people."""


class CannotGoOn(StateError):
    """A stream cannot continue under a policy; ``reason`` says why, without a full stop."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The stream cannot go on under this policy: {reason}.")
        self.reason = reason


class ContinuedStreams:
    """Streams that continue. People under the same terms share what follows from the terms only."""

    def __init__(self) -> None:
        self._begun: dict[tuple[Policy, int], Policy] = {}
        self._trees: dict[tuple[object, ...], StreamTree] = {}

    def protector(
        self,
        policy: Policy,
        kept: KeptStream,
        rng: Seed | BitSource = None,
        events: Events | None = None,
    ) -> tuple[Protector, int]:
        """Return the stream, ready for its next step, and the step at which the clock begins.

        ``events`` are those to guard in steps of the stream, the policy's unless given.

        Under the terms that the stream was kept with, the numbers measured then are taken in.
        Otherwise all releases are counted anew, under the terms of this policy. Raises CannotGoOn
        for another map or clock, and ReleaseRefused if the earlier releases reveal more than is
        guaranteed now.
        """
        before = step_of_clock(policy, kept)
        begun = self._policy(policy, before)
        wanted = dict(begun.events) if events is None else events
        stream = self._begin(begun, kept.events, rng)
        left: set[str] = set()
        if ground_of(stream.state.terms, policy.calibrator) == kept.ground:
            stream.replay(kept.records)
            if all(_same(kept.events.get(name), each) for name, each in wanted.items()):
                return stream, before
            left = settled(stream)
        carried = _carried(kept.events, wanted, left, policy.timeline.time_of(0))
        stream = self._begin(begun, {**wanted, **carried}, rng)
        stream.replay(kept.records, anew=True)
        if stream.over_limit:
            raise ReleaseRefused(
                "What was released about this person before reveals more than this policy "
                f"guarantees about {', '.join(map(repr, stream.over_limit))}",
                hint="No further release can undo that, so nothing is released. Relax the "
                "guarantee, or continue under the earlier policy.",
            )
        return stream, before

    def _policy(self, policy: Policy, before: int) -> Policy:
        """Return a policy in the steps of streams in which its clock begins at ``before``."""
        key = (policy, before)
        if key not in self._begun:
            if len(self._begun) >= MOST_POLICIES:
                self._begun.clear()
                self._trees.clear()
            self._begun[key] = policy_of_stream(policy, before)
        return self._begun[key]

    def _begin(self, policy: Policy, events: Events, rng: Seed | BitSource) -> Protector:
        guarded = ((name, str(e.event), e.guarantee, e.pad) for name, e in events.items())
        key = (policy, *guarded)
        if key not in self._trees:
            terms = make_terms(
                policy.models,
                {name: each.event for name, each in events.items()},
                policy.mechanism,
                {name: each.guarantee for name, each in events.items()},
                policy.public_prior,
                policy.chosen_adversary.adversary,
                policy.family,
                {name: each.pad for name, each in events.items()},
            )
            self._trees[key] = StreamTree.of(terms, policy.calibrator, memory=0)
        return Protector.sharing(self._trees[key], rng)


def policy_of_stream(policy: Policy, before: int) -> Policy:
    """Return a policy in the steps of a stream in which its clock begins at step ``before``."""
    events = {name: _moved(each, before) for name, each in policy.events.items()}
    return policy.starting_at(-before, events)


def step_of_clock(policy: Policy, kept: KeptStream) -> int:
    """Return the step of a stream at which the clock of a policy begins.

    Negative where the stream begins later. Raises CannotGoOn for another map, and if the steps of
    both do not fall together.
    """
    if map_digest(policy.grid.to_dict()) != kept.ground["map"]:
        raise CannotGoOn("it was released on another map")
    before = kept.step_of(policy.timeline.time_of(0))
    if before is None or kept.step != policy.timeline.step:
        raise CannotGoOn("its steps are of another length or begin at another minute")
    return before


def guarded_by(kept: KeptStream, policy: Policy) -> frozenset[int]:
    """Return the guarded hours of a stream as steps of the clock of a policy.

    None where the steps of both do not fall together: the stream cannot continue then.
    """
    before = kept.step_of(policy.timeline.time_of(0))
    if before is None or kept.step != policy.timeline.step:
        return frozenset()
    return frozenset(step - before for step in kept.guarded_hours if step >= before)


def _carried(
    earlier: Events, wanted: Mapping[str, PolicyEvent], left: set[str], begin: datetime
) -> Events:
    """Return the earlier events that are still guarded, under names that nothing else has."""
    asked = [(each.event, each.guarantee, each.pad) for each in wanted.values()]
    found: Events = {}
    for name, each in earlier.items():
        if name in left or (each.event, each.guarantee, each.pad) in asked:
            continue
        while name in wanted or name in found:
            name = f"{name}, before {begin:%Y-%m-%d %H:%M}"
        found[name] = replace(each, name=name)
    return found


def _moved(event: PolicyEvent, steps: int) -> PolicyEvent:
    """Return an event whose steps count from this many steps earlier."""
    if not steps:
        return event
    guarded = event.event
    if isinstance(guarded, Secret):
        return replace(event, stated=guarded.with_events(lambda each: moved(each, steps)))
    return replace(event, stated=moved(guarded, steps))


def moved(event: Event, steps: int) -> Event:
    """Return the event with every step this many later.

    >>> from priste.events import presence
    >>> print(moved(presence([0, 1], range(3, 6)), 10))
    presence({0, 1}, 13..15)
    """

    def later(first: str, last: str | None) -> range:
        return range(int(first) + steps, int(last or first) + steps + 1)

    return parse_event(str(event), steps=later)


def _same(guarded: PolicyEvent | None, wanted: PolicyEvent) -> bool:
    return guarded is not None and (guarded.event, guarded.guarantee, guarded.pad) == (
        wanted.event,
        wanted.guarantee,
        wanted.pad,
    )


def settled(protector: Protector) -> set[str]:
    """Return the events about which no later release could reveal too much.

    An event is settled when its guarded hours are over and, whatever the next cell, releasing that
    cell exactly would keep the guarantee about it. In a first-order model all later cells depend on
    the past only through that one, and a release only on the cell of its step: so every further
    stream of releases is a mixture of such disclosures, and its ratio lies between theirs. Doubt
    counts as not settled.
    """
    state = protector.state
    terms = state.terms
    # An adversary who is unsure which model holds learns it from all cells, not from the next one.
    unsure = len(terms.models) > 1 and terms.family == "joint"
    if unsure or any(model.order != 1 for model in terms.models):
        return set()
    exact = np.eye(terms.mechanism.grid.size)
    found = set()
    for place, (name, event) in enumerate(zip(terms.event_names, terms.events, strict=True)):
        if event.last_step is None:
            continue
        if event.last_step + (terms.pads[place] or 0) >= protector.next_step:
            continue
        limits: list[float | Guarantee] = [_NO_BOUND] * len(terms.events)
        limits[place] = terms.guarantees[place]
        if bool(state.passes(exact, limits).all()):
            found.add(name)
    return found
