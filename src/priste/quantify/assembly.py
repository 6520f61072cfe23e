"""From mantissas and exponents to the answers that people read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

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
    has_rest: bool,
) -> JointProbabilities:
    """Build joint probabilities from priors (C, rows) and values (rows, C) or (rows, C, k).

    ``values``, ``exponent`` and ``lost`` are as :func:`~priste.quantify.scaling.to_shared_exponent`
    returns them; the numbers come from sums of products of checked ones, so that nothing is left to
    check.
    ``backward_error`` is the absolute error of Pr(answer | world, state). A joint probability is a
    mass times that, the masses of a row add up to the sum of b over the C answers, and the largest
    b is below 1 in mantissa units: so each b is off by at most C times it.
    """
    absolute = len(prior_rows) * backward_error * (1.0 + 2.0 * relative_error)
    if backward_error > 0.0:
        absolute += _LEAST_FLOAT  # the line above may itself have rounded down
    if lost:
        absolute += _LEAST_FLOAT
    return JointProbabilities.of_checked(
        prior_rows,
        np.moveaxis(values, 1, 0),
        exponent,
        relative_error,
        absolute,
        has_rest,
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
    """a and b of each answer under one prior, each as (mantissa, exponent)."""

    prior: tuple[tuple[float, int], ...]
    joint: tuple[tuple[float, int], ...]
    has_rest: bool

    @classmethod
    def of(cls, joint: JointProbabilities, weights: Floats) -> PriorSums:
        """Mix the rows of ``joint`` with ``weights``."""
        plain = np.zeros(joint.rows, dtype=np.int64)
        return cls(
            tuple(weighted_sum(weights, each, plain) for each in joint.prior),
            tuple(weighted_sum(weights, each, joint.exponent) for each in joint.joint),
            joint.has_rest,
        )

    @property
    def possible(self) -> bool:
        """Whether the releases have positive probability."""
        return any(mantissa for mantissa, _ in self.joint)

    def log_likelihoods(self) -> tuple[float, ...]:
        """Return ln Pr(o | answer) of each answer, which must have positive probability."""
        return tuple(map(log_ratio, self.joint, self.prior))

    def posteriors(self) -> tuple[float, ...]:
        """Return Pr(answer | o) of each answer; the releases must have positive probability."""
        shares = self._shares()
        return tuple(share / sum(shares) for share in shares)

    def posterior(self) -> float:
        """Return Pr(EVENT | o), or that of any answer but the last, as :meth:`posteriors`."""
        *happened, did_not = self._shares()
        return sum(happened) / (sum(happened) + did_not)

    def _shares(self) -> list[float]:
        """Return Pr(answer, o) of each answer, all times one power of two."""
        top = max(exponent for mantissa, exponent in self.joint if mantissa)
        return [
            math.ldexp(mantissa, max(exponent - top, -3000)) for mantissa, exponent in self.joint
        ]

    def log_likelihood_ratio(self, first: int, second: int) -> float:
        """Return ln of Pr(o | first) / Pr(o | second), 0 where there is nothing to learn."""
        if not (self.prior[first][0] and self.prior[second][0]):
            return 0.0
        if not (self.joint[first][0] or self.joint[second][0]):
            return 0.0
        here, there = (log_ratio(self.joint[k], self.prior[k]) for k in (first, second))
        return here - there


def known_prior_leakage(sums: PriorSums) -> Leakage:
    """Return the log-likelihood ratio under one prior, in both directions.

    Where the prior leaves nothing to learn (it makes the event certain or impossible, or
    the releases impossible) both directions are 0: no prior of this kind ever breaks a
    guarantee. The ratio is plain arithmetic: off by a few times the relative error.
    """
    last = len(sums.prior) - 1
    most, up, down, worst = -math.inf, -math.inf, -math.inf, (0, 1)
    for first, second in combinations(range(last + 1), 2):
        ratio = sums.log_likelihood_ratio(first, second)
        one_way = sums.has_rest and second == last
        up = max(up, ratio if one_way else abs(ratio))
        down = max(down, 0.0 - ratio if one_way else abs(ratio))
        if abs(ratio) > most:
            most, worst = abs(ratio), (first, second)
    return Leakage(max(up, down), up, down, {}, between=worst)
