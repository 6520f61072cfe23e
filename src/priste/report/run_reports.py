"""From the ledgers of a finished run to the reports of its users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from priste.errors import InvalidParameter, LedgerError, TraceError
from priste.policy import Policy, PolicyOf
from priste.release import Ledger
from priste.report.assembly import cells_of, stream_report, uncalibrated_releases
from priste.report.stream_report import StreamReport
from priste.results import RunSummary, TrueSteps, any_prior_work, policy_of_ledger, true_steps
from priste.results.audits import begin_of_stream
from priste.traces import Traces

MOST_SHOWN = 6
"""How many users one page tells everything about unless they are named."""

MOST_WORK = 3e11
"""Up to so many products it is computed for a page what any prior learns: some 20 CPU seconds."""

Ledgers = Mapping[str | None, Ledger]


def run_reports(
    policy: Policy,
    ledgers: Ledgers,
    *,
    traces: Traces | None = None,
    of_user: PolicyOf | None = None,
    seed: int | None = None,
    show_truth: bool = False,
    any_prior: bool | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[StreamReport]:
    """Return one report per ledger.

    With ``traces``, the file that was protected, the reports state errors and what the
    uncalibrated mechanism would have revealed; with ``of_user``, where personal places are. Then
    they must not be published.
    """
    if show_truth and traces is None:
        raise InvalidParameter(
            "must be given to show true points",
            parameter="traces",
            owner="run_reports",
            hint="They are those of the protected file (--input).",
        )
    if any_prior is None:
        any_prior = is_short(policy, ledgers)
    whose = of_user or (lambda user: policy)
    truths = {} if traces is None else _truths(whose, traces, ledgers)
    reports = []
    for number, (user, ledger) in enumerate(ledgers.items()):
        own, truth = truths.get(user) or (policy_of_ledger(whose(user), ledger), None)
        reports.append(
            stream_report(
                own,
                ledger,
                title="What was released" if user is None else f"What was released for {user}",
                truth=truth,
                uncalibrated=None
                if truth is None
                else uncalibrated_releases(own, cells_of(truth), seed),
                show_truth=show_truth,
                own_places=of_user is not None,
                any_prior=any_prior,
                on_event=None if on_progress is None else _of(on_progress, number, len(ledgers)),
            )
        )
    return reports


def is_short(policy: Policy, ledgers: Ledgers) -> bool:
    """Return whether finding what any prior learns from these streams takes a short time."""
    return any_prior_work(policy, sum(len(each) for each in ledgers.values())) <= MOST_WORK


def choose_ledgers(
    ledgers: Ledgers,
    users: Sequence[str] = (),
    *,
    most: int | None = MOST_SHOWN,
    summary: RunSummary | None = None,
) -> Ledgers:
    """Return the ledgers of the named users, or those with the largest leakage, ``most`` of them.

    With a ``summary``, those who matter: also the users who were released farthest off.
    An empty name stands for the user of a file that names none. Raises LedgerError for users
    without a ledger.
    """
    if users:
        wanted = [user or None for user in users]
        missing = [str(user) for user in wanted if user not in ledgers]
        if missing:
            raise LedgerError(
                f"Nothing was released for {', '.join(missing)}.",
                hint="Are names written as they are in the ledger?",
            )
        return {user: ledgers[user] for user in wanted}
    if most is None or len(ledgers) <= most:
        return dict(ledgers)

    if summary is not None:
        return {user: ledgers[user] for user in summary.who_matters(most)}

    def largest(user: str | None) -> float:
        return max((max(r.leakage) for r in ledgers[user]), default=0.0)

    return {user: ledgers[user] for user in sorted(ledgers, key=largest, reverse=True)[:most]}


def _truths(
    whose: PolicyOf, traces: Traces, ledgers: Ledgers
) -> dict[str | None, tuple[Policy, TrueSteps]]:
    found = {}
    for trace in traces:
        if trace.user in ledgers:
            # Nobody is guarded by a model that was fitted on them.
            own = whose(trace.user)
            own = own.for_user(trace, begin_of_stream(own, ledgers[trace.user]))
            found[trace.user] = own, true_steps(own, trace, len(ledgers[trace.user]))
    missing = [str(user) for user in ledgers if user not in found]
    if missing:
        raise TraceError(
            f"{traces.source.root.name} holds no fixes of {', '.join(missing)[:200]}",
            hint="Give the file that was protected.",
        )
    return found


def _of(
    on_progress: Callable[[int, int], None], number: int, users: int
) -> Callable[[int, int], None]:
    return lambda done, events: on_progress(number * events + done, users * events)
