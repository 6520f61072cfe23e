"""Replace what a mechanism draws by the best public guess: post-processing that costs nothing."""

from __future__ import annotations

import math

import numpy as np

from priste.mechanisms import Mechanism
from priste.mechanisms.mechanism import normalise_rows
from priste.release.accountant import AccountantState
from priste.release.calibrators.cost import Costs
from priste.release.calibrators.tables.merged_outputs import merged_outputs
from priste.release.calibrators.tables.ties import separated
from priste.release.release_tables import CheckedTable, ReleaseTable

CANDIDATES = 1024
"""How many cells, the likeliest, count in the best public guess."""


def best_public_guess(state: AccountantState) -> CheckedTable:
    """Return the table that releases the output of least expected distance, wherever the user is.

    The expectation is over the public prediction given past releases. Where outputs are no cells,
    it is the likeliest output. Hints of the calibrator stay what they were.
    """
    mechanism, people = state.mechanism, state.predicted()
    meant = mechanism.output_cells()
    if meant is None:
        likeliest = int(np.argmax(separated(people @ mechanism.emission())))
        return state.constant(likeliest, math.nan, state.hints)
    likely = np.argsort(separated(-people), kind="stable")[:CANDIDATES]
    outputs = np.arange(mechanism.outputs)
    if len(outputs) > CANDIDATES:
        outputs = outputs[np.isin(meant, likely)]
    costs = state.terms.derived("distance", lambda: Costs("distance", "the best public guess"))
    if len(people) <= CANDIDATES:
        costs.matrix(mechanism)  # kept for all steps
    expected = people[likely] @ costs.at(likely, outputs, mechanism)
    best = int(np.argmin(separated(expected)))
    return state.constant(int(outputs[best]), float(expected[best]), state.hints)


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
