"""The law of one release as a table, chosen before anybody looks at the true cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from priste.exact_law import ExactLaw
from priste.randomness import BitSource
from priste.release.calibrator import Draw, Floats, Law

Source = Literal["remap", "certified", "public"]


@dataclass(frozen=True, eq=False)
class Choice:
    """The law of one release, chosen before looking at the cell.

    ``table`` (cells, outputs) holds the very floats that were checked and are drawn from.
    ``cost`` is what the law costs under the public prediction. ``source`` names the
    way that won: "public" is one output wherever the user is.
    """

    table: Floats
    budget: float
    cost: float
    source: Source
    hints: tuple[int, ...]

    def draw(self, cell: int, bits: BitSource) -> Draw:
        """Draw from the table at the true cell."""
        output = ExactLaw(self.table[cell]).draw(bits)
        column = None if self.source == "certified" else np.array(self.table[:, output])
        return Draw(output, self.budget, likelihood=column, hints=self.hints)

    def law(self) -> Law:
        """Return the table as a law of one layer."""
        return Law((self.budget,), self.table[None, :, :])
