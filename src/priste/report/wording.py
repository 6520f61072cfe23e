"""How numbers are said to people: one wording for each, wherever they are shown."""

from __future__ import annotations

import math
from collections.abc import Mapping


def odds(leakage: float) -> str:
    """Say a leakage as the factor by which odds may move.

    >>> odds(0.5), odds(3), odds(math.inf), odds(0)
    ('1.65×', '20×', 'without limit', '1.00×')
    >>> odds(13.3), odds(30)
    ('600,000×', '1e13×')
    """
    if math.isinf(leakage) or leakage > 700:
        return "without limit" if math.isinf(leakage) else f"10^{leakage / math.log(10):.0f}×"
    factor = math.exp(leakage)
    if factor < 10:
        return f"{factor:.2f}×"
    if factor >= 1e9:
        return f"{factor:.0e}×".replace("e+", "e").replace("e0", "e")
    digits = max(0, math.floor(math.log10(factor)) - 1)  # two figures that mean something
    return f"{round(factor, -digits):,.0f}×"


def percent(probability: float) -> str:
    """Say a probability in percent without claiming certainty that is not there.

    >>> percent(0.5), percent(0.0), percent(0.99999), percent(1e-9), percent(1.0)
    ('50.0 %', '0 %', '> 99.9 %', '< 0.1 %', '100 %')
    """
    if probability in (0.0, 1.0):
        return f"{probability:.0%}".replace("%", " %")
    if probability < 0.001:
        return "< 0.1 %"
    if probability > 0.999:
        return "> 99.9 %"
    return f"{100 * probability:.1f} %"


def who_learns_most(worst_prior: Mapping[int, float], leakage: float) -> str:
    """Say who learns most from releases: those who hold the worst prior.

    >>> who_learns_most({7: 0.75, 3: 0.25}, 0.4)
    'Those who learn most think that the user began in cell 3 (25.0 %) or cell 7 (75.0 %).'
    >>> who_learns_most({}, 0.0)
    'No prior learns anything.'
    """
    if not worst_prior or leakage <= 0:
        return "No prior learns anything."
    cells = " or ".join(f"cell {c} ({percent(w)})" for c, w in sorted(worst_prior.items()))
    return f"Those who learn most think that the user began in {cells}."
