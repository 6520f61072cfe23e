"""The loop of the paper, Algorithms 2 and 3, for reproduction and comparison.

Draw at the full budget, check the drawn output, lower the budget and draw again if the check
fails. With a mechanism that uses the predicted location (a δ-location set) this is Algorithm
3: the prediction is the posterior after past releases, pushed one step forward.

**What it does not guarantee.** The check uses the column of the mechanism at the accepted budget.
The law of what is released is another one: the mixture over the rejections before it, and how
often an output is rejected depends on the true cell. An adversary who knows the algorithm
learns more than ε; :meth:`Paper.law` computes how much, and docs/release.md shows it. Use
``certified`` to protect people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from priste.arguments import check_float, check_int
from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.quantify import BeliefBound, Guarantee, JointProbabilities, PriorsWithin
from priste.randomness import BitSource
from priste.release.calibrator import Booleans, Draw, Floats, Law
from priste.release.calibrators.pacing import finite_budget

if TYPE_CHECKING:
    from priste.release.public_state import PublicState

DECAY = 0.5
"""The paper's decay of the budget after a failed check."""

MAX_ATTEMPTS = 30
"""After this many draws the release is uninformative: the 29 before went down to α * 2**-28."""

Checker = Callable[[JointProbabilities, float, float | None], bool | None]
"""``checker(moments, epsilon, seconds)``: True private, False not, None undecided in time."""


class Paper:
    """Draw, check, lower the budget, draw again; no guarantee against those who know the loop.

    ``decay`` in (0, 1) multiplies the budget after a failed check. The draw number
    ``max_attempts`` is made at budget 0, unchecked: it is uninformative and changes no ratio.
    ``checker`` decides instead of the exact check, for example a solver of the paper's quadratic
    programme. ``check_seconds`` is handed to it as its time limit; an undecided check counts
    as failed (the paper's conservative release) and is counted in ``Release.undecided``.
    The exact check needs no limit and ignores it.
    """

    guarantee = False

    def __init__(
        self,
        *,
        decay: float = DECAY,
        max_attempts: int = MAX_ATTEMPTS,
        check_seconds: float | None = None,
        checker: Checker | None = None,
    ) -> None:
        self._decay = check_float(decay, "decay", "Paper", above=0.0, below=1.0)
        self._max_attempts = check_int(max_attempts, "max_attempts", "Paper", least=1, most=10_000)
        self._check_seconds = check_seconds
        if check_seconds is not None:
            hint = "None is no limit."
            self._check_seconds = check_float(
                check_seconds, "check_seconds", "Paper", above=0.0, hint=hint
            )
        self._checker = checker

    def budgets(self, mechanism: Mechanism) -> tuple[float, ...]:
        """Return the budgets of the draws in order; the last is 0."""
        exact = (mechanism.budget,) if math.isinf(mechanism.budget) else ()
        top = finite_budget(mechanism)
        falling = (top * self._decay**k for k in range(self._max_attempts))
        checked = (*exact, *(budget for budget in falling if budget > 0.0))
        return (*checked[: self._max_attempts - 1], 0.0)

    def draw(self, state: PublicState, cell: int, bits: BitSource) -> Draw:
        """Draw until a check passes or the budget has reached 0."""
        undecided = 0
        budgets = self.budgets(state.mechanism)
        for attempt, budget in enumerate(budgets[:-1], start=1):
            mechanism = state.at(budget)
            output = mechanism.sample(cell, bits)
            verdict = self._verdict(state, mechanism.column(output))
            if verdict:
                return Draw(output, budget, attempt, undecided)
            undecided += verdict is None
        output = state.at(0.0).sample(cell, bits)
        return Draw(output, 0.0, len(budgets), undecided)

    def law(self, state: PublicState) -> Law:
        """Return the true law, one layer per attempt, including all rejections.

        ``joint[k, l, o]`` is the chance of being rejected k times and then accepted with o. With a
        time-limited checker the law is that of the verdicts it gives when asked here.
        """
        budgets = self.budgets(state.mechanism)
        layers = []
        for _, reached, table, accepted in self._levels(state, budgets):
            layers.append(reached[:, None] * np.where(accepted, table, 0.0))
        return Law(budgets, np.stack(layers))

    def likelihood(self, state: PublicState, output: int, budget: float) -> Floats:
        """Return (m,), the true probability at every cell that this output comes at this budget.

        One column of :meth:`law`; only the levels above the budget have to be worked out.
        """
        budgets = self.budgets(state.mechanism)
        if budget not in budgets:
            raise InvalidParameter(
                f"The 'budget' must be one at which this loop draws. Got {budget!r}."
            )
        upto = budgets[: budgets.index(budget) + 1]
        *_, (_, reached, table, accepted) = self._levels(state, upto)
        return np.asarray(reached * table[:, output] * accepted[output])

    def _levels(
        self, state: PublicState, budgets: tuple[float, ...]
    ) -> Iterator[tuple[float, Floats, Floats, Booleans]]:
        """Yield per draw: its budget, the chance (m,) to come to it, its table, what it accepts."""
        reached = np.ones(state.mechanism.grid.size)
        for budget in budgets:
            table = state.at(budget).emission()
            if budget == 0.0:
                accepted = np.ones(table.shape[1], dtype=bool)
            else:
                accepted = self._accepted(state, table)
            yield budget, reached, table, accepted
            reached = reached * table[:, ~accepted].sum(axis=1)

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names; a checker of one's own cannot be described."""
        described: dict[str, Any] = {
            "kind": "paper",
            "decay": self._decay,
            "max_attempts": self._max_attempts,
            "check_seconds": self._check_seconds,
        }
        if self._checker is not None:
            described["kind"] = "paper with a checker"
        return described

    def _verdict(self, state: PublicState, column: Floats) -> bool | None:
        if self._checker is None:
            return bool(state.passes(column[:, None])[0])
        undecided = False
        for moments, guarantee in state.moments(column):
            verdict = self._checker(moments, _plain(guarantee, state), self._check_seconds)
            if verdict is False:
                return False
            undecided |= verdict is None
        return None if undecided else True

    def _accepted(self, state: PublicState, table: Floats) -> Booleans:
        possible = table.any(axis=0)
        accepted = np.zeros(table.shape[1], dtype=bool)
        if self._checker is None:
            accepted[possible] = state.passes(table[:, possible])
        else:
            for output in np.flatnonzero(possible):
                accepted[output] = self._verdict(state, table[:, output]) is True
        return accepted


def _plain(guarantee: Guarantee, state: PublicState) -> float:
    """Return the ε that a checker can decide about: both directions, any mixture of rows."""
    if isinstance(guarantee, BeliefBound) or guarantee.up != guarantee.down:
        raise InvalidParameter(
            f"A 'checker' of Paper decides about one ε for both directions. Got {guarantee!r}."
        )
    if isinstance(state.terms.adversary, PriorsWithin):
        raise InvalidParameter(
            "A 'checker' of Paper decides about all mixtures of some rows; the adversary "
            "PriorsWithin means fewer. Use the exact check, or KnownPrior(prior)."
        )
    return guarantee.up
