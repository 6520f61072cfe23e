"""A release procedure seen from outside: its public states, its laws, and where each leads.

The adversary who knows the code knows all of this. After every release that he sees with its
budget he can compute the exact law of the next one, rejections and fallbacks included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.quantify import Adversary, Guarantee
from priste.randomness import BitSource, bit_source
from priste.release import Draw, Law, Protector, PublicState, Terms

Floats = NDArray[np.float64]

KEPT_BYTES = 2**28
"""How much memory public states and laws may take that are kept for repeated runs: 256 MiB."""


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


class Node:
    """A public state, with the law of the next release and the states after it."""

    def __init__(self, state: PublicState, room: list[int]) -> None:
        self.state = state
        self._room = room
        self._law: Law | None = None
        self._probe: Draw | None = None
        self._after: dict[tuple[int, int], Node] = {}

    def law(self) -> Law:
        """Return the exact law of the release of this state, computed once."""
        if self._law is None:
            self._law = self.state.law()
        return self._law

    def after(self, layer: int, output: int) -> Node:
        """Return the state after ``output`` was released at budget number ``layer`` of the law."""
        return self._grown(layer, output, self._probed())

    def taken(self, drawn: Draw) -> Node:
        """Return the state after a draw; kept for the next run that comes this way."""
        layer = self.layer_of(drawn.budget)
        known = self._after.get((layer, drawn.output))
        if known is not None:
            return known
        node = self._grown(layer, drawn.output, drawn)
        size = self._size()
        if self._room[0] >= size:
            self._room[0] -= size
            self._after[layer, drawn.output] = node
        return node

    def layer_of(self, budget: float) -> int:
        """Return the number of a budget in the law."""
        return self.law().budgets.index(budget)

    def nominal(self, layer: int, output: int, drawn: Draw | None = None) -> Floats:
        """Return (m,), the column that the procedure observes for this release."""
        drawn = self._probed() if drawn is None else drawn
        if drawn.likelihood is None:
            return self.state.column(output, self.law().budgets[layer])
        return np.array(self.law().joint[layer, :, output])

    def _grown(self, layer: int, output: int, drawn: Draw) -> Node:
        state = self.state.copy()
        column = self.nominal(layer, output, drawn)
        state.advance(column, self.law().budgets[layer], hints=drawn.hints)
        return Node(state, self._room)

    def _size(self) -> int:
        """Return roughly how many bytes a state like this and its law take."""
        terms = self.state.terms
        worlds = sum(event.automaton().width for event in terms.events) * len(terms.models)
        states = max(model.states(1) for model in terms.models)
        return self.law().joint.nbytes + 16 * terms.mechanism.grid.size * states * worlds

    def _probed(self) -> Draw:
        # What a draw leaves for the next step is public (see Draw), so any cell shows it.
        if self._probe is None:
            self._probe = self.state.terms.calibrator.draw(self.state, 0, bit_source(0))
        return self._probe


class Procedure:
    """The whole release procedure of a Protector that has released nothing yet."""

    def __init__(self, protector: Protector) -> None:
        state = protector.public_state()
        if state.step != 0:
            raise InvalidParameter(
                "The audit of a procedure begins before its first release. Got a Protector at step "
                f"{state.step}. Give a new one with the same terms."
            )
        self.start = Node(state, [KEPT_BYTES])

    @property
    def terms(self) -> Terms:
        """What the stream is released under."""
        return self.start.state.terms

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is guaranteed about each event."""
        return self.terms.guarantees

    def adversary(self, adversary: Adversary | None) -> Adversary:
        """Return whom leakages are against; the Protector's own adversary unless given."""
        return self.terms.adversary if adversary is None else adversary

    def run(self, trajectory: Sequence[int] | NDArray[np.int64], bits: BitSource) -> Run:
        """Draw one run along true cells, with the calibrator's own ``draw``.

        Repeated runs share the laws of states they have in common.
        """
        node = self.start
        outputs, budgets, exact, nominal = [], [], [], []
        for cell in trajectory:
            drawn = self.terms.calibrator.draw(node.state, int(cell), bits)
            layer = node.layer_of(drawn.budget)
            outputs.append(drawn.output)
            budgets.append(drawn.budget)
            exact.append(np.array(node.law().joint[layer, :, drawn.output]))
            nominal.append(node.nominal(layer, drawn.output, drawn))
            node = node.taken(drawn)
        return Run(
            tuple(int(cell) for cell in trajectory),
            tuple(outputs),
            tuple(budgets),
            tuple(exact),
            tuple(nominal),
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
                f"The event must be one of {list(self.terms.event_names)}. Got {name!r}."
            )
        return self.terms.event_names.index(name)
