"""How much of a guarantee a step may use up; a schedule that follows from public knowledge only.

A stream that has revealed all it may about an event can reveal hardly anything more until the model
has forgotten the event: every output must then have one and the same ratio. So a part of each
guarantee is kept for the steps to come. How large it is follows from the total variation between
the places of those with and without the event (from the model and the public prior only): a step
that reveals more than all after it may use up more. What may be used grows with the steps. So a
stream at its limit may use a little more at every step, most of it while the model forgets the
event. One part is kept for the time after the most revealing step and spread with the square root
of the total variation: it falls more slowly than what steps can reveal, so a stream that was at its
limit can release again. For the same reason no step may use up all that is left. Of several models
the one that remembers the event best decides.
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

FIRST_SHARE = 0.6
"""The share of a guarantee that the first step may use up."""

LATER_SHARE, LAST_SHARE = 0.15, 0.01
"""The shares that are added while the model forgets the event, and when it has."""

LARGEST_STEP = 0.5
"""The share of what may be used up by now, and is left, that one step may use up, ...

A first release that reveals little hardly narrows down where a person is. With 0.1, many streams
released a constant for hours, and used half of their bound (``benchmarks.usefulness_families``).
More is also revealed to adversaries outside the class (``benchmarks.redteam``)."""

LEAST_STEP = 0.01
"""... or this share of what is left of the bound itself, if that is more.

At a limit that is all used up no output could be distinguished from any other."""

FORGOTTEN = 1e-4
"""A step after the event counts while the total variation is at least this."""

LONGEST_MEMORY = 500
"""How many steps after the event count, at most."""

EXACT_STEPS, EXACT_STEP_CELLS = 24, 1_000_000
"""The total variation of so many of them is computed, or of more while the cells of all of them
together are at most so many."""

TREND_STEPS = 12
"""After them it is assumed to fall as it did on average over so many of the last of them."""


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
    return used + max(LARGEST_STEP * (share * bound - used), LEAST_STEP * (bound - used))


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
        distances = sensitivity(model, terms.events[number], prior)
        for step in terms.guarded_hours:
            if step < len(distances):
                distances[step] = 0.0
        found.append(shares(distances))
    longest = max(map(len, found))
    padded = [np.concatenate([each, np.ones(longest - len(each))]) for each in found]
    return np.asarray(np.min(padded, axis=0))


def shares(distances: Floats) -> Floats:
    """Return (steps,) the share that may be used by each step, given the sensitivity of each."""
    whole = float(distances.sum())
    if not whole > 0.0:
        return np.ones(len(distances))
    soon = np.cumsum(distances) / whole
    forgetting = np.sqrt(distances) * (np.arange(len(distances)) >= first_of_largest(distances))
    later = np.cumsum(forgetting) / forgetting.sum()
    return np.asarray(
        FIRST_SHARE + (1.0 - FIRST_SHARE - LATER_SHARE - LAST_SHARE) * soon + LATER_SHARE * later
    )


def sensitivity(model: MarkovModel, event: Guarded, prior: Floats) -> Floats:
    """Return (steps,), how far apart the places of those with and without the event are.

    That is the total variation between Pr(cell | EVENT) and Pr(cell | not EVENT) at each step (of a
    secret the largest between two of its answers), without any release, up to the step at which the
    model has forgotten the event. On large maps only the first steps after the event are computed,
    and the others are extrapolated.
    """
    quantifier = Quantifier(model, event, KnownPrior(prior), method="stream")
    last = event.last_step or 0
    computed = min(max(EXACT_STEPS, EXACT_STEP_CELLS // model.grid.size), LONGEST_MEMORY)
    found: list[float] = []
    while len(found) <= last + computed:
        try:
            (operator,) = quantifier.candidate_operators()
            quantifier.observe(None)
        except InvalidParameter:  # the model ends here
            return np.array(found or [0.0])
        parts = [each[0] / each[0].sum() for each in operator.joint if each[0].sum() > 0.0]
        if len(parts) < 2:
            return np.array(found or [0.0])
        farthest = max(float(np.abs(one - other).sum()) for one, other in combinations(parts, 2))
        found.append(0.5 * farthest)
        if len(found) > last + 1 and found[-1] < FORGOTTEN:
            return np.array(found)
    return _extrapolated(np.array(found), last + 1 + LONGEST_MEMORY)


def _extrapolated(distances: Floats, most: int) -> Floats:
    """Return the distances with those of later steps, which fall as the last ones did.

    >>> known = np.array([0.5] + [0.4 * 0.8**k for k in range(TREND_STEPS + 1)])
    >>> _extrapolated(known, 100)[-2:] < FORGOTTEN
    array([False,  True])
    """
    falls = min((distances[-1] / distances[-1 - TREND_STEPS]) ** (1.0 / TREND_STEPS), 1.0)
    tail = distances[-1] * falls ** np.arange(1.0, most - len(distances) + 1.0)
    enough = int((tail >= FORGOTTEN).sum()) + 1
    return np.concatenate([distances, tail[:enough]])


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
