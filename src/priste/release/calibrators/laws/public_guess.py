"""Replace what a mechanism draws by the best public guess: post-processing that costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from priste.mechanisms import Mechanism
from priste.mechanisms.rows import settle_rows
from priste.release.calibrators.cost import Costs
from priste.release.calibrators.laws.column_law import ColumnLaw
from priste.release.calibrators.laws.merged_outputs import sources_of

if TYPE_CHECKING:
    from priste.release.public_state import PublicState


def guessed(
    state: PublicState, mechanism: Mechanism, budget: float, costs: Costs
) -> ColumnLaw | None:
    """Return the law of the best public guess given what ``mechanism`` draws.

    Outputs with one guess become one output, whose column is the sum of theirs. In exact numbers
    a sum of columns that keep a guarantee keeps it; the sums in floating point are checked again,
    and None is returned where one of them does not pass. A mechanism that says nothing gives the
    best release that says nothing.
    """
    sources = sources_of(mechanism, state.predicted(), costs)
    cells, width = mechanism.grid.size, mechanism.outputs
    if len(sources.mass) == 1 or mechanism.budget == 0.0:
        return ColumnLaw.public(
            int(sources.targets[sources.public]), cells, width, sources.public_cost
        )
    table = settle_rows(sources.law)
    if not state.passes(table).all():
        return None
    outputs = sources.targets[sources.own]
    cost = float(state.predicted() @ costs.by_cell(table, outputs, mechanism))
    return ColumnLaw(table, outputs, width, budget, cost)
