"""The optimal calibrator: tell what is harmless as it is, pool the rest, at the least cost.

The mechanism stays at its full budget, so its geo-indistinguishability is whole: whatever is
done with its outputs is post-processing. Outputs that mean the same to anybody who knows the
model are merged (``laws.merged_outputs``); a linear programme decides what each is released as
(``laws.programme``), at the least expected cost to those for whom it is made (``laws.served``),
within what may be used up by now (``laws.reserve``). The programme proposes, the exact check
decides: the very floats that passed are drawn from.

All of it is a function of past releases and public parameters: work is bounded in pivots and
rounds, never in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_int
from priste.maps import Grid
from priste.mechanisms import Mechanism
from priste.mechanisms.rows import settle_rows
from priste.quantify import Guarantee
from priste.randomness import BitSource
from priste.release.calibrator import Draw, EventOperator, Law
from priste.release.calibrators.cost import Cost, Costs
from priste.release.calibrators.laws.column_law import ColumnLaw
from priste.release.calibrators.laws.conditions import EventConditions
from priste.release.calibrators.laws.merged_outputs import Sources, has_cells, sources_of
from priste.release.calibrators.laws.programme import Finding, Programme
from priste.release.calibrators.laws.quadtree import labels_of, likely_rectangles
from priste.release.calibrators.laws.reserve import scheduled_limits
from priste.release.calibrators.laws.served import constant_output, halves
from priste.release.calibrators.laws.ties import set_apart
from priste.release.calibrators.mixing import least_private_mixture
from priste.release.calibrators.pacing import checked_pace, paced_limits

if TYPE_CHECKING:
    from priste.release.public_state import PublicState

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

WORK = 3_000
"""How many pivots of the simplex method a step may take."""

ROUNDS = 4
"""How often priors that turned out to be violated are written down, and the rest solved again."""

MOST_SOURCES = 40
"""How many sources the programme may split; the likeliest, ..."""

SURE = 0.999
"""... or fewer, where fewer have this probability together."""

MOST = 0.901
"""If they have less than this, it splits so many groups of all sources instead.

No number of equally likely sources has just this share, so it does not hang on a last bit.
"""

NEAREST = 4
"""To how many of its cheapest targets, and of the likeliest, each source may be sent."""

SLACK = 1e-6
"""By how much, relatively, rounding may make a half worse off than with nothing."""

TOUCHED = 0.01
"""An event counts at a step when telling sources apart moves a ratio by this much."""


class Optimal:
    """Choose the law of least expected cost at every step, and check it exactly.

    ``cost`` is ``"distance"``, ``"squared"`` or a matrix (cells, outputs). By
    default what is left of each guarantee is spent by a schedule that follows from the events
    and the model alone; ``pace`` in (0, 1] is instead a fixed share of what is left that one step
    may use up. ``work`` >= 1 bounds the pivots of a step.

    The law is a function of past releases and the terms. In expectation under the model, neither
    those with an event nor those without are worse off, at any step and whatever was
    released before, than with one constant cell for everybody.

    >>> from priste.events import presence
    >>> from priste.maps import Grid
    >>> from priste.mechanisms import PlanarLaplace
    >>> from priste.mobility import MarkovModel
    >>> from priste.release import Protector
    >>> grid = Grid(rows=3, columns=3, cell_size=1.0)
    >>> protector = Protector(MarkovModel.gaussian(grid, sigma=1.0), presence([0], [1, 2]),
    ...                       PlanarLaplace(grid, alpha=2.0), guarantee=0.5,
    ...                       calibrator=Optimal(), rng=1)
    >>> protector.release(4).leakage[0] <= 0.5
    True
    """

    guarantee = True

    def __init__(
        self, *, cost: Cost = "distance", pace: float | None = None, work: int = WORK
    ) -> None:
        self._pace = None if pace is None else checked_pace(pace, "Optimal")
        self._costs = Costs(cost, "Optimal")
        self._work = check_int(work, "work", "Optimal", least=1)

    def choose(self, state: PublicState) -> ColumnLaw:
        """Return the law for this step; the true cell has no part in it."""
        operators = list(state.operators())
        people = halves(state, operators)
        nothing = constant_output(state, self._costs)
        sources, by_half = self._sources(state, people, nothing)
        cells, width = state.mechanism.grid.size, state.mechanism.outputs
        public = ColumnLaw.public(
            int(sources.targets[sources.public]), cells, width, sources.public_cost
        )
        if len(sources.mass) == 1 or not sources.public_cost > 0.0:
            return public
        limits = scheduled_limits(state) if self._pace is None else paced_limits(state, self._pace)
        proposed = self._proposal(state, operators, sources, limits, by_half, nothing)
        if proposed is None:
            return public
        law = _private(state, sources, *proposed, limits)
        if law is None:
            return public
        everybody, mechanism = np.array(people), state.mechanism
        told = everybody @ self._costs.by_cell(*law, mechanism)
        constant = np.ones((cells, 1)), np.array([nothing])
        untold = everybody @ self._costs.by_cell(*constant, mechanism)
        cost = float(told.mean())
        if cost >= sources.public_cost or (told > (1.0 + SLACK) * untold).any():
            return public
        return ColumnLaw(*law, width, state.mechanism.budget, cost)

    def draw(self, state: PublicState, cell: int, bits: BitSource) -> Draw:
        """Draw once, from the law that was chosen without looking at the cell."""
        return state.chosen(self, self.choose).draw(cell, bits)

    def law(self, state: PublicState) -> Law:
        """Return the chosen law as a table."""
        return state.chosen(self, self.choose).law()

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names."""
        return {
            "kind": "optimal",
            "cost": self._costs.describe(),
            "pace": self._pace,
            "work": self._work,
        }

    def _sources(
        self, state: PublicState, people: list[Floats], nothing: int
    ) -> tuple[Sources, list[Floats]]:
        """Return the sources for these people, and (G, T) costs for each half of them.

        The public guess is the best of the targets with which no half is worse off than with
        ``nothing``.
        """
        sources = sources_of(state.mechanism, np.mean(people, axis=0), self._costs, nothing)
        by_half = [sources.costs_to(half, state.mechanism, self._costs) for half in people]
        told = np.array([costs.sum(axis=0) for costs in by_half])
        untold = told[:, np.flatnonzero(sources.targets == nothing)[:1]]
        expected = np.where((told > (1.0 + SLACK) * untold).any(axis=0), np.inf, told.mean(axis=0))
        public = int(np.argmin(set_apart(expected)))
        return replace(sources, public=public, public_cost=float(expected[public])), by_half

    def _proposal(
        self,
        state: PublicState,
        operators: list[EventOperator],
        sources: Sources,
        limits: list[Guarantee],
        by_half: list[Floats],
        nothing: int,
    ) -> tuple[Floats, Integers] | None:
        """Return columns (cells, k) and their places among the targets; they sum to 1."""
        events = [
            EventConditions(each.operator, limits[each.number], sources.law) for each in operators
        ]
        touched = [each for each in events if each.is_touched(sources.mass, TOUCHED)]
        if not touched:
            return sources.law, sources.own

        def harmless(some: Integers) -> Booleans:
            if not some.size:
                return np.zeros(0, dtype=bool)
            alone = np.eye(len(sources.mass))[:, some]
            return np.asarray(np.all([event.keeps(alone) for event in touched], axis=0))

        groups, own, told = _groups(state.mechanism, sources, harmless)
        remap, places = self._solved(state, sources, touched, groups, own, by_half, nothing)
        if remap is None:
            return None
        apart = _left_alone(remap)
        some = np.flatnonzero(groups[:, apart].any(axis=1))
        apart &= ~groups[some[~harmless(some)]].any(axis=0)
        told = np.union1d(told, np.flatnonzero(groups[:, apart].any(axis=1)))
        mixed = sources.law @ (groups[:, ~apart] @ remap[~apart])
        columns = np.concatenate([mixed, sources.law[:, told]], axis=1)
        return _joined(columns, np.concatenate([places, sources.own[told]]))

    def _solved(
        self,
        state: PublicState,
        sources: Sources,
        touched: list[EventConditions],
        groups: Floats,
        guesses: Integers,
        by_half: list[Floats],
        nothing: int,
    ) -> tuple[Floats | None, Integers]:
        """Solve the programme of these groups; return the remap and its targets' places."""
        constant = int(np.flatnonzero(sources.targets == nothing)[0])
        places = np.union1d(guesses, [sources.public, constant])
        costs = (groups.T @ sources.costs)[:, places] / sources.public_cost
        arcs = np.zeros(costs.shape, dtype=bool)
        nearest = min(NEAREST, len(places))
        cheap = np.argpartition(set_apart(costs), nearest - 1, axis=1)[:, :nearest]
        arcs[np.arange(len(costs))[:, None], cheap] = True
        public = int(np.searchsorted(places, sources.public))
        own = np.searchsorted(places, guesses)
        arcs[np.arange(len(own)), own] = True
        arcs[:, own[:NEAREST]] = True
        untold = int(np.searchsorted(places, constant))
        arcs[:, [public, untold]] = True
        reference = state.terms.expected_start()
        grouped = [event.grouped(groups) for event in touched]
        mass = sources.mass @ groups
        pulls = [pull for event in grouped for pull in event.first_pulls(reference)]
        caps = [(groups.T @ costs_to_half)[:, places] for costs_to_half in by_half]
        programme = Programme(costs, arcs, pulls, [(cap, cap[:, untold].sum()) for cap in caps])

        def find(remap: Floats) -> list[Finding]:
            used = np.flatnonzero(remap.any(axis=0))
            return [
                (int(used[place]), pull)
                for event in grouped
                for place, pull in event.witnesses(remap[:, used], mass)
            ]

        return programme.solve(find, ROUNDS, self._work), places


def _groups(
    mechanism: Mechanism, sources: Sources, harmless: Callable[[Integers], Booleans]
) -> tuple[Floats, Integers, Integers]:
    """Return groups of sources (sources, n), their guesses, and the sources told as they are.

    The likeliest sources are groups of their own, if they are most; the rest is told where it
    is harmless and one group where not. Else those with guesses in one rectangle of the map
    are a group, so that a programme of few groups serves everybody.
    """
    order = np.argsort(set_apart(-sources.mass), kind="stable")
    everything = float(sources.mass.sum())
    likeliest = np.cumsum(sources.mass[order])
    if likeliest[:MOST_SOURCES][-1] < MOST * everything and has_cells(mechanism):
        groups = _by_rectangle(mechanism.grid, sources)
        return groups, set_apart(groups.T @ sources.costs).argmin(axis=1), order[:0]
    enough = int(np.searchsorted(likeliest, SURE * everything)) + 1
    chosen, rest = np.split(order, [min(enough, MOST_SOURCES)])
    is_harmless = harmless(rest)
    pooled, told = rest[~is_harmless], rest[is_harmless]
    groups = np.zeros((len(order), len(chosen) + (len(pooled) > 0)))
    groups[chosen, np.arange(len(chosen))] = 1.0
    groups[pooled, len(chosen) :] = 1.0
    guesses = np.full(groups.shape[1], sources.public)
    guesses[: len(chosen)] = sources.own[chosen]
    return groups, guesses, told


def _by_rectangle(grid: Grid, sources: Sources) -> Floats:
    """Return groups (sources, n) of those with guesses in one rectangle, the likeliest first."""
    cells = sources.targets[sources.own]
    mass = np.zeros(grid.size)
    mass[cells] = sources.mass
    rectangle = labels_of(grid, likely_rectangles(grid, mass, MOST_SOURCES))[cells]
    groups = (rectangle[:, None] == np.unique(rectangle)).astype(np.float64)
    return np.asarray(groups[:, np.argsort(set_apart(-(sources.mass @ groups)), kind="stable")])


def _left_alone(remap: Floats) -> Booleans:
    """Tell which groups (n,) are released as one target that stands for no other group."""
    used = remap > 0.0
    return np.asarray((used.sum(axis=1) == 1) & (used[:, used.sum(axis=0) == 1].any(axis=1)))


def _joined(columns: Floats, places: Integers) -> tuple[Floats, Integers]:
    """Add up columns of one place, and leave out those that are never drawn."""
    order = np.argsort(places, kind="stable")
    found, starts = np.unique(places[order], return_index=True)
    joined = np.add.reduceat(columns[:, order], starts, axis=1)
    used = joined.any(axis=0)
    return joined[:, used], found[used]


def _private(
    state: PublicState,
    sources: Sources,
    columns: Floats,
    places: Integers,
    limits: list[Guarantee],
) -> tuple[Floats, Integers] | None:
    """Return a law every column of which has passed the exact check, and its outputs.

    Columns that fail are first joined to the public one, the likely ones with a little of a public
    draw instead. None if nothing passes.
    """

    def allowed(candidates: Floats) -> Booleans:
        return state.passes(candidates, limits)

    table = settle_rows(columns)
    failed = np.flatnonzero(~allowed(table))
    if failed.size:
        mass = state.predicted() @ table
        small = failed[mass[failed] < 1e-4]
        moved = places.copy()
        moved[small] = sources.public
        table, places = _joined(table, moved)
        table = settle_rows(table)
        mixed = least_private_mixture(table, allowed)
        if mixed is None:
            return None
        used = mixed.any(axis=0)
        table, places = mixed[:, used], places[used]
    return table, sources.targets[places]
