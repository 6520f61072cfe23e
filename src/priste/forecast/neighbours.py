"""A policy's setting and those next to it: what else could be guaranteed, and to whom.

A neighbour differs in one thing: how far odds may move, in which directions, how sure anybody may
get, whom the guarantee is against, or how often there is a release. Whatever a neighbour
guarantees is said in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from priste.forecast.simulation import Setting
from priste.quantify import AnyPrior, BeliefBound, Guarantee, KnownPrior, OddsBound, Quantifier

if TYPE_CHECKING:
    from priste.policy import Policy

BELIEF_CAP = 0.2
"""The belief that a neighbour guarantees not to be exceeded, if it is not exceeded already."""


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A setting, what makes it differ, and what it guarantees, in words.

    There is a release at every ``every``-th step only; at the others the stream is silent.
    """

    name: str
    guarantee: str
    setting: Setting
    every: int = 1


def setting_of(policy: Policy) -> Setting:
    """Return the policy as a setting, with people who begin where its population is."""
    return Setting(
        models=policy.models,
        events={name: each.event for name, each in policy.events.items()},
        mechanism=policy.mechanism,
        guarantees={name: each.guarantee for name, each in policy.events.items()},
        calibrator=policy.calibrator,
        adversary=policy.chosen_adversary.adversary,
        start=policy.population,
        family=policy.family,
        guarded_hours={name: each.pad for name, each in policy.events.items()},
    )


def neighbours_of(policy: Policy) -> Iterator[Neighbour]:
    """Yield the policy as it is, then its neighbours, those that can be guaranteed at all."""
    here = setting_of(policy)
    against = policy.chosen_adversary.words
    yield Neighbour("as it is", _words(here.guarantees, against), here)
    for name, factor in (("ε halved", 0.5), ("ε doubled", 2.0)):
        scaled = {event: _scaled(guarantee, factor) for event, guarantee in here.guarantees.items()}
        if scaled != here.guarantees:
            yield Neighbour(name, _words(scaled, against), replace(here, guarantees=scaled))
    upwards = {event: _upwards(guarantee) for event, guarantee in here.guarantees.items()}
    if upwards != here.guarantees:
        yield Neighbour("upwards only", _words(upwards, against), replace(here, guarantees=upwards))
    capped: dict[str, Guarantee] = {event: BeliefBound(BELIEF_CAP) for event in here.guarantees}
    if capped != here.guarantees and _can_be_capped(here):
        yield Neighbour("belief capped", _words(capped, against), replace(here, guarantees=capped))
    if here.adversary != AnyPrior():
        anybody = AnyPrior()
        if all(each.belief_cap is None for each in here.guarantees.values()):
            yield Neighbour(
                "against any prior",
                _words(here.guarantees, anybody.words()),
                replace(here, adversary=anybody),
            )
    known = KnownPrior(policy.population)
    if here.adversary != known:
        yield Neighbour(
            "against an adversary who knows the population",
            _words(here.guarantees, "an adversary who knows how people here move"),
            replace(here, adversary=known),
        )
    yield Neighbour(
        "half as often",
        _words(here.guarantees, against)
        + f"; a release every {span_words(2 * policy.timeline.step.total_seconds())}",
        here,
        every=2,
    )


def span_words(seconds: float) -> str:
    """Say a length of time.

    >>> span_words(1800), span_words(7200), span_words(5400), span_words(90)
    ('30 minutes', '2 hours', '90 minutes', '90 seconds')
    """
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} seconds"


def _words(guarantees: Mapping[str, Guarantee], against: str) -> str:
    said = {guarantee.words() for guarantee in guarantees.values()}
    what = said.pop() if len(said) == 1 else "a guarantee of its own for each event"
    return f"{what}; against {against}"


def _scaled(guarantee: Guarantee, factor: float) -> Guarantee:
    return guarantee.with_bounds(lambda bound: bound * factor)


def _upwards(guarantee: Guarantee) -> Guarantee:
    return OddsBound(guarantee.up, math.inf) if guarantee.belief_cap is None else guarantee


def _can_be_capped(setting: Setting) -> bool:
    return all(
        Quantifier(setting.models, event, adversary=setting.adversary).prior_belief() < BELIEF_CAP
        for event in setting.events.values()
    )
