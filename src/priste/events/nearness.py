"""Which steps are near the events, and which far from all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from priste.events.secrets import Guarded

NEAR_HOURS = 6.0
"""Steps within this many hours of a step that an event mentions are near it, in every figure."""


def near_reach(step_seconds: float) -> int:
    """Return how many steps ``NEAR_HOURS`` are.

    >>> near_reach(900.0)
    24
    """
    return round(NEAR_HOURS * 3600 / step_seconds)


def near_events(steps: int, events: Iterable[Guarded], reach: int) -> NDArray[np.bool_]:
    """Return (steps,) which steps are within ``reach`` of a step that an event speaks of.

    >>> from priste.events.predicates import at
    >>> near_events(6, [at([0], 4)], 1).tolist()
    [False, False, False, True, True, True]
    """
    near = np.zeros(steps, dtype=np.bool_)
    for event in events:
        for layer in event.automaton().layers:
            near[max(0, layer.step - reach) : layer.step + reach + 1] = True
    return near
