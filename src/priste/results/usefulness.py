"""How far releases are from the truth: one measure for every command, page and run.

An error is the distance from the true fix of a step to the released point. A step counts if it has
a fix on the map and a released point on it; time off the map is counted apart. Three ways of
releasing are compared: with priste, the uncalibrated mechanism in expectation, and the constant
point that is best for this very truth.

Everything here is made from true locations, so no page with these figures may be published.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from priste.events import NEAR_HOURS, near_events, near_reach
from priste.maps import Grid, best_constant, kilometres
from priste.results.true_steps import (
    NONE,
    Flags,
    Floats,
    Integers,
    TrueSteps,
    numbered,
    off_map_cells,
)
from priste.results.wording import length, percent
from priste.traces import CellOfEachStep

if TYPE_CHECKING:
    from priste.policy import Policy

PRISTE, UNCALIBRATED, CONSTANT = "with priste", "uncalibrated", "constant point"
"""The ways of releasing that are compared."""

FAR, NEAR = range(2)

FINE = 4
"""Positions of many people are kept as counts in cells of 1/FINE of the side of a cell, with the
middle of those in each."""

MILLIMETRE = 1e-6
"""In km. Positions are added up as whole millimetres, which do not depend on the order."""

CURVE_KM = np.concatenate([np.arange(0, 2, 0.025), np.arange(2, 20, 0.25), np.arange(20, 501, 5)])
"""The distances at which the share of releases within them is known."""

MOST_AT_ONCE = 2**20
"""How many expected distances are computed at once."""

CLOSE = 1 + 1e-9
"""A distance counts as within another if it is at most this many times as large."""


@dataclass(frozen=True)
class Worth:
    """One way of releasing, in metres: the mean error everywhere, near and far from the events.

    nan where no step is. ``between_cells`` is the mean distance between the centres of the true and
    the released cells; ``within_a_cell`` and ``exact`` are the shares of the steps with an error of
    at most one cell's side, and with the true cell released.
    """

    everywhere: float
    near: float
    far: float
    within_a_cell: float
    exact: float
    between_cells: float = math.nan


@dataclass(frozen=True)
class Sums:
    """Errors added up, far from the events and near them: kilometres and numbers of steps."""

    steps: Floats
    km: Floats
    between: Floats
    within: Floats
    exact: Floats
    curve: Floats = field(repr=False)

    @classmethod
    def none(cls) -> Sums:
        """Return the sums over no step."""
        zero = np.zeros(2)
        return cls(zero, zero, zero, zero, zero, np.zeros(len(CURVE_KM)))

    @classmethod
    def over(
        cls,
        errors: Floats,
        weights: Floats,
        between: Floats,
        near: Flags,
        km: float,
        *,
        curve: bool = True,
    ) -> Sums:
        """Add up (n, k) errors of n steps, each with ``weights`` (n, k) that sum to 1.

        Without ``curve`` the shares within distances are not counted, which takes most of the time.
        """
        sides = np.stack([~near, near]).astype(np.float64)
        close = (weights * (errors <= km * CLOSE)).sum(axis=1)
        exact = (weights * (between == 0)).sum(axis=1)
        shares = np.zeros(len(CURVE_KM))
        if curve:
            place = np.searchsorted(CURVE_KM * CLOSE, errors.ravel())
            shares = _cumulated(place, weights.ravel())
        return cls(
            sides.sum(axis=1),
            sides @ (weights * errors).sum(axis=1),
            sides @ (weights * between).sum(axis=1),
            sides @ close,
            sides @ exact,
            shares,
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def worth(self) -> Worth:
        """Return the means."""

        def mean(sums: Floats, steps: Floats) -> float:
            return float(sums.sum() / steps.sum()) if steps.sum() else math.nan

        return Worth(
            everywhere=1000 * mean(self.km, self.steps),
            near=1000 * mean(self.km[NEAR:], self.steps[NEAR:]),
            far=1000 * mean(self.km[:NEAR], self.steps[:NEAR]),
            within_a_cell=mean(self.within, self.steps),
            exact=mean(self.exact, self.steps),
            between_cells=1000 * mean(self.between, self.steps),
        )

    def shares(self) -> Floats:
        """Return the share of steps with an error of at most each of ``CURVE_KM``."""
        return np.asarray(self.curve / self.steps.sum())


@dataclass(frozen=True)
class OffMap:
    """Steps off the map: how many there were, for how many that was released, and wrongly so."""

    steps: int = 0
    released: int = 0
    wrongly: int = 0

    def __add__(self, other: OffMap) -> OffMap:
        return OffMap(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def sentence(self) -> str:
        """Say how much time was off the map; nothing if none was and none was released so.

        >>> OffMap(10, 4, 1).sentence()
        '10 steps were off the map: 4 of them were released as off-map, and so was 1 step on it.'
        """
        if not self.steps and not self.wrongly:
            return ""

        def said(count: int) -> str:
            return f"{count:,} step{'s' if count != 1 else ''}"

        were = "was" if self.steps == 1 else "were"
        also = f", and so {'was' if self.wrongly == 1 else 'were'} {said(self.wrongly)} on it"
        return (
            f"{said(self.steps)} {were} off the map: {self.released:,} of them were released as "
            f"off-map{also if self.wrongly else ''}."
        )


@dataclass(frozen=True)
class PersonErrors:
    """The errors of one person's stream, added up.

    ``uncalibrated`` is the expectation of the mechanism; None where its table depends on past
    releases. ``fine`` are the true positions of the steps that count, far from the events and near
    them: (n, 3) fine cells, and millimetres east and north of their corners.
    """

    released: Sums
    uncalibrated: Sums | None
    fine: tuple[Integers, Integers] = field(repr=False)
    off_map: OffMap = field(default_factory=OffMap)


def person_errors(
    policy: Policy,
    truth: TrueSteps,
    released: CellOfEachStep,
    chances: Mapping[int, Floats] | None = None,
) -> PersonErrors:
    """Measure what was released for one person: the cell of the map of each step, or None.

    With the ``chances`` (outputs,) of each step the errors are expected ones, over all points that
    could have been released at it, given the releases before it.
    """
    person = _measured(policy, truth, released, curve=False)[0]
    if chances is None:
        return person
    steps = [step for step in chances if truth.known[step] and truth.cells[step] != NONE]
    rows = np.array([chances[step] for step in steps])
    near = near_steps(policy, len(truth))[steps]
    places, cells = truth.places[steps], truth.cells[steps]
    which = np.arange(len(steps))
    expected = _over_rows(policy, places, cells, near, rows, which, curve=False)
    return replace(person, released=expected)


def near_steps(policy: Policy, steps: int) -> Flags:
    """Return (steps,) which steps are near an event of the policy."""
    events = [each.event for each in policy.events.values()]
    return near_events(steps, events, near_reach(policy.timeline.step.total_seconds()))


def _measured(
    policy: Policy, truth: TrueSteps, released: CellOfEachStep, *, curve: bool
) -> tuple[PersonErrors, Floats]:
    """Return a person's errors added up, and (T,) in km step by step, nan where a step has none."""
    grid = policy.grid
    ring = off_map_cells(policy)
    told = numbered(released)
    beyond = (told != NONE) & ring[told]
    both = np.flatnonzero(truth.known & (truth.cells != NONE) & (told != NONE) & ~beyond)
    near = near_steps(policy, len(truth))[both]
    places, cells = truth.places[both], truth.cells[both]
    apart = _hypot(grid.centers[told[both]] - places)
    between = kilometres(grid, cells, told[both])[:, None]
    errors = np.full(len(truth), np.nan)
    errors[both] = apart
    apart = apart[:, None]
    person = PersonErrors(
        Sums.over(apart, np.ones_like(apart), between, near, grid.cell_size, curve=curve),
        _uncalibrated(policy, places, cells, near, curve=curve),
        _fine(grid, places, near),
        OffMap(
            int(truth.off_map.sum()),
            int((truth.off_map & beyond).sum()),
            int((truth.known & beyond).sum()),
        ),
    )
    return person, errors


def _uncalibrated(
    policy: Policy, places: Floats, cells: Integers, near: Flags, *, curve: bool
) -> Sums | None:
    """Return the expected errors of the mechanism without a calibrator, over its released points.

    None where the table of the mechanism depends on past releases.
    """
    if policy.mechanism.uses_belief or policy.mechanism.output_cells() is None:
        return None
    distinct, which = np.unique(cells, return_inverse=True)
    rows = np.array([np.asarray(policy.mechanism.row(int(cell))) for cell in distinct])
    return _over_rows(policy, places, cells, near, rows, which, curve=curve)


def _over_rows(
    policy: Policy,
    places: Floats,
    cells: Integers,
    near: Flags,
    rows: Floats,
    which: Integers,
    *,
    curve: bool,
) -> Sums:
    """Return the expected errors of steps whose outputs have the chances ``rows[which]``.

    Outputs off the map count for nothing, as releases do.
    """
    grid, ring = policy.grid, off_map_cells(policy)
    there = np.asarray(policy.mechanism.output_cells(), dtype=np.int64)
    there_on_map = there[~ring[there]]
    rows = rows.reshape(-1, len(there))[:, ~ring[there]]
    shares = rows.sum(axis=1, keepdims=True)
    rows = np.divide(rows, shares, out=np.zeros_like(rows), where=shares > 0)
    kept = shares[which, 0] > 0
    places, cells, near, which = places[kept], cells[kept], near[kept], which[kept]
    centers = grid.centers[there_on_map]
    total = Sums.none()
    at_once = max(1, MOST_AT_ONCE // max(1, len(there_on_map)))
    for first in range(0, len(cells), at_once):
        part = slice(first, first + at_once)
        apart = _hypot(centers[None, :, :] - places[part, None, :])
        between = _hypot(centers[None, :, :] - grid.centers[cells[part], None, :])
        weights = rows[which[part]]
        total = total + Sums.over(apart, weights, between, near[part], grid.cell_size, curve=curve)
    return total


def _hypot(apart: Floats) -> Floats:
    return np.asarray(np.hypot(apart[..., 0], apart[..., 1]))


def fine_steps(policy: Policy, truth: TrueSteps) -> tuple[Integers, Integers]:
    """Return the positions of all steps with a fix on the map, as in :class:`PersonErrors`."""
    there = np.flatnonzero(truth.known & (truth.cells != NONE))
    return _fine(policy.grid, truth.places[there], near_steps(policy, len(truth))[there])


def _fine(grid: Grid, places: Floats, near: Flags) -> tuple[Integers, Integers]:
    side = grid.cell_size / FINE
    last = FINE * np.array([grid.columns, grid.rows]) - 1
    corners = np.clip((places // side).astype(np.int64), 0, last)
    cells = corners[:, 1] * FINE * grid.columns + corners[:, 0]
    apart = np.rint((places - corners * side) / MILLIMETRE).astype(np.int64)
    fine = np.column_stack([cells, apart])
    return fine[~near], fine[near]


class RunErrors:
    """The errors of many people, added up group by group without keeping where a person was.

    Groups may be added in any order: the sums are the same to the last bit.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._groups: dict[int, tuple[Sums, Sums | None]] = {}
        self._visits = np.zeros((2, 3, FINE * FINE * grid.size))
        self._of_people: dict[int, list[float]] = {}
        self.off_map = OffMap()

    def add(self, people: Iterable[PersonErrors], group: int | None = None) -> None:
        """Add people, as a group of their own or of the given number."""
        number = len(self._groups) if group is None else group
        released = Sums.none()
        uncalibrated: Sums | None = Sums.none()
        means = self._of_people.setdefault(number, [])
        for each in people:
            self.off_map = self.off_map + each.off_map
            if not each.released.steps.sum():
                continue
            released = released + each.released
            alone = each.uncalibrated
            known = uncalibrated is not None and alone is not None
            uncalibrated = uncalibrated + alone if known else None  # type: ignore[operator]
            means.append(each.released.worth().everywhere)
            for sums, fine in zip(self._visits, each.fine, strict=True):
                cells, *apart = fine.T
                for total, amount in zip(sums, (1, *apart), strict=True):
                    np.add.at(total, cells, amount)
        self._groups[number] = released, uncalibrated

    @property
    def known(self) -> bool:
        """Whether any step counts."""
        return bool(self._visits.any())

    def sums(self) -> dict[str, Sums]:
        """Return the sums of each way of releasing by name; nothing where no step counts."""
        if not self.known:
            return {}
        total: dict[str, Sums | None] = {PRISTE: Sums.none(), UNCALIBRATED: Sums.none()}
        for number in sorted(self._groups):  # in one order, whichever finished first
            for way, each in zip(list(total), self._groups[number], strict=True):
                held = total[way]
                total[way] = None if held is None or each is None else held + each
        constant = constant_sums(self._grid, self._visits)
        return {way: each for way, each in {**total, CONSTANT: constant}.items() if each}

    def ways(self) -> dict[str, Worth]:
        """Return the means of each way of releasing by name; nothing where no step counts."""
        return {way: each.worth() for way, each in self.sums().items()}

    def spread(self) -> dict[str, float]:
        """Return the metres that half, and nineteen of twenty, of the people are off at most."""
        means = [mean for number in sorted(self._of_people) for mean in self._of_people[number]]
        if not means:
            return {"half": math.nan, "nineteen_of_twenty": math.nan}
        half, most = np.quantile(np.array(means), [0.5, 0.95])
        return {"half": float(half), "nineteen_of_twenty": float(most)}


def constant_sums(grid: Grid, visits: Floats) -> Sums:
    """Return the errors of the centre of one cell, the best one for everybody.

    ``visits`` (2, 3, fine cells) is how often people were in each fine cell, far from the events
    and near them, and their positions added up. Distances are from the middle of the positions.
    """
    sides, there = np.nonzero(visits[:, 0])
    total, *apart = visits[sides, :, there].T
    rows, columns = np.divmod(there, FINE * grid.columns)
    corners = np.stack([columns, rows], axis=1) * (grid.cell_size / FINE)
    places = corners + np.stack(apart, axis=1) / total[:, None] * MILLIMETRE
    cells = rows // FINE * grid.columns + columns // FINE
    counts = np.where(sides == [[FAR], [NEAR]], total, 0.0)
    in_cells = np.bincount(cells, weights=total, minlength=grid.size).astype(np.float64)
    rough = best_constant(grid, in_cells)
    around = neighbours(grid, rough)
    errors = _hypot(places[:, None, :] - grid.centers[around][None, :, :])
    best = int((total @ errors).argmin())
    errors = errors[:, best]
    between = kilometres(grid, cells, np.full(len(cells), around[best]))
    within, exact = errors <= grid.cell_size * CLOSE, between == 0
    curve = _cumulated(np.searchsorted(CURVE_KM * CLOSE, errors), total)
    return Sums(
        counts.sum(axis=1),
        counts @ errors,
        counts @ between,
        counts @ within,
        counts @ exact,
        curve,
    )


def _cumulated(place: Integers, weights: Floats) -> Floats:
    """Return how much weight lies at or before each of ``CURVE_KM``."""
    counts = np.bincount(place, weights=weights, minlength=len(CURVE_KM) + 1)
    return np.cumsum(counts)[: len(CURVE_KM)].astype(np.float64)


def neighbours(grid: Grid, cell: int) -> Integers:
    """Return a cell and those around it."""
    row, column = divmod(cell, grid.columns)
    return np.array(
        [
            r * grid.columns + c
            for r in range(max(0, row - 1), min(grid.rows, row + 2))
            for c in range(max(0, column - 1), min(grid.columns, column + 2))
        ],
        dtype=np.int64,
    )


@dataclass(frozen=True)
class Usefulness:
    """How useful one stream was; ``errors`` (km, None where a step has none) are step by step.

    ``ways`` compares ways of releasing, ``shares`` says the share of steps within each of
    ``CURVE_KM`` for each of them.
    """

    errors: tuple[float | None, ...]
    ways: Mapping[str, Worth]
    shares: Mapping[str, tuple[float, ...]] = field(repr=False)
    median: float
    cell_size: float
    off_map: OffMap = field(default_factory=OffMap)

    def sentence(self) -> str:
        """Return the errors in a sentence; see :func:`price_sentence`."""
        return price_sentence(self.ways, self.cell_size, self.off_map)


def usefulness(policy: Policy, truth: TrueSteps, released: CellOfEachStep) -> Usefulness:
    """Measure one stream of released cells against the truth."""
    person, steps = _measured(policy, truth, released, curve=True)
    total = RunErrors(policy.grid)
    total.add([person])
    sums = total.sums()
    known = steps[~np.isnan(steps)]
    return Usefulness(
        errors=tuple(None if math.isnan(e) else float(e) for e in steps),
        ways={way: each.worth() for way, each in sums.items()},
        shares={way: tuple(each.shares().tolist()) for way, each in sums.items()},
        median=1000 * float(np.median(known)) if known.size else math.nan,
        cell_size=policy.grid.cell_size,
        off_map=total.off_map,
    )


def price_sentence(
    ways: Mapping[str, Worth], cell_size: float, off_map: OffMap | None = None
) -> str:
    """Return the errors in a sentence: how many releases are accurate, and how far off the others
    are.

    ``cell_size`` is in km. Say plainly where the constant point is no farther off near the events.

    >>> constant = Worth(2000.0, 2000.0, 2000.0, 0.1, 0.1)
    >>> way = Worth(290.0, 2000.0, 90.0, 0.9, 0.9)
    >>> price_sentence({PRISTE: way, CONSTANT: constant}, 0.1).split(". ")[0]
    '90.0 % of the releases are within one cell (100 m) of the true fix'
    """
    if PRISTE not in ways:
        return "No step has both a true fix on the map and a release." + _after(off_map)
    way, constant = ways[PRISTE], ways[CONSTANT]
    said = (
        f"{percent(way.within_a_cell)} of the releases are within one cell "
        f"({length(1000 * cell_size)}) of the true fix."
    )
    if not math.isnan(way.near) and not math.isnan(way.far):
        said += (
            f" Far from the events (more than {NEAR_HOURS:g} hours) they are "
            f"{length(way.far)} off on average, near them {length(way.near)}; one constant "
            f"point would be {length(constant.far)} and {length(constant.near)} off."
        )
    if way.everywhere >= constant.everywhere:
        said += " A constant point would have done as well or better."
    elif way.near >= constant.near:
        said += " Near the events a constant point would have done as well."
    return said + _after(off_map)


def _after(off_map: OffMap | None) -> str:
    sentence = "" if off_map is None else off_map.sentence()
    return f" {sentence}" if sentence else ""
