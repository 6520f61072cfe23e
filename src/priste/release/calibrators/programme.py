"""The linear programme of one step: which source is released as which target, at what price.

Variables are the arcs on which a source may be sent to a target. The objective is the expected
cost. Rows say that every source is sent somewhere, and that every target keeps the guarantee under
the priors added so far. Priors that turn out to be violated are added in rounds. The work
is bounded in pivots of the simplex method, so that the result is a function of the numbers that
went in and not of a clock.

For one prior w over the rows of an event let x be ā_w times the joint probability of the event
with each source, and y be a_w times that of its negation. A mixture of sources with ratio
R = x / y keeps the guarantee under w when e^-down <= R <= e^up: two rows of the programme.

Nothing here is trusted for privacy: what comes out is a proposal, which is checked exactly.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.quantify import CandidateOperator, Guarantee, JointProbabilities
from priste.quantify.joint_probabilities import candidate_of, pairs_of
from priste.quantify.judges import EveryMixture
from priste.release.calibrators.best_guess import Groups, Sources, fixed_offsets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

FEW_ROWS = 12
"""Up to this many rows the worst mixture of each two of them is computed."""

WITNESSES = 6
"""How many violated priors are asked for in a round, where rows are many."""

SEARCH_ERROR = 1e-12
"""The relative error that the search for violated priors allows its numbers."""

NEARLY_VIOLATED = -1e-9
"""No prior is added for columns that are so far within their limits, in logarithms."""


@dataclass(frozen=True, eq=False)
class PriorBound:
    """One guarantee under one prior: ``x`` and ``y`` (sources,), and the limits of ln(x / y).

    Together they sum to 2, so ``x + y`` is about twice the probability of a source.
    """

    x: Floats
    y: Floats
    up: float
    down: float

    def excess(self) -> tuple[Floats, float]:
        """Return by how much ln R exceeds its limits, at most: (sources,) of each, and of all."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(np.append(self.x, self.x.sum()))
            ratio -= np.log(np.append(self.y, self.y.sum()))
        ratio = _bounded(ratio)
        found = np.maximum(ratio - self.up, -ratio - self.down)
        return found[:-1], float(found[-1])


class EventConditions:
    """What one guarantee asks of columns over merged outputs, for rows that may be mixed.

    ``mean`` (m,) is a prior over cells, under which the search begins.
    """

    def __init__(
        self,
        operator: CandidateOperator,
        guarantee: Guarantee,
        sources: Sources,
        mean: Floats,
    ) -> None:
        self._prior_event = operator.prior_event
        self._prior_complement = operator.prior_complement
        self._judge = operator.judge
        self._mean = operator.weights_of(mean)
        self._guarantee = guarantee
        self._sources = sources.count
        by_cell = operator.joint
        alive = by_cell.any(axis=(0, 2))
        highest = int(operator.exponent[alive].max(initial=-(2**40)))
        self._scale = np.ldexp(1.0, np.clip(operator.exponent - highest, -900, 0).astype(np.int32))
        self._few = operator.judge == EveryMixture() and operator.rows <= FEW_ROWS
        self._by_cell, self._of_outputs = by_cell, sources
        # Few rows are multiplied out; of many rows only the columns that are asked about.
        self._by_source = sources.summed(self._weighed(sources.emission)) if self._few else None

    def bounds(self, weights: Floats) -> list[PriorBound | None]:
        """Return the conditions of priors with weights (n, rows); None where there are none."""
        a, complement = weights @ self._prior_event, weights @ self._prior_complement
        if self._by_source is None:
            by_cell = (weights * self._scale) @ self._by_cell
            x, y = self._of_outputs.summed(by_cell @ self._of_outputs.emission)
        else:
            x, y = weights @ self._by_source
        x *= complement[:, None]
        y *= a[:, None]
        total = 0.5 * (x.sum(axis=1) + y.sum(axis=1))
        possible = (a > 0.0) & (complement > 0.0) & (total > 0.0) & (total < math.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            x /= total[:, None]
            y /= total[:, None]
            odds = a / complement
        return [
            PriorBound(x[n], y[n], *self._guarantee.ratio_limits(float(odds[n]))) if known else None
            for n, known in enumerate(possible.tolist())
        ]

    @property
    def mass(self) -> Floats:
        """How likely each source is with the event and without it, on average, (sources,)."""
        (bound,) = self.bounds(self._mean[None])
        if bound is None:
            return np.zeros(self._sources)
        return np.asarray(0.5 * (bound.x + bound.y))

    def first_bounds(self) -> list[PriorBound]:
        """Return the conditions to begin with: of the reference prior and of the worst so far."""
        return [bound for bound in self.bounds(self._first_weights) if bound is not None]

    @cached_property
    def _first_weights(self) -> Floats:
        if len(self._mean) == 1:
            return self._mean[None]  # no other mixture
        everything = np.ones((self._sources, 1))
        if self._few:
            worst = self._pair_witnesses(everything)[1]
        else:
            single = candidate_of(self._joint(everything), 0)
            worst = self._judge.worst_mixture(single, self._guarantee)[None]
        return np.concatenate([self._mean[None], worst])

    def grouped(self, groups: Groups) -> EventConditions:
        """Return the same event over groups of sources."""
        twin = copy.copy(self)
        twin._sources = groups.members.shape[1]
        if not groups.members.any(axis=1).all():  # what is left may have other worst priors
            vars(twin).pop("_first_weights", None)
        twin._by_source = (
            self._weighed(groups.likelihoods)
            if self._by_source is None
            else self._by_source @ groups.members
        )
        return twin

    def _weighed(self, likelihoods: Floats) -> Floats:
        """Return (2, rows, k), the joint probabilities of likelihoods (cells, k), on one scale."""
        rows = self._by_cell.reshape(-1, len(likelihoods)) @ likelihoods  # one product, not two
        return np.asarray(rows.reshape(2, len(self._scale), -1) * self._scale[:, None])

    def _joint_by_source(self, columns: Floats) -> Floats:
        """Return (2, rows, k), the joint probabilities of columns (sources, k)."""
        if self._by_source is None:
            return self._weighed(self._of_outputs.mixed(columns))
        return np.asarray(self._by_source @ columns)

    def keeps(self, columns: Floats) -> Booleans:
        """Return for columns (sources, k) whether they seem to keep the guarantee."""
        if not self._few:
            return self._judge.passes(self._joint(columns), self._guarantee)
        kept = [score.max(axis=0) <= limit for score, limit in self._scores(columns)[1]]
        return np.asarray(np.all(kept, axis=0))

    def is_affected(self, mass: Floats, least: float) -> bool:
        """Return whether a ratio of a source moves by ``least``, or is near its limit.

        Sources that together have less than a thousandth of the probability do not count.
        """
        order = np.argsort(-mass, kind="stable")
        count = int(np.searchsorted(np.cumsum(mass[order]), 0.999 * mass.sum())) + 1
        for bound in self.first_bounds():
            single, now = bound.excess()
            if float(np.max(single[order[:count]])) - now > least or now > -least:
                return True
        return False

    def violated(self, columns: Floats, mass: Floats) -> list[tuple[int, PriorBound]]:
        """Return for columns (sources, k) the priors that are worst for them, with the column."""
        places, weights = (
            self._pair_witnesses(columns, NEARLY_VIOLATED)
            if self._few
            else self._searched_witnesses(columns, mass)
        )
        pairs = zip(places.tolist(), self.bounds(weights), strict=True)
        return [(place, bound) for place, bound in pairs if bound is not None]

    def _pair_witnesses(self, columns: Floats, least: float = -math.inf) -> tuple[Integers, Floats]:
        """Return the worst mixture of two rows for each column whose excess is ``least`` or more.

        The places (n,) of the columns and weights (n, rows); both where the two directions have
        different ones.
        """
        mixtures, scores = self._scores(columns)
        found: dict[tuple[int, int], None] = {}
        for score, limit in scores:
            rows = score.argmax(axis=0)
            over = np.flatnonzero(score[rows, np.arange(len(rows))] >= limit + least)
            found |= dict.fromkeys(zip(over.tolist(), rows[over].tolist(), strict=True))
        places, numbers = np.array(list(found), dtype=np.int64).reshape(-1, 2).T
        return places, mixtures.weights_of(numbers, places)

    def _scores(self, columns: Floats) -> tuple[Mixtures, list[tuple[Floats, float]]]:
        """Return the mixtures, and what is bounded, (n, k) logarithms each, with its limit."""
        guarantee = self._guarantee
        event, complement = self._joint_by_source(columns)
        mixtures = self._mixtures(event, complement)
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.log(mixtures.sums(event)) - np.log(mixtures.sums(complement))
            prior = np.log(mixtures.sums(self._prior_event[:, None]))
            prior -= np.log(mixtures.sums(self._prior_complement[:, None]))
            ratio = odds - prior
        ratio = _bounded(ratio)
        found = [(ratio, guarantee.up)] if guarantee.up < math.inf else []
        if guarantee.belief_cap is not None:
            cap = math.log(guarantee.belief_cap / (1.0 - guarantee.belief_cap))
            found.append((_bounded(odds), cap))
        if guarantee.down < math.inf:
            found.append((-ratio, guarantee.down))
        return mixtures, found

    def _mixtures(self, event: Floats, complement: Floats) -> Mixtures:
        """Return every row, and of each two rows the mixtures that are worst for each column.

        The mixture of two rows with weights 1 and s has R = N(s) / D(s), both quadratic. Its
        extremes are at the ends and where N' D = N D', which is quadratic in s as well.
        """
        rows, count = event.shape
        single = np.arange(rows)
        if rows == 1:
            return Mixtures(rows, single, single, np.zeros((rows, count)))
        first, second = pairs_of(rows)
        a, not_a = self._prior_event[:, None], self._prior_complement[:, None]
        above = _product(event[first], event[second], not_a[first], not_a[second])
        below = _product(complement[first], complement[second], a[first], a[second])
        with np.errstate(all="ignore"):
            constant = above[1] * below[0] - above[0] * below[1]
            half = above[2] * below[0] - above[0] * below[2]
            square = above[2] * below[1] - above[1] * below[2]
            root = np.sqrt(half * half - square * constant)
            larger = -(half + np.copysign(root, half))
            shares = np.concatenate([np.zeros((rows, count)), larger / square, constant / larger])
        shares[~(np.isfinite(shares) & (shares > 0.0))] = 0.0
        return Mixtures(
            rows,
            np.concatenate([single, first, first]),
            np.concatenate([single, second, second]),
            shares,
        )

    def _searched_witnesses(self, columns: Floats, mass: Floats) -> tuple[Integers, Floats]:
        joint = self._joint(columns)
        fails = np.flatnonzero(~self._judge.passes(joint, self._guarantee))
        worst = fails[np.argsort(-(mass @ columns)[fails], kind="stable")][:WITNESSES]
        weights = [
            self._judge.worst_mixture(candidate_of(joint, place), self._guarantee)
            for place in worst.tolist()
        ]
        return worst, np.array(weights).reshape(len(worst), len(self._mean))

    def _joint(self, columns: Floats) -> JointProbabilities:
        return JointProbabilities(
            np.stack([self._prior_event, self._prior_complement]),
            self._joint_by_source(columns),
            np.zeros(len(self._prior_event), dtype=np.int64),
            SEARCH_ERROR,
            0.0,
        )


@dataclass(frozen=True, eq=False)
class Mixtures:
    """For each of k columns n mixtures of rows: 1 of the ``first`` (n,), a share of the ``second``.

    ``shares`` (n, k) are 0 where a mixture is one row.
    """

    rows: int
    first: Integers
    second: Integers
    shares: Floats

    def sums(self, values: Floats) -> Floats:
        """Return (n, k), the values (rows, k) or (rows, 1) of each mixture."""
        return np.asarray(values[self.first] + self.shares * values[self.second])

    def weights_of(self, numbers: Integers, places: Integers) -> Floats:
        """Return the weights (n, rows) of mixtures, each for the column at a place."""
        weights, every = np.zeros((len(numbers), self.rows)), np.arange(len(numbers))
        weights[every, self.second[numbers]] = self.shares[numbers, places]
        weights[every, self.first[numbers]] = 1.0
        return weights


def _bounded(logarithms: Floats) -> Floats:
    """Return logarithms with large numbers instead of infinities, and 0 for NaN."""
    if np.isfinite(logarithms).all():
        return logarithms
    return np.nan_to_num(logarithms, nan=0.0, posinf=700.0, neginf=-700.0)


def _product(
    first: Floats, second: Floats, third: Floats, fourth: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the coefficients of (first + s second)(third + s fourth), the constant one first."""
    return first * third, first * fourth + second * third, second * fourth


Finding = tuple[int, PriorBound]
"""A target, and a prior that is bad for it."""

MARGIN = 1e-6
"""How far inside its limits a ratio is kept, so that rounding does not take it out."""

TIE = 1e-6
"""By how much the costs of arcs are separated, in costs of the best constant output."""

TIE_TOLERANCE = 1e-10
"""What the solver takes for equal costs: far less, so that no two tables are a tie to it."""

TINY = 1e-300

LARGEST_LOGARITHM = 700.0
"""Of a ratio: limits above it are as good as none."""

COLUMN_WISE, MINIMISE = 1, 1
"""How the solver numbers the form of a matrix and the sense of a programme."""

NEGLIGIBLE = 1e-9
"""Shares of a source below this are rounding of the solver."""


class Programme:
    """Minimise ``costs`` (sources, targets) of a remap whose targets keep their guarantees.

    ``arcs`` (sources, targets) says what may be sent where; ``bounds`` are the priors to begin
    with. Each of the ``caps`` is other costs (sources, targets) and what these may be at most.
    Costs of arcs are separated by ``TIE`` at most, in a fixed order, so that of tables that are
    equally good one is the best on every machine.
    """

    def __init__(
        self,
        costs: Floats,
        arcs: Booleans,
        bounds: Sequence[PriorBound],
        caps: Sequence[tuple[Floats, float]] = (),
    ) -> None:
        import highspy

        self._infinite = highspy.kHighsInf
        self._infeasible = highspy.HighsModelStatus.kInfeasible
        self._sources, self._targets = costs.shape
        rows, _ = _rows_of(*_stacked(bounds, self._sources))
        possible = _possible(arcs, rows)
        self._source, self._target = np.nonzero(possible)
        ties = TIE * fixed_offsets(int(arcs.sum()))[possible[arcs]]
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # it has no types
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("dual_feasibility_tolerance", TIE_TOLERANCE),
        ):
            self._solver.setOptionValue(option, value)
        self._pass(costs[self._source, self._target] + ties, rows, (rows > 0.0) @ possible)
        if caps:
            rows = np.array([cap[self._source, self._target] for cap, _ in caps])
            self._add_rows(rows, np.array([most for _, most in caps]))

    def _pass(self, costs: Floats, rows: Floats, binding: Booleans) -> None:
        """Give the solver the programme column by column, one for each arc.

        ``binding`` (rows, targets) says at which targets a row can be above 0; at others it is
        left out.
        """
        count, limited = len(self._source), int(binding.sum())
        numbers = np.full(binding.T.shape, -1)
        numbers[binding.T] = self._sources + np.arange(limited)
        index = np.column_stack([self._source, numbers[self._target]])
        value = np.column_stack([np.ones(count), rows.T[self._source]])
        used = index >= 0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        ones = np.ones(self._sources)
        self._solver.passModel(
            count,
            self._sources + limited,
            int(starts[-1]),
            COLUMN_WISE,
            MINIMISE,
            0.0,
            costs,
            np.zeros(count),
            np.full(count, self._infinite),
            np.concatenate([ones, np.full(limited, -self._infinite)]),
            np.concatenate([ones, np.zeros(limited)]),
            starts.astype(np.int32),
            index[used].astype(np.int32),
            value[used],
            np.zeros(count, dtype=np.int32),  # no variable is an integer
        )

    def solve(
        self, find: Callable[[Floats], list[Finding]], rounds: int, pivots: int
    ) -> Floats | None:
        """Return the remap (sources, targets), rows summing to 1; None if there is none.

        ``find`` returns for a remap the priors that are worst for its targets.
        """
        best: Floats | None = None
        for after in reversed(range(rounds)):
            self._solver.setOptionValue("simplex_iteration_limit", max(pivots, 1))
            self._solver.run()
            pivots -= int(self._solver.getInfo().simplex_iteration_count)
            if self._solver.getModelStatus() == self._infeasible:
                return best  # what the solver has then keeps no condition
            values = np.array(self._solver.getSolution().col_value, dtype=np.float64)
            if len(values) < len(self._source) or not np.isfinite(values).all():
                return best
            remap = self._remap(values)
            if remap is None:
                return best
            best = remap
            if not after or pivots <= 0 or not self._add(find(remap), remap):
                return best
        return best

    def _remap(self, shares: Floats) -> Floats | None:
        remap = np.zeros((self._sources, self._targets))
        remap[self._source, self._target] = np.where(shares > NEGLIGIBLE, shares, 0.0)
        sums = remap.sum(axis=1)
        if not (sums > 0.5).all():
            return None
        return np.asarray(remap / sums[:, None])

    def _add(self, findings: list[Finding], remap: Floats) -> int:
        """Add the priors that are violated, for their targets; return the number of rows."""
        ratios, limits = _stacked([bound for _, bound in findings], self._sources)
        targets = np.array([target for target, _ in findings], dtype=np.int64)
        x, y = np.einsum("nds,sn->dn", ratios, remap[:, targets])
        up, down = np.exp(np.minimum(limits, LARGEST_LOGARITHM)).T
        over = ~((x <= up * y) & (y <= down * x))
        rows, numbers = _rows_of(ratios[over], limits[over])
        there = targets[over][numbers][:, None] == self._target
        return self._add_rows(np.where(there, rows[:, self._source], 0.0), np.zeros(len(rows)))

    def _add_rows(self, rows: Floats, most: Floats) -> int:
        """Add rows (n, arcs) that must be at most ``most`` (n,); return how many can be more."""
        binding = (rows.max(axis=1, initial=0.0) > 0.0) | (most < 0.0)
        rows, most = rows[binding], most[binding]
        if not len(rows):
            return 0
        scale = 1.0 / np.maximum(np.abs(rows).max(axis=1), TINY)
        used = rows != 0.0
        lengths = used.sum(axis=1)
        self._solver.addRows(
            len(rows),
            np.full(len(rows), -self._infinite),
            most * scale,
            int(lengths.sum()),
            np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32),
            used.nonzero()[1].astype(np.int32),
            (rows * scale[:, None])[used],
        )
        return len(rows)


def _stacked(bounds: Sequence[PriorBound], sources: int) -> tuple[Floats, Floats]:
    """Return x and y of all bounds, (n, 2, sources), and their limits, (n, 2)."""
    ratios = np.array([(bound.x, bound.y) for bound in bounds]).reshape(-1, 2, sources)
    return ratios, np.array([(bound.up, bound.down) for bound in bounds]).reshape(-1, 2)


def _rows_of(ratios: Floats, limits: Floats) -> tuple[Floats, Integers]:
    """Return rows (k, sources) that must be <= 0, and the number of the bound of each, (k,).

    One for each direction that is bounded, the largest number of which is 1 or -1.
    """
    numbers, sides = np.nonzero(limits < math.inf)
    factors = np.exp(np.minimum(limits[numbers, sides], LARGEST_LOGARITHM) - MARGIN)
    rows = ratios[numbers, sides] - factors[:, None] * ratios[numbers, 1 - sides]
    largest = np.abs(rows).max(axis=1, initial=0.0)
    some = largest > 0.0
    return rows[some] / largest[some, None], numbers[some]


def _possible(arcs: Booleans, rows: Floats) -> Booleans:
    """Return the arcs (sources, targets) that the first rows (n, sources) leave possible.

    A row is at most 0 at every target. So a source with a number above 0 is never sent where no
    source with one below 0 may be.
    """
    left = arcs
    while True:
        unbalanced = ((rows < 0.0) @ left == 0).astype(np.float64)
        fewer = left & (((rows > 0.0).T @ unbalanced) == 0.0)
        if (fewer == left).all():
            return left
        left = fewer
