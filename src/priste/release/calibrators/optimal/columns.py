"""The programme for larger maps: put a remap together from columns that are private each.

For one bound the columns that pass form a convex cone. So a remap whose columns are sums of
private columns is private, and the best such sum is a small linear programme: one variable per
known column, one equation per group of outputs that are treated alike. Its prices tell
which columns would be worth having: for a target, the groups that are priced above what they
cost there. Each such set of groups is made private by adding the least constant that does, and
the programme is solved again. It begins with the halves of the map, so it has something good from
the first solution on, and every solution is nearly private as it stands.

Nothing here is trusted for privacy: what comes out is a proposal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.mechanisms import Mechanism
from priste.quantify import Promise
from priste.quantify.promises import as_limits
from priste.release.calibrator import Booleans, EventOperator, Floats
from priste.release.calibrators.optimal.programme import (
    NEGLIGIBLE,
    Deadline,
    EventCuts,
    Programme,
    Proposal,
    cleaned_remap,
    solved,
)
from priste.release.calibrators.remap.grouping import OutputPlaces
from priste.release.calibrators.remap.search import QuickCheck

Integers = NDArray[np.int64]

GROUPS = 32
"""Into how many groups of outputs that are sent alike the map is cut, at most."""

FEW_GROUPS = 16
"""How many groups the first programme of all rows has, where time is short."""

FIRST_SHARE = 0.3
"""Which share of the time may go into putting columns together."""

NEXT_SHARE = 0.9
"""Which share of what is left may go into a programme of all rows."""

PRICED = 24
"""How many new columns are tried in a round, at most."""

PRECISION = 1.005
"""The constant that makes a column private is at most this factor above the least one."""

SMOOTHING = 0.5
"""How much of the average of earlier prices is in the prices that new columns are sought for."""

WORTHWHILE = 1e-7
"""A column must promise to save this share of the cost to be added."""


class ColumnProgramme:
    """The cheapest remap that treats groups of outputs alike and is made of private columns.

    ``matrix`` (cells, outputs) is the cost, ``predicted`` the public prediction, ``worst_case``
    whether the largest expected cost of a cell counts and not the mean.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        matrix: Floats,
        predicted: Floats,
        operators: Sequence[EventOperator],
        limits: Sequence[Promise],
        *,
        worst_case: bool = False,
        groups: int = GROUPS,
    ) -> None:
        emission = mechanism.emission()
        places = OutputPlaces.of(mechanism, predicted)
        by_output = QuickCheck(operators, emission, limits)
        belief = np.full(len(matrix), 1.0 / len(matrix)) if worst_case else predicted
        weights: Floats = (emission * belief[:, None]).T @ matrix
        halves = places.halves()
        self._places, self._side = places, _best_half(halves, by_output, weights)
        self._labels = places.groups(groups, self._side)
        count = int(self._labels.max()) + 1
        grouping = np.zeros((mechanism.outputs, count))
        grouping[np.arange(mechanism.outputs), self._labels] = 1.0
        self._law = emission @ grouping
        self._matrix = matrix
        self._worst_case = worst_case
        self._weights: Floats = grouping.T @ weights
        self._check = by_output.grouped(grouping)
        # On a large map about this constant is needed beside a set that is sent to a target.
        tightest = min(min(limit.up, limit.down) for limit in map(as_limits, limits))
        self._usual = 1.0 / math.expm1(min(max(tightest, 1e-3), 30.0))
        self._halves = self._halved_groups(halves)
        self._master = _Master(count, len(matrix) if worst_case else 0)
        self._known: set[bytes] = set()
        self._predicted, self._operators, self._limits = predicted, operators, limits

    def solve(self, max_rounds: int, deadline: Deadline) -> Proposal:
        """Put a remap together from columns, then do better with programmes of all rows.

        Those begin anew, over the same groups and the useful targets. What comes out is made
        private column by column and joins the others. Where time is short, a programme over
        fewer groups comes first. The bound is that of the programme over all groups: of remaps
        of these to the targets that it was given. Where the worst cell counts, those programmes
        have a full row for every cell and take minutes: they are left out, and there is no bound.
        """
        mixture, rounds = self._combined(max_rounds, deadline.part(FIRST_SHARE))
        bound: float | None = None
        sizes = [FEW_GROUPS, self._law.shape[1]]
        if self._worst_case:
            sizes = []
        elif deadline.left() == math.inf:
            sizes = sizes[1:]
        for groups in sizes:
            if mixture is None or deadline.left() <= 0.0:
                break
            whole = self._programmed(mixture, groups, max_rounds, deadline.part(NEXT_SHARE))
            rounds += whole.rounds
            if groups == self._law.shape[1]:
                bound = whole.lower_bound
            if whole.remap is not None:
                self._add_all(whole.remap[:, whole.remap.any(axis=0)])
                better = self._master.run(deadline)
                mixture = mixture if better is None else better[0]
        return self._proposal(mixture, bound, rounds)

    def _programmed(
        self, mixture: Floats, groups: int, max_rounds: int, deadline: Deadline
    ) -> Proposal:
        """Solve the programme of all rows; its remap is (all groups, targets)."""
        targets = self._useful_targets(mixture, groups)
        # Groups come by cutting larger ones in two, so fewer of them are unions of these.
        merged = np.zeros((self._law.shape[1], min(groups, self._law.shape[1])))
        merged[np.arange(len(merged)), self._parents(groups)] = 1.0
        law, weights = self._law @ merged, merged.T @ self._weights[:, targets]
        cuts = [EventCuts(each, law, self._limits[each.number]) for each in self._operators]
        whole = Programme(weights).solve(cuts, max_rounds, deadline)
        if whole.remap is None:
            return whole
        return replace(whole, remap=merged @ whole.remap)

    def _parents(self, groups: int) -> Integers:
        """Return per group the one it belongs to when there are at most so many."""
        coarse = self._places.groups(groups, self._side)
        parents = np.zeros(self._law.shape[1], dtype=np.int64)
        parents[self._labels] = coarse
        return parents

    def _combined(self, max_rounds: int, deadline: Deadline) -> tuple[Floats | None, int]:
        """Solve, price new columns, add those that promise something, and again."""
        groups = self._law.shape[1]
        public = int(np.argmin(self._public_costs()))
        self._master.add(np.ones(groups), public, self._cost_of(np.ones(groups), public))
        self._add_private(self._halves, None)
        found: Floats | None = None
        center: Floats | None = None
        for done in range(1, max_rounds + 1):
            solved = self._master.run(deadline)
            if solved is None:
                return found, done - 1
            found, prices = solved
            if deadline.left() <= 0.0:
                return found, done
            if self._worst_case:
                self._reweigh()
            # Prices jump between equally good solutions; their average points somewhere.
            center = prices if center is None else SMOOTHING * center + (1 - SMOOTHING) * prices
            if self._add_private(self._worth_having(center), prices):
                continue
            if not self._add_private(self._worth_having(prices), prices):
                return found, done
        return found, max_rounds

    def _useful_targets(self, mixture: Floats, count: int) -> Integers:
        """Return the targets in use, and others near to where the user may be."""
        used = self._master.targets(mixture)
        more = shared_targets(self._matrix, self._predicted, max(count - len(used), 0), used)
        return np.array([*used, *more], dtype=np.int64)

    # ------------------------------------------------------------------ columns

    def _worth_having(self, prices: Floats) -> Booleans:
        """Return (groups, k): per promising target, the groups whose price is above their cost."""
        reduced = self._weights - prices[:, None]
        sets = reduced < 0.0
        promised = np.minimum(reduced, 0.0).sum(axis=0) + self._usual * reduced.sum(axis=0)
        order = np.argsort(promised, kind="stable")
        return np.asarray(sets[:, order])

    def _add_private(self, sets: Booleans, prices: Floats | None) -> int:
        """Make sets of groups private, add those that pay at these prices, and count them."""
        fresh = self._not_yet_known(sets, PRICED if prices is not None else sets.shape[1])
        if not fresh.shape[1]:
            return 0
        constants = self._check.additions(fresh, PRECISION)
        return self._add_paying((fresh + constants)[:, np.isfinite(constants)], prices)

    def _add_all(self, columns: Floats) -> None:
        """Make columns (groups, k) private and add them."""
        constants = self._check.additions(columns, PRECISION)
        self._add_paying((columns + constants)[:, np.isfinite(constants)], None)

    def _add_paying(self, columns: Floats, prices: Floats | None) -> int:
        """Add the private columns that pay at these prices, or all of them, and count them."""
        if not columns.shape[1]:
            return 0
        columns = columns / columns.max(axis=0)
        by_target = columns.T @ self._weights
        targets = by_target.argmin(axis=1)
        added = 0
        for place, target in enumerate(targets):
            column = np.ascontiguousarray(columns[:, place])
            cost = by_target[place, target]
            if prices is None or cost < column @ prices - WORTHWHILE * abs(cost):
                self._master.add(column, int(target), self._cost_of(column, int(target)))
                added += 1
        return added

    def _not_yet_known(self, sets: Booleans, most: int) -> Floats:
        chosen = []
        for place in range(sets.shape[1]):
            inside = sets[:, place]
            key = np.packbits(inside).tobytes()
            if key in self._known or not inside.any() or inside.all():
                continue
            self._known.add(key)
            chosen.append(inside)
            if len(chosen) == most:
                break
        return np.asarray(np.array(chosen, dtype=np.float64).reshape(len(chosen), len(sets)).T)

    def _halved_groups(self, halves: Booleans) -> Booleans:
        """Return the halves of the map in whole groups: a group is where most of it is."""
        count = self._law.shape[1]
        sizes = np.bincount(self._labels, minlength=count)
        inside = np.zeros((count, halves.shape[1]))
        np.add.at(inside, self._labels, halves.astype(np.float64))
        return np.asarray(inside > 0.5 * sizes[:, None])

    # ------------------------------------------------------------------ costs

    def _public_costs(self) -> Floats:
        return np.asarray(
            self._matrix.max(axis=0) if self._worst_case else self._weights.sum(axis=0)
        )

    def _cost_of(self, column: Floats, target: int) -> Floats:
        """Return the cost of a column: one number, or one per cell where the worst cell counts."""
        if self._worst_case:
            return np.asarray((self._law @ column) * self._matrix[:, target])
        return np.array([column @ self._weights[:, target]])

    def _reweigh(self) -> None:
        """Look for columns that help the cells whose cost is largest now."""
        counted = self._law * self._master.cell_prices()[:, None]
        self._weights = counted.T @ self._matrix

    def _proposal(self, mixture: Floats | None, bound: float | None, rounds: int) -> Proposal:
        """Turn weights of columns into a remap of outputs."""
        remap = None
        if mixture is not None:
            grouped = self._master.remap(mixture, self._matrix.shape[1])
            # Small entries stay: each column is private as a whole.
            cleaned = cleaned_remap(grouped, negligible=0.0)
            remap = None if cleaned is None else cleaned[self._labels]
        return Proposal(remap, bound, rounds, finished=False)


def _best_half(halves: Booleans, check: QuickCheck, weights: Floats) -> Booleans | None:
    """Return one side of the line that is best to be told, if only one line is."""
    if not halves.shape[1]:
        return None
    sides = halves.astype(np.float64)
    constants = check.enough(sides)
    columns = sides + np.where(np.isfinite(constants), constants, 0.0)
    cost = (columns.T @ weights).min(axis=1).reshape(-1, 2).sum(axis=1)
    total = 1.0 + constants.reshape(-1, 2).sum(axis=1)
    best = int(np.argmin(np.where(np.isfinite(total), cost / total, np.inf)))
    return np.asarray(halves[:, 2 * best])


def shared_targets(costs: Floats, predicted: Floats, count: int, used: Sequence[int]) -> list[int]:
    """Return ``count`` outputs beside those in use, so that the predicted user is near to one."""
    nearest = costs[:, list(used)].min(axis=1)
    found: list[int] = []
    while len(found) < min(count, costs.shape[1] - len(used)):
        left = predicted @ np.minimum(nearest[:, None], costs)
        left[[*used, *found]] = math.inf
        found.append(int(np.argmin(left)))
        nearest = np.minimum(nearest, costs[:, found[-1]])
    return found


class _Master:
    """The programme over known columns: weights >= 0 whose columns sum to one in every group.

    With ``cells`` > 0 the cost of each cell is a row, and the largest of them is minimised.
    """

    def __init__(self, groups: int, cells: int) -> None:
        import highspy

        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # it has no types
        self._infinite = highspy.kHighsInf
        self._groups, self._cells = groups, cells
        self._columns: list[Floats] = []
        self._targets: list[int] = []
        self._cell_prices = np.zeros(cells)
        solver = self._solver
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        nothing = np.zeros(0, dtype=np.int32), np.zeros(0)
        for _ in range(groups):
            solver.addRow(1.0, 1.0, 0, *nothing)
        for _ in range(cells):
            solver.addRow(-self._infinite, 0.0, 0, *nothing)
        if cells:
            rows = np.arange(groups, groups + cells, dtype=np.int32)
            solver.addCol(1.0, 0.0, self._infinite, cells, rows, np.full(cells, -1.0))

    def add(self, column: Floats, target: int, cost: Floats) -> None:
        """Take in a column (groups,) that may be sent to a target, and its cost."""
        rows = np.arange(self._groups + self._cells, dtype=np.int32)
        entries = np.concatenate([column, cost]) if self._cells else column
        price = 0.0 if self._cells else float(cost[0])
        self._solver.addCol(price, 0.0, self._infinite, len(rows), rows, entries)
        self._columns.append(column)
        self._targets.append(target)

    def run(self, deadline: Deadline) -> tuple[Floats, Floats] | None:
        """Return the weights of the columns and the prices of the groups, or None."""
        if not solved(self._solver, deadline):
            return None
        solution = self._solver.getSolution()
        weights = np.array(solution.col_value, dtype=np.float64)
        prices = np.array(solution.row_dual, dtype=np.float64)
        extra = 1 if self._cells else 0
        if len(weights) != len(self._columns) + extra or len(prices) != self._groups + self._cells:
            return None
        if not (np.isfinite(weights).all() and np.isfinite(prices).all()):
            return None
        self._cell_prices = np.maximum(-prices[self._groups :], 0.0)
        return np.maximum(weights[extra:], 0.0), prices[: self._groups]

    def cell_prices(self) -> Floats:
        """Return (cells,) how much the cost of each cell counts at the last solution."""
        return self._cell_prices

    def targets(self, weights: Floats) -> list[int]:
        """Return the targets that columns of positive weight are sent to."""
        used = np.flatnonzero(weights > NEGLIGIBLE)
        return sorted({self._targets[place] for place in used})

    def remap(self, weights: Floats, outputs: int) -> NDArray[np.float64]:
        """Return (groups, outputs), the sum of the weighted columns at their targets."""
        remap = np.zeros((self._groups, outputs))
        for place in np.flatnonzero(weights > NEGLIGIBLE):
            remap[:, self._targets[place]] += weights[place] * self._columns[place]
        return remap
