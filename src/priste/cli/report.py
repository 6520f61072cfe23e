"""``priste report``: the reports of a finished run, with or without the true locations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from priste.cli.console import progress
from priste.cli.options import (
    AS_IT_TELLS,
    Overwrite,
    PolicyFile,
    Reading,
    ShowTruth,
    User,
)
from priste.cli.place_options import Place, Places, policy_of_everybody

if TYPE_CHECKING:
    from priste.report import StreamReport
    from priste.results import RunSummary, Verdict


@dataclass(frozen=True)
class Written:
    """What ``priste report`` wrote."""

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
        """Return plain values for JSON; see docs/cli.md."""
        first = self.reports[0]
        return {
            "page": str(self.page),
            "plots": [str(path) for path in self.plots],
            "users": list(self.users),
            "private": first.private,
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
        """Print what was written and whether it may be shared."""
        out.print(f"Wrote {self.page}.", markup=False)
        if self.plots:
            out.print(f"Wrote {len(self.plots)} figures to {self.plots[0].parent}.", markup=False)
        if len(self.users) < self.of_users:
            out.print(
                f"It lists {self.of_users} users and tells everything about {len(self.users)} of "
                "them, those who matter most; choose others with --user."
            )
        first = self.reports[0]
        if first.with_truth:
            out.print("It was made with the true locations at hand: keep it to yourself.")
        elif first.private:
            out.print("It shows where people have their own places: keep it to yourself.")
        else:
            out.print("It was made from releases alone and may be shared with them.")


def report(
    released: Annotated[Path, typer.Argument(help="A file that protect released, or its ledger.")],
    policy: PolicyFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path(
        "report.html"
    ),
    input: Annotated[
        Path | None,
        typer.Option(help="The protected file: adds errors and the uncalibrated mechanism."),
    ] = None,
    show_truth: ShowTruth = False,
    plots: Annotated[
        Path | None, typer.Option(help="Also write every figure as PNG and PDF to this folder.")
    ] = None,
    outline: Annotated[
        Path | None,
        typer.Option(help="Lines to draw on the maps: coasts, rivers, streets, as GeoJSON."),
    ] = None,
    places: Places = None,
    place: Place = None,
    user: User = None,
    reading: Reading = AS_IT_TELLS,
    overwrite: Overwrite = False,
) -> Written:
    """Make the HTML report of a finished run, and figures as PNG and PDF."""
    from priste.atomic_files import check_apart, check_writable
    from priste.batch import ledger_of, refuse_changed_ledger
    from priste.policy import load_policy
    from priste.release import is_ledger, read_ledgers
    from priste.report import (
        choose_ledgers,
        read_outline,
        run_reports,
        save_figures,
        write_html,
    )
    from priste.results import summarise_run

    check_writable(output, overwrite=overwrite)
    ledger = released if is_ledger(released) else ledger_of(released)
    with progress("Reading the policy"):
        loaded = load_policy(policy)
    inputs = {"released file": released, "ledger": ledger, "policy": policy, **loaded.files}
    outputs = {"page": output} if plots is None else {"page": output, "folder of plots": plots}
    given = {"input": input, "table of places": places}
    inputs |= {name: path for name, path in given.items() if path is not None}
    check_apart(outputs, inputs)
    refuse_changed_ledger(ledger)
    ledgers = read_ledgers(ledger)
    named = choose_ledgers(ledgers, user) if user else None
    lines = () if outline is None else read_outline(outline, loaded.grid)
    traces = None if input is None else reading.open(input)
    of_user = policy_of_everybody(loaded, places, place, traces)
    summary = None
    if named is None and len(ledgers) > 1:
        with progress("Adding up") as tell:
            summary = summarise_run(
                loaded, ledgers, traces=traces, of_user=of_user, on_progress=tell
            )
    chosen = named or choose_ledgers(ledgers, summary=summary)
    with progress("Measuring") as tell:
        reports = run_reports(
            loaded,
            chosen,
            traces=traces,
            of_user=of_user,
            show_truth=show_truth,
            outline=lines,
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
