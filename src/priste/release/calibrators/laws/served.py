"""For whom a law is made: those with the event count as much as those without.

Under the public prediction an event may be rare, and a law of least expected cost then serves
those without it: the few others tell a cover story, kilometres from where they are, and have to
stay in it. But whoever guards an event is likely to take part in it. So costs are expected over
people of whom half have the event, each half where the model and the past releases place it, and
neither half may be worse off than with one constant cell for everybody. Like the prediction this
depends on public things alone; the guarantee does not depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from priste.release.calibrators.cost import Costs
from priste.release.calibrators.laws.ties import set_apart
from priste.release.prediction import Prediction

if TYPE_CHECKING:
    from priste.quantify import CandidateOperator
    from priste.release.calibrator import EventOperator
    from priste.release.public_state import PublicState
    from priste.release.terms import Terms

Floats = NDArray[np.float64]

LOOKED_AHEAD = 1000
"""Over how many steps, at most, a constant is chosen."""

CANDIDATES = 1024
"""How many cells, the likeliest, count in that choice."""

_constants: WeakKeyDictionary[Terms, int] = WeakKeyDictionary()


def constant_output(state: PublicState, costs: Costs) -> int:
    """Return the output that is best for everybody if it is always released: telling nothing.

    Over the steps up to the last of the events, as the model alone expects people to move.
    """
    terms = state.terms
    if terms not in _constants:
        model = terms.models[0]
        last = max((event.last_step or 0 for event in terms.events), default=0)
        ends = [last + 1, LOOKED_AHEAD] + ([] if model.horizon is None else [model.horizon + 1])
        prediction = Prediction(model, terms.expected_start())
        everybody = np.zeros(model.grid.size)
        for _ in range(min(ends)):
            everybody += prediction.predicted()
            prediction.correct(None)
        _constants[terms] = _best_constant(everybody, state, costs)
    return _constants[terms]


def _best_constant(everybody: Floats, state: PublicState, costs: Costs) -> int:
    likely = np.argsort(set_apart(-everybody), kind="stable")[:CANDIDATES]
    meant = state.mechanism.output_cells()
    outputs = np.arange(state.mechanism.outputs)
    if meant is not None and len(outputs) > CANDIDATES:
        outputs = outputs[np.isin(meant, likely)]
    by_output = everybody[likely] @ costs.at(likely, outputs, state.mechanism)
    return int(outputs[int(np.argmin(set_apart(by_output)))])


def halves(state: PublicState, operators: list[EventOperator]) -> list[Floats]:
    """Return where those with and those without each event are, (m,) each, summing to 1.

    Where the releases have excluded one half of an event, the prediction stands in for both.
    """
    start = state.terms.expected_start()
    return [half for each in operators for half in _halves(each.operator, start)] or [
        state.predicted()
    ]


def _halves(operator: CandidateOperator, start: Floats) -> list[Floats]:
    weights = operator.weights_of(start)
    scale = np.clip(operator.exponent - operator.exponent.max(), -900, 0).astype(np.int32)
    weights = weights * np.ldexp(1.0, scale)
    found = [weights @ operator.event, weights @ operator.complement]
    sums = [float(half.sum()) for half in found]
    return [half / whole for half, whole in zip(found, sums, strict=True)] if min(sums) > 0 else []
