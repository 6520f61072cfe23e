"""A release procedure seen from outside: its states, their tables, and where each output leads.

The adversary who knows the code knows all of this. After every release that is seen with its
budget, the exact distribution of the next one can be computed, rejections and fallbacks included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.quantify import Adversary, Guarantee
from priste.randomness import BitSource
from priste.release import Protector, StreamTree, Terms

Floats = NDArray[np.float64]

KEPT_BYTES = 2**28
"""How much memory the states that are kept for repeated runs may take: 256 MiB."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a procedure along a true trajectory.

    ``likelihoods[t]`` is (m,), the exact probability of the pair (budget, output) of step t at
    every true cell, given the pairs before: what an adversary who knows the code and sees the
    budgets observes. ``nominal[t]`` is what the procedure itself took into account.
    """

    trajectory: tuple[int, ...]
    outputs: tuple[int, ...]
    budgets: tuple[float, ...]
    likelihoods: tuple[Floats, ...]
    nominal: tuple[Floats, ...]


class Procedure:
    """The whole release procedure of a Protector that has released nothing yet."""

    def __init__(self, protector: Protector) -> None:
        state = protector.state
        if state.step != 0:
            raise InvalidParameter(
                "must be before its first release",
                parameter="protector",
                owner="the audit of a procedure",
                got=f"a Protector at step {state.step}",
                hint="Give a new one with the same terms.",
            )
        tree = StreamTree.of(state.terms, protector.calibrator, memory=KEPT_BYTES, eager=True)
        self.start = tree.root

    @property
    def terms(self) -> Terms:
        """What the stream is released under."""
        return self.start.state.terms

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is guaranteed about each event."""
        return self.terms.guarantees

    def adversary(self, adversary: Adversary | None) -> Adversary:
        """Return the adversary of the leakages: the Protector's own unless given."""
        return self.terms.adversary if adversary is None else adversary

    def run(self, trajectory: Sequence[int] | NDArray[np.int64], bits: BitSource) -> Run:
        """Draw one run along true cells, as the Protector would.

        Repeated runs share the nodes they have in common.
        """
        node = self.start
        draws, exact = [], []
        for cell in trajectory:
            drawn = node.rule.draw(int(cell), bits)
            draws.append(drawn)
            layer = node.distribution.budgets.index(drawn.budget)
            exact.append(np.array(node.distribution.joint[layer, :, drawn.output]))
            node = node.after(drawn)
        return Run(
            tuple(int(cell) for cell in trajectory),
            tuple(drawn.output for drawn in draws),
            tuple(drawn.budget for drawn in draws),
            tuple(exact),
            tuple(drawn.likelihood for drawn in draws),
        )

    def prior(self, prior: Floats | None) -> Floats:
        """Return a prior over the first cell; uniform unless given."""
        cells = self.terms.mechanism.grid.size
        if prior is None:
            return np.full(cells, 1.0 / cells)
        return np.asarray(prior, dtype=np.float64)

    def event_number(self, name: str | None) -> int:
        """Return the place of a named event; None means the only or first one."""
        if name is None:
            return 0
        if name not in self.terms.event_names:
            raise InvalidParameter(
                f"must be one of {list(self.terms.event_names)}", parameter="event", value=name
            )
        return self.terms.event_names.index(name)
