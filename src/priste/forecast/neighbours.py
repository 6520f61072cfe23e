"""A policy's setting and those next to it: what else could be promised, and to whom.

A neighbour differs in one thing: how far odds may move, in which directions, how sure anybody may
get, whom the promise is against, or how often there is a release. Whatever a neighbour promises is
said in words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from priste.forecast.simulation import Setting
from priste.quantify import AnyStart, Belief, Odds, Priors, Promise, Quantifier

if TYPE_CHECKING:
    from priste.policy import Policy

BELIEF_CAP = 0.2
"""The belief that a neighbour promises not to be exceeded, if it is not exceeded already."""


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A setting, what makes it differ, and what it promises, in words.

    There is a release at every ``every``-th step only; at the others the stream is silent.
    """

    name: str
    promise: str
    setting: Setting
    every: int = 1


def setting_of(policy: Policy) -> Setting:
    """Return the policy as a setting, with people who begin where its population is."""
    return Setting(
        models=policy.models,
        events={name: each.event for name, each in policy.events.items()},
        mechanism=policy.mechanism,
        promises={name: each.promise for name, each in policy.events.items()},
        calibrator=policy.calibrator,
        observer=policy.chosen_observer.observer,
        start=policy.population,
    )


def neighbours_of(policy: Policy) -> Iterator[Neighbour]:
    """Yield the policy as it is, then its neighbours, those that can be promised at all."""
    here = setting_of(policy)
    against = policy.chosen_observer.words
    yield Neighbour("as it is", _words(here.promises, against), here)
    for name, factor in (("ε halved", 0.5), ("ε doubled", 2.0)):
        scaled = {event: _scaled(promise, factor) for event, promise in here.promises.items()}
        if scaled != here.promises:
            yield Neighbour(name, _words(scaled, against), replace(here, promises=scaled))
    upwards = {event: _upwards(promise) for event, promise in here.promises.items()}
    if upwards != here.promises:
        yield Neighbour("upwards only", _words(upwards, against), replace(here, promises=upwards))
    capped: dict[str, Promise] = {event: Belief(BELIEF_CAP) for event in here.promises}
    if capped != here.promises and _can_be_capped(here):
        yield Neighbour("belief capped", _words(capped, against), replace(here, promises=capped))
    if not isinstance(here.observer, AnyStart):
        anybody = AnyStart()
        promises = {e: p for e, p in here.promises.items() if isinstance(p, Odds)}
        if len(promises) == len(here.promises):
            yield Neighbour(
                "against anybody",
                _words(here.promises, anybody.words()),
                replace(here, observer=anybody),
            )
    known = Priors(policy.population)
    if here.observer != known:
        yield Neighbour(
            "against who knows the population",
            _words(here.promises, "an observer who knows how people here move"),
            replace(here, observer=known),
        )
    yield Neighbour(
        "half as often",
        _words(here.promises, against)
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


def _words(promises: Mapping[str, Promise], against: str) -> str:
    said = {promise.words() for promise in promises.values()}
    what = said.pop() if len(said) == 1 else "a promise of its own for each event"
    return f"{what}; against {against}"


def _scaled(promise: Promise, factor: float) -> Promise:
    if isinstance(promise, Odds):
        return Odds(promise.up * factor, promise.down * factor)
    return promise


def _upwards(promise: Promise) -> Promise:
    return Odds(promise.up, math.inf) if isinstance(promise, Odds) else promise


def _can_be_capped(setting: Setting) -> bool:
    return all(
        Quantifier(setting.models, event, observer=setting.observer).prior_belief() < BELIEF_CAP
        for event in setting.events.values()
    )
