"""The seam between the release loop and the ways to choose a budget.

A calibrator sees a :class:`~priste.release.PublicState`: the mechanism at full budget, what is
predicted from past releases, and the check. Everything in it is public, that is, a function of
past releases and of parameters that the adversary knows. The true cell is given to ``draw`` alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.quantify import CandidateOperator
from priste.randomness import BitSource

if TYPE_CHECKING:
    from priste.release.public_state import PublicState

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EventOperator:
    """How the joint probabilities of the event with a ``number`` depend on the next release.

    An event has one for each group of rows that may be mixed: one per model where each of several
    models is guarded by itself. For searching: only ``PublicState.passes`` decides.
    """

    number: int
    operator: CandidateOperator


@dataclass(frozen=True, eq=False)
class Draw:
    """What a calibrator drew.

    ``likelihood`` is (m,), the probability of this output at every true cell by the law that the
    check assumed; None means the column of the mechanism at ``budget``. A calibrator
    whose law is not of that form gives the column itself, and it is stored with the release.
    ``hints`` come back as ``PublicState.hints`` at the next step, also after a restart. They are
    stored in the open, so they must not depend on the true cell.
    """

    output: int
    budget: float
    attempts: int = 1
    undecided: int = 0
    likelihood: Floats | None = None
    hints: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Law:
    """The exact law of one release: what the procedure really does at every true cell.

    ``joint[k, l, o]`` is the probability that the budget is ``budgets[k]`` and the output is o
    when the true cell is l. It sums to 1 over k and o, up to rounding. An adversary who sees
    the output alone faces ``outputs()``; one who also sees the budget faces ``pairs()``.
    """

    budgets: tuple[float, ...]
    joint: Floats

    def __post_init__(self) -> None:
        if self.joint.ndim != 3 or self.joint.shape[0] != len(self.budgets):
            raise InvalidParameter(
                "The 'joint' of a Law must be (budgets, cells, outputs) with one layer per budget. "
                f"Got shape {self.joint.shape} for {len(self.budgets)} budgets."
            )
        view = self.joint.view()
        view.flags.writeable = False
        object.__setattr__(self, "joint", view)

    def outputs(self) -> Floats:
        """Return (m, outputs), the law of the output alone."""
        table: Floats = self.joint.sum(axis=0)
        return table

    def pairs(self) -> Floats:
        """Return (m, budgets * outputs), the law of the pair (budget, output), budget first."""
        layers, cells, outputs = self.joint.shape
        return self.joint.transpose(1, 0, 2).reshape(cells, layers * outputs)


@runtime_checkable
class Calibrator(Protocol):
    """A way to choose the budget of each release.

    Calibrators hold parameters and no state: one object may serve many Protectors.
    """

    @property
    def guarantee(self) -> bool:
        """Whether every release keeps what the Protector guarantees, to those who know the code.

        False means that nothing is guaranteed: what was leaked is measured, and may be anything.
        """
        ...

    def draw(self, state: PublicState, cell: int, bits: BitSource) -> Draw:
        """Draw the output for the true cell."""
        ...

    def law(self, state: PublicState) -> Law:
        """Return the exact law of :meth:`draw` at every true cell."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return its parameters for the state file, with its name under "kind"."""
        ...
