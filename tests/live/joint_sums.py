"""What releases tell about events, by plain sums over cells: an oracle that shares no code."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from priste import MarkovModel

Array = NDArray[np.float64]
Presence = tuple[Collection[int], Collection[int]]
"""Cells and steps."""


def largest_ratio(
    model: MarkovModel,
    prior: Array,
    told: Sequence[Array | None],
    events: Sequence[Presence],
    after: Collection[int],
) -> float:
    """Return the largest ln P(releases | one answer) / P(releases | another), both ways.

    An answer says of each event whether it happened. ``told`` has the likelihood of the release of
    each step, None for silence. Asked after some numbers of releases; the probabilities are carried
    on to the last step of the events, so these may be to come.
    """
    last = max(max(steps) for _, steps in events)
    moves: dict[object, Array] = {}

    def answers(told: Sequence[Array | None]) -> Array:
        joint = np.zeros((2 ** len(events), prior.size))
        joint[0] = prior
        for step in range(max(len(told), last + 1)):
            if step:
                transition = model.schedule.at(step - 1)
                if transition not in moves:
                    moves[transition] = model.transition(step - 1).toarray()
                joint = joint @ moves[transition]
            for number, (cells, steps) in enumerate(events):
                if step in steps:
                    for answer in range(2 ** len(events)):
                        if not answer & 2**number:
                            joint[answer | 2**number, list(cells)] += joint[answer, list(cells)]
                            joint[answer, list(cells)] = 0.0
            likelihood = told[step] if step < len(told) else None
            if likelihood is not None:
                joint = joint * likelihood
                joint /= joint.sum()
        return joint.sum(axis=1)

    before = answers([])
    can = before > 0
    moved = [np.log(answers(told[:number])[can] / before[can]) for number in after]
    return max(float(each.max() - each.min()) for each in moved)
