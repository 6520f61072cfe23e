"""What a stream was worth to its user: kilometres near and far from the events, three ways.

These numbers are made from true locations. They travel with a result to whoever asked for it, and
are added up there; they are never written beside the releases.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from priste.events import near_events, near_reach
from priste.maps import Grid, kilometres
from priste.mechanisms import Mechanism
from priste.policy import Policy
from priste.report import constant_worth
from priste.traces import CellOfEachStep

WAYS = ("with priste", "alone")
CONSTANT = "one constant cell"

FAR, NEAR = range(2)


@dataclass(frozen=True)
class Worth:
    """One user's kilometres, summed over steps: (2, 2) for each of ``WAYS``, far and near.

    "alone" is the expectation of the mechanism without priste, nan where its law depends on past
    releases. ``cells`` are the true ones of the steps that count, far from events and near them.
    """

    kilometres: NDArray[np.float64] = field(repr=False)
    cells: tuple[NDArray[np.int64], NDArray[np.int64]] = field(repr=False)

    @property
    def steps(self) -> NDArray[np.int64]:
        """How many steps count: far, near."""
        return np.array([len(each) for each in self.cells], dtype=np.int64)


def worth_of(policy: Policy, truth: CellOfEachStep, released: CellOfEachStep) -> Worth:
    """Measure what was released for one user, step by step, against the truth."""
    places = policy.mechanism.output_cells()
    both = [
        step
        for step, (true, out) in enumerate(zip(truth, released, strict=True))
        if true is not None and out is not None
    ]
    sums, nobody = np.zeros((len(WAYS), 2)), np.zeros(0, dtype=np.int64)
    if not both or places is None:
        return Worth(sums, (nobody, nobody))
    grid = policy.grid
    true = np.array([truth[step] for step in both], dtype=np.int64)
    shown = np.asarray(places)[np.array([released[step] for step in both], dtype=np.int64)]
    events = [each.event for each in policy.events.values()]
    reach = near_reach(policy.timeline.step.total_seconds())
    near = near_events(len(truth), events, reach)[both]
    errors = np.stack(
        [
            kilometres(grid, true, shown),
            np.array([_expected_alone(policy.mechanism, int(cell)) for cell in true]),
        ]
    )
    for side, chosen in ((FAR, ~near), (NEAR, near)):
        sums[:, side] = errors[:, chosen].sum(axis=1)
    return Worth(sums, (true[~near], true[near]))


@lru_cache(maxsize=65_536)
def _expected_alone(mechanism: Mechanism, cell: int) -> float:
    """Return the expected km between a cell and what the mechanism alone puts out for it."""
    places = mechanism.output_cells()
    if mechanism.uses_belief or places is None:
        return float("nan")
    there = np.asarray(places, dtype=np.int64)
    return float(mechanism.row(cell) @ kilometres(mechanism.grid, np.full(len(there), cell), there))


class WorthOfAll:
    """The worth of many users, added up chunk by chunk; each user's mean error is kept."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._sums: dict[int, NDArray[np.float64]] = {}  # by chunk
        self._visits = np.zeros((2, grid.size))
        self.of_users = array("f")

    def add(self, chunk: int, worths: Iterable[Worth]) -> None:
        """Count the users of a chunk in."""
        sums = np.zeros((len(WAYS), 2))
        for each in worths:
            if each.steps.sum():
                sums += each.kilometres
                self.of_users.append(float(each.kilometres[0].sum() / each.steps.sum()))
                for side, cells in enumerate(each.cells):
                    np.add.at(self._visits[side], cells, 1.0)
        self._sums[chunk] = sums

    def metres(self) -> dict[str, dict[str, float]]:
        """Return the mean metres of each way: everywhere, near and far from the events."""
        sums = np.zeros((len(WAYS), 2))
        for chunk in sorted(self._sums):  # in one order, whoever finished first
            sums += self._sums[chunk]
        steps = self._visits.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            by_side = 1000 * sums / steps
            everywhere = 1000 * sums.sum(axis=1) / steps.sum()
        found = {
            way: {
                "everywhere": float(everywhere[k]),
                "near": float(by_side[k, NEAR]),
                "far": float(by_side[k, FAR]),
            }
            for k, way in enumerate(WAYS)
        }
        constant = constant_worth(self._grid, self._visits)
        found[CONSTANT] = {
            "everywhere": constant.everywhere,
            "near": constant.near,
            "far": constant.far,
        }
        return found

    def spread(self) -> dict[str, float]:
        """Return the metres that half, and nineteen of twenty, of the users are off at most."""
        if not self.of_users:
            return {"half": float("nan"), "nineteen_of_twenty": float("nan")}
        half, most = 1000 * np.quantile(np.array(self.of_users), [0.5, 0.95])
        return {"half": float(half), "nineteen_of_twenty": float(most)}
