"""Which transition applies at which step, whatever kind of model it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mobility.structured import as_transition
from priste.mobility.transitions import Transition
from priste.mobility.validation import IntArray


@dataclass(frozen=True, eq=False)
class Schedule:
    """Transitions by step: first ``opening``, then ``repeating`` once, or for ever if ``cyclic``.

    ``pairs`` is ``None`` for a first-order model. For a second-order one it is the
    ``(n, 2)`` array of states (previous cell, current cell) from step 1 on, sorted, and
    ``opening`` holds the one rectangular transition from cells to pairs. ``truncated_mass`` is
    the largest mass that was cut from a row.
    """

    opening: tuple[Transition, ...]
    repeating: tuple[Transition, ...]
    cyclic: bool
    pairs: IntArray | None = None
    truncated_mass: float = 0.0

    @property
    def horizon(self) -> int | None:
        """Number of steps with a transition; ``None`` for ever."""
        return None if self.cyclic else len(self.opening) + len(self.repeating)

    def at(self, step: int) -> Transition:
        """Return the transition from ``step`` (>= 0) to ``step + 1``."""
        later = step - len(self.opening)
        if later < 0:
            return self.opening[step]
        if self.cyclic:
            return self.repeating[later % len(self.repeating)]
        if later >= len(self.repeating):
            raise InvalidParameter(
                f"This MarkovModel describes {self.horizon} moves (steps 0 to {self.horizon}).",
                got=f"a question about the move that leaves step {step}",
                hint="Give one matrix per step, or let them repeat (cycle).",
            )
        return self.repeating[later]

    def transitions(self) -> tuple[Transition, ...]:
        """Return all that are stored, in order; the same object may occur many times."""
        return self.opening + self.repeating


def check_square(transition: Transition, grid: Grid, name: str) -> None:
    """Refuse a transition that is not between the cells of ``grid``."""
    if transition.shape != (grid.size, grid.size):
        raise InvalidParameter(
            f"The {name} must have shape ({grid.size}, {grid.size}), one row and one column "
            "per cell of the map.",
            value=transition.shape,
        )


def schedule_of(grid: Grid, matrix: object, *, cycle: bool) -> Schedule:
    """Read the ``matrix`` and ``cycle`` of :class:`MarkovModel`."""
    name = "'matrix' of MarkovModel"
    if not isinstance(cycle, bool):
        raise InvalidParameter(
            "must be True or False",
            parameter="cycle",
            owner="MarkovModel",
            value=cycle,
            hint="The number of phases is the number of matrices.",
        )
    single, items = _one_or_many(matrix)
    if not items:
        raise InvalidParameter(
            f"The {name} must hold one matrix at least.", got="an empty sequence"
        )
    known: dict[int, Transition] = {}
    steps = []
    for step, item in enumerate(items):
        if id(item) not in known:
            here = name if single else f"{name} (step {step})"
            known[id(item)] = as_transition(item, name=here)
            check_square(known[id(item)], grid, here)
        steps.append(known[id(item)])
    return Schedule((), tuple(steps), cyclic=single or cycle)


def _one_or_many(matrix: object) -> tuple[bool, list[object]]:
    """Tell one matrix from a sequence of them."""
    if isinstance(matrix, np.ndarray):
        return (False, list(matrix)) if matrix.ndim == 3 else (True, [matrix])
    if isinstance(matrix, list | tuple):
        first = matrix[0] if matrix else None
        nested = isinstance(first, list | tuple) and bool(first) and np.ndim(first[0]) > 0
        if not matrix or sparse.issparse(first) or isinstance(first, Transition) or nested:
            return False, list(matrix)
        if isinstance(first, np.ndarray) and first.ndim == 2:
            return False, list(matrix)
    return True, [matrix]
