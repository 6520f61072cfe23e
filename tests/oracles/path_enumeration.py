"""Exact answers by walking every path: slow, in fractions, and obviously right.

Knows nothing of automata or recursions: it asks ``event.holds`` about each trajectory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from priste.events import Event
from priste.mobility import MarkovModel

Matrix = list[list[Fraction]]


def exact_rows(array: np.ndarray, *, normalise: bool) -> Matrix:
    """Turn floats into fractions; with ``normalise`` divide rows by their exact sums."""
    rows = [[Fraction(float(x)) for x in row] for row in array]
    return [[x / sum(row) for x in row] for row in rows] if normalise else rows


class PathEnumeration:
    """All paths of a model from each first cell, with their exact probabilities."""

    def __init__(self, model: MarkovModel, steps: int, *, normalise: bool = True) -> None:
        self.cells = model.grid.size
        self.steps = steps
        self._matrices = [
            exact_rows(model.transition(step).toarray(), normalise=normalise)
            for step in range(steps - 1)
        ]
        self._cell_of_state = [model.cell_of_state(step).tolist() for step in range(steps)]

    def paths(self, start: int) -> Iterator[tuple[list[int], Fraction]]:
        """Yield (cells, probability) of each possible path from a first cell."""
        stack: list[tuple[list[int], Fraction]] = [([start], Fraction(1))]
        while stack:
            states, probability = stack.pop()
            here = len(states) - 1
            if here == self.steps - 1:
                yield (
                    [self._cell_of_state[step][state] for step, state in enumerate(states)],
                    probability,
                )
                continue
            for after, move in enumerate(self._matrices[here][states[-1]]):
                if move:
                    stack.append(([*states, after], probability * move))

    def joint(
        self, event: Event, likelihoods: Sequence[Sequence[float] | None]
    ) -> list[tuple[Fraction, Fraction, Fraction, Fraction]]:
        """Return (a, ā, b, d) for each first cell."""
        exact = [
            None if column is None else [Fraction(float(x)) for x in column]
            for column in likelihoods
        ]
        answers = []
        for start in range(self.cells):
            a = complement = b = d = Fraction(0)
            for cells, probability in self.paths(start):
                weight = probability
                for step, column in enumerate(exact):
                    if column is not None:
                        weight *= column[cells[step]]
                if event.holds(cells):
                    a, b = a + probability, b + weight
                else:
                    complement, d = complement + probability, d + weight
            answers.append((a, complement, b, d))
        return answers

    def location(
        self, prior: Sequence[Fraction], likelihoods: Sequence[Sequence[float] | None], step: int
    ) -> list[Fraction]:
        """Return Pr(cell at ``step``, releases) for each cell, not normalised."""
        total = [Fraction(0)] * self.cells
        for start, first in enumerate(prior):
            for cells, probability in self.paths(start):
                weight = first * probability
                for here, column in enumerate(likelihoods):
                    if column is not None:
                        weight *= Fraction(float(column[cells[here]]))
                total[cells[step]] += weight
        return total
