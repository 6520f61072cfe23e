"""From mantissas and exponents to the answers that people read."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from priste.quantify.joint_probabilities import Floats, Integers, JointProbabilities
from priste.quantify.leakage import Leakage

_LEAST_FLOAT = 2.0**-1074


def assembled(
    prior_rows: Floats,
    values: Floats,
    exponent: Integers,
    lost: bool,
    relative_error: float,
    backward_error: float,
) -> JointProbabilities:
    """Build joint probabilities from priors (2, rows) and values (rows, 2) or (rows, 2, k).

    ``values``, ``exponent`` and ``lost`` are as :func:`~priste.quantify.scaling.to_shared_exponent`
    returns them; the numbers come from sums of products of checked ones, so that nothing is left to
    check.
    ``backward_error`` is the absolute error of Pr(EVENT | world, state). A joint
    probability is a mass times that, the masses of a row add up to b + d, and the larger
    of b and d is below 1 in mantissa units: so b and d are off by at most twice it.
    """
    absolute = 2.0 * backward_error * (1.0 + 2.0 * relative_error)
    if backward_error > 0.0:
        absolute += _LEAST_FLOAT  # the line above may itself have rounded down
    if lost:
        absolute += _LEAST_FLOAT
    return JointProbabilities.of_checked(
        prior_rows[0],
        prior_rows[1],
        values[:, 0],
        values[:, 1],
        exponent,
        relative_error,
        absolute,
    )


def weighted_sum(weights: Floats, values: Floats, exponent: Integers) -> tuple[float, int]:
    """Return mantissa and exponent of ``sum(weights * values * 2**exponent)``; (0.0, 0) for 0."""
    used = (weights > 0.0) & (values > 0.0)
    if not used.any():
        return 0.0, 0
    mantissa, binary = np.frexp(values[used])
    place = exponent[used] + binary
    top = int(place.max())
    shift = np.maximum(place - top, -3000).astype(np.int32)
    total, carry = math.frexp(float(np.ldexp(mantissa, shift) @ weights[used]))
    return total, carry + top


def log_ratio(upper: tuple[float, int], lower: tuple[float, int]) -> float:
    """Return ln(upper / lower) of two (mantissa, exponent); lower > 0. Exactly 0 when equal."""
    if upper[0] == 0.0:
        return -math.inf
    return math.log(upper[0] / lower[0]) + (upper[1] - lower[1]) * math.log(2.0)


@dataclass(frozen=True)
class PriorSums:
    """a, ā, b, d under one prior, each as (mantissa, exponent)."""

    prior_event: tuple[float, int]
    prior_complement: tuple[float, int]
    event: tuple[float, int]
    complement: tuple[float, int]

    @classmethod
    def of(cls, joint: JointProbabilities, weights: Floats) -> PriorSums:
        """Mix the rows of ``joint`` with ``weights``."""
        plain = np.zeros(joint.rows, dtype=np.int64)
        return cls(
            weighted_sum(weights, joint.prior_event, plain),
            weighted_sum(weights, joint.prior_complement, plain),
            weighted_sum(weights, joint.event, joint.exponent),
            weighted_sum(weights, joint.complement, joint.exponent),
        )

    def log_likelihoods(self) -> tuple[float, float]:
        """Return ln Pr(o | EVENT), ln Pr(o | not EVENT); both must have positive probability."""
        return (
            log_ratio(self.event, self.prior_event),
            log_ratio(self.complement, self.prior_complement),
        )

    def posterior(self) -> float:
        """Return Pr(EVENT | o); the releases must have positive probability."""
        top = max(exponent for mantissa, exponent in (self.event, self.complement) if mantissa)
        happened = math.ldexp(self.event[0], max(self.event[1] - top, -3000))
        did_not = math.ldexp(self.complement[0], max(self.complement[1] - top, -3000))
        return happened / (happened + did_not)

    def log_likelihood_ratio(self) -> float:
        """Return ln of Pr(o | EVENT) / Pr(o | not EVENT), 0 where there is nothing to learn."""
        if not (self.prior_event[0] and self.prior_complement[0]):
            return 0.0
        if not (self.event[0] or self.complement[0]):
            return 0.0
        for_event, against_event = self.log_likelihoods()
        return for_event - against_event


def known_prior_leakage(sums: PriorSums) -> Leakage:
    """Return the log-likelihood ratio under one prior, in both directions.

    Where the prior leaves nothing to learn (it makes the event certain or impossible, or
    the releases impossible) both directions are 0: no prior of this kind ever breaks a
    guarantee. The ratio is plain arithmetic: off by a few times the relative error.
    """
    ratio = sums.log_likelihood_ratio()
    return Leakage(abs(ratio), ratio, 0.0 - ratio, {})
