"""Which transition applies at which step, whatever kind of model it is."""

from __future__ import annotations

from dataclasses import dataclass

from priste.errors import InvalidParameter
from priste.mobility.structured import AnyTransition
from priste.mobility.validation import IntArray


@dataclass(frozen=True, eq=False)
class Schedule:
    """Transitions by step: first ``opening``, then ``repeating`` once, or for ever if ``cyclic``.

    ``pairs`` is ``None`` for a first-order model. For a second-order one it is the
    ``(n, 2)`` array of states (previous cell, current cell) from step 1 on, sorted, and
    ``opening`` holds the one rectangular transition from cells to pairs.
    """

    opening: tuple[AnyTransition, ...]
    repeating: tuple[AnyTransition, ...]
    cyclic: bool
    pairs: IntArray | None = None

    @property
    def horizon(self) -> int | None:
        """Number of steps with a transition; ``None`` for ever."""
        return None if self.cyclic else len(self.opening) + len(self.repeating)

    def at(self, step: int) -> AnyTransition:
        """Return the transition from ``step`` (>= 0) to ``step + 1``."""
        later = step - len(self.opening)
        if later < 0:
            return self.opening[step]
        if self.cyclic:
            return self.repeating[later % len(self.repeating)]
        if later >= len(self.repeating):
            raise InvalidParameter(
                f"This MarkovModel describes {self.horizon} moves (steps 0 to {self.horizon}). "
                f"Got a question about the move that leaves step {step}. Give one matrix per "
                "step, or cycle=True to repeat them."
            )
        return self.repeating[later]

    def transitions(self) -> tuple[AnyTransition, ...]:
        """Return all that are stored, in order; the same object may occur many times."""
        return self.opening + self.repeating
