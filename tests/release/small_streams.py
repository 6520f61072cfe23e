"""Small maps, models and events on which every history of a stream can be walked."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from tests.release.exact_stream import exact_rows

from priste.events import Event, at, at_least, pattern, presence
from priste.maps import Grid
from priste.mechanisms import EmissionTable, Identity, LocationSet, Mechanism, PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import Adversary, AnyPrior
from priste.release import AccountantState, Calibrator, StreamNode, StreamTree, make_terms
from priste.release.calibrators import as_calibrator
from priste.release.terms import Events, Guarantees, Models

LINE = Grid(rows=1, columns=3, cell_size=1.0)

MATRIX = np.array([[0.5, 0.375, 0.125], [0.25, 0.5, 0.25], [0.0, 0.25, 0.75]])
"""Rows are exact in binary; one move is impossible."""

WALK = MarkovModel(LINE, MATRIX)

EVENTS: dict[str, Event] = {
    "at once": at([0], 0),
    "present later": presence([0], [1, 2]),
    "commute": pattern([[0], [2]], [0, 2]),
    "twice": at_least(2, [0, 1], [0, 1, 2]),
    "mixed": (at([0], 0) & ~at([2], 1)) | at([1], 2),
}

MECHANISMS: dict[str, Mechanism] = {
    "laplace": PlanarLaplace(LINE, alpha=2.0),
    "identity": Identity(LINE),
    "zeros": EmissionTable(LINE, [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.75, 0.0]]),
    "location set": LocationSet(PlanarLaplace(LINE, alpha=2.0), delta=0.2),
}


def begin(
    model: Models,
    events: Events,
    mechanism: Mechanism,
    guarantee: Guarantees,
    calibrator: str | Calibrator,
    adversary: Adversary | None = None,
) -> StreamNode:
    """The first node of a stream, before any release."""
    against = AnyPrior() if adversary is None else adversary
    terms = make_terms(model, events, mechanism, guarantee, None, against)
    return StreamTree.of(terms, as_calibrator(calibrator)).root


def histories(
    node: StreamNode, columns: list[list[Fraction]], steps: int
) -> Iterator[tuple[AccountantState, list[list[Fraction]]]]:
    """Walk every sequence of outputs; yield each state with the exact columns released so far."""
    if steps == 0:
        return
    seen = node.distribution
    assert len(seen.budgets) == 1  # one table, a function of the past
    rows = exact_rows(seen.joint[0])
    for output in range(seen.joint.shape[2]):
        column = [row[output] for row in rows]
        if any(column):
            after = node.after(node.rule.outcome(output, seen.budgets[0]))
            yield after.state, [*columns, column]
            yield from histories(after, [*columns, column], steps - 1)
