"""Calibrators that break their guarantee, each in a way that has happened to somebody.

Each claims the distribution of a checked table and draws otherwise.
"""

from __future__ import annotations

import numpy as np

from priste.release import (
    AccountantState,
    Certified,
    CheckedTable,
    Draw,
    OutputDistribution,
    ReleaseRule,
)

SOUND = Certified(guess=False)


class LyingRule(ReleaseRule):
    """Draw as ``drawing(state, cell, bits)`` does and claim the distribution of a checked table."""

    def __init__(self, state: AccountantState, drawing) -> None:
        self._state = state
        self._drawing = drawing
        self._claimed = SOUND.propose(state)

    def draw(self, cell, bits) -> Draw:
        return self._drawing(self._state, cell, bits)

    def distribution(self) -> OutputDistribution:
        return self._claimed.distribution()

    def outcome(self, output: int, budget: float) -> Draw:
        return self._claimed.outcome(output, budget)


class _Lying:
    """What all of them share."""

    guaranteed = False

    def propose(self, state: AccountantState) -> ReleaseRule:
        return LyingRule(state, self.drawn)

    def describe(self) -> dict:
        return {"kind": type(self).__name__}


def from_mechanism(state: AccountantState, budget: float, cell: int, bits) -> Draw:
    mechanism = state.mechanism_at(budget)
    output = mechanism.sample(cell, bits)
    return Draw(output, budget, np.array(mechanism.likelihood(output)))


class BudgetFromTruth(_Lying):
    """Takes the full budget outside the sensitive cells and none inside: the budget betrays."""

    def __init__(self, sensitive: set[int]) -> None:
        self._sensitive = sensitive

    def drawn(self, state, cell, bits) -> Draw:
        budget = 0.0 if cell in self._sensitive else state.mechanism.budget
        return from_mechanism(state, budget, cell, bits)


class ForgetsToObserve(_Lying):
    """Checks every release as if it were the first one."""

    def __init__(self) -> None:
        self._first: CheckedTable | None = None

    def drawn(self, state, cell, bits) -> Draw:
        if self._first is None:
            self._first = SOUND.propose(AccountantState.first(state.terms))
        return self._first.draw(cell, bits)


class ChecksOnlyTheDrawn(_Lying):
    """Draws at full budget and falls back to nothing if the drawn output fails: denials leak."""

    def drawn(self, state, cell, bits) -> Draw:
        full = from_mechanism(state, state.mechanism.budget, cell, bits)
        if state.passes(full.likelihood[:, None])[0]:
            return full
        return from_mechanism(state, 0.0, cell, bits)


class LeaksNowAndThen(ForgetsToObserve):
    """Right for one step, but one release in two is the true cell: a debugging path left in."""

    def drawn(self, state, cell, bits) -> Draw:
        drawn = super().drawn(state, cell, bits)
        if bits.below(2):
            return drawn
        return Draw(cell, drawn.budget, np.array(state.mechanism.likelihood(cell)))
