"""The naive algorithm of the paper's appendix: sum over every trajectory of a PATTERN.

Exponential in the length on purpose: it is the baseline of the runtime figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import TypeVar

Number = TypeVar("Number", float, Fraction)


def naive_pattern_joint(
    matrix: Sequence[Sequence[Number]],
    prior: Sequence[Number],
    emissions: Sequence[Sequence[Number]],
    regions: Sequence[Sequence[int]],
) -> Number:
    """Return Pr(PATTERN, releases at its steps).

    ``prior`` is the distribution one step before the pattern starts; ``regions`` and
    ``emissions`` (P(release | cell), one per step) cover the steps of the pattern. On
    fractions the answer is exact. Where the paper's pseudocode moves the prior one step anew for
    every trajectory, this does it once: that favours the baseline.

    >>> stay_or_go = [[0.75, 0.25], [0.25, 0.75]]
    >>> naive_pattern_joint(stay_or_go, [0.5, 0.5], [[1.0, 1.0]] * 2, [[0], [0, 1]])
    0.5
    """
    cells = range(len(prior))
    total = 0 * prior[0]
    at_start = {
        j: sum((prior[i] * matrix[i][j] for i in cells), 0 * prior[0]) * emissions[0][j]
        for j in regions[0]
    }
    for trajectory in product(*regions):
        probability = at_start[trajectory[0]]
        for step in range(1, len(trajectory)):
            before, here = trajectory[step - 1], trajectory[step]
            probability = probability * matrix[before][here] * emissions[step][here]
        total = total + probability
    return total
