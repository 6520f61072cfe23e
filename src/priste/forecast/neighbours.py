"""A policy and its neighbours: other guarantees and other adversaries.

A neighbour differs in one thing: how far odds may move, in which directions, how sure an adversary
may get, the adversary of the guarantee, or how often there is a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from priste.policy.explanation import span_words
from priste.policy.sections import AdversarySection
from priste.quantify import BeliefBound, Guarantee, OddsBound, Quantifier

if TYPE_CHECKING:
    from priste.policy import Policy

BELIEF_CAP = 0.2
"""The belief that a neighbour guarantees not to be exceeded, if it is not exceeded already."""


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A policy, what makes it differ, and what it guarantees, in words.

    There is a release at every ``every``-th step only; at the others the stream is silent.
    ``without`` names the model that is left out.
    """

    name: str
    guarantee: str
    policy: Policy
    every: int = 1
    without: str | None = None


def neighbour(name: str, policy: Policy, *, every: int = 1, more: str = "") -> Neighbour:
    """Return a policy with its guarantee in words, which name the secrets with several answers."""
    said = {
        each.guaranteed if len(each.event.answers) == 2 else f"{each.label}: {each.guaranteed}"
        for each in policy.events.values()
    }
    names = ", ".join(dict.fromkeys(each.name for each in policy.events.values()))
    what = said.pop() if len(said) == 1 else f"a guarantee of its own for each of {names}"
    return Neighbour(name, f"{what}; against {policy.chosen_adversary.words}{more}", policy, every)


def neighbours_of(policy: Policy) -> Iterator[Neighbour]:
    """Yield the policy as it is, then its neighbours, those that can be guaranteed at all."""
    yield neighbour("as it is", policy)
    for name, factor in (("ε halved", 0.5), ("ε doubled", 2.0)):
        yield from _other(name, policy, partial(_scaled, factor))
    yield from _other("upwards only", policy, _upwards)
    if _can_be_capped(policy):
        yield from _other("belief capped", policy, lambda _: BeliefBound(BELIEF_CAP))
    section = policy.adversary_choice.section
    knows = "anything" if section is None else section.knows
    if knows != "anything" and all(
        each.guarantee.belief_cap is None for each in policy.events.values()
    ):
        yield neighbour("against any prior", against(policy, "anything"))
    if knows != "population" or policy.adversary_choice.places:
        yield neighbour(
            "against an adversary who knows the population", against(policy, "population")
        )
    yield from without_models(policy)
    often = span_words(2 * policy.timeline.step)
    yield neighbour("half as often", policy, every=2, more=f"; a release every {often}")


def without_models(policy: Policy) -> Iterator[Neighbour]:
    """Yield the policy without each of its models but the first: what that one costs."""
    for chosen in policy.chosen_models[1:]:
        rest = tuple(each for each in policy.chosen_models if each is not chosen)
        left_out = chosen.member or "again"
        without = neighbour(f"without the model {left_out}", replace(policy, chosen_models=rest))
        yield replace(without, without=left_out)


def against(policy: Policy, knows: str) -> Policy:
    """Return the policy against an adversary who knows the population, or against any prior."""
    section = AdversarySection.model_validate({"knows": knows})
    choice = replace(policy.adversary_choice, section=section, places={})
    return replace(policy, adversary_choice=choice)


def guaranteeing(policy: Policy, change: Callable[[Guarantee], Guarantee]) -> Policy:
    """Return the policy with another guarantee for each event."""
    events = {
        label: replace(each, guarantee=change(each.guarantee))
        for label, each in policy.events.items()
    }
    return replace(policy, events=events)


def _other(
    name: str, policy: Policy, change: Callable[[Guarantee], Guarantee]
) -> Iterator[Neighbour]:
    """Yield the policy with changed guarantees, if any of them changes."""
    if any(change(each.guarantee) != each.guarantee for each in policy.events.values()):
        yield neighbour(name, guaranteeing(policy, change))


def _scaled(factor: float, guarantee: Guarantee) -> Guarantee:
    return guarantee.with_bounds(lambda bound: bound * factor)


def _upwards(guarantee: Guarantee) -> Guarantee:
    return OddsBound(guarantee.up, math.inf) if guarantee.belief_cap is None else guarantee


def _can_be_capped(policy: Policy) -> bool:
    adversary = policy.chosen_adversary.adversary
    return all(
        Quantifier(policy.models, each.event, adversary, family=policy.family).prior_belief()
        < BELIEF_CAP
        for each in policy.events.values()
    )
