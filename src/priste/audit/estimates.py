"""Estimates from repeated runs, with intervals that hold at the stated confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from priste.errors import InvalidParameter

CONFIDENCE = 0.95
"""The confidence of intervals unless another is asked for."""


@dataclass(frozen=True)
class Estimate:
    """A number found by repeated runs, and an interval around it."""

    value: float
    low: float
    high: float

    def shifted(self, by: float) -> Estimate:
        """Return the estimate of this number plus a known one."""
        return Estimate(self.value + by, self.low + by, self.high + by)

    def __format__(self, digits: str) -> str:
        """Return "value [low, high]", each number in a format for floats."""
        return f"{self.value:{digits}} [{self.low:{digits}}, {self.high:{digits}}]"

    def __str__(self) -> str:
        return f"{self:.3f}"


def clopper_pearson_low(successes: int, trials: int, error: float) -> float:
    """Return a bound that is above the true probability with chance at most ``error``.

    Exact for any number of trials (Clopper and Pearson 1934): the probability at which as many
    successes or more come with chance ``error``. 0 without successes.

    >>> round(clopper_pearson_low(10, 10, 0.05), 4)  # 0.05 ** (1 / 10)
    0.7411
    """
    from scipy.special import betaincinv

    _check_counts(successes, trials, error)
    return float(betaincinv(successes, trials - successes + 1, error)) if successes else 0.0


def clopper_pearson_high(successes: int, trials: int, error: float) -> float:
    """Return a bound that is below the true probability with chance at most ``error``.

    >>> clopper_pearson_high(0, 0, 0.05), round(clopper_pearson_high(0, 10, 0.05), 4)
    (1.0, 0.2589)
    """
    return 1.0 - clopper_pearson_low(trials - successes, trials, error)


def proportion(successes: int, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return a share of the trials with its Clopper-Pearson interval.

    >>> print(proportion(5, 10))
    0.500 [0.187, 0.813]
    """
    error = (1.0 - confidence) / 2.0
    share = successes / trials if trials else math.nan
    return Estimate(
        share,
        clopper_pearson_low(successes, trials, error),
        clopper_pearson_high(successes, trials, error),
    )


def mean(values: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """Return the mean of independent values with its Student interval; needs two finite values.

    >>> print(f"{mean([1.0, 2.0, 3.0]):.4g}")
    2 [-0.4841, 4.484]
    """
    from scipy.special import stdtrit

    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) < 2 or not np.isfinite(sample).all():
        raise InvalidParameter(
            "must be two or more finite numbers",
            parameter="values",
            owner="a mean with an interval",
            got=f"shape {sample.shape}",
        )
    center = float(sample.mean())
    quantile = float(stdtrit(len(sample) - 1, 0.5 + confidence / 2.0))
    half = quantile * float(sample.std(ddof=1)) / math.sqrt(len(sample))
    return Estimate(center, center - half, center + half)


def area_under_curve(
    positive: Sequence[float], negative: Sequence[float], confidence: float = CONFIDENCE
) -> Estimate:
    """Return the chance that a positive case scores above a negative one, ties counting half.

    That is the area under the ROC curve. The interval is DeLong's: normal, with the variance
    of the two samples' placements. ``nan`` with the interval [0, 1] if a sample is empty.

    >>> area_under_curve([3.0, 2.0], [1.0, 0.0]).value
    1.0
    """
    from scipy.special import ndtri

    above = np.asarray(positive, dtype=np.float64)[:, None]
    below = np.asarray(negative, dtype=np.float64)[None, :]
    if not above.size or not below.size:
        return Estimate(math.nan, 0.0, 1.0)
    wins = (above > below) + 0.5 * (above == below)
    area = float(wins.mean())
    if min(wins.shape) < 2:
        return Estimate(area, 0.0, 1.0)
    spread = wins.mean(axis=1).var(ddof=1) / wins.shape[0]
    spread += wins.mean(axis=0).var(ddof=1) / wins.shape[1]
    half = float(ndtri(0.5 + confidence / 2.0)) * math.sqrt(spread)
    return Estimate(area, max(0.0, area - half), min(1.0, area + half))


def _check_counts(successes: int, trials: int, error: float) -> None:
    if not 0 <= successes <= trials:
        raise InvalidParameter(
            f"must be from 0 to the number of trials, {trials}",
            parameter="successes",
            owner="an interval",
            value=successes,
        )
    if not 0.0 < error < 1.0:
        raise InvalidParameter(
            "must be in (0, 1)", parameter="error", owner="an interval", value=error
        )
