"""Joint probabilities made of others: rows of several models, some of the candidates, sums.

Each function says what becomes of the error bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from priste.quantify.joint_probabilities import Floats, Integers, JointProbabilities
from priste.quantify.rounding import UNIT_ROUNDOFF

_LOST = 2.0**-1022
"""What one number can lose when it underflows on its way to another scale, at most."""


def stacked(parts: Sequence[JointProbabilities]) -> JointProbabilities:
    """Return the rows of all parts, in order, with the largest of their error bounds.

    All parts must speak of the same candidates: the rows of several models under one event.
    """
    if len(parts) == 1:
        return parts[0]
    return JointProbabilities(
        np.concatenate([part.prior_event for part in parts]),
        np.concatenate([part.prior_complement for part in parts]),
        np.concatenate([part.event for part in parts]),
        np.concatenate([part.complement for part in parts]),
        np.concatenate([part.exponent for part in parts]),
        max(part.relative_error for part in parts),
        max(part.absolute_error for part in parts),
    )


def candidates_of(joint: JointProbabilities, chosen: Integers | slice) -> JointProbabilities:
    """Return the joint probabilities of some of the candidates, with the same error bounds."""
    return JointProbabilities.of_checked(
        joint.prior_event,
        joint.prior_complement,
        joint.event[:, chosen],
        joint.complement[:, chosen],
        joint.exponent,
        joint.relative_error,
        joint.absolute_error,
    )


def candidate_of(joint: JointProbabilities, place: int) -> JointProbabilities:
    """Return one of the candidates as one set of releases, with the same error bounds."""
    single = candidates_of(joint, slice(place, place + 1))
    return replace(single, event=single.event[:, 0], complement=single.complement[:, 0])


def rows_of(joint: JointProbabilities, chosen: Integers | slice) -> JointProbabilities:
    """Return some of the rows, with the same error bounds."""
    return JointProbabilities.of_checked(
        joint.prior_event[chosen],
        joint.prior_complement[chosen],
        joint.event[chosen],
        joint.complement[chosen],
        joint.exponent[chosen],
        joint.relative_error,
        joint.absolute_error,
    )


def layers_added(joint: JointProbabilities, layers: int) -> JointProbabilities:
    """Return those of outputs from those of pairs (layer, output), layer first."""
    rows = joint.rows
    event = joint.event.reshape(rows, layers, -1).sum(axis=1)
    complement = joint.complement.reshape(rows, layers, -1).sum(axis=1)
    return _summed(joint, event, complement, joint.exponent, layers, 0.0)


def added(parts: Sequence[JointProbabilities]) -> JointProbabilities:
    """Return the joint probabilities of "one of these": their sums; priors stay as they are.

    All parts must speak of one event under one model. Sums of nonnegative numbers keep their
    relative accuracy; what a change of scale can lose is added to ``absolute_error``.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    top = np.stack([part.exponent for part in parts]).max(axis=0)
    event = np.zeros_like(first.event)
    complement = np.zeros_like(first.complement)
    lost = sum(part.absolute_error for part in parts)
    for part in parts:
        down = np.maximum(part.exponent - top, -5000).astype(np.int32)
        shift = down if part.event.ndim == 1 else down[:, None]
        moved = np.ldexp(part.event, shift), np.ldexp(part.complement, shift)
        event, complement = event + moved[0], complement + moved[1]
        exact = (np.ldexp(moved[0], -shift) == part.event).all()
        lost += 0.0 if exact and (np.ldexp(moved[1], -shift) == part.complement).all() else _LOST
    worst = max(parts, key=lambda part: part.relative_error)
    return _summed(worst, event, complement, top, len(parts), lost)


def _summed(
    joint: JointProbabilities,
    event: Floats,
    complement: Floats,
    exponent: Integers,
    summands: int,
    absolute_error: float,
) -> JointProbabilities:
    return JointProbabilities(
        joint.prior_event,
        joint.prior_complement,
        event,
        complement,
        exponent,
        joint.relative_error + 2 * summands * UNIT_ROUNDOFF,
        max(joint.absolute_error * summands, absolute_error),
    )
