"""When to spend: what using up a promise will cost later, from public knowledge alone.

A stream that has told all it may about an event is dumb until the model has forgotten the
event, so the law of a step weighs what it tells now against what it could tell later. The price is
the number of steps that are still sensitive: the sum, over this step and all to come, of the
total variation between where people are who make the event true and where those are who do not.
It is large before and during the event, falls as the model forgets, and counts hours and not steps:
with steps of half the length twice as many are sensitive, and each of them costs half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.events import Event
from priste.mobility import MarkovModel
from priste.quantify import Priors, Quantifier

if TYPE_CHECKING:
    from priste.release.terms import Terms

Floats = NDArray[np.float64]

SHARE = 0.3
"""What a sensitive step costs, in expected costs of the best public guess, at a ratio of 1."""

FORGOTTEN = 0.01
"""After its event a step counts as sensitive while the total variation is at least this."""

LONGEST_MEMORY = 500
"""How many steps after its event are looked at, at most."""

LEAST = 1.0
"""A stream never counts fewer sensitive steps than this: the past may have made some likely."""

_known: WeakKeyDictionary[Terms, dict[int, Floats]] = WeakKeyDictionary()


def price(terms: Terms, number: int, step: int) -> float:
    """Return what one unit of later cost is worth at a step, for the event of this number."""
    by_event = _known.setdefault(terms, {})
    if number not in by_event:
        sensitive = sensitivity(terms.models[0], terms.events[number], terms.expected_start())
        by_event[number] = np.cumsum(sensitive[::-1])[::-1]
    left = by_event[number]
    return SHARE * max(LEAST, float(left[step]) if step < len(left) else 0.0)


def sensitivity(model: MarkovModel, event: Event, prior: Floats) -> Floats:
    """Return (steps,), how far apart the places of those with and without the event are.

    That is the total variation between Pr(cell | EVENT) and Pr(cell | not EVENT) at each step,
    without any release, up to the step at which the model has forgotten the event.
    """
    quantifier = Quantifier(model, event, Priors(prior), method="stream")
    last = event.last_step or 0
    found: list[float] = []
    while len(found) <= last + LONGEST_MEMORY:
        try:
            with_event, without, _ = quantifier.candidate_operator()
            quantifier.observe(None)
        except InvalidParameter:  # the model ends here
            break
        parts = with_event[0].sum(), without[0].sum()
        if min(parts) <= 0.0:
            break
        apart = np.abs(with_event[0] / parts[0] - without[0] / parts[1]).sum()
        found.append(0.5 * float(apart))
        if len(found) > last + 1 and found[-1] < FORGOTTEN:
            break
    return np.array(found or [0.0])
