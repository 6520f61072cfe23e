"""Exact leakage, verdicts and beliefs over priors near a given one; doubt is never safety.

That no rounding makes a verdict unsafe is Theorem 15 of docs/explanation/proofs.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from priste.quantify.guarantees import Guarantee, Limits, as_limits
from priste.quantify.joint_probabilities import Floats, Integers, JointProbabilities, candidates_of
from priste.quantify.leakage import Leakage, bounded_directions
from priste.quantify.worst_prior.verdicts import (
    LEAST_LOGARITHM,
    column_directions,
    error_factor,
    lines_of,
    passes,
)

SLACK = 1e-8
"""A reported ratio is at most this much, relatively, above the exact supremum, and (n + 32) factor
2**-50 more: rounding is felt where a row may weigh ``factor`` times as much."""

FAR = 1e3
"""Factors above which the bound over every mixture of the rows is asked for as well: the search may
stay above it where levels are millions apart."""

LARGEST_LOGARITHM = 709.0
"""e to this is still a float."""

_EVALUATION = 1.0 + 64 * 2.0**-53
"""Covers the roundings of one line of arithmetic."""


def near_passes(
    joint: JointProbabilities, weights: Floats, factor: float, epsilon: float | Guarantee | Limits
) -> NDArray[np.bool_]:
    """Return whether every prior within ``factor`` of ``weights`` keeps a guarantee, shape (k,).

    ``weights`` (n,) are > 0, one per row; a prior has weights proportional to these times
    numbers in [1, ``factor``]. ``epsilon`` and the rounding as in
    :func:`priste.quantify.worst_prior.passes`.
    """
    limits = as_limits(epsilon)
    count = joint.columns
    if limits == Limits(math.inf, math.inf, math.inf):
        return np.ones(count, dtype=np.bool_)
    larger = error_factor(joint)
    passed = np.ones(count, dtype=np.bool_)
    if larger == math.inf:
        return ~passed
    if limits.up < math.inf or limits.down < math.inf:
        from priste.quantify.near_prior import level_kernels

        up, down = (
            math.inf if bound == math.inf else math.exp(min(bound, LARGEST_LOGARITHM)) / larger
            for bound in (limits.up, limits.down)
        )
        events, complements = _columns(joint)
        shared = _shared(joint, weights)
        level_kernels.column_verdicts(events, complements, *shared, factor, up, down, passed)
    if factor > FAR and not passed.all():  # what holds for every mixture holds for fewer
        failed = np.flatnonzero(~passed)
        every = joint if joint.candidates is None else candidates_of(joint, failed)
        passed[failed] = passes(every, Limits(limits.up, limits.down, math.inf))
    if limits.belief < math.inf:
        odds = _log_odds(joint, weights, factor)
        passed &= odds <= math.log(limits.belief)
    return passed


def near_leakage(
    joint: JointProbabilities,
    weights: Floats,
    factor: float,
    guarantee: float | Guarantee | None = None,
) -> Leakage:
    """Bound the leakage over every prior within ``factor`` of ``weights``, from above.

    Never below the exact supremum, and above it by at most what ``SLACK`` says, and 8 times the
    relative error of the joint probabilities. ``worst_rows`` is a prior of the class: all rows,
    with weights that sum to 1. The edges are those of :func:`priste.quantify.worst_prior_leakage`.
    """
    if error_factor(joint) == math.inf:
        return Leakage(math.inf, math.inf, math.inf, {})
    logs, priors = _suprema(joint, weights, factor)
    for_event, against_event = (float(x) for x in logs[:, 0])
    if for_event == against_event == -math.inf:
        return Leakage(0.0, 0.0, 0.0, {})
    side = max(bounded_directions(guarantee), key=(for_event, against_event).__getitem__)
    worst = priors[side] * weights
    worst /= worst.sum()
    for_event, against_event = (max(x, LEAST_LOGARITHM) for x in (for_event, against_event))
    return Leakage(
        max(for_event, against_event), for_event, against_event, dict(enumerate(worst.tolist()))
    )


def near_leakages(
    joint: JointProbabilities,
    weights: Floats,
    factor: float,
    guarantee: float | Guarantee | None = None,
) -> Floats:
    """Return (k,) the leakage of each candidate, over the directions that a guarantee bounds."""
    if error_factor(joint) == math.inf:
        return np.full(joint.columns, math.inf)
    logs, _ = _suprema(joint, weights, factor)
    bounded = np.maximum(logs, LEAST_LOGARITHM)[bounded_directions(guarantee)].max(axis=0)
    return np.asarray(np.where((logs == -math.inf).all(axis=0), 0.0, bounded))


def near_beliefs(joint: JointProbabilities, weights: Floats, factor: float) -> Floats:
    """Bound Pr(EVENT | releases) over every prior within ``factor`` of ``weights``, shape (k,).

    Never below the exact supremum; 0 where the releases are impossible for all of them.
    """
    if error_factor(joint) == math.inf:
        return np.ones(joint.columns)
    odds = np.minimum(_log_odds(joint, weights, factor), LARGEST_LOGARITHM)
    with np.errstate(over="ignore"):
        share = np.nextafter(_EVALUATION / (1.0 + np.exp(-odds)), math.inf)
    certain, impossible = odds == LARGEST_LOGARITHM, odds == -math.inf
    return np.select([certain, impossible], [1.0, 0.0], np.minimum(share, 1.0))


def _columns(joint: JointProbabilities) -> tuple[Floats, Floats]:
    return lines_of(joint.event), lines_of(joint.complement)


def _shared(
    joint: JointProbabilities, weights: Floats
) -> tuple[Floats, Floats, Floats, Integers, float]:
    return (
        np.array(joint.prior_event),
        np.array(joint.prior_complement),
        np.array(weights, dtype=np.float64),
        np.array(joint.exponent),
        float(joint.absolute_error),
    )


def _suprema(joint: JointProbabilities, weights: Floats, factor: float) -> tuple[Floats, Floats]:
    """Return bounds of ln sup R and ln sup 1/R, (2, k), from above, and w of the last column."""
    from priste.quantify.near_prior import level_kernels

    events, complements = _columns(joint)
    ratios = np.empty((2, len(events)))
    powers = np.empty((2, len(events)), dtype=np.int64)
    priors = np.empty((2, joint.rows))
    shared = _shared(joint, weights)
    level_kernels.column_suprema(events, complements, *shared, factor, ratios, powers, priors)
    logs = _logarithms(ratios, powers, error_factor(joint))
    if factor > FAR:  # no class of mixtures learns more than that of all of them
        logs = np.minimum(logs, column_directions(joint))
    return logs, priors


def _log_odds(joint: JointProbabilities, weights: Floats, factor: float) -> Floats:
    """Return upper bounds (k,) of ln of the largest Pr(EVENT, o) / Pr(not EVENT, o)."""
    from priste.quantify.near_prior import level_kernels

    events, complements = _columns(joint)
    quotients = np.empty(len(events))
    powers = np.empty(len(events), dtype=np.int64)
    _, _, given, exponent, absolute = _shared(joint, weights)
    level_kernels.column_quotients(
        events, complements, given, exponent, absolute, factor, quotients, powers
    )
    return _logarithms(quotients, powers, error_factor(joint))


def _logarithms(ratios: Floats, powers: Integers, larger: float) -> Floats:
    """Return ln of the ratios times 2**powers and of the doubt about them, rounded upwards."""
    with np.errstate(divide="ignore"):
        logs = np.log(ratios) + powers * math.log(2.0) + math.log(larger)
    size = np.abs(np.where(np.isfinite(logs), logs, 0.0)) + np.abs(powers)
    return np.asarray(logs + 2.0**-50 * (1.0 + size))
