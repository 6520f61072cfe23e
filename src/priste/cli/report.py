"""``priste report``: the reports of a finished run, with or without the true locations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import progress
from priste.cli.options import (
    AS_IT_TELLS,
    Overwrite,
    Reading,
    RunPolicy,
    ShowTruth,
    User,
    open_input,
)
from priste.cli.place_options import Place, Places, policy_of_everybody

if TYPE_CHECKING:
    from priste.policy import Policy, PolicyOf
    from priste.release import Ledger
    from priste.report import StreamReport
    from priste.results import RunSummary, Verdict
    from priste.traces import Traces


@dataclass(frozen=True)
class Shared:
    """What ``priste report`` wrote to be shared."""

    page: Path
    users: tuple[str | None, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        return {"page": str(self.page), "plots": [], "users": list(self.users), "private": False}

    def show(self, out: Console) -> None:
        """Print what was written and that it may be shared."""
        out.print(f"Wrote {self.page}.", markup=False)
        out.print(
            "It holds what was released and the public part of the policy, and may be shared. "
            "priste report --private makes a page for your own eyes, with events and errors."
        )


@dataclass(frozen=True)
class Written:
    """What ``priste report --private`` wrote."""

    page: Path
    plots: tuple[Path, ...]
    reports: tuple[StreamReport, ...]
    users: tuple[str | None, ...]
    of_users: int
    summary: RunSummary | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the guarantee was kept for every user who is listed or shown."""
        from priste.results import together

        shown = [report.verdict for report in self.reports]
        return together(shown if self.summary is None else [*shown, self.summary.verdict])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        first = self.reports[0]
        return {
            "page": str(self.page),
            "plots": [str(path) for path in self.plots],
            "users": list(self.users),
            "private": True,
            "verdict": str(self.verdict),
            "events": {
                event.label: {
                    "epsilon": event.epsilon,
                    "max": max(report.events[k].guarded.max for report in self.reports)
                    if self.summary is None
                    else max(user.leakage[k] for user in self.summary.users),
                }
                for k, event in enumerate(first.events)
            },
        }

    def show(self, out: Console) -> None:
        """Print what was written, and that it must not be shared."""
        out.print(f"Wrote {self.page}.", markup=False)
        if self.plots:
            out.print(f"Wrote {len(self.plots)} figures to {self.plots[0].parent}.", markup=False)
        if len(self.users) < self.of_users:
            out.print(
                f"It lists {self.of_users} users and has all details of {len(self.users)} of "
                "them, those who matter most; choose others with --user."
            )
        if self.reports[0].with_truth:
            out.print("It was made with the true locations at hand: keep it to yourself.")
        else:
            out.print(
                "It shows the events and places of the policy, and no errors, because the input "
                "was not found: keep it to yourself."
            )


def report(
    released: Annotated[Path, typer.Argument(help="What protect wrote, or its ledger.")],
    policy: RunPolicy = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="A page to keep private: events, places, errors of the run."
        ),
    ] = False,
    input: Annotated[
        Path | None,
        typer.Option(help="The protected file, if not that of the run; the page is private."),
    ] = None,
    show_truth: ShowTruth = False,
    plots: Annotated[
        Path | None, typer.Option(help="Also write every figure as PNG and PDF to this folder.")
    ] = None,
    places: Places = None,
    place: Place = None,
    user: User = None,
    reading: Reading = AS_IT_TELLS,
    overwrite: Overwrite = False,
) -> Written | Shared:
    """Make the HTML page of a finished run.

    It may be shared; with --private it has everything.
    """
    from priste.atomic_files import check_apart, check_writable
    from priste.batch import files_of_run
    from priste.policy import load_policy
    from priste.report import choose_ledgers

    run = files_of_run(released)
    chosen_policy = run.policy(policy)
    check_writable(output, overwrite=overwrite)
    for_me = private or show_truth or any((input, places, place, plots))
    found = run.sources.input if for_me else None
    source = input or (found if found is not None and found.exists() else None)
    table = places or (run.sources.places if for_me else None)
    inputs = {"released file": released, "policy": chosen_policy}
    inputs |= {f"ledger {number}": path for number, path in enumerate(run.ledgers)}
    given = {"input": source, "table of places": table}
    inputs |= {name: path for name, path in given.items() if path is not None}
    outputs = {"page": output} if plots is None else {"page": output, "folder of plots": plots}
    check_apart(outputs, inputs)
    ledgers = run.read_ledgers()
    named = choose_ledgers(ledgers, user) if user else None
    with progress("Reading the policy"):
        loaded = load_policy(chosen_policy)
    if not for_me:
        return _shared(loaded, ledgers if named is None else named, output, overwrite)
    traces = None if source is None else open_input(run, input, reading)
    columns = place or (list(run.sources.place) if traces is not None else None)
    of_user = policy_of_everybody(loaded, table, columns, traces)
    return private_page(
        loaded,
        ledgers,
        output,
        named=named,
        traces=traces,
        of_user=of_user,
        show_truth=show_truth,
        plots=plots,
        overwrite=overwrite,
    )


def _shared(
    policy: Policy, ledgers: Mapping[str | None, Ledger], output: Path, overwrite: bool
) -> Shared:
    from priste.atomic_files import write_file
    from priste.report.shared import PublicPart, shared_page
    from priste.results import released_cells

    with progress("Drawing"):
        cells = {user: released_cells(policy, ledger) for user, ledger in ledgers.items()}
        write_file(output, shared_page(PublicPart.of(policy), cells), overwrite=overwrite)
    return Shared(output, tuple(cells))


def private_page(
    policy: Policy,
    ledgers: Mapping[str | None, Ledger],
    output: Path,
    *,
    named: Mapping[str | None, Ledger] | None = None,
    traces: Traces | None,
    of_user: PolicyOf | None,
    seed: int | None = None,
    show_truth: bool,
    any_prior: bool | None = None,
    plots: Path | None = None,
    overwrite: bool,
) -> Written:
    """Write the page with everything; see :func:`priste.report.run_reports`.

    Without ``named`` ledgers it has all details of those who matter most.
    """
    from priste.report import choose_ledgers, run_reports, save_figures, write_html
    from priste.results import summarise_run

    summary = None
    if named is None and len(ledgers) > 1:
        with progress("Adding up", "users") as tell:
            summary = summarise_run(
                policy, ledgers, traces=traces, of_user=of_user, on_progress=tell
            )
    chosen = named or choose_ledgers(ledgers, summary=summary)
    with progress("Measuring") as tell:
        reports = run_reports(
            policy,
            chosen,
            traces=traces,
            of_user=of_user,
            seed=seed,
            show_truth=show_truth,
            any_prior=any_prior,
            on_progress=tell,
        )
    figures: list[Path] = []
    with progress("Drawing"):
        write_html(reports, output, summary=summary, overwrite=overwrite)
        if plots is not None:
            for number, each in enumerate(reports, start=1):
                folder = plots if len(reports) == 1 else plots / f"user-{number}"
                figures += save_figures(each, folder)
    return Written(output, tuple(figures), tuple(reports), tuple(chosen), len(ledgers), summary)
