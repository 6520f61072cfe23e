"""Verdicts on claims of order, from the runs on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from paper.experiments.experiment import Finding, Verdict
from priste.audit.estimates import CONFIDENCE, Estimate, mean
from priste.errors import InvalidParameter

CLOSE = 0.1
"""Means that differ by less than this share of their size are "close" or "almost the same"."""

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


def close(claim: str, pairs: Sequence[tuple[str, ArrayLike, ArrayLike]]) -> Finding:
    """Return the finding that both of each pair are about the same, up to ``CLOSE`` of their size.

    One pair that surely differs by more refutes it; one whose interval reaches beyond leaves it
    open.
    """
    verdict: Verdict = "reproduced" if pairs else "not decidable"
    numbers = []
    for what, one, other in pairs:
        both = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
        size = float(np.mean([each.mean() for each in both])) or 1.0
        gap = Comparison.of(f"{what}, as a share", both[0] / size, both[1] / size)
        found = gap.difference
        numbers.append(str(gap))
        if found.low > CLOSE or found.high < -CLOSE:
            verdict = "not reproduced"
        elif (found.low < -CLOSE or found.high > CLOSE) and verdict == "reproduced":
            verdict = "not decidable"
    return Finding(claim, verdict, f"{'; '.join(numbers)}. Close means within {CLOSE:.0%}.")


def none_is_best(
    claim: str, costs: Mapping[str, Sequence[ArrayLike]], settings: Sequence[str]
) -> Finding:
    """Return the finding that which of several is cheapest depends on the setting.

    ``costs[name][k]`` are the costs of the runs in ``settings[k]``. It is reproduced when one is
    surely cheaper than another in one setting and surely dearer in another; not when one is
    surely the cheapest in all of them. Intervals are widened so that all hold together.
    """
    names = list(costs)
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    together = 1.0 - (1.0 - CONFIDENCE) / max(len(pairs) * len(settings), 1)
    cheaper: dict[tuple[str, str], set[int]] = {}
    numbers = []
    for one, other in pairs:
        for place, setting in enumerate(settings):
            gap = Comparison.of(
                f"{other} less {one} at {setting}", costs[other][place], costs[one][place]
            )
            gap = replace(gap, confidence=together)
            if gap.verdict != "not decidable":
                wins = (one, other) if gap.verdict == "reproduced" else (other, one)
                cheaper.setdefault(wins, set()).add(place)
                numbers.append(str(gap))
    verdict: Verdict = "not decidable"
    if any((other, one) in cheaper for one, other in cheaper):
        verdict = "reproduced"
    elif any(
        all(
            len(cheaper.get((name, other), ())) == len(settings) for other in names if other != name
        )
        for name in names
    ):
        verdict = "not reproduced"
    return Finding(claim, verdict, "; ".join(numbers) or "No difference is beyond chance.")
