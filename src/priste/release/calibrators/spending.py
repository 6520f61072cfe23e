"""What is kept back: how much of a guarantee may be used up by a step, from public knowledge only.

A stream that has revealed all it may about an event can reveal hardly anything more until the model
has forgotten the event: every output must then have one and the same ratio. So part of each
guarantee is kept back for the steps to come. How much follows from how far apart the places of
those with and without the event are (total variation, from the model and the public prior only): a
step that reveals more than all after it may use up more. What may be used grows with the steps,
so a stream at its limit is given a little again at every step, and most of it while the model
forgets. A part is kept for the time after the most revealing step and given with the square root:
what is given then falls more slowly than what steps can reveal, and a stream that was at its limit
becomes free again. For the same reason no step may use up all that is left. Of several models the
one that remembers the event best decides.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.events import Guarded
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import Guarantee, KnownPrior, Quantifier
from priste.release.accountant import AccountantState
from priste.release.calibrators.best_guess import first_of_largest
from priste.release.terms import Terms

Floats = NDArray[np.float64]

AT_ONCE = 0.4
"""The share of a guarantee that may be used up at the first step already."""

FOR_LATER, LAST = 0.15, 0.01
"""The shares that are given while the event is forgotten, and when it is."""

AT_MOST = 0.1
"""The share of what is left of what may be used up by now that one step may use up, ...

With 0.3, or with the share that may be used at once used by one step, streams stood at their limit
for longer (``benchmarks.usefulness_families``, people used for choosing)."""

AT_LEAST = 0.01
"""... or this share of what is left of the bound itself, if that is more. At a limit that is all
used up no output could be distinguished from any other."""

FORGOTTEN = 1e-4
"""After its event a step counts while the total variation is at least this."""

LONGEST_MEMORY = 500
"""How many steps after its event count, at most."""

WALKED, WALKED_CELLS = 24, 1_000_000
"""This many of these are walked, or more while their cells together are at most this many."""

TAIL = 12
"""Beyond them the distance falls as it did on average over this many of the last steps."""


def scheduled_limits(state: AccountantState) -> list[Guarantee]:
    """Return per event the guarantee for this step: what may be used up by now, of what is
    guaranteed.

    Never less than what was revealed already, so an uninformative release keeps every one of them.
    """
    return [
        limited(guarantee, share_by(state.terms, number, state.step), leaked, first, sure)
        for number, (guarantee, leaked, first, sure) in enumerate(
            zip(state.guarantees, state.leakage, state.prior_belief, state.belief, strict=True)
        )
    ]


def limited(
    guarantee: Guarantee, share: float, leaked: float, first: float, sure: float
) -> Guarantee:
    """Return the guarantee for a step by which this share of it may be used up."""
    return guarantee.with_bounds(
        lambda bound: min(bound, max(_between(leaked, bound, share), leaked)),
        lambda cap: _belief_between(first, cap, share, sure),
    )


def _between(leaked: float, bound: float, share: float) -> float:
    """Return how far a ratio may be after a step by which this share of its bound may be used."""
    used = max(leaked, 0.0)
    return used + max(AT_MOST * (share * bound - used), AT_LEAST * (bound - used))


def _belief_between(first: float, cap: float, share: float, sure: float) -> float:
    """Return the belief whose log-odds are ``share`` of the way from the first to the cap."""
    if not 0.0 < first < cap < 1.0:
        return cap
    ends = np.log(first / (1.0 - first)), np.log(cap / (1.0 - cap))
    odds = float(np.exp(ends[0] + share * (ends[1] - ends[0])))
    return min(cap, max(odds / (1.0 + odds), sure))


def share_by(terms: Terms, number: int, step: int) -> float:
    """Return the share of the guarantee on the event of this number that may be used by a step.

    In (0, 1], never falling, and 1 once every model has forgotten the event: the least over the
    models, each with its own prior. Guarded hours reveal nothing, so nothing is given for them.
    """
    found = terms.derived(("schedule", number), lambda: _least_shares(terms, number))
    return float(found[step]) if step < len(found) else 1.0


def _least_shares(terms: Terms, number: int) -> Floats:
    found = []
    for place, model in enumerate(terms.models):
        prior = terms.expected_start()
        if place > 0:
            prior = terms.adversary.of_model(place).mean_prior(model.grid.size)
        apart = sensitivity(model, terms.events[number], prior)
        for step in terms.guarded_hours:
            if step < len(apart):
                apart[step] = 0.0
        found.append(shares(apart))
    longest = max(map(len, found))
    padded = [np.concatenate([each, np.ones(longest - len(each))]) for each in found]
    return np.asarray(np.min(padded, axis=0))


def shares(apart: Floats) -> Floats:
    """Return (steps,) the share that may be used by each step, given the sensitivity of each."""
    whole = float(apart.sum())
    if not whole > 0.0:
        return np.ones(len(apart))
    soon = np.cumsum(apart) / whole
    forgetting = np.sqrt(apart) * (np.arange(len(apart)) >= first_of_largest(apart))
    later = np.cumsum(forgetting) / forgetting.sum()
    return np.asarray(AT_ONCE + (1.0 - AT_ONCE - FOR_LATER - LAST) * soon + FOR_LATER * later)


def sensitivity(model: MarkovModel, event: Guarded, prior: Floats) -> Floats:
    """Return (steps,), how far apart the places of those with and without the event are.

    That is the total variation between Pr(cell | EVENT) and Pr(cell | not EVENT) at each step (of a
    secret the largest between two of its answers), without any release, up to the step at which the
    model has forgotten the event. On large maps only the first steps after the event are walked,
    and the others continue them.
    """
    quantifier = Quantifier(model, event, KnownPrior(prior), method="stream")
    last = event.last_step or 0
    walked = min(max(WALKED, WALKED_CELLS // model.grid.size), LONGEST_MEMORY)
    found: list[float] = []
    while len(found) <= last + walked:
        try:
            (operator,) = quantifier.candidate_operators()
            quantifier.observe(None)
        except InvalidParameter:  # the model ends here
            return np.array(found or [0.0])
        parts = [each[0] / each[0].sum() for each in operator.joint if each[0].sum() > 0.0]
        if len(parts) < 2:
            return np.array(found or [0.0])
        apart = max(float(np.abs(one - other).sum()) for one, other in combinations(parts, 2))
        found.append(0.5 * apart)
        if len(found) > last + 1 and found[-1] < FORGOTTEN:
            return np.array(found)
    return _continued(np.array(found), last + 1 + LONGEST_MEMORY)


def _continued(apart: Floats, most: int) -> Floats:
    """Return the distances, falling on as they fell last until they are forgotten.

    >>> _continued(np.array([0.5] + [0.4 * 0.8**k for k in range(TAIL + 1)]), 100)[-2:] < FORGOTTEN
    array([False,  True])
    """
    falls = min((apart[-1] / apart[-1 - TAIL]) ** (1.0 / TAIL), 1.0)
    tail = apart[-1] * falls ** np.arange(1.0, most - len(apart) + 1.0)
    enough = int((tail >= FORGOTTEN).sum()) + 1
    return np.concatenate([apart, tail[:enough]])


NEARLY_EXACT = 32.0
"""In units of 1 / cell size: a planar Laplace at this budget almost always keeps the cell."""


def finite_budget(mechanism: Mechanism) -> float:
    """Return the budget from which a search walks down: the mechanism's own, if it is finite.

    The family of an exact release has an infinite budget at its end; below it the search begins
    at ``NEARLY_EXACT`` divided by the cell size.
    """
    if math.isinf(mechanism.budget):
        return NEARLY_EXACT / mechanism.grid.cell_size
    return mechanism.budget


def checked_pace(pace: float, who: str) -> float:
    """Return the pace of a calibrator, or raise InvalidParameter."""
    return check_float(pace, "pace", who, above=0.0, most=1.0)


def paced_limits(state: AccountantState, pace: float) -> list[Guarantee]:
    """Return per event the guarantee for this step: ``pace`` of what is left may be used up.

    What was leaked so far, over all bounded directions, counts in each of them. A release that
    says nothing keeps every one of these limits, as they leave the stream where it is.
    """
    return [
        guarantee.paced(leaked, sure, pace)
        for leaked, sure, guarantee in zip(
            state.leakage, state.belief, state.guarantees, strict=True
        )
    ]
