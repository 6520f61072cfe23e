"""An adversary who knows that the stream began in one of some cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import cell_numbers
from priste.quantify.adversaries.adversary import Adversary
from priste.quantify.joint_probabilities import Floats
from priste.quantify.lifted import FirstCells

if TYPE_CHECKING:
    from priste.mobility import MarkovModel


@dataclass(frozen=True, eq=False, repr=False)
class StartsIn(Adversary):
    """Every prior on these cells; one at least. ``cells`` is kept as a sorted tuple.

    >>> StartsIn([5, 2]).cells
    (2, 5)
    """

    kind: ClassVar[str] = "starts in"

    cells: tuple[int, ...]

    def __init__(self, cells: object) -> None:
        chosen = cell_numbers(cells, name="cells")  # type: ignore[arg-type]  # checked there
        object.__setattr__(self, "cells", tuple(sorted(chosen)))

    def rows(self, model: MarkovModel) -> FirstCells:
        """Return one row for each of the cells."""
        size = model.grid.size
        if self.cells[-1] >= size:
            raise InvalidParameter(
                f"must be cells 0 to {size - 1} of the model's map",
                parameter="cells",
                owner="StartsIn",
                value=self.cells[-1],
            )
        return FirstCells(np.array(self.cells, dtype=np.int64), size)

    def row_count(self, cells: int) -> int:
        """Return the number of the cells."""
        return len(self.cells)

    def mean_prior(self, cells: int) -> Floats:
        """Return the uniform distribution on the cells."""
        mean = np.zeros(cells)
        mean[list(self.cells)] = 1.0 / len(self.cells)
        return mean

    def words(self) -> str:
        if len(self.cells) == 1:
            return "an adversary who knows the cell in which the stream began"
        return (
            f"an adversary who knows that the stream began in one of {len(self.cells)} given "
            "cells, whatever they believe about which"
        )

    def to_dict(self) -> dict[str, object]:
        return {"adversary": self.kind, "cells": list(self.cells)}

    def __repr__(self) -> str:
        return f"StartsIn({list(self.cells)})"
