"""What a run of many users was worth and told: one line each, and all of them together.

Distances are made from true locations; a summary that holds any must not be published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.events import near_events, near_reach
from priste.policy import Policy, PolicyOf
from priste.randomness import BitSource, Seed, bit_source
from priste.release import Calibrator, Ledger
from priste.report.assembly import released_cells, uncalibrated_cells
from priste.report.audits import keeps_its_guarantees
from priste.report.usefulness import (
    Worth,
    constant_worth,
    price_sentence,
    step_errors,
    worth_of,
)
from priste.report.verdict import Verdict, verdict
from priste.report.wording import length, percent
from priste.traces import CellOfEachStep, Traces

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class UserSummary:
    """One user: how much was released, the largest leakage about each event, and the distances.

    ``leakage`` is in the order of the policy's events; ``kept`` tells whether all guarantees were;
    ``worth`` is None without the truth.
    """

    user: str | None
    steps: int
    releases: int
    leakage: tuple[float, ...]
    kept: bool
    worth: Worth | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RunSummary:
    """All users of a run. ``ways`` compares, over all their steps, ways of releasing by name.

    They are "with priste", "alone" (the mechanism, drawn anew) and "one constant cell" (the one
    that is best for this very truth, over all users); there is none without the truth.
    ``own_places`` tells that it is about places of everybody's own.
    """

    users: tuple[UserSummary, ...]
    epsilons: Mapping[str, float]
    ways: Mapping[str, Worth] = field(repr=False)
    cell_size: float
    calibrator: Calibrator | None = None
    against: str = ""
    own_places: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether the guarantee was kept for everybody."""
        return verdict(self.calibrator, (user.kept for user in self.users))

    @property
    def private(self) -> bool:
        """Whether anything here was made from true locations, or tells of somebody's places."""
        return bool(self.ways) or self.own_places

    def used(self, user: UserSummary) -> tuple[float, str]:
        """Return the largest leakage of a user as a share of what is allowed, and about what.

        0 where no odds are bounded.
        """
        shares = [
            (leakage / epsilon, name)
            for leakage, (name, epsilon) in zip(user.leakage, self.epsilons.items(), strict=True)
            if 0 < epsilon < math.inf
        ]
        return max(shares, default=(0.0, "–"))

    def who_matters(self, most: int) -> list[str | None]:
        """Return the users to tell about: those about whom most was told, those who paid most.

        Half of them each, where distances are known; a user without a name is None.
        """
        told = sorted(self.users, key=lambda user: -self.used(user)[0])
        paid = [user for user in self.users if user.worth is not None and user.releases]
        paid.sort(key=lambda user: -user.worth.everywhere if user.worth else 0.0)
        half = paid[: most // 2]
        chosen = [user for user in told if user not in half][: most - len(half)]
        return [user.user for user in (*chosen, *half)]

    def lines(self) -> tuple[str, ...]:
        """Say where the price is paid, beside the mechanism alone; empty without the truth.

        >>> way = Worth(290.0, 2000.0, 90.0, 0.9, 0.9)
        >>> uncalibrated = Worth(500.0, 480.0, 510.0, 0.4, 0.1)
        >>> constant = Worth(2000.0, 2000.0, 2000.0, 0.1, 0.1)
        >>> ways = {"with priste": way, "alone": uncalibrated, "one constant cell": constant}
        >>> print(RunSummary((), {}, ways, 0.1).lines()[-1])
        The mechanism alone would have been 500 m off on average, with 10.0 % in the true cell.
        """
        if not self.ways:
            return ()
        said = [price_sentence(self.ways, self.cell_size)]
        if "alone" in self.ways:
            alone = self.ways["alone"]
            said.append(
                f"The mechanism alone would have been {length(alone.everywhere)} off on average, "
                f"with {percent(alone.exact)} in the true cell."
            )
        return tuple(said)


class _Sums:
    """Adds up distances, so that no list of them grows with the users."""

    def __init__(self, policy: Policy) -> None:
        self._close = policy.grid.cell_size * (1 + 1e-9)
        self._km, self._steps = np.zeros(2), np.zeros(2)  # far from events, and near them
        self._within = self._exact = 0

    def add(self, errors: Floats, near: Flags) -> None:
        """Count distances in km in; nan is none."""
        for side in (0, 1):
            told = errors[(near == side) & ~np.isnan(errors)]
            self._km[side] += told.sum()
            self._steps[side] += told.size
            self._within += int((told <= self._close).sum())
            self._exact += int((told == 0).sum())

    def worth(self) -> Worth:
        """Return the means."""
        with np.errstate(invalid="ignore"):
            far, near = (1000 * self._km / self._steps).tolist()
        steps = float(self._steps.sum())
        if not steps:
            return Worth(*(math.nan,) * 5)
        everywhere = 1000 * float(self._km.sum()) / steps
        return Worth(everywhere, near, far, self._within / steps, self._exact / steps)


class RunTotals:
    """Adds up users, one by one, without keeping where anybody was."""

    def __init__(
        self, policy: Policy, rng: Seed | BitSource = None, *, own_places: bool = False
    ) -> None:
        self._policy = policy
        self._own_places = own_places
        self._events = [each.event for each in policy.events.values()]
        self._reach = near_reach(policy.timeline.step.total_seconds())
        self._bits = bit_source(rng)
        self._users: list[UserSummary] = []
        self._sums = {"with priste": _Sums(policy), "alone": _Sums(policy)}
        # How often each cell was the true one, far from events and near them: all that a
        # constant cell needs.
        self._visits = np.zeros((2, policy.grid.size))

    def add(
        self,
        user: str | None,
        ledger: Ledger,
        truth: CellOfEachStep | None = None,
        *,
        policy: Policy | None = None,
    ) -> None:
        """Take one user in; ``policy`` is their own, where it is not that of all."""
        own = policy or self._policy
        released = released_cells(own, ledger)
        worth = None
        if truth is not None:
            if len(truth) != len(ledger):
                raise InvalidParameter(
                    f"The truth has {len(truth)} steps and the stream {len(ledger)}. "
                    "Are they of the same user and policy?"
                )
            near = near_events(len(truth), self._events, self._reach)
            told = step_errors(own.grid, truth, released)
            uncalibrated = step_errors(own.grid, truth, uncalibrated_cells(own, truth, self._bits))
            worth = worth_of(told, near, own.grid.cell_size)
            self._sums["with priste"].add(told, near)
            self._sums["alone"].add(uncalibrated, near)
            for step, cell in enumerate(truth):
                if cell is not None:
                    self._visits[int(near[step]), cell] += 1
        self._users.append(
            UserSummary(
                user,
                len(ledger),
                sum(cell is not None for cell in released),
                tuple(
                    max((release.leakage[k] for release in ledger), default=0.0)
                    for k in range(len(self._events))
                ),
                keeps_its_guarantees(own, ledger),
                worth,
            )
        )

    def summary(self) -> RunSummary:
        """Return what was added up."""
        grid = self._policy.grid
        ways = {}
        if self._visits.any():
            ways = {name: each.worth() for name, each in self._sums.items()}
            ways["one constant cell"] = constant_worth(grid, self._visits)
        return RunSummary(
            tuple(self._users),
            {name: event.epsilon for name, event in self._policy.events.items()},
            ways,
            grid.cell_size,
            self._policy.calibrator,
            self._policy.chosen_adversary.words,
            self._own_places,
        )


def summarise_run(
    policy: Policy,
    ledgers: Mapping[str | None, Ledger],
    *,
    traces: Traces | None = None,
    of_user: PolicyOf | None = None,
    seed: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> RunSummary:
    """Summarise the ledgers of a run; with ``traces``, what was protected, also the distances.

    Users without a trace are told of without distances. ``of_user`` tells the policy of each, whose
    own places may stand for its regions.
    """
    totals = RunTotals(policy, seed, own_places=of_user is not None)
    whose = of_user or (lambda user: policy)
    waiting = dict.fromkeys(ledgers)  # the users: ledgers may be read one by one
    users = len(waiting)
    for trace in () if traces is None else traces:
        if trace.user in waiting:
            ledger = ledgers[trace.user]
            # Only a mechanism that follows beliefs needs the user's own model to be compared with.
            own = whose(trace.user)
            truth = own.true_cells(trace).cells[: len(ledger)]
            own = own.for_user(trace) if policy.mechanism.uses_belief else own
            totals.add(trace.user, ledger, truth, policy=own)
            del waiting[trace.user]
            if on_progress is not None:
                on_progress(users - len(waiting), users)
    for user in waiting:
        totals.add(user, ledgers[user], policy=whose(user))
    return totals.summary()
