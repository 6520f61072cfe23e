"""An adversary who knew where the user was some steps before the stream began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from priste.arguments import check_int
from priste.errors import InvalidParameter
from priste.quantify.adversaries.adversary import Adversary
from priste.quantify.lifted import FirstCells, SeenBefore, StartRows

if TYPE_CHECKING:
    from priste.mobility import MarkovModel


@dataclass(frozen=True, eq=False)
class LastSeen(Adversary):
    """Knew exactly where the user was ``steps`` (>= 0) steps before step 0, and nothing since.

    The rows of P^steps, with the phases of a cycle that precede step 0. 0 steps is every
    prior. A sequence of matrices without a cycle says nothing about the time before it, and
    the states of a second-order model begin at step 0: both are refused by :meth:`rows`.

    >>> LastSeen(steps=8).words()
    'an adversary who knew exactly where the user was 8 steps before the stream began...'
    """

    kind: ClassVar[str] = "last seen"

    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_int(self.steps, "steps", "LastSeen"))

    def rows(self, model: MarkovModel) -> StartRows:
        """Return one row for each cell in which the user may have been seen."""
        if self.steps == 0:
            return FirstCells(np.arange(model.grid.size), model.grid.size)
        if model.order != 1 or model.period is None:
            why = (
                "a second-order model begins at step 0 with a cell, and one who saw the user "
                "before would know more than that cell"
                if model.order != 1
                else f"a model of {model.horizon} moves says nothing about the time before step 0"
            )
            raise InvalidParameter(
                f"The adversary LastSeen(steps={self.steps}) needs a model that knows how people "
                f"moved before step 0: {why}.",
                hint="Use a model of one matrix or whose matrices repeat, or a known prior.",
            )
        # The move from step -k to -k + 1 is that of the same phase of the cycle.
        moves = tuple(model.transition(-k % model.period) for k in range(self.steps, 0, -1))
        return SeenBefore(moves, model.grid.size)

    def words(self) -> str:
        return (
            f"an adversary who knew exactly where the user was {self.steps} "
            f"step{'s' if self.steps != 1 else ''} before the stream began, and nothing since"
        )

    def to_dict(self) -> dict[str, object]:
        return {"adversary": self.kind, "steps": self.steps}
