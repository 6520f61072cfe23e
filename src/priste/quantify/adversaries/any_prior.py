"""The paper's adversary: every prior over the first cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from priste.quantify.adversaries.adversary import Adversary
from priste.quantify.lifted import FirstCells

if TYPE_CHECKING:
    from priste.mobility import MarkovModel


@dataclass(frozen=True, eq=False)
class AnyPrior(Adversary):
    """Every prior over the first cell. The paper's adversary, and the default of a Quantifier.

    >>> AnyPrior().words()
    'an adversary who may hold any belief about where the stream began'
    """

    kind: ClassVar[str] = "any prior"

    def rows(self, model: MarkovModel) -> FirstCells:
        """Return one row for each cell."""
        return FirstCells(np.arange(model.grid.size), model.grid.size)

    def words(self) -> str:
        return "an adversary who may hold any belief about where the stream began"

    def to_dict(self) -> dict[str, object]:
        return {"adversary": self.kind}
