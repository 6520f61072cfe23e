"""The rows of an adversary in fractions, by walking every path of every model."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tests.oracles.path_enumeration import PathEnumeration, exact_rows

from priste.events import Event
from priste.mobility import MarkovModel
from priste.quantify import Adversary, AnyPrior, KnownPrior, LastSeen, PriorsWithin

ExactRow = tuple[Fraction, Fraction, Fraction, Fraction]


def start_distributions(model: MarkovModel, adversary: Adversary) -> list[list[Fraction]]:
    """The distributions of the first cell that the adversary mixes."""
    cells = range(model.grid.size)
    if isinstance(adversary, KnownPrior):
        return [[Fraction(float(x)) for x in row] for row in adversary.priors]
    chosen = cells if isinstance(adversary, AnyPrior | LastSeen | PriorsWithin) else adversary.cells
    rows = [[Fraction(int(cell == start)) for cell in cells] for start in chosen]
    if isinstance(adversary, LastSeen):
        for back in range(adversary.steps, 0, -1):
            matrix = exact_rows(model.transition(-back % model.period).toarray(), normalise=True)
            rows = [[sum(row[i] * matrix[i][j] for i in cells) for j in cells] for row in rows]
    return rows


def adversary_rows(
    models: Sequence[MarkovModel],
    event: Event,
    columns: Sequence[Sequence[float] | None],
    adversary: Adversary,
    steps: int,
) -> list[ExactRow]:
    """(a, ā, b, d) of each row of each model."""
    found = []
    for model in models:
        by_cell = PathEnumeration(model, max(len(columns), steps)).joint(event, columns)
        for weights in start_distributions(model, adversary):
            mixed = (
                sum((w * row[k] for w, row in zip(weights, by_cell, strict=True)), Fraction(0))
                for k in range(4)
            )
            found.append(tuple(mixed))
    return found
