"""Calibrators that break their guarantee, each in a way that has happened to somebody."""

from __future__ import annotations

from priste.release import Certified, Draw, Law, PublicState


class _Lying:
    """What all of them share: a law that they claim and do not follow."""

    guarantee = True

    def law(self, situation) -> Law:
        return Certified(guess=False).law(situation)

    def describe(self) -> dict:
        return {"kind": type(self).__name__}


class BudgetFromTruth(_Lying):
    """Takes the full budget outside the sensitive cells and none inside: the budget betrays."""

    def __init__(self, sensitive: set[int]) -> None:
        self._sensitive = sensitive

    def draw(self, situation, cell, bits) -> Draw:
        budget = 0.0 if cell in self._sensitive else situation.mechanism.budget
        return Draw(situation.at(budget).sample(cell, bits), budget)


class ForgetsToObserve(_Lying):
    """Checks every release as if it were the first one."""

    def __init__(self) -> None:
        self._budget: float | None = None

    def draw(self, situation, cell, bits) -> Draw:
        if self._budget is None:
            self._budget = Certified(guess=False).budget(PublicState(situation.terms))
        return Draw(situation.at(self._budget).sample(cell, bits), self._budget)


class ChecksOnlyTheDrawn(_Lying):
    """Draws at full budget and falls back to nothing if the drawn output fails: denials leak."""

    def draw(self, situation, cell, bits) -> Draw:
        full = situation.mechanism
        output = full.sample(cell, bits)
        if situation.passes(full.column(output)[:, None])[0]:
            return Draw(output, full.budget)
        return Draw(situation.at(0.0).sample(cell, bits), 0.0)


class LeaksNowAndThen(ForgetsToObserve):
    """Right for one step, but one release in two is the true cell: a debugging path left in."""

    def draw(self, situation, cell, bits) -> Draw:
        drawn = super().draw(situation, cell, bits)
        return Draw(cell, drawn.budget) if bits.below(2) == 0 else drawn
