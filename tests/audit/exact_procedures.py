"""The procedures written out once more, in fractions and without any public state."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from tests.release.exact_stream import exact_matrix, exact_rows, joint_of, summed

from priste.events import Event
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import Quantifier

Column = list[Fraction]


def paper_layers(
    model: MarkovModel, event: Event, tables: list[np.ndarray], epsilon: float, past: list
) -> Iterator[tuple[int, int, Column]]:
    """Yield (attempt, output, exact probability per true cell) of the paper's next release.

    ``tables`` are the emission tables of the attempts, the last one uninformative. ``past`` are the
    nominal columns of the releases so far.
    """
    quantifier = Quantifier(model, event)
    for column in past:
        quantifier.observe(column)
    cells, outputs = tables[0].shape
    reached = [Fraction(1)] * cells
    for attempt, table in enumerate(tables):
        rows = exact_rows(table)
        last = attempt == len(tables) - 1
        ok = [last or bool(quantifier.passes(table[:, [o]], epsilon)[0]) for o in range(outputs)]
        for output in range(outputs):
            column = [reached[c] * rows[c][output] for c in range(cells)]
            if ok[output] and any(column):
                yield attempt, output, column
        reached = [
            reached[c] * sum((rows[c][o] for o in range(outputs) if not ok[o]), Fraction(0))
            for c in range(cells)
        ]


def paper_histories(
    model: MarkovModel, event: Event, mech: Mechanism, epsilon: float, attempts: int, steps: int
) -> dict[tuple[int, ...], list]:
    """Return for each sequence of outputs the exact (a, ā, b, d) per start, budgets unseen."""
    budgets = [mech.budget * 0.5**k for k in range(attempts - 1)] + [0.0]
    tables = [mech.with_budget(budget).emission() for budget in budgets]
    ways: list[tuple[tuple[int, ...], list, list]] = [((), [], [])]
    for _ in range(steps):
        longer = []
        for outputs, nominal, exact in ways:
            for attempt, output, column in paper_layers(model, event, tables, epsilon, nominal):
                # A column without information is silence to the procedure, to the last bit.
                seen = None if budgets[attempt] == 0.0 else tables[attempt][:, output]
                longer.append(((*outputs, output), [*nominal, seen], [*exact, column]))
        ways = longer
    matrix = exact_matrix(model.transition(0).toarray())
    grouped: dict[tuple[int, ...], list] = {}
    for outputs, _, exact in ways:
        grouped.setdefault(outputs, []).append(joint_of(matrix, event, exact))
    return {outputs: summed(parts) for outputs, parts in grouped.items()}
