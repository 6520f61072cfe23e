"""What a release costs: costs, ties between them, and the people that tables are made for.

On a regular map many cells are equally likely and many guesses equally good, up to the last bit,
which differs between processors. Before one of them is chosen, equal numbers are set apart by a
fixed public amount that is far above any rounding and far below anything that matters.

People with an event count as much as people without it. Under the public prediction an event may be
rare, and a table of least expected cost then serves people without it: the others release points
kilometres from where they are. But a person who guards an event is likely to take part in it. So
costs are expected over populations: for each event and model one of people with the event and one
of people without, or one for each answer of a secret, each where the model and the past releases
place it. Before the first release they count alike; later each counts as much as it makes the past
releases likely. So a table serves people who fit the releases, and the model that predicts
somebody best decides. No population may be worse off than with one constant output, unless the
releases have all but excluded it. Like the prediction this depends on public things only; the
guarantee does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.arguments import as_floats, check_choice
from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import Mechanism
from priste.quantify import CandidateOperator
from priste.release.accountant import AccountantState, EventOperator, Prediction
from priste.release.release_tables import CheckedTable

Floats = NDArray[np.float64]
CostName = Literal["distance", "squared"]
Cost = CostName | Sequence[Sequence[float]] | Floats

COST_NAMES = ("distance", "squared")


class Costs:
    """What it costs to release each output at each true cell, and how tables are compared.

    - ``"distance"``: the expected distance in km under the public prediction;
    - ``"squared"``: the expected squared distance, in km²;
    - a matrix (cells, outputs) of your own: its expectation under the public prediction.

    ``who`` names the calibrator in messages.

    >>> Costs("distance", "Optimal").name
    'distance'
    """

    def __init__(self, cost: Cost, who: str) -> None:
        self._who = who
        self._given: Floats | None = None
        self._last: tuple[Grid, NDArray[np.int64], Floats] | None = None
        if isinstance(cost, str):
            hint = "Or give a matrix (cells, outputs)."
            self.name: str = check_choice(cost, COST_NAMES, "cost", who, hint=hint)
        else:
            self.name = "matrix"
            self._given = _checked_matrix(cost, who)

    def matrix(self, mechanism: Mechanism) -> Floats:
        """Return (cells, outputs), the cost of each output at each true cell.

        Raises InvalidParameter when a given matrix has another shape, or when distances are
        asked for and the outputs of the mechanism are not cells.
        """
        self.check(mechanism)
        meant = mechanism.output_cells()
        if self._given is not None or meant is None:
            return np.asarray(self._given)
        kept = self._kept(mechanism.grid, meant)
        if kept is not None:
            return kept
        centers = mechanism.grid.centers
        costs = self.between(centers, centers[meant])
        costs.flags.writeable = False
        self._last = mechanism.grid, meant, costs  # the same at every step of most streams
        return costs

    def check(self, mechanism: Mechanism) -> None:
        """Raise InvalidParameter if these costs do not fit the outputs of a mechanism."""
        shape = (mechanism.grid.size, mechanism.outputs)
        if self._given is not None and self._given.shape != shape:
            raise InvalidParameter(
                f"must have one row per cell and one column per output of the mechanism, {shape}",
                parameter="cost",
                owner=self._who,
                value=self._given.shape,
            )
        if self._given is None and mechanism.output_cells() is None:
            raise InvalidParameter(
                "must be a matrix for a mechanism whose outputs are not cells, as there are no "
                "distances to them",
                parameter="cost",
                owner=self._who,
                hint="Or give 'output_cells' to the mechanism.",
            )

    def _kept(self, grid: Grid, meant: NDArray[np.int64]) -> Floats | None:
        if self._last is None:
            return None
        known_grid, known_meant, costs = self._last
        return costs if known_grid == grid and np.array_equal(known_meant, meant) else None

    def between(self, points: Floats, others: Floats) -> Floats:
        """Return (n, k), the cost of releasing each of k points at each of n, given in km."""
        apart = np.hypot(points[:, 0][:, None] - others[:, 0], points[:, 1][:, None] - others[:, 1])
        return np.asarray(apart * apart if self.name == "squared" else apart)

    def by_cell(self, table: Floats, outputs: NDArray[np.int64], mechanism: Mechanism) -> Floats:
        """Return (m,) what the table (cells, k) of these outputs costs at each cell."""
        costs = self.at(np.arange(len(table)), outputs, mechanism)
        return np.asarray(np.einsum("lo,lo->l", table, costs))

    def at(
        self, cells: NDArray[np.int64], outputs: NDArray[np.int64], mechanism: Mechanism
    ) -> Floats:
        """Return (n, k), the cost of each of k outputs at each of n true cells."""
        meant = mechanism.output_cells()
        if self._given is not None or meant is None:
            return self.matrix(mechanism)[np.ix_(cells, outputs)]
        kept = self._kept(mechanism.grid, meant)
        if kept is not None:
            return _taken(_taken(kept, cells, 0), outputs, 1)
        centers = mechanism.grid.centers
        return self.between(centers[cells], centers[meant[outputs]])

    @property
    def key(self) -> Hashable:
        """What tells these costs from others."""
        return self.name if self._given is None else (self._given.shape, self._given.tobytes())

    def describe(self) -> str | list[list[float]]:
        """Return what makes these costs again; it can be put in JSON."""
        if self._given is None:
            return self.name
        listed: list[list[float]] = self._given.tolist()
        return listed


def _taken(table: Floats, numbers: NDArray[np.int64], axis: int) -> Floats:
    """Return these rows or columns of a table; the table itself if they are all of them."""
    every = len(numbers) == table.shape[axis] and np.array_equal(numbers, np.arange(len(numbers)))
    return table if every else table.take(numbers, axis=axis)


def _checked_matrix(cost: ArrayLike, who: str) -> Floats:
    given = as_floats(cost, "cost", who).copy()
    if given.ndim != 2 or not np.isfinite(given).all():
        raise InvalidParameter(
            f"must be one of {list(COST_NAMES)}, or a matrix (cells, outputs) with finite entries",
            parameter="cost",
            owner=who,
            got=f"shape {given.shape}",
        )
    given.flags.writeable = False
    return given


APART = 1e-9
"""By how much numbers are set apart at most, relatively."""

GOLDEN = 0.6180339887498949


@lru_cache(maxsize=8)
def fixed_offsets(count: int) -> Floats:
    """Return (count,) numbers in [0, 1), all different: multiples of the golden ratio; read-only.

    >>> fixed_offsets(3).round(3).tolist()
    [0.618, 0.236, 0.854]
    """
    apart: Floats = np.asarray((np.arange(1, count + 1) * GOLDEN) % 1.0, dtype=np.float64)
    apart.flags.writeable = False
    return apart


def separated(values: Floats) -> Floats:
    """Return the numbers with those that are equal along the last axis set apart.

    >>> separated(np.array([0.5, 0.5, 1.0])).argsort().tolist()
    [1, 0, 2]
    """
    return np.asarray(values * (1.0 + APART * fixed_offsets(values.shape[-1])))


def first_of_largest(values: Floats) -> int:
    """Return the place of the largest of numbers >= 0, the first where several are alike.

    >>> first_of_largest(np.array([0.1, 0.3, 0.1 + 0.2]))
    1
    """
    return int(np.argmax(values >= (1.0 - APART) * values.max()))


LOOKED_AHEAD = 1000
"""Over how many steps, at most, a constant is chosen."""

CANDIDATES = 1024
"""How many cells, the likeliest, count in the choice of a constant output."""

LEAST_WEIGHT = 0.05
"""A population that counts less than this, relative to the one that counts most, may be worse off
than with a constant output: the releases exclude it, or nearly."""

LEAST_EVIDENCE = -1000.0
"""In bits: weights of populations that are less likely than this are all alike, and not 0."""


def constant_output(state: AccountantState, costs: Costs) -> int:
    """Return the output of least expected cost if it is always released.

    The expectation is over the steps up to the last of the events, under the first model only.
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
        return _best_constant(everybody, state.mechanism, costs)[0]

    return terms.derived(("constant output", costs.key), best)


def best_public_guess(state: AccountantState) -> CheckedTable:
    """Return the table that releases the output of least expected distance, whatever the true cell.

    The expectation is over the public prediction given past releases. Where outputs are no cells,
    it is the likeliest output. Hints of the calibrator stay what they were.
    """
    mechanism, people = state.mechanism, state.predicted()
    if mechanism.output_cells() is None:
        likeliest = int(np.argmax(separated(people @ mechanism.emission())))
        return state.constant(likeliest, math.nan, state.hints)
    costs = state.terms.derived("distance", lambda: Costs("distance", "the best public guess"))
    if len(people) <= CANDIDATES:
        costs.matrix(mechanism)  # kept for all steps
    return state.constant(*_best_constant(people, mechanism, costs), state.hints)


def _best_constant(people: Floats, mechanism: Mechanism, costs: Costs) -> tuple[int, float]:
    """Return the output of least expected cost to people (m,), and that cost."""
    likely = np.argsort(separated(-people), kind="stable")[:CANDIDATES]
    meant = mechanism.output_cells()
    outputs = np.arange(mechanism.outputs)
    if meant is not None and len(outputs) > CANDIDATES:
        outputs = outputs[np.isin(meant, likely)]
    expected = people[likely] @ costs.at(likely, outputs, mechanism)
    best = int(np.argmin(separated(expected)))
    return int(outputs[best]), float(expected[best])


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
