"""The loop of the paper, Algorithms 2 and 3, for reproduction and comparison.

Draw at the full budget, check the drawn output, lower the budget and draw again if the check
fails. With a mechanism that uses the predicted location (a δ-location set) this is Algorithm
3: the prediction is the posterior after past releases, pushed one step forward.

**What it does not guarantee.** The check uses the column of the mechanism at the accepted budget.
The distribution of what is released is another one: the mixture over the rejections before it, and
how often an output is rejected depends on the true cell. An adversary who knows the algorithm
learns more than ε; :meth:`RejectionLoop.distribution` computes how much, and
docs/evidence/audits.md measures it. Use ``certified`` to protect people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from priste.arguments import check_float, check_int
from priste.errors import InvalidParameter
from priste.mechanisms import Mechanism
from priste.quantify import Guarantee, JointProbabilities
from priste.randomness import BitSource
from priste.release.accountant import AccountantState, Booleans, Floats
from priste.release.calibrators.spending import finite_budget
from priste.release.release_tables import Draw, OutputDistribution, ReleaseRule

DECAY = 0.5
"""The paper's decay of the budget after a failed check."""

MAX_ATTEMPTS = 30
"""After this many draws the release is uninformative: the 29 before went down to α * 2**-28."""

Checker = Callable[[JointProbabilities, float, float | None], bool | None]
"""``checker(joint, epsilon, seconds)``: True private, False not, None undecided in time."""


class Paper:
    """Draw, check, lower the budget, draw again; no guarantee against those who know the loop.

    ``decay`` in (0, 1) multiplies the budget after a failed check. The draw number
    ``max_attempts`` is made at budget 0, unchecked: it is uninformative and changes no ratio.
    ``checker`` decides instead of the exact check, for example a solver of the paper's quadratic
    programme. ``check_seconds`` is handed to it as its time limit; an undecided check counts
    as failed (the paper's conservative release) and is counted in ``Release.undecided``.
    The exact check needs no limit and ignores it.
    """

    guaranteed = False

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

    def propose(self, state: AccountantState) -> RejectionLoop:
        """Return the loop as it runs after the releases of this state."""
        return RejectionLoop(self, state)

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names; a checker of your own cannot be described."""
        described: dict[str, Any] = {
            "kind": "paper",
            "decay": self._decay,
            "max_attempts": self._max_attempts,
            "check_seconds": self._check_seconds,
        }
        if self._checker is not None:
            described["kind"] = "paper with a checker"
        return described

    def verdict(self, state: AccountantState, column: Floats) -> bool | None:
        """Decide about one drawn output: True private, False not, None undecided in time."""
        if self._checker is None:
            return bool(state.passes(column[:, None])[0])
        undecided = False
        for joint, guarantee in state.joint_probabilities(column):
            verdict = self._checker(joint, _plain(guarantee, state), self._check_seconds)
            if verdict is False:
                return False
            undecided |= verdict is None
        return None if undecided else True

    def accepted(self, state: AccountantState, table: Floats) -> Booleans:
        """Return (outputs,) which outputs of an emission matrix the check accepts."""
        possible = table.any(axis=0)
        accepted = np.zeros(table.shape[1], dtype=bool)
        if self._checker is None:
            accepted[possible] = state.passes(table[:, possible])
        else:
            for output in np.flatnonzero(possible):
                accepted[output] = self.verdict(state, table[:, output]) is True
        return accepted


class RejectionLoop(ReleaseRule):
    """Draw until a check passes or the budget has reached 0."""

    def __init__(self, paper: Paper, state: AccountantState) -> None:
        self._paper = paper
        self._state = state
        self._budgets = paper.budgets(state.mechanism)

    def draw(self, cell: int, bits: BitSource) -> Draw:
        """Draw until a check passes or the budget has reached 0."""
        undecided = 0
        for attempt, budget in enumerate(self._budgets[:-1], start=1):
            mechanism = self._state.mechanism_at(budget)
            output = mechanism.sample(cell, bits)
            column = mechanism.likelihood(output)
            verdict = self._paper.verdict(self._state, column)
            if verdict:
                return Draw(output, budget, np.array(column), attempt, undecided)
            undecided += verdict is None
        output = self._state.mechanism_at(0.0).sample(cell, bits)
        return replace(self.outcome(output, 0.0), attempts=len(self._budgets), undecided=undecided)

    def outcome(self, output: int, budget: float) -> Draw:
        """Return the draw of this output, with the likelihood that the loop counts for it."""
        return Draw(output, budget, np.array(self._state.mechanism_at(budget).likelihood(output)))

    def distribution(self) -> OutputDistribution:
        """Return the true distribution, one layer per attempt, including all rejections.

        ``joint[k, l, o]`` is the chance of being rejected k times and then accepted with o. With a
        time-limited checker it is that of the verdicts it gives when asked here.
        """
        layers = [
            reached[:, None] * np.where(accepted, table, 0.0)
            for _, reached, table, accepted in self._levels(self._budgets)
        ]
        return OutputDistribution(self._budgets, np.stack(layers))

    def likelihood(self, output: int, budget: float) -> Floats:
        """Return (m,), the true probability at every cell that this output comes at this budget.

        One column of :meth:`distribution`; only the levels above the budget are worked out.
        """
        if budget not in self._budgets:
            raise InvalidParameter(
                "must be one at which this loop draws",
                parameter="budget",
                owner="Paper",
                value=budget,
            )
        upto = self._budgets[: self._budgets.index(budget) + 1]
        *_, (_, reached, table, accepted) = self._levels(upto)
        return np.asarray(reached * table[:, output] * accepted[output])

    def _levels(
        self, budgets: tuple[float, ...]
    ) -> Iterator[tuple[float, Floats, Floats, Booleans]]:
        """Yield per draw: its budget, the chance (m,) to come to it, its table, what it accepts."""
        reached = np.ones(self._state.mechanism.grid.size)
        for budget in budgets:
            table = self._state.mechanism_at(budget).emission()
            if budget == 0.0:
                accepted = np.ones(table.shape[1], dtype=bool)
            else:
                accepted = self._paper.accepted(self._state, table)
            yield budget, reached, table, accepted
            reached = reached * table[:, ~accepted].sum(axis=1)


def _plain(guarantee: Guarantee, state: AccountantState) -> float:
    """Return the ε that a checker can decide about: both directions, any mixture of rows."""
    if guarantee.belief_cap is not None or guarantee.up != guarantee.down:
        raise InvalidParameter(
            "must be one ε for both directions where a 'checker' decides",
            parameter="guarantee",
            owner="Paper",
            value=guarantee,
        )
    if not state.terms.adversary.every_mixture:
        raise InvalidParameter(
            "must be one of which every mixture of its rows counts where a 'checker' decides",
            parameter="adversary",
            owner="Paper",
            value=state.terms.adversary,
            hint="Use the exact check, or KnownPrior(prior).",
        )
    return guarantee.up
