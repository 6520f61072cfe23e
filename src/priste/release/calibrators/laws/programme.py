"""The linear programme of one step: which source is released as which target, at what price.

Variables are the arcs on which a source may be sent to a target, and one number for each target and
event: what its ratio will cost later. The objective is the expected cost now plus these. Rows
say that every source is sent somewhere, that every target keeps the promise under the priors
written down so far, and that the later cost is not less than a convex function of the ratio (see
:func:`tangent`). Priors that turn out to be violated, and ratios at which the function is still
cut off, are added in rounds. The work is bounded in pivots of the simplex method, so that the
result is a function of the numbers that went in and not of a clock.

Nothing here is trusted for privacy: what comes out is a proposal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.release.calibrators.laws.conditions import Pull

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Finding = tuple[int, int, Pull]
"""An event, a target, and a prior that is bad for it."""

MARGIN = 1e-6
"""How far inside its limits a ratio is kept, so that rounding does not take it out."""

WALL = 1.05
"""The later cost grows without bound towards this multiple of the largest ratio."""

NODES = 3
"""At how many ratios the later cost is written down before the first round."""

FREE_REACH = 2.0
"""How far ratios are looked at in a direction that is not bounded."""

NEGLIGIBLE = 1e-9
"""Shares of a source below this are rounding of the solver."""

WORTHWHILE = 1e-3
"""By how much a later cost must have been cut off to be written down, in public costs."""


def tangent(ratio: float, pull: Pull) -> tuple[float, float]:
    """Return (u, v): the later cost of x and y is at least u x + v y, exactly so at this ratio.

    The function is ``y F(x / (y e^up)) + x F(y / (x e^down))`` with ``F(s) = 1 / (1 - s / WALL)``,
    a term for each direction that is bounded: convex, and of degree 1 in (x, y), so that splitting
    a column never makes it cheaper. It is small in the middle of the allowed ratios and grows
    towards their ends, where a stream could hardly say anything more.
    """
    u = v = 0.0
    for limit, at, up in ((pull.up, ratio, True), (pull.down, 1.0 / ratio, False)):
        if limit < math.inf:
            end = WALL * math.exp(limit)
            at = min(at, end / WALL)
            value = 1.0 / (1.0 - at / end)
            slope = value * value / end
            first, second = slope, value - at * slope
            u, v = (u + first, v + second) if up else (u + second, v + first)
    return u, v


class Programme:
    """Minimise ``costs`` (sources, targets) of a remap plus what its ratios cost later.

    ``arcs`` (sources, targets) tells what may be sent where. ``prices`` (events,) is what one unit
    of the later cost is worth; ``pulls`` are the priors to begin with, per event.
    """

    def __init__(
        self,
        costs: Floats,
        arcs: Booleans,
        prices: Sequence[float],
        pulls: Sequence[Sequence[Pull]],
    ) -> None:
        import highspy

        self._infinite = highspy.kHighsInf
        self._sources, self._targets = costs.shape
        self._source, self._target = np.nonzero(arcs)
        self._by_target = [np.flatnonzero(self._target == t) for t in range(self._targets)]
        self._prices = prices
        self._count = len(self._source)
        self._later = self._count + np.arange(len(prices) * self._targets).reshape(len(prices), -1)
        rows = [
            (number, row, counted)
            for number, event in enumerate(pulls)
            for pull in event
            for row, counted in self._written(number, pull, _nodes(pull), hard=True)
        ]
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # it has no types
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
        ):
            self._solver.setOptionValue(option, value)
        self._solver.passModel(self._model(costs, rows, highspy))

    def _model(self, costs: Floats, rows: list[tuple[int, Floats, bool]], highspy: Any) -> Any:
        """Return the programme column by column: arcs, then later costs."""
        targets, count = self._targets, self._count
        height = 1 + len(rows)
        index = np.empty((count, height), dtype=np.int32)
        value = np.empty((count, height))
        index[:, 0], value[:, 0] = self._source, 1.0
        for place, (_, row, _) in enumerate(rows):
            index[:, 1 + place] = self._sources + place * targets + self._target
            value[:, 1 + place] = row[self._source]
        later_index, later_starts, used = [], [], count * height
        for number in range(len(self._prices)):
            mine = [
                place for place, (event, _, later) in enumerate(rows) if later and event == number
            ]
            for target in range(targets):
                later_starts.append(used)
                later_index += [self._sources + place * targets + target for place in mine]
                used += len(mine)
        model = highspy.HighsLp()
        extra, height_all = self._later.size, self._sources + len(rows) * targets
        model.num_col_, model.num_row_ = count + extra, height_all
        model.col_cost_ = np.concatenate([costs[self._source, self._target], np.ones(extra)])
        model.col_lower_ = np.zeros(count + extra)
        model.col_upper_ = np.full(count + extra, self._infinite)
        ones = np.ones(self._sources)
        free = len(rows) * targets
        model.row_lower_ = np.concatenate([ones, np.full(free, -self._infinite)])
        model.row_upper_ = np.concatenate([ones, np.zeros(free)])
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.array(
            [*range(0, count * height, height), *later_starts, used], dtype=np.int32
        )
        model.a_matrix_.index_ = np.concatenate(
            [index.ravel(), np.array(later_index, dtype=np.int32)]
        )
        model.a_matrix_.value_ = np.concatenate([value.ravel(), -np.ones(len(later_index))])
        return model

    def _written(
        self, number: int, pull: Pull, ratios: Sequence[float], *, hard: bool
    ) -> list[tuple[Floats, bool]]:
        """Return rows over sources, each <= 0 or (True) <= the later cost of the target."""
        rows: list[tuple[Floats, bool]] = []
        if hard:
            for limit, more, less in ((pull.up, pull.x, pull.y), (pull.down, pull.y, pull.x)):
                if limit < math.inf:
                    row = more - math.exp(limit - MARGIN) * less
                    largest = float(np.abs(row).max(initial=0.0))
                    if largest > 0.0:
                        rows.append((row / largest, False))
        if self._prices[number] > 0.0:
            for ratio in ratios:
                u, v = tangent(ratio, pull)
                rows.append((self._prices[number] * (u * pull.x + v * pull.y), True))
        return rows

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
            if len(values) < self._count or not np.isfinite(values).all():
                return best
            remap = self._remap(values)
            if remap is None:
                return best
            best = remap
            if pivots <= 0 or not self._add(find(remap), remap, values):
                return best
        return best

    def _remap(self, values: Floats) -> Floats | None:
        remap = np.zeros((self._sources, self._targets))
        shares = values[: self._count]
        remap[self._source, self._target] = np.where(shares > NEGLIGIBLE, shares, 0.0)
        sums = remap.sum(axis=1)
        if not (sums > 0.5).all():
            return None
        return np.asarray(remap / sums[:, None])

    def _add(self, findings: list[Finding], remap: Floats, values: Floats) -> int:
        """Write down the priors that are violated or whose later cost was cut off; count rows."""
        lengths: list[int] = []
        index: list[int] = []
        entries: list[float] = []
        for number, target, pull in findings:
            column = remap[:, target]
            x, y = float(pull.x @ column), float(pull.y @ column)
            if not x + y > 0.0:
                continue
            low, high = math.exp(-_reach(pull.down)), math.exp(_reach(pull.up))
            ratio = min(max(x / y, low), high) if y > 0.0 else high
            u, v = tangent(ratio, pull)
            violated = not _within(x, y, pull)
            cut_off = self._prices[number] * (u * x + v * y) - values[self._later[number, target]]
            if not violated and cut_off <= WORTHWHILE:
                continue
            arcs = self._by_target[target]
            for row, later in self._written(number, pull, [ratio], hard=violated):
                index += arcs.tolist()
                entries += row[self._source[arcs]].tolist()
                if later:
                    index.append(int(self._later[number, target]))
                    entries.append(-1.0)
                lengths.append(len(arcs) + later)
        if lengths:
            starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
            self._solver.addRows(
                len(lengths),
                np.full(len(lengths), -self._infinite),
                np.zeros(len(lengths)),
                len(index),
                starts,
                np.array(index, dtype=np.int32),
                np.array(entries),
            )
        return len(lengths)


def _within(x: float, y: float, pull: Pull) -> bool:
    return x <= math.exp(min(pull.up, 700.0)) * y and y <= math.exp(min(pull.down, 700.0)) * x


def _reach(limit: float) -> float:
    return min(limit, FREE_REACH) if limit == math.inf else limit


def _nodes(pull: Pull) -> list[float]:
    places = np.linspace(-_reach(pull.down), _reach(pull.up), NODES) * 0.9
    return [math.exp(float(place)) for place in places]
