"""Recognise traces that are parts of one person's, such as the activities of a watch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from priste.traces.fixes import Trace

NEAR_KM = 1.0
"""A part that begins within this distance of the end of the last one is likely the same
person's."""

MOST_GO_ON = 2 / 3
"""This many of the parts must continue where the one before ended."""

_KM_PER_DEGREE = 111.2


def are_one_person(parts: Sequence[Trace]) -> bool:
    """Return whether traces are clearly parts of one: no two at a time, and most continue in space.

    False for fewer than two, and in doubt: people who were recorded one after the other in one
    place cannot be distinguished from one person, those who were recorded at the same time can.
    """
    if len(parts) < 2:
        return False
    ordered = sorted(parts, key=lambda part: part.times[0])
    if any(after.times[0] <= before.until[-1] for before, after in pairwise(ordered)):
        return False
    on = sum(_apart(before, after) <= NEAR_KM for before, after in pairwise(ordered))
    return on >= MOST_GO_ON * (len(ordered) - 1)


def joined(parts: Sequence[Trace], user: str | None) -> Trace:
    """Return the one trace of parts of which no two are at a time."""
    ordered = sorted(parts, key=lambda part: part.times[0])
    return Trace(
        user,
        np.concatenate([part.times for part in ordered]),
        np.concatenate([part.lat for part in ordered]),
        np.concatenate([part.lon for part in ordered]),
        np.concatenate([part.until for part in ordered]),
    )


def _apart(before: Trace, after: Trace) -> float:
    """Return km from where one part ends to where another begins, by the flat earth nearby."""
    north = float(after.lat[0] - before.lat[-1])
    east = (float(after.lon[0] - before.lon[-1]) + 180.0) % 360.0 - 180.0
    return _KM_PER_DEGREE * math.hypot(north, east * math.cos(math.radians(float(after.lat[0]))))
