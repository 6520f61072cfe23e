"""The linear programme of one step: which source is released as which target, at what price.

Variables are the arcs on which a source may be sent to a target. The objective is the expected
cost. Rows say that every source is sent somewhere, and that every target keeps the guarantee under
the priors written down so far. Priors that turn out to be violated are added in rounds. The work
is bounded in pivots of the simplex method, so that the result is a function of the numbers that
went in and not of a clock.

Nothing here is trusted for privacy: what comes out is a proposal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.release.calibrators.tables.conditions import PriorBound
from priste.release.calibrators.tables.ties import fixed_offsets

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Finding = tuple[int, PriorBound]
"""A target, and a prior that is bad for it."""

MARGIN = 1e-6
"""How far inside its limits a ratio is kept, so that rounding does not take it out."""

TIE = 1e-6
"""By how much the costs of arcs are set apart, in public costs."""

TIE_TOLERANCE = 1e-10
"""What the solver takes for equal costs: far less, so that no two tables are a tie to it."""

TINY = 1e-300

COLUMN_WISE, MINIMISE = 1, 1
"""How the solver numbers the form of a matrix and the sense of a programme."""

NEGLIGIBLE = 1e-9
"""Shares of a source below this are rounding of the solver."""


class Programme:
    """Minimise ``costs`` (sources, targets) of a remap whose targets keep their guarantees.

    ``arcs`` (sources, targets) tells what may be sent where; ``bounds`` are the priors to begin
    with. Each of the ``caps`` is other costs (sources, targets) and what these may be at most.
    Costs of arcs are set apart by ``TIE`` at most, in a fixed order, so that of tables that are
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
        self._sources, self._targets = costs.shape
        self._source, self._target = np.nonzero(arcs)
        self._by_target = [np.flatnonzero(self._target == t) for t in range(self._targets)]
        rows = [row for bound in bounds for row in _written(bound)]
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # it has no types
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("dual_feasibility_tolerance", TIE_TOLERANCE),
        ):
            self._solver.setOptionValue(option, value)
        self._pass(costs, rows)
        self._add_rows(
            [(np.arange(len(self._source)), cap[self._source, self._target]) for cap, _ in caps],
            [most for _, most in caps],
        )

    def _pass(self, costs: Floats, rows: list[Floats]) -> None:
        """Give the solver the programme column by column, one for each arc."""
        count, height = len(self._source), 1 + len(rows)
        index = np.empty((count, height), dtype=np.int32)
        value = np.empty((count, height))
        index[:, 0], value[:, 0] = self._source, 1.0
        for place, row in enumerate(rows):
            index[:, 1 + place] = self._sources + place * self._targets + self._target
            value[:, 1 + place] = row[self._source]
        limited = len(rows) * self._targets
        ones = np.ones(self._sources)
        self._solver.passModel(
            count,
            self._sources + limited,
            count * height,
            COLUMN_WISE,
            MINIMISE,
            0.0,
            costs[self._source, self._target] + TIE * fixed_offsets(count),
            np.zeros(count),
            np.full(count, self._infinite),
            np.concatenate([ones, np.full(limited, -self._infinite)]),
            np.concatenate([ones, np.zeros(limited)]),
            np.arange(0, count * height + 1, height, dtype=np.int32),
            index.ravel(),
            value.ravel(),
            np.zeros(count, dtype=np.int32),  # no variable is an integer
        )

    def solve(
        self, find: Callable[[Floats], list[Finding]], rounds: int, pivots: int
    ) -> Floats | None:
        """Return the remap (sources, targets), rows summing to 1; None if there is none.

        ``find`` returns for a remap the priors that are worst for its targets.
        """
        best: Floats | None = None
        for _ in range(rounds):
            self._solver.setOptionValue("simplex_iteration_limit", max(pivots, 1))
            self._solver.run()
            pivots -= int(self._solver.getInfo().simplex_iteration_count)
            values = np.array(self._solver.getSolution().col_value, dtype=np.float64)
            if len(values) < len(self._source) or not np.isfinite(values).all():
                return best
            remap = self._remap(values)
            if remap is None:
                return best
            best = remap
            if pivots <= 0 or not self._add(find(remap), remap):
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
        """Write down the priors that are violated, for their targets; count the rows."""
        rows = []
        for target, bound in findings:
            if _within(float(bound.x @ remap[:, target]), float(bound.y @ remap[:, target]), bound):
                continue
            arcs = self._by_target[target]
            rows += [(arcs, row[self._source[arcs]]) for row in _written(bound)]
        self._add_rows(rows, [0.0] * len(rows))
        return len(rows)

    def _add_rows(self, rows: list[tuple[Integers, Floats]], most: list[float]) -> None:
        """Add rows, each over some arcs, that must be at most a number."""
        if not rows:
            return
        scales = [1.0 / max(float(np.abs(row).max(initial=0.0)), TINY) for _, row in rows]
        lengths = [len(arcs) for arcs, _ in rows]
        self._solver.addRows(
            len(rows),
            np.full(len(rows), -self._infinite),
            np.array(most) * scales,
            sum(lengths),
            np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32),
            np.concatenate([arcs for arcs, _ in rows]).astype(np.int32),
            np.concatenate([row * scale for (_, row), scale in zip(rows, scales, strict=True)]),
        )


def _written(bound: PriorBound) -> list[Floats]:
    """Return rows over sources, one for each direction that is bounded; each must be <= 0."""
    rows: list[Floats] = []
    for limit, more, less in ((bound.up, bound.x, bound.y), (bound.down, bound.y, bound.x)):
        if limit < math.inf:
            row = more - math.exp(limit - MARGIN) * less
            largest = float(np.abs(row).max(initial=0.0))
            if largest > 0.0:
                rows.append(row / largest)
    return rows


def _within(x: float, y: float, bound: PriorBound) -> bool:
    return x <= math.exp(min(bound.up, 700.0)) * y and y <= math.exp(min(bound.down, 700.0)) * x
