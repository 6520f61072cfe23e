"""For whom a table is made: people with the event count as much as people without it.

Under the public prediction an event may be rare, and a table of least expected cost then serves
people without it: the others release points kilometres from where they are. But whoever guards an
event is likely to take part in it. So costs are expected over populations: for each event and
model one of people with the event and one of people without, or one for each answer of a secret,
each where the model and the past releases place it. Before the first release they count alike;
later each counts as much as it makes the past releases likely. So a table serves people whom the
releases fit, and the model that predicts somebody best decides. No population may be worse off
than with one constant output, unless the releases have all but excluded it. Like the prediction
this depends on public things alone; the guarantee does not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from priste.quantify import CandidateOperator
from priste.release.accountant import AccountantState, EventOperator, Prediction
from priste.release.calibrators.cost import Costs
from priste.release.calibrators.tables.ties import separated

Floats = NDArray[np.float64]

LOOKED_AHEAD = 1000
"""Over how many steps, at most, a constant is chosen."""

CANDIDATES = 1024
"""How many cells, the likeliest, count in that choice."""

LEAST_WEIGHT = 0.05
"""A population that counts less than this, relative to the one that counts most, may be worse off
than with a constant output: the releases exclude it, or nearly."""

LEAST_EVIDENCE = -1000.0
"""In bits: weights of populations that are less likely than this are all alike, and not 0."""


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


@dataclass(frozen=True, eq=False)
class Populations:
    """Where n populations are, ``places`` (n, m) with rows that sum to 1, and how much each counts.

    ``weights`` (n,) sum to 1.
    """

    places: Floats
    weights: Floats

    @property
    def protected(self) -> Floats:
        """Those that no table makes worse off than a constant output, (k, m)."""
        return np.asarray(self.places[self.weights >= LEAST_WEIGHT * self.weights.max()])

    @property
    def everybody(self) -> Floats:
        """Where all of them together are, (m,)."""
        return np.asarray(self.weights @ self.places)


def populations(state: AccountantState, operators: list[EventOperator]) -> Populations:
    """Return where people with each answer are, under each model: with and without an event.

    All events count alike. Where the releases leave one answer only, the prediction stands in for
    all.
    """
    mean = state.terms.expected_start()
    places: list[Floats] = []
    weights: list[Floats] = []
    for _, same in groupby(operators, key=lambda each: each.event):
        found = [each for event in same for each in _answers(event.operator, mean)]
        if found:
            evidence = np.array([bits for bits, _ in found])
            weights.append(np.exp2(np.maximum(evidence - evidence.max(), LEAST_EVIDENCE)))
            weights[-1] /= weights[-1].sum()
            places += [place for _, place in found]
    if not places:
        return Populations(state.predicted()[None], np.ones(1))
    return Populations(np.array(places), np.concatenate(weights) / len(weights))


def _answers(operator: CandidateOperator, mean: Floats) -> list[tuple[float, Floats]]:
    """Return per answer log2 Pr(past releases | answer) and where its people are.

    Nothing where one answer is left.
    """
    highest = int(operator.exponent.max())
    scale = np.clip(operator.exponent - highest, -900, 0).astype(np.int32)
    weights = operator.weights_of(mean)
    joint = [(weights * np.ldexp(1.0, scale)) @ each for each in operator.joint]
    left = [
        (highest + float(np.log2(each.sum() / prior)), each / each.sum())
        for each, prior in zip(joint, operator.prior @ weights, strict=True)
        if each.sum() > 0.0
    ]
    return left if len(left) > 1 else []
