"""What a stream was worth: distances near and far from its events, beside a constant cell.

Everything here is made from true locations, so a page that shows it must not be published.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.events import NEAR_HOURS, Event, near_events, near_reach
from priste.maps import Grid, best_constant, kilometres
from priste.report.wording import length
from priste.traces import CellOfEachStep


@dataclass(frozen=True)
class Worth:
    """One way of releasing: mean metres everywhere, near and far from events; nan if no step is.

    ``within_a_cell`` and ``exact`` are the shares of releases within one cell's width of the true
    cell, and in it.
    """

    everywhere: float
    near: float
    far: float
    within_a_cell: float
    exact: float


@dataclass(frozen=True)
class Usefulness:
    """What a stream was worth. ``errors`` (km, None without a release) are step by step.

    ``ways`` holds "with priste", "alone" if that was given, and "one constant cell": the one that
    is best for this very truth, so that no public constant is better.
    """

    errors: tuple[float | None, ...]
    ways: Mapping[str, Worth]
    cell_size: float

    def sentence(self) -> str:
        """Say where the price is paid; see :func:`price_sentence`."""
        return price_sentence(self.ways, self.cell_size)


def price_sentence(ways: Mapping[str, Worth], cell_size: float) -> str:
    """Say where the price is paid: how many releases are accurate, and how far off the others are.

    ``ways`` holds "with priste" and "one constant cell"; ``cell_size`` is in km.

    >>> constant = Worth(2000.0, 2000.0, 2000.0, 0.1, 0.1)
    >>> way = Worth(290.0, 2000.0, 90.0, 0.9, 0.9)
    >>> price_sentence({"with priste": way, "one constant cell": constant}, 0.1).split(". ")[0]
    '90 % of the releases are within one cell (100 m) of the truth'
    """
    way, constant = ways["with priste"], ways["one constant cell"]
    said = (
        f"{way.within_a_cell:.0%} of the releases are within one cell "
        f"({length(1000 * cell_size)}) of the truth.".replace("%", " %", 1)
    )
    if not math.isnan(way.near) and not math.isnan(way.far):
        said += (
            f" Far from the events (more than {NEAR_HOURS:g} hours) they are "
            f"{length(way.far)} off on average, near them {length(way.near)}; one constant "
            f"cell would be {length(constant.everywhere)} off."
        )
    return said


def usefulness(
    grid: Grid,
    truth: CellOfEachStep,
    released: CellOfEachStep,
    events: Sequence[Event],
    step_seconds: float,
    alone: CellOfEachStep | None = None,
) -> Usefulness:
    """Measure a stream of releases, and what the mechanism alone released, against the truth."""
    near = near_events(len(truth), events, near_reach(step_seconds))
    known = np.array([cell for cell in truth if cell is not None], dtype=np.int64)
    constant = best_constant(grid, np.bincount(known, minlength=grid.size).astype(np.float64))
    ways = {"with priste": released, "alone": alone, "one constant cell": [constant] * len(truth)}
    errors = {name: step_errors(grid, truth, cells) for name, cells in ways.items() if cells}
    return Usefulness(
        errors=tuple(None if math.isnan(e) else float(e) for e in errors["with priste"]),
        ways={name: worth_of(each, near, grid.cell_size) for name, each in errors.items()},
        cell_size=grid.cell_size,
    )


def step_errors(grid: Grid, truth: CellOfEachStep, released: CellOfEachStep) -> NDArray[np.float64]:
    """Return (steps,) km between true and released cells, nan where one is missing."""
    both = [
        step
        for step, pair in enumerate(zip(truth, released, strict=True))
        if pair[0] is not None and pair[1] is not None
    ]
    errors = np.full(len(truth), np.nan)
    true = np.array([truth[step] for step in both], dtype=np.int64)
    errors[both] = kilometres(grid, true, np.array([released[s] for s in both], dtype=np.int64))
    return errors


def worth_of(errors: NDArray[np.float64], near: NDArray[np.bool_], cell: float) -> Worth:
    """Return the figures of distances in km, nan where there is none, on cells of ``cell`` km."""
    there = ~np.isnan(errors)

    def metres(chosen: NDArray[np.bool_]) -> float:
        return 1000 * float(errors[chosen].mean()) if chosen.any() else math.nan

    told = errors[there]
    return Worth(
        everywhere=metres(there),
        near=metres(there & near),
        far=metres(there & ~near),
        within_a_cell=float((told <= cell * (1 + 1e-9)).mean()) if told.size else math.nan,
        exact=float((told == 0).mean()) if told.size else math.nan,
    )


def constant_worth(grid: Grid, visits: NDArray[np.float64]) -> Worth:
    """Return the worth of the one cell that is best for everybody, whoever was where.

    ``visits`` (2, m) is how often each cell was the true one, far from events and near them.
    """
    total = visits.sum(axis=0)
    chosen = best_constant(grid, total)
    apart = kilometres(grid, np.arange(grid.size), np.full(grid.size, chosen))

    def metres(counts: NDArray[np.float64]) -> float:
        return 1000 * float(counts @ apart / counts.sum()) if counts.any() else math.nan

    share = total / total.sum() if total.any() else total
    close = apart <= grid.cell_size * (1 + 1e-9)
    return Worth(
        everywhere=metres(total),
        near=metres(visits[1]),
        far=metres(visits[0]),
        within_a_cell=float(share[close].sum()),
        exact=float(share[chosen]),
    )
