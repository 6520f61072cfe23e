"""``priste report``: the reports of a finished run, with or without the true locations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from priste.cli.console import Tell, progress
from priste.cli.sources import Reading
from priste.errors import InvalidParameter, TraceError

if TYPE_CHECKING:
    from priste.policy import Policy
    from priste.release import Ledger
    from priste.report import StreamReport
    from priste.traces import Traces

MOST_SHOWN = 10
"""How many users one page shows unless they are named: each takes some hundred kilobytes."""

Ledgers = Mapping[str | None, "Ledger"]


def make_reports(
    policy: Policy,
    ledgers: Ledgers,
    *,
    traces: Traces | None = None,
    seed: int | None = None,
    show_truth: bool = False,
) -> list[StreamReport]:
    """Return one report per ledger.

    With ``traces``, the file that was protected, the reports tell distances and what the mechanism
    alone would have told; then they must not be published.
    """
    from priste.report import bare_releases, stream_report

    if show_truth and traces is None:
        raise InvalidParameter("To show true points, give the protected file with --input.")
    truths = {} if traces is None else _truths(policy, traces, ledgers)
    reports = []
    with progress("Measuring") as tell:
        for number, (user, ledger) in enumerate(ledgers.items()):
            truth = truths.get(user)
            reports.append(
                stream_report(
                    policy,
                    ledger,
                    title="What was released" if user is None else f"What was released for {user}",
                    truth=truth,
                    bare=None if truth is None else bare_releases(policy, truth, seed),
                    show_truth=show_truth,
                    on_event=_of_user(tell, number, len(ledgers)),
                )
            )
    return reports


def choose(ledgers: Ledgers, users: Sequence[str], *, most: int | None = MOST_SHOWN) -> Ledgers:
    """Return the ledgers of the named users, or those with the largest leakage, ``most`` of them.

    An empty name stands for the user of a file that names none.
    """
    if users:
        wanted = [user or None for user in users]
        missing = [str(user) for user in wanted if user not in ledgers]
        if missing:
            raise TraceError(f"Nothing was released for {', '.join(missing)}.")
        return {user: ledgers[user] for user in wanted}
    if most is None or len(ledgers) <= most:
        return dict(ledgers)

    def largest(user: str | None) -> float:
        return max((max(r.leakage) for r in ledgers[user]), default=0.0)

    return {user: ledgers[user] for user in sorted(ledgers, key=largest, reverse=True)[:most]}


def _truths(
    policy: Policy, traces: Traces, ledgers: Ledgers
) -> dict[str | None, tuple[int | None, ...]]:
    found = {}
    for trace in traces:
        if trace.user in ledgers:
            found[trace.user] = policy.timeline.cells(
                trace, policy.grid, policy.rule, outside=policy.outside, steps=policy.steps
            ).cells
    missing = [str(user) for user in ledgers if user not in found]
    if missing:
        raise TraceError(
            f"{traces.source.root.name} holds no fixes of {', '.join(missing)[:200]}. "
            "Give the file that was protected."
        )
    return found


def _of_user(tell: Tell, number: int, users: int) -> Tell:
    return lambda done, events: tell(number * events + done, users * events)


def check_page(page: Path, *, overwrite: bool) -> None:
    """Refuse a page that cannot be written, before any work is done."""
    if page.exists() and not overwrite:
        raise TraceError(
            f"There is already a file {str(page)!r}. Choose another name, or --overwrite."
        )
    if not page.parent.is_dir():
        raise TraceError(f"There is no folder {str(page.parent)!r} to write into.")


@dataclass(frozen=True)
class Written:
    """What ``priste report`` wrote."""

    page: Path
    plots: tuple[Path, ...]
    reports: tuple[StreamReport, ...]
    users: tuple[str | None, ...]
    of_users: int

    @property
    def kept(self) -> bool:
        """Whether every event of every shown user stayed within its ε."""
        return all(report.kept for report in self.reports)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/cli.md."""
        first = self.reports[0]
        return {
            "page": str(self.page),
            "plots": [str(path) for path in self.plots],
            "users": list(self.users),
            "private": first.private,
            "kept": self.kept,
            "events": {
                event.name: {
                    "epsilon": event.epsilon,
                    "max": max(report.events[k].guarded.max for report in self.reports),
                }
                for k, event in enumerate(first.events)
            },
        }


def write_report(
    policy_path: Path,
    released: Path,
    page: Path,
    *,
    source: Path | None,
    reading: Reading,
    show_truth: bool,
    plots: Path | None,
    users: Sequence[str],
    overwrite: bool,
) -> Written:
    """Write the page of a finished run, and its figures if a folder for them is given.

    ``released`` is the released file, whose ledger lies beside it, or that ledger.
    """
    from priste.batch import is_ledger, ledger_of, read_ledgers
    from priste.policy import load_policy
    from priste.report import save_figures, write_html

    check_page(page, overwrite=overwrite)
    ledgers = read_ledgers(released if is_ledger(released) else ledger_of(released))
    chosen = choose(ledgers, users)
    with progress("Reading the policy"):
        policy = load_policy(policy_path)
    traces = None if source is None else reading.open(source)
    reports = make_reports(policy, chosen, traces=traces, show_truth=show_truth)
    figures: list[Path] = []
    with progress("Drawing"):
        write_html(reports, page)
        if plots is not None:
            for number, report in enumerate(reports, start=1):
                folder = plots if len(reports) == 1 else plots / f"user-{number}"
                figures += save_figures(report, folder)
    return Written(page, tuple(figures), tuple(reports), tuple(chosen), len(ledgers))


def show(made: Written, out: Console) -> None:
    """Print what was written and whether it may be shared."""
    out.print(f"Wrote {made.page}.", markup=False)
    if made.plots:
        out.print(f"Wrote {len(made.plots)} figures to {made.plots[0].parent}.", markup=False)
    if len(made.users) < made.of_users:
        out.print(
            f"It shows the {len(made.users)} of {made.of_users} users with the largest leakage; "
            "choose others with --user."
        )
    if made.reports[0].private:
        out.print("It was made with the true locations at hand: keep it to yourself.")
    else:
        out.print("It was made from releases alone and may be shared with them.")
