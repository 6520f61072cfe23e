"""Means with intervals, and verdicts on claims of order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from priste.errors import InvalidParameter
from priste.reproduce.experiment import Finding, Verdict

CONFIDENCE = 0.95

ROUNDING = 1e-12
"""Relative differences up to this are rounding."""


@dataclass(frozen=True)
class Interval:
    """A mean with the 95 % interval of Student's t around it, over independent runs."""

    mean: float
    low: float
    high: float
    runs: int

    def __str__(self) -> str:
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


def interval(values: ArrayLike) -> Interval:
    """Return the mean of independent values with its interval; two values are needed.

    >>> str(interval([1.0, 2.0, 3.0]))
    '2 [-0.4841, 4.484]'
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) < 2 or not np.isfinite(sample).all():
        raise InvalidParameter(
            f"An interval needs two or more finite values. Got shape {sample.shape}."
        )
    mean, spread = float(sample.mean()), float(sample.std(ddof=1))
    half = float(stdtrit(len(sample) - 1, 0.5 + CONFIDENCE / 2)) * spread / len(sample) ** 0.5
    return Interval(mean, mean - half, mean + half, len(sample))


@dataclass(frozen=True)
class Comparison:
    """Whether something is larger than something else, run by run: the interval of differences.

    Runs are paired: the same walk and the same seed of the noise. ``what`` names both sides.
    """

    what: str
    difference: Interval

    @classmethod
    def of(cls, what: str, larger: ArrayLike, smaller: ArrayLike) -> Comparison:
        """Compare the values of the same runs on both sides."""
        both = np.asarray(larger, dtype=np.float64), np.asarray(smaller, dtype=np.float64)
        if both[0].shape != both[1].shape:
            raise InvalidParameter(
                f"Paired runs must be as many on both sides. Got {both[0].shape}, {both[1].shape}."
            )
        gap = both[0] - both[1]
        # Means of equal budgets may differ in their last digits: that is no difference.
        alike = np.abs(gap) <= ROUNDING * np.maximum(np.abs(both[0]), np.abs(both[1]))
        return cls(what, interval(np.where(alike, 0.0, gap)))

    @property
    def verdict(self) -> Verdict:
        """Reproduced if the whole interval is above 0, not if it is below 0, else open."""
        if self.difference.low > 0.0:
            return "reproduced"
        if self.difference.high < 0.0:
            return "not reproduced"
        return "not decidable"

    def __str__(self) -> str:
        return f"{self.what}: {self.difference}"


def all_of(claim: str, comparisons: Sequence[Comparison]) -> Finding:
    """Return the finding that every comparison goes the claimed way.

    One that clearly goes the other way refutes it; one that is open leaves it open.
    """
    verdicts = {comparison.verdict for comparison in comparisons}
    verdict: Verdict = "reproduced"
    if "not reproduced" in verdicts:
        verdict = "not reproduced"
    elif "not decidable" in verdicts or not verdicts:
        verdict = "not decidable"
    return Finding(claim, verdict, "; ".join(str(each) for each in comparisons))


def some_of(claim: str, comparisons: Sequence[Comparison]) -> Finding:
    """Return the finding that at least one comparison goes the claimed way.

    Intervals are widened so that all hold together (Bonferroni), since the best of many is taken.
    """
    tests = max(len(comparisons), 1)
    verdict: Verdict = "not decidable"
    corrected = [_widened(each, tests) for each in comparisons]
    if any(each.verdict == "reproduced" for each in corrected):
        verdict = "reproduced"
    elif corrected and all(each.verdict == "not reproduced" for each in corrected):
        verdict = "not reproduced"
    return Finding(claim, verdict, "; ".join(str(each) for each in corrected))


def _widened(comparison: Comparison, tests: int) -> Comparison:
    found = comparison.difference
    usual = float(stdtrit(found.runs - 1, 0.5 + CONFIDENCE / 2))
    wider = float(stdtrit(found.runs - 1, 1 - (1 - CONFIDENCE) / (2 * tests)))
    half = (found.high - found.mean) * wider / usual
    if not math.isfinite(half):
        half = 0.0
    widened = Interval(found.mean, found.mean - half, found.mean + half, found.runs)
    return Comparison(comparison.what, widened)
