"""How many examples a property test draws: few where they are the same ones every time."""

from __future__ import annotations

import os

from hypothesis import settings

FREE = bool(os.environ.get("PRISTE_FREE_EXAMPLES"))
"""Whether every run draws examples of its own, instead of those of a fixed seed."""

FEWEST = 15


def examples(number: int) -> settings:
    """Draw so many examples where they are new, and a quarter where they are the same again."""
    few = min(number, max(FEWEST, number // 4))
    return settings(max_examples=number if FREE else few, deadline=None)
