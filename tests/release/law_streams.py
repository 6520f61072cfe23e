"""Every history of a small stream whose calibrator chooses one law per step."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from tests.release.exact_stream import exact_rows
from tests.release.small_streams import LINE, WALK

from priste.events import Event
from priste.mechanisms import EmissionTable, Identity, LocationSet, Mechanism, PlanarLaplace
from priste.mobility import MarkovModel
from priste.release import Calibrator, PublicState
from priste.release.terms import make_terms

MECHANISMS: dict[str, Mechanism] = {
    "laplace": PlanarLaplace(LINE, alpha=2.0),
    "identity": Identity(LINE),
    "zeros": EmissionTable(LINE, [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.75, 0.0]]),
    "location set": LocationSet(PlanarLaplace(LINE, alpha=2.0), delta=0.2),
}


def start(
    events: Event | list[Event],
    mech: Mechanism,
    epsilons: float | list[float],
    calibrator: Calibrator,
    model: MarkovModel | list[MarkovModel] = WALK,
) -> PublicState:
    return PublicState(make_terms(model, events, mech, epsilons, calibrator, None))


def histories(
    state: PublicState, columns: list[list[Fraction]], steps: int
) -> Iterator[tuple[PublicState, list[list[Fraction]]]]:
    """Walk every sequence of outputs; yield each state with the exact columns released so far."""
    if steps == 0:
        return
    law = state.law()
    assert len(law.budgets) == 1  # one law, a function of the past
    rows = exact_rows(law.joint[0])
    for output in range(law.joint.shape[2]):
        column = [row[output] for row in rows]
        if any(column):
            after = state.copy()
            after.advance(np.array(law.joint[0][:, output]), law.budgets[0])
            seen = [*columns, column]
            yield after, seen
            yield from histories(after, seen, steps - 1)
