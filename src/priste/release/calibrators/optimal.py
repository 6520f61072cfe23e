"""The optimal calibrator: the release table of least expected cost that passes the check.

The mechanism stays at its full budget, and whatever is done with its outputs is post-processing:
what is released is as geo-indistinguishable as what the mechanism draws. Outputs with the same best
public guess are merged (:mod:`.best_guess`); a linear programme decides what each is released as
(:mod:`.programme`), at the least expected cost to the people who fit the releases, within what may
be used up by now (:mod:`.spending`). The programme proposes, the exact check decides: the very
floats that passed are drawn from.

People with an event count as much as people without it. Under the public prediction an event may be
rare, and a table of least expected cost then serves people without it: the others release points
kilometres from where they are. But a person who guards an event is likely to take part in it. So
costs are expected over populations: for each event and model one of people with the event and one
of people without, or one for each answer of a secret, each where the model and the past releases
place it. Before the first release they count alike; later each counts as much as it makes the past
releases likely. So a table serves people who fit the releases, and the model that predicts
the user best counts most. No population may be worse off than with one constant output, unless the
releases have all but excluded it. Like the prediction this depends on public things only; the
guarantee does not depend on it.

A column that fails is mixed with a constant, as little as it needs (:func:`mixed_until_checked`).
For a fixed bound the columns that pass form a convex cone: the condition of each prior is linear in
the column. The constant column lies in it as long as the bound is not used up. So every column can
be brought in by adding a constant, and what was added is a release that does not depend on the
cell: ``(T + 1 μᵀ) / (1 + Σμ)`` is "T with probability 1 / (1 + Σμ), else a public draw from μ /
Σμ".

All of it is a function of past releases and public parameters: work is bounded in pivots and
rounds, never in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.arguments import check_int
from priste.maps import Grid
from priste.mechanisms import Mechanism
from priste.mechanisms.mechanism import normalise_rows
from priste.quantify import CandidateOperator, Guarantee
from priste.release.accountant import AccountantState, CheckResult, EventOperator
from priste.release.calibrators.best_guess import (
    Cost,
    Costs,
    CostsToPeople,
    Groups,
    MergedOutputs,
    constant_output,
    has_cells,
    labels_of,
    likely_rectangles,
    merged_outputs,
    separated,
)
from priste.release.calibrators.programme import FEW_ROWS, EventConditions, Finding, Programme
from priste.release.calibrators.spending import checked_pace, paced_limits, scheduled_limits
from priste.release.release_tables import CheckedTable, ReleaseTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

WORK = 3_000
"""How many pivots of the simplex method a step may take."""

ROUNDS = 4
"""How often violated priors are added to the programme, which is then solved again."""


@dataclass(frozen=True)
class Size:
    """How large the programme of a step may be.

    It splits ``sources`` sources at most, the likeliest, or fewer where fewer have the probability
    ``share`` together. Each may be sent to so many of its cheapest targets, and of the likeliest
    (``nearest``).
    """

    sources: int
    share: float
    nearest: int


ONE_MODEL, SEVERAL_MODELS = Size(40, 0.999, 4), Size(100, 0.9999, 8)
"""People whom one of several models expects in a cell are hardly expected there by the others. In
small programmes they were released with people far away. With one model the larger size took twice
the time and saved 3 % of the error (``benchmarks.usefulness_families``, ``benchmarks.waiting``)."""

LEAST_SHARE = 0.901
"""If so many sources have less than this, the programme splits as many groups of all sources.

No number of equally likely sources has just this share, so it does not hang on a last bit.
"""

SLACK = 1e-6
"""By how much, relatively, a population may be worse off than with a constant: rounding only."""

LEAST_GAIN = 1e-6
"""A table must be better than the best constant by this share, or the constant is released: gains
of the size of rounding would make the choice hang on last bits."""

AFFECTED = 0.01
"""An event counts at a step where a merged output released as it is moves a ratio by this much."""

UNLIKELY_COLUMN = 1e-4
"""A failing column with less than this predicted probability joins the constant output."""

Passes = Callable[[Integers, Floats], Booleans]
"""The places of columns, and how much of a constant is added to each, to verdicts."""

Check = Callable[[Floats], CheckResult]
"""Likelihoods (m, k) to the result of the accountant's check."""

SMALLEST_ADDITION = 2.0**-40
"""Relative to the largest entry of a column: less than this is never added."""

LARGEST_ADDITION = 2.0**24
"""Relative to the largest entry of a column: a column that needs more is given up."""

PRECISION = 1.02
"""What is added is at most this factor above what is needed."""

PARTS, PARTS_OF_FEW = 2, 16
"""Into how many parts the search for it cuts what is left, also where rows are few: then many
amounts are tried as quickly as one."""

TRIES = 8
"""How often a little more is added to a mixture that fails the check by rounding only."""


LEAST_WEIGHT = 0.05
"""A population that counts less than this, relative to the one that counts most, may be worse off
than with a constant output: the releases exclude it, or nearly."""

LEAST_EVIDENCE = -1000.0
"""In bits: weights of populations that are less likely than this are all alike, and not 0."""


class Optimal:
    """Choose the table of least expected cost at every step, and check it exactly.

    ``cost`` is ``"distance"``, ``"squared"`` or a matrix (cells, outputs). By
    default what is left of each guarantee is spent by a schedule that follows from the events
    and the model only; ``pace`` in (0, 1] is instead a fixed share of what is left that one step
    may use up. ``work`` >= 1 bounds the pivots of a step.

    The table is a function of past releases and the terms. In expectation under the model, neither
    those with an event nor those without are worse off than with one constant point for all, at any
    step, unless the releases have all but excluded them (``LEAST_WEIGHT``).

    >>> from priste.events import presence
    >>> from priste.maps import Grid
    >>> from priste.mechanisms import PlanarLaplace
    >>> from priste.mobility import MarkovModel
    >>> from priste.quantify import AnyPrior
    >>> from priste.release import Protector
    >>> grid = Grid(rows=3, columns=3, cell_size=1.0)
    >>> protector = Protector(MarkovModel.gaussian(grid, sigma=1.0), presence([0], [1, 2]),
    ...                       PlanarLaplace(grid, alpha=2.0), guarantee=0.5,
    ...                       calibrator=Optimal(), rng=1, adversary=AnyPrior())
    >>> protector.release(4).leakage[0] <= 0.5
    True
    """

    guaranteed = True

    def __init__(
        self, *, cost: Cost = "distance", pace: float | None = None, work: int = WORK
    ) -> None:
        self._pace = None if pace is None else checked_pace(pace, "Optimal")
        self._costs = Costs(cost, "Optimal")
        self._work = check_int(work, "work", "Optimal", least=1)

    def check_mechanism(self, mechanism: Mechanism) -> None:
        """Refuse a mechanism whose outputs have no cost."""
        self._costs.check(mechanism)

    def propose(self, state: AccountantState) -> CheckedTable:
        """Return the table for this step; the true cell has no part in it."""
        operators = list(state.operators())
        people = populations(state, operators)
        fixed = constant_output(state, self._costs)
        merged, by_population = self._merged(state, people, fixed)
        constant = state.constant(int(merged.targets[merged.constant]), merged.constant_cost)
        if len(merged.mass) == 1 or not merged.constant_cost > 0.0:
            return constant
        limits = scheduled_limits(state) if self._pace is None else paced_limits(state, self._pace)
        proposed = self._proposal(state, operators, merged, limits, by_population, fixed)
        if proposed is None:
            return constant
        checked = self._checked(state, merged, *proposed, limits, people.mixture)
        return (
            constant
            if checked is None
            or self._is_worse(checked.table, state, people, fixed, merged.constant_cost)
            else checked
        )

    def _is_worse(
        self,
        table: ReleaseTable,
        state: AccountantState,
        people: Populations,
        fixed: int,
        constant_cost: float,
    ) -> bool:
        """Return whether a constant would be as good, or some population is better off with one.

        The margins are public and far above rounding, so the answer does not hang on last bits.
        """
        mechanism = state.mechanism
        cells = len(table.likelihoods)
        by_cell = self._costs.by_cell(table.likelihoods, table.outputs, mechanism)
        with_table = people.protected @ by_cell
        always = np.ones((cells, 1)), np.array([fixed])
        with_constant = people.protected @ self._costs.by_cell(*always, mechanism)
        gained = table.cost < (1.0 - LEAST_GAIN) * constant_cost
        return not gained or bool((with_table > (1.0 + SLACK) * with_constant).any())

    def describe(self) -> dict[str, Any]:
        """Return the parameters under their names."""
        return {
            "kind": "optimal",
            "cost": self._costs.describe(),
            "pace": self._pace,
            "work": self._work,
        }

    def _merged(
        self, state: AccountantState, people: Populations, fixed: int
    ) -> tuple[MergedOutputs, list[CostsToPeople]]:
        """Return the merged outputs for these people, and what they cost each population.

        The constant is the best of the targets with which no population is worse off than with
        ``fixed``, the output that is best if it is always released.
        """
        merged = merged_outputs(state.mechanism, people.mixture, self._costs, fixed)
        by_population = [
            merged.costs_to(each, state.mechanism, self._costs) for each in people.protected
        ]
        costs = np.array([each.constant() for each in by_population])
        with_fixed = costs[:, np.flatnonzero(merged.targets == fixed)[:1]]
        worse = (costs > (1.0 + SLACK) * with_fixed).any(axis=0)
        expected = np.where(worse, np.inf, merged.constant_costs())
        best = int(np.argmin(separated(expected)))
        return replace(merged, constant=best, constant_cost=float(expected[best])), by_population

    def _proposal(
        self,
        state: AccountantState,
        operators: list[EventOperator],
        merged: MergedOutputs,
        limits: list[Guarantee],
        by_population: list[CostsToPeople],
        fixed: int,
    ) -> tuple[Floats, Integers] | None:
        """Return columns (cells, k) and their places among the targets; rows sum to 1."""
        mean = state.terms.expected_start()
        events = [
            EventConditions(operator, limit, merged.sources, mean)
            for each in operators
            for operator, limit in each.comparisons(limits[each.event])
        ]
        affected = [each for each in events if each.is_affected(merged.mass, AFFECTED)]
        if not affected:
            return merged.sources.likelihoods, merged.own

        def passes(some: Integers) -> Booleans:
            if not some.size:
                return _none_passes(some)
            single = np.eye(len(merged.mass))[:, some]
            return np.asarray(np.all([event.keeps(single) for event in affected], axis=0))

        size = SEVERAL_MODELS if len(state.terms.models) > 1 else ONE_MODEL
        weights = np.mean([merged.mass, *(each.mass for each in affected)], axis=0)
        for released_exactly in (passes, _none_passes):
            groups, own, exact = _groups(state.mechanism, merged, weights, released_exactly, size)
            remap, places = self._solved(
                merged, affected, groups, own, by_population, fixed, size.nearest
            )
            if remap is not None or not exact.size:
                break
        if remap is None:
            return None
        unmixed = _unmixed(remap)
        members = groups.members
        some = np.flatnonzero(members[:, unmixed].any(axis=1))
        unmixed &= ~members[some[~passes(some)]].any(axis=0)
        exact = np.union1d(exact, np.flatnonzero(members[:, unmixed].any(axis=1)))
        single = np.eye(len(members))[:, exact]
        weights = np.concatenate([members[:, ~unmixed] @ remap[~unmixed], single], axis=1)
        columns = merged.sources.mixed(weights)
        return _joined(columns, np.concatenate([places, merged.own[exact]]))

    def _solved(
        self,
        merged: MergedOutputs,
        affected: list[EventConditions],
        groups: Groups,
        guesses: Integers,
        by_population: list[CostsToPeople],
        fixed: int,
        most: int,
    ) -> tuple[Floats | None, Integers]:
        """Solve the programme of these groups; return the remap and its targets' places."""
        fixed_target = int(np.flatnonzero(merged.targets == fixed)[0])
        places = np.union1d(guesses, [merged.constant, fixed_target])
        costs = groups.costs(places) / merged.constant_cost
        arcs = np.zeros(costs.shape, dtype=bool)
        nearest = min(most, len(places))
        cheap = np.argpartition(separated(costs), nearest - 1, axis=1)[:, :nearest]
        arcs[np.arange(len(costs))[:, None], cheap] = True
        own = np.searchsorted(places, guesses)
        arcs[np.arange(len(own)), own] = True
        arcs[:, own[:most]] = True
        fixed_place = int(np.searchsorted(places, fixed_target))
        arcs[:, [int(np.searchsorted(places, merged.constant)), fixed_place]] = True
        grouped = [event.grouped(groups) for event in affected]
        mass = merged.mass @ groups.members
        bounds = [bound for event in grouped for bound in event.first_bounds()]
        caps = [each.grouped(groups, places) for each in by_population]
        programme = Programme(
            costs, arcs, bounds, [(cap, cap[:, fixed_place].sum()) for cap in caps]
        )

        def find(remap: Floats) -> list[Finding]:
            used = np.flatnonzero(remap.any(axis=0))
            return [
                (int(used[place]), bound)
                for event in grouped
                for place, bound in event.violated(remap[:, used], mass)
            ]

        return programme.solve(find, ROUNDS, self._work), places

    def _checked(
        self,
        state: AccountantState,
        merged: MergedOutputs,
        columns: Floats,
        places: Integers,
        limits: list[Guarantee],
        people: Floats,
    ) -> CheckedTable | None:
        """Return a table every column of which has passed the exact check; None if none does.

        Columns that fail are first joined to the constant one; likely ones are instead mixed with
        as little of a constant draw as they need.
        """
        full = state.mechanism

        def table(likelihoods: Floats, places: Integers) -> ReleaseTable:
            outputs = merged.targets[places]
            cost = float(people @ self._costs.by_cell(likelihoods, outputs, full))
            return ReleaseTable(likelihoods, outputs, full.outputs, full.budget, cost)

        first = normalise_rows(columns)
        result = state.check(table(first, places), limits)
        if result.table is not None:
            return result.table
        failed = np.flatnonzero(~result.passed)
        unlikely = failed[(state.predicted() @ first)[failed] < UNLIKELY_COLUMN]
        moved = places.copy()
        moved[unlikely] = merged.constant
        joined, places = _joined(first, moved)
        joined = normalise_rows(joined)
        return mixed_until_checked(
            joined,
            state.passes_with_constant(joined, limits),
            lambda likelihoods: state.check(table(likelihoods, places), limits),
            PARTS_OF_FEW if state.rows <= FEW_ROWS else PARTS,
        )


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
    def mixture(self) -> Floats:
        """Where a person of any of them is, (m,): their mixture by weight."""
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
        found = [each for event in same for each in _by_answer(event.operator, mean)]
        if found:
            evidence = np.array([bits for bits, _ in found])
            weights.append(np.exp2(np.maximum(evidence - evidence.max(), LEAST_EVIDENCE)))
            weights[-1] /= weights[-1].sum()
            places += [place for _, place in found]
    if not places:
        return Populations(state.predicted()[None], np.ones(1))
    return Populations(np.array(places), np.concatenate(weights) / len(weights))


def _by_answer(operator: CandidateOperator, mean: Floats) -> list[tuple[float, Floats]]:
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


def _none_passes(some: Integers) -> Booleans:
    return np.zeros(len(some), dtype=bool)


def _groups(
    mechanism: Mechanism,
    merged: MergedOutputs,
    weights: Floats,
    released_exactly: Callable[[Integers], Booleans],
    size: Size,
) -> tuple[Groups, Integers, Integers]:
    """Return groups of sources, their guesses, and the sources released exactly.

    Sources with the largest ``weights`` are groups of their own, if they are most; the rest is
    released exactly where that passes, and one group where not. If they are not most, those with
    guesses in one rectangle of the map are a group, so that a programme of few groups
    covers all of them. What is released exactly is missing in the programme, which may then have no
    solution; one with all sources has one.
    """
    order = np.argsort(separated(-weights), kind="stable")
    everything = float(weights.sum())
    likeliest = np.cumsum(weights[order])
    if likeliest[: size.sources][-1] < LEAST_SHARE * everything and has_cells(mechanism):
        groups = _by_rectangle(mechanism.grid, merged, size.sources)
        return groups, separated(groups.costs()).argmin(axis=1), order[:0]
    enough = int(np.searchsorted(likeliest, size.share * everything)) + 1
    chosen, rest = np.split(order, [min(enough, size.sources)])
    is_exact = released_exactly(rest)
    pooled, exact = rest[~is_exact], rest[is_exact]
    members = np.zeros((len(order), len(chosen) + (len(pooled) > 0)))
    members[chosen, np.arange(len(chosen))] = 1.0
    members[pooled, len(chosen) :] = 1.0
    guesses = np.full(members.shape[1], merged.constant)
    guesses[: len(chosen)] = merged.own[chosen]
    return Groups(members, merged), guesses, exact


def _by_rectangle(grid: Grid, merged: MergedOutputs, most: int) -> Groups:
    """Return the groups of those with guesses in one rectangle, the likeliest first."""
    cells = merged.targets[merged.own]
    mass = np.zeros(grid.size)
    mass[cells] = merged.mass
    rectangle = labels_of(grid, likely_rectangles(grid, mass, most))[cells]
    members = (rectangle[:, None] == np.unique(rectangle)).astype(np.float64)
    order = np.argsort(separated(-(merged.mass @ members)), kind="stable")
    return Groups(members[:, order], merged)


def _unmixed(remap: Floats) -> Booleans:
    """Return which groups (n,) are released as one target that stands for no other group."""
    used = remap > 0.0
    return np.asarray((used.sum(axis=1) == 1) & (used[:, used.sum(axis=0) == 1].any(axis=1)))


def _joined(columns: Floats, places: Integers) -> tuple[Floats, Integers]:
    """Add up columns of one place, and leave out those that are never drawn."""
    order = np.argsort(places, kind="stable")
    found, starts = np.unique(places[order], return_index=True)
    joined = np.add.reduceat(columns[:, order], starts, axis=1)
    used = joined.any(axis=0)
    return joined[:, used], found[used]


def mixed_until_checked(
    likelihoods: Floats, passes: Passes, check: Check, parts: int = PARTS
) -> CheckedTable | None:
    """Return the table mixed with as little of a constant draw as the check needs.

    ``likelihoods`` (m, k) are nonnegative rows that sum to 1, without columns of zeros.
    ``passes`` says which columns pass, for searching; ``check`` checks the mixture as it is, and
    what it returns is returned. None if no mixture passes, as when the bound is used up.
    """
    extra = additions(likelihoods, passes, parts)
    if extra is None:
        return None
    scale = likelihoods.max(axis=0)
    for attempt in range(TRIES):
        result = check(normalise_rows((likelihoods + extra) / (1.0 + extra.sum())))
        if result.table is not None:
            return result.table
        little = np.maximum(1e-3 * extra, SMALLEST_ADDITION * scale) * 4.0**attempt
        extra = np.where(result.passed, extra, extra + little)
    return None


def additions(columns: Floats, passes: Passes, parts: int = PARTS) -> Floats | None:
    """Return (k,) what to add to each column so that it passes; 0 where nothing is needed.

    It is searched for in ``parts`` at once. None if a column needs more than ``LARGEST_ADDITION``
    times its largest entry.
    """
    needed = np.zeros(columns.shape[1])
    used = np.flatnonzero(columns.any(axis=0))
    failing = used[~passes(used, np.zeros(len(used)))]
    if not failing.size:
        return needed
    scale = columns[:, failing].max(axis=0)
    low = np.full(len(failing), SMALLEST_ADDITION)
    high = np.ones(len(failing))
    passed = np.zeros(len(failing), dtype=bool)
    while not passed.all():
        if high.max() > LARGEST_ADDITION:
            return None
        left = np.flatnonzero(~passed)
        passed[left] = passes(failing[left], high[left] * scale[left])
        low[~passed] = high[~passed]
        high[~passed] *= 16.0
    while True:
        left = np.flatnonzero(high > PRECISION * low)
        if not left.size:
            break
        tried = low[left, None] * (high / low)[left, None] ** (np.arange(1, parts) / parts)
        amounts = (tried * scale[left, None]).ravel()
        verdict = passes(np.repeat(failing[left], parts - 1), amounts).reshape(tried.shape)
        enough = np.column_stack([verdict, np.ones(len(left), dtype=bool)]).argmax(axis=1)
        ends = np.column_stack([low[left], tried, high[left]])
        every = np.arange(len(left))
        low[left], high[left] = ends[every, enough], ends[every, enough + 1]
    needed[failing] = high * scale
    return needed
