"""The seam between the release loop and the ways to choose a budget.

A calibrator sees a :class:`Situation`: the mechanism at full budget, what is predicted from
past releases, and the check. Everything in it is public, that is, a function of past releases
and of parameters that the adversary knows. The true cell is given to ``draw`` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.quantify import Moments
from priste.randomness import BitSource

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


class Situation(Protocol):
    """What a calibrator may know before a step; all of it is public."""

    @property
    def step(self) -> int:
        """The step to be released."""
        ...

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism at its full budget, made for the predicted location if it uses that."""
        ...

    @property
    def last_budget(self) -> float | None:
        """The budget of the last step that was not silent; None before the first."""
        ...

    @property
    def hints(self) -> tuple[int, ...]:
        """The ``hints`` of the last draw: public numbers a calibrator left for itself."""
        ...

    @property
    def leakage(self) -> tuple[float, ...]:
        """The leakage so far, one entry per event."""
        ...

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The bounds, one per event."""
        ...

    def at(self, budget: float) -> Mechanism:
        """Return the mechanism at a lower budget; recent ones are kept with their tables."""
        ...

    def predicted(self) -> Floats:
        """Return (m,), the probability of each cell given past releases and the public prior."""
        ...

    def passes(self, columns: Floats, limits: Sequence[float] | None = None) -> Booleans:
        """Tell for candidate columns (m, k) whether each keeps every event within its ε.

        ``limits`` are bounds to use instead, one per event.

        Exact up to rounding, against every prior and for every guarded model. Doubt is False.
        """
        ...

    def moments(self, column: Floats) -> Iterator[tuple[Moments, float]]:
        """Yield the four quantities after a candidate column (m,), and ε, per event and model."""
        ...

    def operators(self) -> Iterator[EventOperator]:
        """Yield what turns a candidate column into its quantities, per event and model."""
        ...


@dataclass(frozen=True, eq=False)
class EventOperator:
    """How the joint probabilities of an event depend on the next release, under one model.

    For a column e (m,) and row i (a first cell): ``b_i = (event @ e)_i * 2**exponent_i`` and
    ``d_i = (complement @ e)_i * 2**exponent_i``; ``prior_event`` is a, ``prior_complement`` ā, and
    ``number`` the place of the event. For searching: only ``Situation.passes`` decides.
    """

    number: int
    prior_event: Floats
    prior_complement: Floats
    event: Floats
    complement: Floats
    exponent: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Draw:
    """What a calibrator drew.

    ``likelihood`` is (m,), the probability of this output at every true cell by the law that the
    check assumed; None means the column of the mechanism at ``budget``. A calibrator
    whose law is not of that form gives the column itself, and it is stored with the release.
    ``hints`` come back as ``Situation.hints`` at the next step, also after a restart. They are
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

    def draw(self, situation: Situation, cell: int, bits: BitSource) -> Draw:
        """Draw the output for the true cell."""
        ...

    def law(self, situation: Situation) -> Law:
        """Return the exact law of :meth:`draw` at every true cell."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return its parameters for the state file, with its name under "kind"."""
        ...


NEARLY_EXACT = 32.0
"""In units of 1 / cell size: a planar Laplace at this budget almost always keeps the cell."""


def finite_budget(mechanism: Mechanism) -> float:
    """Return the budget from which a search walks down: the mechanism's own, if it is finite.

    The family of an exact release has an infinite budget at its end; below it the search begins
    at ``NEARLY_EXACT`` divided by the cell size.
    """
    if math.isinf(mechanism.budget):
        return NEARLY_EXACT / mechanism.grid.cell_size
    return mechanism.budget


def paced_limits(situation: Situation, pace: float) -> list[float]:
    """Return per event the bound for this step: what was leaked, and ``pace`` of what is left."""
    return [
        leaked + pace * (epsilon - leaked) if leaked < epsilon else epsilon
        for leaked, epsilon in zip(situation.leakage, situation.epsilons, strict=True)
    ]


_MAKERS: dict[str, Callable[..., Calibrator]] = {}


def register(kind: str, maker: Callable[..., Calibrator]) -> None:
    """Make a calibrator known by name; ``maker`` takes the other entries of ``describe()``."""
    _MAKERS[kind] = maker


def named(kind: str) -> Calibrator:
    """Return the calibrator of this name with its default parameters."""
    return from_description({"kind": kind})


def from_description(description: dict[str, Any]) -> Calibrator:
    """Return the calibrator that ``describe()`` described."""
    parameters = dict(description)
    kind = parameters.pop("kind", None)
    if kind not in _MAKERS:
        raise InvalidParameter(
            f"The 'calibrator' must be one of {sorted(_MAKERS)} or an object with draw(), law() "
            f"and describe(). Got {kind!r}."
        )
    return _MAKERS[kind](**parameters)
