"""The law of one release as the columns of the outputs that it uses, and no others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.exact_law import ExactLaw
from priste.mechanisms.mechanism import refuse_large_table
from priste.randomness import BitSource
from priste.release.calibrator import Draw, Floats, Law

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ColumnLaw:
    """A law chosen before anybody looks at the true cell.

    ``table`` (cells, k) holds the very floats that were checked and are drawn from; ``outputs``
    (k,) tells which output each column belongs to, each at most once, out of ``width``. All
    others have probability 0 from every cell. ``cost`` is what the law costs under the public
    prediction. ``column_of_budget`` tells that columns are those of the mechanism at ``budget``,
    so that a journal need not store them.
    """

    table: Floats
    outputs: Integers
    width: int
    budget: float
    cost: float
    column_of_budget: bool = False
    hints: tuple[int, ...] = ()

    @classmethod
    def public(cls, output: int, cells: int, width: int, cost: float) -> ColumnLaw:
        """Return the law that releases one output wherever the user is: it says nothing."""
        return cls(np.ones((cells, 1)), np.array([output]), width, 0.0, cost)

    @property
    def says_nothing(self) -> bool:
        """Whether there is one output only."""
        return len(self.outputs) == 1

    def draw(self, cell: int, bits: BitSource) -> Draw:
        """Draw from the row of the true cell."""
        place = ExactLaw(self.table[cell]).draw(bits)
        column = None if self.column_of_budget else np.array(self.table[:, place])
        return Draw(int(self.outputs[place]), self.budget, likelihood=column, hints=self.hints)

    def law(self) -> Law:
        """Return the whole table of one layer; refused where it would be too large."""
        cells = len(self.table)
        refuse_large_table("the law of this release", cells, self.width)
        whole = np.zeros((1, cells, self.width))
        whole[0][:, self.outputs] = self.table
        return Law((self.budget,), whole)
