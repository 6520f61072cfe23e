"""A cap on how sure an adversary may get that an event happened."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

from priste.arguments import check_float
from priste.quantify.guarantees.guarantee import Comparison, Guarantee


@dataclass(frozen=True)
class BeliefBound(Guarantee):
    """No adversary of the class gets surer than ``at_most`` that the event happened; 0 < it < 1.

    It can be kept only if no prior of the class holds more before the first release. It says
    nothing about the other direction: releases may show that the event did not happen.

    >>> BeliefBound(0.2).words()
    'nobody gets more than 20 % sure that it happened'
    """

    kind: ClassVar[str] = "belief"
    up: ClassVar[float] = math.inf  # type: ignore[misc]  # a bound that is open for every cap
    down: ClassVar[float] = math.inf  # type: ignore[misc]  # likewise

    at_most: float

    def __post_init__(self) -> None:
        bound = check_float(
            self.at_most, "at_most", "BeliefBound", above=0.0, below=1.0, hint="20 % is 0.2."
        )
        object.__setattr__(self, "at_most", bound)

    @property
    def belief_cap(self) -> float | None:
        """The cap, ``at_most``."""
        return self.at_most

    def with_bounds(
        self,
        odds: Callable[[float], float] | None = None,
        belief: Callable[[float], float] | None = None,
    ) -> Self:
        """Return the same guarantee with a function applied to the cap."""
        return self if belief is None else type(self)(belief(self.at_most))

    def comparisons(self, answers: int, has_rest: bool) -> tuple[Comparison, ...]:
        """Compare each answer but "neither" with all others together: each belief has the cap."""
        return tuple(
            Comparison((answer,), tuple(k for k in range(answers) if k != answer), self)
            for answer in range(answers - has_rest)
        )

    def to_dict(self) -> dict[str, object]:
        """Return what ``guarantee_from_dict`` reads, ready for JSON."""
        return {"guarantee": self.kind, "at_most": self.at_most}

    def words(self, answers: int = 2) -> str:
        """Return the guarantee as part of a sentence, for a secret with so many answers."""
        sure = f"nobody gets more than {100.0 * self.at_most:.4g} % sure"
        return f"{sure} that it happened" if answers == 2 else f"{sure} of one of its answers"
