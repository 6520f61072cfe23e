"""Moving scaled rows through a transition without losing a product to underflow.

Dense and sparse transitions multiply each number by one float, which the scaling of
rows allows for. Structured ones multiply by two or three in turn; where those
could underflow together, the stages are taken one at a time and scaled in between.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from priste.quantify.joint_probabilities import Floats
from priste.quantify.scaling import ScaledRows

if TYPE_CHECKING:
    from priste.mobility import Transition
    from priste.mobility.transitions import Stage


def moved_ahead(rows: ScaledRows, transition: Transition) -> ScaledRows:
    """Return ``rows @ M``."""
    if not transition.may_underflow:
        push = partial(push_states, stage=transition)
        return rows.through(push, rescale=False, by_blocks=True)
    terms = []
    for stages in transition.terms:
        moved = rows
        for stage in stages:
            moved = moved.through(partial(push_states, stage=stage))
        terms.append(moved)
    return reduce(ScaledRows.plus, terms)


def moved_back(rows: ScaledRows, transition: Transition) -> ScaledRows:
    """Return ``M @ columns``."""
    if not transition.may_underflow:
        return rows.through(partial(pull_states, stage=transition), rescale=False)
    terms = []
    for stages in transition.terms:
        moved = rows
        for stage in reversed(stages):
            moved = moved.through(partial(pull_states, stage=stage))
        terms.append(moved)
    return reduce(ScaledRows.plus, terms)


def push_states(values: Floats, stage: Transition | Stage) -> Floats:
    """Return ``values @ M`` along the last axis."""
    moved = stage.push(values.reshape(-1, values.shape[-1]))
    return moved.reshape(*values.shape[:-1], -1)


def pull_states(values: Floats, stage: Transition | Stage) -> Floats:
    """Return ``M @ values`` along the last axis."""
    carried = stage.pull(values.reshape(-1, values.shape[-1]).T)
    return np.ascontiguousarray(carried.T).reshape(*values.shape[:-1], -1)
