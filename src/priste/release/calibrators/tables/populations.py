"""For whom a table is made: people with the event count as much as people without it.

Under the public prediction an event may be rare, and a table of least expected cost then serves
people without it: the others release points kilometres from where they are. But whoever guards an
event is likely to take part in it. So costs are expected over populations: for each event and
model one of people with the event and one of people without, or one for each answer of a secret,
each where the model and the past releases place it. No population may be worse off than with one
constant output. Like the prediction this depends on public things alone; the guarantee does not
depend on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priste.quantify import CandidateOperator
from priste.release.accountant import AccountantState, EventOperator
from priste.release.calibrators.cost import Costs
from priste.release.calibrators.tables.ties import separated
from priste.release.prediction import Prediction

Floats = NDArray[np.float64]

LOOKED_AHEAD = 1000
"""Over how many steps, at most, a constant is chosen."""

CANDIDATES = 1024
"""How many cells, the likeliest, count in that choice."""


def constant_output(state: AccountantState, costs: Costs) -> int:
    """Return the output of least expected cost if it is always released.

    The expectation is over the steps up to the last of the events, under the first model alone.
    """
    terms = state.terms

    def best() -> int:
        model = terms.models[0]
        last = max((event.last_step or 0 for event in terms.events), default=0)
        ends = [last + 1, LOOKED_AHEAD] + ([] if model.horizon is None else [model.horizon + 1])
        prediction = Prediction(model, terms.expected_start())
        everybody = np.zeros(model.grid.size)
        for _ in range(min(ends)):
            everybody += prediction.predicted()
            prediction.correct(None)
        return _best_constant(everybody, state, costs)

    return terms.derived(("constant output", costs.key), best)


def _best_constant(everybody: Floats, state: AccountantState, costs: Costs) -> int:
    likely = np.argsort(separated(-everybody), kind="stable")[:CANDIDATES]
    meant = state.mechanism.output_cells()
    outputs = np.arange(state.mechanism.outputs)
    if meant is not None and len(outputs) > CANDIDATES:
        outputs = outputs[np.isin(meant, likely)]
    by_output = everybody[likely] @ costs.at(likely, outputs, state.mechanism)
    return int(outputs[int(np.argmin(separated(by_output)))])


def populations(state: AccountantState, operators: list[EventOperator]) -> list[Floats]:
    """Return where people with each answer are, (m,) each, summing to 1: with and without an event.

    Where the releases leave one answer only, the prediction stands in for all.
    """
    mean = state.terms.expected_start()
    return [each for event in operators for each in _populations(event.operator, mean)] or [
        state.predicted()
    ]


def _populations(operator: CandidateOperator, mean: Floats) -> list[Floats]:
    scale = np.clip(operator.exponent - operator.exponent.max(), -900, 0).astype(np.int32)
    weights = operator.weights_of(mean) * np.ldexp(1.0, scale)
    found = [weights @ each for each in operator.joint]
    sums = [float(each.sum()) for each in found]
    left = [each / total for each, total in zip(found, sums, strict=True) if total > 0.0]
    return left if len(left) > 1 else []
