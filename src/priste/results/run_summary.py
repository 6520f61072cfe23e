"""A run of many users: the errors and leakages of each, and of all together.

Errors are made from true locations; a summary that holds any must not be published.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from priste.errors import InvalidParameter
from priste.release import Calibrator, Ledger
from priste.results.audits import keeps_its_guarantees, released_cells
from priste.results.true_steps import TrueSteps, true_steps
from priste.results.usefulness import (
    UNCALIBRATED,
    OffMap,
    RunErrors,
    Worth,
    person_errors,
    price_sentence,
)
from priste.results.verdict import Verdict, verdict
from priste.results.wording import length, percent
from priste.traces import Traces

if TYPE_CHECKING:
    from priste.policy import Policy, PolicyOf


@dataclass(frozen=True)
class UserSummary:
    """One user: how much was released, the largest leakage about each event, and the distances.

    ``leakage`` is in the order of the policy's events; ``kept`` says whether all guarantees were;
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

    There is none without the truth. ``own_places`` says that it is about personal places.
    """

    users: tuple[UserSummary, ...]
    epsilons: Mapping[str, float]
    ways: Mapping[str, Worth] = field(repr=False)
    cell_size: float
    calibrator: Calibrator | None = None
    against: str = ""
    own_places: bool = False
    off_map: OffMap = field(default_factory=OffMap)

    @property
    def verdict(self) -> Verdict:
        """Whether the guarantee was kept for everybody."""
        return verdict(self.calibrator, (user.kept for user in self.users))

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
        """Return the users to show: those with the largest leakage and those with the largest
        error.

        Half of them each, where distances are known; a user without a name is None.
        """
        told = sorted(self.users, key=lambda user: -self.used(user)[0])
        paid = [user for user in self.users if user.worth is not None and user.releases]
        paid.sort(key=lambda user: -user.worth.everywhere if user.worth else 0.0)
        half = paid[: most // 2]
        chosen = [user for user in told if user not in half][: most - len(half)]
        return [user.user for user in (*chosen, *half)]

    def lines(self) -> tuple[str, ...]:
        """Return the errors in words, next to the uncalibrated mechanism; empty without the truth.

        >>> way = Worth(290.0, 2000.0, 90.0, 0.9, 0.9)
        >>> noise = Worth(500.0, 480.0, 510.0, 0.4, 0.1)
        >>> constant = Worth(2000.0, 2000.0, 2000.0, 0.1, 0.1)
        >>> ways = {"with priste": way, "uncalibrated": noise, "constant point": constant}
        >>> print(RunSummary((), {}, ways, 0.1).lines()[-1])
        The uncalibrated mechanism is expected to be 500 m off, with 10.0 % in the true cell.
        """
        if not self.ways:
            return ()
        said = [price_sentence(self.ways, self.cell_size, self.off_map)]
        if UNCALIBRATED in self.ways:
            alone = self.ways[UNCALIBRATED]
            said.append(
                f"The uncalibrated mechanism is expected to be {length(alone.everywhere)} off, "
                f"with {percent(alone.exact)} in the true cell."
            )
        return tuple(said)


class RunTotals:
    """Adds up users, one by one, without keeping where a person was."""

    def __init__(self, policy: Policy, *, own_places: bool = False) -> None:
        self._policy = policy
        self._own_places = own_places
        self._users: list[UserSummary] = []
        self._errors = RunErrors(policy.grid)

    def add(
        self,
        user: str | None,
        ledger: Ledger,
        truth: TrueSteps | None = None,
        *,
        policy: Policy | None = None,
    ) -> None:
        """Add one user; ``policy`` is the user's own, if it is not that of all."""
        own = policy or self._policy
        released = released_cells(own, ledger)
        worth = None
        if truth is not None:
            check_same_steps(truth, ledger)
            errors = person_errors(own, truth, released)
            self._errors.add([errors])
            worth = errors.released.worth()
        self._users.append(
            UserSummary(
                user,
                len(ledger),
                sum(cell is not None for cell in released),
                tuple(
                    max((release.leakage[k] for release in ledger), default=0.0)
                    for k in range(len(self._policy.events))
                ),
                keeps_its_guarantees(own, ledger),
                worth,
            )
        )

    def summary(self) -> RunSummary:
        """Return what was added up."""
        policy = self._policy
        return RunSummary(
            tuple(self._users),
            {name: event.epsilon for name, event in policy.events.items()},
            self._errors.ways(),
            policy.grid.cell_size,
            policy.calibrator,
            policy.chosen_adversary.words,
            self._own_places,
            self._errors.off_map,
        )


def check_same_steps(truth: TrueSteps, ledger: Ledger) -> None:
    """Raise InvalidParameter for a truth that is not as long as the stream."""
    if len(truth) != len(ledger):
        raise InvalidParameter(
            f"The truth has {len(truth)} steps and the stream {len(ledger)}",
            hint="Are they of the same user and policy?",
        )


def summarise_run(
    policy: Policy,
    ledgers: Mapping[str | None, Ledger],
    *,
    traces: Traces | None = None,
    of_user: PolicyOf | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> RunSummary:
    """Summarise the ledgers of a run; with ``traces``, what was protected, also the errors.

    Users without a trace are listed without errors. ``of_user`` gives the policy of each, whose
    own places may stand for its regions.
    """
    totals = RunTotals(policy, own_places=of_user is not None)
    whose = of_user or (lambda user: policy)
    waiting = dict.fromkeys(ledgers)  # the users: ledgers may be read one by one
    users = len(waiting)
    for trace in () if traces is None else traces:
        if trace.user in waiting:
            ledger = ledgers[trace.user]
            own = whose(trace.user)
            totals.add(trace.user, ledger, true_steps(own, trace, len(ledger)), policy=own)
            del waiting[trace.user]
            if on_progress is not None:
                on_progress(users - len(waiting), users)
    for user in waiting:
        totals.add(user, ledgers[user], policy=whose(user))
    return totals.summary()
