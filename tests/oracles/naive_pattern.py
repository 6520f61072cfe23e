"""The naive algorithm of the paper's appendix B: sum over every trajectory of a PATTERN.

Exponential on purpose: it is the baseline of the runtime figure, and an oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any


def naive_pattern_joint(
    matrix: Any,
    prior: Any,
    emissions: Sequence[Any],
    regions: Sequence[Sequence[int]],
) -> Any:
    """Return Pr(PATTERN, releases at its steps).

    ``prior`` is the distribution one step before the pattern starts; ``regions`` and
    ``emissions`` (P(release | cell), one per step) cover the steps of the pattern. Works on
    floats and on fractions alike, with plain nested sequences or arrays.
    """
    cells = range(len(prior))
    total = 0 * prior[0]
    at_start = {
        j: sum(prior[i] * matrix[i][j] for i in cells) * emissions[0][j] for j in regions[0]
    }
    for trajectory in product(*regions):
        probability = at_start[trajectory[0]]
        for step in range(1, len(trajectory)):
            before, here = trajectory[step - 1], trajectory[step]
            probability = probability * matrix[before][here] * emissions[step][here]
        total = total + probability
    return total
