"""What a black-box check can find: exact sums over what its judges may count.

A check that finds nothing says little unless it could have found something. Suppose a set of
outcomes has probability p on one side and p e**-(ε + excess) on the other, and is among the sets
that the check judges. The check refutes ε when a lower bound from the first count is more than
e**ε times an upper bound from the second. Both counts are binomial, so the chance of that is a sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_float, check_int
from priste.errors import InvalidParameter

SETS = 4
"""How many sets of outcomes are judged at each look, in each direction."""

MOST_STREAMS = 10_000_000
"""More streams on each side of a look than this are not proposed."""

EXCESS_DIGITS = 1e-4
"""How close to the smallest excess its search goes; the answer is on the side that is found."""


def error_share(error: float, look: int) -> float:
    """Return what one bound at look 1, 2, … may be wrong with; all of them make ``error``."""
    return error / (look * (look + 1)) / (2 * SETS * 2)


@dataclass(frozen=True)
class Excess:
    """What a check is to find: outcomes that reveal ``excess`` more than was claimed.

    ``probability`` is that of the revealing outcomes on the side where they are more frequent: 0.1
    for an implementation that misbehaves in one of ten streams. ``power`` is the wanted chance to
    find it.
    """

    excess: float
    probability: float = 0.1
    power: float = 0.9

    def __post_init__(self) -> None:
        check_float(self.excess, "excess", "what a check is to find", above=0.0, most=math.inf)
        _check_shares(self.probability, self.power)


def detection_power(
    epsilon: float,
    excess: float,
    *,
    probability: float,
    streams_per_look: int,
    looks: int = 4,
    error: float = 0.05,
) -> float:
    """Return a lower bound on the chance that a check refutes ``epsilon``.

    It is the chance at the best single look, for a set of outcomes that is judged (see the
    module). ``excess`` may be ``inf``: outcomes that one side never has.

    >>> round(detection_power(0.5, 1.0, probability=0.5, streams_per_look=1000), 3)
    1.0
    >>> round(detection_power(0.5, 0.1, probability=0.1, streams_per_look=1000), 3)
    0.0
    """
    return _power(_looks(epsilon, streams_per_look, looks, error), epsilon + excess, probability)


def smallest_excess(
    epsilon: float,
    *,
    streams_per_look: int,
    looks: int = 4,
    error: float = 0.05,
    probability: float = 0.1,
    power: float = 0.9,
) -> float:
    """Return the smallest excess over ``epsilon`` that is found with chance ``power`` at least.

    ``inf`` if not even outcomes that the other side never has are found so often: there are too
    few streams for outcomes this rare. Otherwise right to ``EXCESS_DIGITS``, never too small.

    >>> round(smallest_excess(0.5, streams_per_look=1000, probability=0.5), 2)
    0.28
    """
    _check_shares(probability, power)

    prepared = _looks(epsilon, streams_per_look, looks, error)

    def found(excess: float) -> bool:
        return _power(prepared, epsilon + excess, probability) >= power

    if not found(math.inf):
        return math.inf
    enough = 1.0
    while not found(enough):
        enough *= 2.0
    too_little = 0.0
    while enough - too_little > EXCESS_DIGITS:
        middle = (enough + too_little) / 2.0
        enough, too_little = (middle, too_little) if found(middle) else (enough, middle)
    return enough


def streams_for(epsilon: float, wanted: Excess, *, looks: int = 4, error: float = 0.05) -> int:
    """Return how many streams on each side of a look find what is wanted as often as wanted.

    That many are enough, by the exact power; a few less may be too (the power is not quite
    monotone in the number). Raises InvalidParameter above ``MOST_STREAMS``.

    >>> streams_for(0.5, Excess(1.0, probability=0.5))
    132
    """

    def enough(streams: int) -> bool:
        chance = detection_power(
            epsilon,
            wanted.excess,
            probability=wanted.probability,
            streams_per_look=streams,
            looks=looks,
            error=error,
        )
        return chance >= wanted.power

    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_STREAMS:
            raise InvalidParameter(
                f"To find an excess of {wanted.excess:g} in outcomes of probability "
                f"{wanted.probability:g} takes more than {MOST_STREAMS:,} streams a look.",
                hint="Ask for a larger excess, coarser outcomes or less power.",
            )
    low = high // 2
    while high - low > max(2, high // 100):
        middle = (low + high) // 2
        high, low = (middle, low) if enough(middle) else (high, middle)
    return high


@dataclass(frozen=True, eq=False)
class _Look:
    """What one look refutes: for each ``counts`` on the rarer side the least one on the other."""

    counts: NDArray[np.int64]
    needed: NDArray[np.int64]

    @property
    def judged(self) -> int:
        """How many streams judge on each side."""
        return len(self.counts) - 1

    def power(self, one: float, other: float) -> float:
        """Return the chance to refute for outcomes with these probabilities on the two sides."""
        from scipy.special import bdtrc
        from scipy.stats import binom

        reached = np.where(
            self.needed > self.judged, 0.0, bdtrc(self.needed - 1.0, self.judged, one)
        )
        chances = binom.pmf(self.counts, self.judged, other)
        return float(min(1.0, (chances * reached).sum()))


def _looks(epsilon: float, streams_per_look: int, looks: int, error: float) -> list[_Look]:
    """Return the looks of a check, whose arguments are checked here."""
    check_float(epsilon, "epsilon", "a black-box check", least=0.0)
    check_int(streams_per_look, "streams_per_look", "a black-box check", least=2)
    check_int(looks, "looks", "a black-box check", least=1)
    check_float(error, "error", "a black-box check", above=0.0, below=1.0)
    return [
        _look(epsilon, look * (streams_per_look // 2), error_share(error, look))
        for look in range(1, looks + 1)
    ]


def _look(epsilon: float, judged: int, error: float) -> _Look:
    from scipy.special import betaincinv

    counts = np.arange(judged + 1)
    low = np.zeros(judged + 1)
    low[1:] = betaincinv(counts[1:], judged - counts[1:] + 1, error)
    high = 1.0 - low[::-1]
    return _Look(counts, np.searchsorted(low, math.exp(epsilon) * high, side="right"))


def _power(looks: Sequence[_Look], apart: float, probability: float) -> float:
    """Return the chance at the best look; probabilities differ by a factor e**``apart``."""
    return max(look.power(probability, probability * math.exp(-apart)) for look in looks)


def _check_shares(probability: float, power: float) -> None:
    check_float(probability, "probability", "what a check is to find", above=0.0, most=1.0)
    check_float(power, "power", "a check", above=0.0, below=1.0)
