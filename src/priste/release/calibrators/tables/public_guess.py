"""Replace what a mechanism draws by the best public guess: post-processing that costs nothing."""

from __future__ import annotations

from priste.mechanisms import Mechanism
from priste.mechanisms.rows import normalise_rows
from priste.release.accountant import AccountantState
from priste.release.calibrators.cost import Costs
from priste.release.calibrators.tables.merged_outputs import merged_outputs
from priste.release.release_tables import ReleaseTable


def guessed(
    state: AccountantState, mechanism: Mechanism, budget: float, costs: Costs
) -> ReleaseTable:
    """Return the table of the best public guess given what ``mechanism`` draws.

    Outputs with one guess become one output, whose likelihood is the sum of theirs. In exact
    numbers a sum of likelihoods that keep a guarantee keeps it; the sums in floating point still
    have to be checked. An uninformative mechanism gives the best constant output.
    """
    merged = merged_outputs(mechanism, state.predicted(), costs)
    cells, width = mechanism.grid.size, mechanism.outputs
    if len(merged.mass) == 1 or mechanism.budget == 0.0:
        constant = int(merged.targets[merged.constant])
        return ReleaseTable.constant(constant, cells, width, merged.constant_cost)
    table = normalise_rows(merged.likelihoods)
    outputs = merged.targets[merged.own]
    cost = float(state.predicted() @ costs.by_cell(table, outputs, mechanism))
    return ReleaseTable(table, outputs, width, budget, cost)
