"""Verdicts on claims of order, from the runs on both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from priste.audit.estimates import CONFIDENCE, Estimate, mean
from priste.errors import InvalidParameter
from priste.reproduce.experiments.experiment import Finding, Verdict

ROUNDING = 1e-12
"""Relative differences up to this are rounding."""


@dataclass(frozen=True)
class Comparison:
    """Whether something is larger than something else, run by run.

    Runs are paired: the same walk and the same seed of the noise. ``what`` names both sides.
    ``difference`` is the mean of the ``differences`` with its interval at ``confidence``.
    """

    what: str
    differences: tuple[float, ...]
    confidence: float = CONFIDENCE

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
        return cls(what, tuple(np.where(alike, 0.0, gap).tolist()))

    @property
    def difference(self) -> Estimate:
        """The mean difference with its interval over the runs."""
        return mean(self.differences, self.confidence)

    @property
    def verdict(self) -> Verdict:
        """Reproduced if the whole interval is above 0, not if it is below 0, else open."""
        if self.difference.low > 0.0:
            return "reproduced"
        if self.difference.high < 0.0:
            return "not reproduced"
        return "not decidable"

    def __str__(self) -> str:
        return f"{self.what}: {self.difference:.4g}"


def mean_cells(values: ArrayLike) -> list[float | None]:
    """Return the mean and both ends of its interval for a row of a table; one run has no ends."""
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2:
        return [float(sample.mean()), None, None]
    found = mean(sample)
    return [found.value, found.low, found.high]


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
    together = 1.0 - (1.0 - CONFIDENCE) / tests
    corrected = [replace(each, confidence=together) for each in comparisons]
    if any(each.verdict == "reproduced" for each in corrected):
        verdict = "reproduced"
    elif corrected and all(each.verdict == "not reproduced" for each in corrected):
        verdict = "not reproduced"
    return Finding(claim, verdict, "; ".join(str(each) for each in corrected))
