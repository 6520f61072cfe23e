"""What releases say about an event: the leakage over a class of priors, and under one prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from priste.quantify.guarantees import Guarantee, as_guarantee
from priste.quantify.joint_probabilities import Floats, Integers, JointProbabilities
from priste.showable import Showable


@dataclass(frozen=True)
class Leakage(Showable):
    """How far releases move the odds of an event, against every prior that is allowed.

    ``for_event`` is the natural logarithm of the supremum, over all priors, of
    Pr(releases | EVENT) / Pr(releases | not EVENT); ``against_event`` is the same with
    the event and its negation exchanged; ``value`` is the larger of the two. Each is an
    upper bound: never below the exact supremum, and above it by at most what
    :func:`priste.quantify.worst_prior.worst_prior_leakage` states. ``inf`` means that
    some prior makes the releases prove the event (or its negation).

    ``worst_rows`` maps rows of the joint probabilities, by number, to weights that sum to 1: a
    prior of the class that comes as close to ``value`` as doubles allow, with one or two entries
    where the class is all mixtures of the rows. It is empty when no prior makes the comparison
    possible. A ``Quantifier`` also says what these rows are. ``worst_prior`` maps first cells to
    weights where rows are first cells; ``worst_given`` maps pairs (model, number of a given prior)
    (``KnownPrior``) to weights, and ``worst_last_seen`` the cells in which the user was seen last
    (``LastSeen``). With several models these are summed over the models, ``worst_models`` maps
    models to weights, and ``worst_joint`` pairs (model, first cell). Where each of several models
    is tested by itself, ``model`` is the number of the one under which ``value`` is reached.

    Of a secret with several answers ``for_event`` bounds how far the odds of any answer but the
    last rise against any other, and ``against_event`` how far they fall; ``between`` names the two
    answers that ``value`` compares, the first against the second or the reverse.

    >>> Leakage(0.5, 0.5, 0.25, {3: 1.0}, {3: 1.0})
    Leakage(0.5, for_event=0.5, against_event=0.25, worst_prior={3: 1.0})
    """

    value: float
    for_event: float
    against_event: float
    worst_rows: dict[int, float]
    worst_prior: dict[int, float] = field(default_factory=dict)
    worst_given: dict[tuple[int, int], float] = field(default_factory=dict)
    worst_last_seen: dict[int, float] = field(default_factory=dict)
    worst_models: dict[int, float] = field(default_factory=dict)
    worst_joint: dict[tuple[int, int], float] = field(default_factory=dict)
    model: int | None = None
    between: tuple[int, int] | tuple[str, str] | None = None

    def __repr__(self) -> str:
        names = ("worst_prior", "worst_given", "worst_last_seen", "worst_models", "model")
        shown = {name: getattr(self, name) for name in names}
        worst = "".join(f", {name}={value!r}" for name, value in shown.items() if value)
        return (
            f"Leakage({self.value:.6g}, for_event={self.for_event:.6g}, "
            f"against_event={self.against_event:.6g}{worst})"
        )

    def over(self, guarantee: float | Guarantee) -> float:
        """Return the larger of the directions that a guarantee bounds.

        A ``BeliefBound`` bounds what speaks for the event. It may be below 0 when one direction is
        bounded: then the releases have only spoken the other way.

        >>> from priste.quantify.guarantees import OddsBound
        >>> Leakage(0.5, 0.25, 0.5, {3: 1.0}).over(OddsBound(up=1.0, down=float("inf")))
        0.25
        """
        return as_guarantee(guarantee).leakage(self.for_event, self.against_event)


def bounded_directions(guarantee: float | Guarantee | None) -> list[int]:
    """Return the directions that a guarantee bounds; both for None."""
    return [0, 1] if guarantee is None else list(as_guarantee(guarantee).bounded_directions)


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
