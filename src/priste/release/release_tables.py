"""Release tables: how one output is drawn; chosen without the true cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.mechanisms.mechanism import refuse_large_table
from priste.randomness import BitSource, ExactDistribution

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Draw:
    """One output and what the accountant counts for it.

    ``likelihood`` (m,) is P(output | cell) as the check assumed it. ``hints`` come back as
    ``AccountantState.hints`` at the next step, also after a restart. They are stored in the open,
    so they must not depend on the true cell. ``attempts`` and ``undecided`` count the draws and
    the undecided checks of the paper's loop.
    """

    output: int
    budget: float
    likelihood: Floats
    attempts: int = 1
    undecided: int = 0
    hints: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class OutputDistribution:
    """The exact distribution of one release at every true cell.

    ``joint[k, l, o]`` is the probability that the budget is ``budgets[k]`` and the output is o
    when the true cell is l. It sums to 1 over k and o, up to rounding. An adversary who sees
    only the output faces ``outputs()``; one who also sees the budget faces ``pairs()``.
    """

    budgets: tuple[float, ...]
    joint: Floats

    def __post_init__(self) -> None:
        if self.joint.ndim != 3 or self.joint.shape[0] != len(self.budgets):
            raise InvalidParameter(
                "must be (budgets, cells, outputs) with one layer per budget",
                parameter="joint",
                owner="an OutputDistribution",
                got=f"shape {self.joint.shape} for {len(self.budgets)} budgets",
            )
        view = self.joint.view()
        view.flags.writeable = False
        object.__setattr__(self, "joint", view)

    def outputs(self) -> Floats:
        """Return (m, outputs), the distribution of the output without the budget."""
        table: Floats = self.joint.sum(axis=0)
        return table

    def pairs(self) -> Floats:
        """Return (m, budgets * outputs), the distribution of (budget, output), budget first."""
        layers, cells, outputs = self.joint.shape
        return self.joint.transpose(1, 0, 2).reshape(cells, layers * outputs)


class ReleaseRule(ABC):
    """How the output of one step is drawn. A function of public things, made by a calibrator."""

    @abstractmethod
    def draw(self, cell: int, bits: BitSource) -> Draw:
        """Draw the output for the true cell."""

    @abstractmethod
    def distribution(self) -> OutputDistribution:
        """Return the exact distribution of :meth:`draw` at every true cell."""

    def chances(self, cell: int) -> Floats:
        """Return (outputs,), the chance of each output at one true cell."""
        return np.asarray(self.distribution().outputs()[cell])

    @abstractmethod
    def outcome(self, output: int, budget: float) -> Draw:
        """Return what :meth:`draw` returns when it draws this output at this budget."""


@dataclass(frozen=True, eq=False)
class ReleaseTable:
    """A proposal: columns of likelihoods, and the output that each of them stands for.

    ``likelihoods`` (cells, k) holds P(output | cell), the very floats that are drawn from;
    ``outputs`` (k,) says which output each column belongs to, each at most once, out of
    ``width``. All other outputs have probability 0 at every cell. ``budget`` is the dial at which
    the mechanism runs, ``cost`` the expected cost under the public prediction (nan if unknown).
    """

    likelihoods: Floats
    outputs: Integers
    width: int
    budget: float
    cost: float = float("nan")
    hints: tuple[int, ...] = ()

    @classmethod
    def constant(cls, output: int, cells: int, width: int, cost: float) -> ReleaseTable:
        """Return the table that releases one output whatever the true cell."""
        return cls(np.ones((cells, 1)), np.array([output]), width, 0.0, cost)

    @property
    def uninformative(self) -> bool:
        """Whether every column is the same number at every cell."""
        return bool((self.likelihoods == self.likelihoods[:1]).all())


class _TableRule(ReleaseRule):
    """Draw from the row of the true cell of a table."""

    def __init__(self, table: ReleaseTable) -> None:
        self.table = table

    def draw(self, cell: int, bits: BitSource) -> Draw:
        """Draw from the row of the true cell, with exactly the probabilities of its floats."""
        return self._drawn(ExactDistribution(self.table.likelihoods[cell]).draw(bits))

    def outcome(self, output: int, budget: float) -> Draw:
        """Return the draw of this output; its column must be in the table."""
        (places,) = np.nonzero(self.table.outputs == output)
        if len(places) != 1 or budget != self.table.budget:
            raise InvalidParameter(
                "must be one of this table, at its budget",
                parameter="output",
                owner="a release table",
                value=output,
            )
        return self._drawn(int(places[0]))

    def _drawn(self, place: int) -> Draw:
        table = self.table
        return Draw(
            int(table.outputs[place]),
            table.budget,
            np.array(table.likelihoods[:, place]),
            hints=table.hints,
        )

    def chances(self, cell: int) -> Floats:
        """Return (outputs,), the chance of each output at one true cell."""
        found = np.zeros(self.table.width)
        found[self.table.outputs] = self.table.likelihoods[cell]
        return found

    def distribution(self) -> OutputDistribution:
        """Return the table over all outputs as one layer; refused where it would be too large."""
        table = self.table
        cells = len(table.likelihoods)
        refuse_large_table("the distribution of this release", cells, table.width)
        joint = np.zeros((1, cells, table.width))
        joint[0][:, table.outputs] = table.likelihoods
        return OutputDistribution((table.budget,), joint)


class CheckedTable(_TableRule):
    """A table every column of which keeps every guarantee, after the releases of one state.

    Only ``AccountantState`` makes it, by ``check`` or, for one output whatever the true cell, by
    ``constant``, and only for itself: the table that was checked is the table that is drawn from.
    Theorem 2 of docs/explanation/proofs.md relies on this.
    """

    def __init__(self, table: ReleaseTable, checked_by: object) -> None:
        super().__init__(table)
        self.checked_by = checked_by


class UncheckedTable(_TableRule):
    """The table of a mechanism, without a check and so without a guarantee."""

    @classmethod
    def of(cls, mechanism: Mechanism) -> UncheckedTable:
        """Return the emission matrix of a mechanism as a rule."""
        outputs = np.arange(mechanism.outputs)
        return cls(ReleaseTable(mechanism.emission(), outputs, mechanism.outputs, mechanism.budget))
