"""What all conformance tests share: the error, JSON, distributions and seeded draws."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from priste.errors import PristeError
from priste.randomness import BitSource, bit_source

Floats = NDArray[np.float64]

DRAWS = 2_000
CHANCE = 1e-9
"""The probability that a correct part would fail a comparison of draws with their distribution. The
draws are seeded, so that a part that passes once passes always."""


class NotConformant(PristeError, AssertionError):
    """A part breaks a rule of its contract."""


def require(holds: object, rule: str) -> None:
    """Raise NotConformant with the rule unless it holds."""
    if not holds:
        raise NotConformant(rule)


def require_json(value: object, rule: str) -> None:
    """Require that a value comes back equal from JSON."""
    try:
        again = json.loads(json.dumps(value))
    except (TypeError, ValueError):
        again = None
    require(again is not None and again == value, rule)


def require_distribution(row: Floats, tolerance: float, what: str) -> None:
    """Require finite numbers >= 0 whose exact sum is within a tolerance of 1."""
    require(np.isfinite(row).all() and (row >= 0).all(), f"{what} must hold finite numbers >= 0.")
    # math.fsum rounds once; the tolerance of callers allows for it.
    require(abs(math.fsum(row) - 1.0) <= tolerance, f"{what} must sum to 1.")


def require_draws(draw: Callable[[BitSource], int], row: Floats, what: str) -> None:
    """Require that draws follow a distribution, by the Dvoretzky-Kiefer-Wolfowitz bound."""
    bits = bit_source(38)
    found = np.array([draw(bits) for _ in range(DRAWS)])
    require(((found >= 0) & (found < len(row))).all(), f"{what} must be an output that exists.")
    counts = np.bincount(found, minlength=len(row)) / DRAWS
    apart = float(np.abs(np.cumsum(counts) - np.cumsum(row)).max())
    allowed = math.sqrt(math.log(2.0 / CHANCE) / (2.0 * DRAWS))
    require(apart <= allowed, f"{what} must follow the probabilities that are stated.")
    require((row[found] > 0).all(), f"{what} must never be an output of probability 0.")
