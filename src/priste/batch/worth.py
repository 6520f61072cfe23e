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
from priste.maps import best_constant, kilometres
from priste.mechanisms import Mechanism
from priste.policy import Policy
from priste.traces import CellOfEachStep

WAYS = ("with priste", "alone", "one constant cell")


@dataclass(frozen=True)
class Worth:
    """One user's kilometres, summed over steps: (3, 2) for each of ``WAYS``, near and far.

    "alone" is the expectation of the mechanism without priste, nan where its law depends on past
    releases; "one constant cell" is the best one for this very user.
    """

    kilometres: NDArray[np.float64] = field(repr=False)
    steps: NDArray[np.int64] = field(repr=False)


def worth_of(policy: Policy, truth: CellOfEachStep, released: CellOfEachStep) -> Worth:
    """Measure what was released for one user, step by step, against the truth."""
    places = policy.mechanism.output_cells()
    both = [
        step
        for step, (true, out) in enumerate(zip(truth, released, strict=True))
        if true is not None and out is not None
    ]
    sums, counts = np.zeros((len(WAYS), 2)), np.zeros(2, dtype=np.int64)
    if not both or places is None:
        return Worth(sums, counts)
    grid = policy.grid
    true = np.array([truth[step] for step in both], dtype=np.int64)
    shown = np.asarray(places)[np.array([released[step] for step in both], dtype=np.int64)]
    weights = np.bincount(true, minlength=grid.size).astype(np.float64)
    constant = np.full(len(both), best_constant(grid, weights), dtype=np.int64)
    events = [each.event for each in policy.events.values()]
    reach = near_reach(policy.timeline.step.total_seconds())
    near = near_events(len(truth), events, reach)[both]
    errors = np.stack(
        [
            kilometres(grid, true, shown),
            np.array([_expected_alone(policy.mechanism, int(cell)) for cell in true]),
            kilometres(grid, true, constant),
        ]
    )
    for side, chosen in enumerate((near, ~near)):
        sums[:, side], counts[side] = errors[:, chosen].sum(axis=1), int(np.count_nonzero(chosen))
    return Worth(sums, counts)


@lru_cache(maxsize=65_536)
def _expected_alone(mechanism: Mechanism, cell: int) -> float:
    """Return the expected km between a cell and what the mechanism alone puts out for it."""
    places = mechanism.output_cells()
    if mechanism.uses_belief or places is None:
        return float("nan")
    there = np.asarray(places, dtype=np.int64)
    return float(mechanism.row(cell) @ kilometres(mechanism.grid, np.full(len(there), cell), there))


@dataclass
class WorthOfAll:
    """The worth of many users, added up chunk by chunk; each user's mean error is kept."""

    _chunks: dict[int, tuple[NDArray[np.float64], NDArray[np.int64]]] = field(default_factory=dict)
    of_users: array[float] = field(default_factory=lambda: array("f"), repr=False)

    def add(self, chunk: int, worths: Iterable[Worth]) -> None:
        """Count the users of a chunk in."""
        sums, steps = np.zeros((len(WAYS), 2)), np.zeros(2, dtype=np.int64)
        for each in worths:
            if each.steps.sum():
                sums, steps = sums + each.kilometres, steps + each.steps
                self.of_users.append(float(each.kilometres[0].sum() / each.steps.sum()))
        self._chunks[chunk] = sums, steps

    def metres(self) -> dict[str, dict[str, float]]:
        """Return the mean metres of each way: everywhere, near and far from the events."""
        sums, steps = np.zeros((len(WAYS), 2)), np.zeros(2, dtype=np.int64)
        for chunk in sorted(self._chunks):  # in one order, whoever finished first
            sums, steps = sums + self._chunks[chunk][0], steps + self._chunks[chunk][1]
        with np.errstate(invalid="ignore", divide="ignore"):
            near_far = 1000 * sums / steps
            everywhere = 1000 * sums.sum(axis=1) / steps.sum()
        return {
            way: {
                "everywhere": float(everywhere[k]),
                "near": float(near_far[k, 0]),
                "far": float(near_far[k, 1]),
            }
            for k, way in enumerate(WAYS)
        }

    def spread(self) -> dict[str, float]:
        """Return the metres that half, and nineteen of twenty, of the users are off at most."""
        if not self.of_users:
            return {"half": float("nan"), "nineteen_of_twenty": float("nan")}
        half, most = 1000 * np.quantile(np.array(self.of_users), [0.5, 0.95])
        return {"half": float(half), "nineteen_of_twenty": float(most)}
