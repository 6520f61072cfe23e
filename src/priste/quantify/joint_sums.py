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

    All parts must speak of the same candidates: the rows of several models under one secret.
    """
    if len(parts) == 1:
        return parts[0]
    return JointProbabilities(
        np.concatenate([part.prior for part in parts], axis=1),
        np.concatenate([part.joint for part in parts], axis=1),
        np.concatenate([part.exponent for part in parts]),
        max(part.relative_error for part in parts),
        max(part.absolute_error for part in parts),
        parts[0].has_rest,
    )


def candidates_of(joint: JointProbabilities, chosen: Integers | slice) -> JointProbabilities:
    """Return the joint probabilities of some of the candidates, with the same error bounds."""
    return _with(joint, joint.prior, joint.joint[:, :, chosen], joint.exponent)


def candidate_of(joint: JointProbabilities, place: int) -> JointProbabilities:
    """Return one of the candidates as one set of releases, with the same error bounds."""
    return _with(joint, joint.prior, joint.joint[:, :, place], joint.exponent)


def rows_of(joint: JointProbabilities, chosen: Integers | slice) -> JointProbabilities:
    """Return some of the rows, with the same error bounds."""
    return _with(joint, joint.prior[:, chosen], joint.joint[:, chosen], joint.exponent[chosen])


def before_releases(joint: JointProbabilities) -> JointProbabilities:
    """Return what the model says without any release."""
    return _with(joint, joint.prior, joint.prior, np.zeros(joint.rows, dtype=np.int64))


def _with(
    joint: JointProbabilities, prior: Floats, values: Floats, exponent: Integers
) -> JointProbabilities:
    return JointProbabilities.of_checked(
        prior, values, exponent, joint.relative_error, joint.absolute_error, joint.has_rest
    )


def layers_added(joint: JointProbabilities, layers: int) -> JointProbabilities:
    """Return those of outputs from those of pairs (layer, output), layer first."""
    values = joint.joint.reshape(joint.answers, joint.rows, layers, -1).sum(axis=2)
    return _summed(joint, values, joint.exponent, layers, 0.0)


def added(parts: Sequence[JointProbabilities]) -> JointProbabilities:
    """Return the joint probabilities of "one of these": their sums; priors stay as they are.

    All parts must speak of one secret under one model. Sums of nonnegative numbers keep their
    relative accuracy; what a change of scale can lose is added to ``absolute_error``.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    top = np.stack([part.exponent for part in parts]).max(axis=0)
    total = np.zeros_like(first.joint)
    lost = sum(part.absolute_error for part in parts)
    for part in parts:
        down = np.maximum(part.exponent - top, -5000).astype(np.int32)
        shift = down if part.joint.ndim == 2 else down[:, None]
        moved = np.ldexp(part.joint, shift)
        total = total + moved
        lost += 0.0 if (np.ldexp(moved, -shift) == part.joint).all() else _LOST
    worst = max(parts, key=lambda part: part.relative_error)
    return _summed(worst, total, top, len(parts), lost)


def _summed(
    joint: JointProbabilities,
    values: Floats,
    exponent: Integers,
    summands: int,
    absolute_error: float,
) -> JointProbabilities:
    return replace(
        joint,
        joint=values,
        exponent=exponent,
        relative_error=joint.relative_error + 2 * summands * UNIT_ROUNDOFF,
        absolute_error=max(joint.absolute_error * summands, absolute_error),
    )
