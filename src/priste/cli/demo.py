"""``priste demo``: two weeks in a made-up town, protected and shown."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding

from priste.cli.console import list_files, progress
from priste.errors import OutputExists

if TYPE_CHECKING:
    from priste.audit import EventAudit
    from priste.report import StreamReport
    from priste.results import Verdict

MARKER = ".priste-demo"


@dataclass(frozen=True)
class Demonstration:
    """What the demo made."""

    folder: Path
    report: StreamReport
    page: Path

    @property
    def verdict(self) -> Verdict:
        """Whether the guarantee was kept."""
        return self.report.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; see docs/reference/cli.md."""
        report = self.report
        return {
            "folder": str(self.folder),
            "report": str(self.page),
            "events": {
                event.label: {
                    "epsilon": event.epsilon,
                    "prior_belief": event.guarded.prior_belief,
                    "uncalibrated": _side(event.uncalibrated),
                    "with_priste": _side(event.guarded),
                }
                for event in report.events
            },
            "metres": {}
            if report.usefulness is None
            else {name.replace(" ", "_"): asdict(w) for name, w in report.usefulness.ways.items()},
        }

    def show(self, out: Console) -> None:
        """Print the story of the demo."""
        from priste.cli.tables import belief_table, cost_table, odds_table

        report = self.report
        where = self.folder
        out.print("[bold]Ada's two weeks in a made-up town[/bold]\n")
        out.print(
            "She lives, works and shops there, and is treated at the hospital on Wednesdays from "
            "14 to 16. Her phone reports to an app where she is every hour. The app must not "
            "learn whether she was treated.\n"
        )
        for table in (odds_table(report), belief_table(report), cost_table(report)):
            out.print(Padding(table, (0, 0, 0, 2)))
        out.print(
            f"[bold]uncalibrated[/bold] is {_mechanism(report)} without a guarantee. The first two "
            "tables show one draw of it, the third its expected error. The guarantee is "
            f"against {report.against}, and who knows all releases and this code. "
            f"{_price(report)}\n"
        )
        list_files(
            out,
            {
                where / "policy.toml": "what is guaranteed; read it with priste explain",
                where / "released.csv": "what the app receives",
                where / "report.html": "maps, errors and events; open it in a browser",
            },
        )


def _side(audit: EventAudit | None) -> dict[str, float] | None:
    if audit is None:
        return None
    return {"max": audit.max, "belief": audit.belief[-1]}


def demo(
    folder: Annotated[Path, typer.Option(help="The folder to write.")] = Path("demo-output"),
    seed: Annotated[int, typer.Option(min=0, help="Makes the demo repeatable.")] = 1,
) -> Demonstration:
    """Protect two weeks in a made-up town; show what would leak."""
    from priste.batch import protect_file
    from priste.policy import load_policy
    from priste.policy.town_policy import build_town
    from priste.report import run_reports, write_html
    from priste.traces import read_traces

    _prepare(folder)
    with progress("Building the town"):
        build_town(folder, weeks_before=4)
        policy = load_policy(folder / "policy.toml")
    traces = read_traces(folder / "ada.csv")
    with progress("Releasing") as tell:
        done = protect_file(policy, traces, folder / "released.csv", seed=seed, on_progress=tell)
    with progress("Measuring") as tell:
        (report,) = run_reports(
            policy, done.ledgers, traces=traces, seed=seed, show_truth=True, on_progress=tell
        )
    with progress("Drawing the report"):
        page = write_html(report, folder / "report.html")
    return Demonstration(folder, report, page)


def _mechanism(report: StreamReport) -> str:
    return f"planar Laplace noise of {1000 * 2 / report.full_budget:,.0f} m on average"


def _price(report: StreamReport) -> str:
    return "" if report.usefulness is None else report.usefulness.sentence()


def _prepare(folder: Path) -> None:
    """Make the folder, which must be new, empty, or made by an earlier demo."""
    marker = folder / MARKER
    if folder.exists() and not folder.is_dir():
        raise OutputExists(folder, "Choose a folder with --folder.")
    if folder.is_dir() and any(folder.iterdir()):
        if not marker.is_file():
            remedy = "It holds files that no demo made: choose another with --folder."
            raise OutputExists(folder, remedy, what="folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    marker.write_text("Made by `priste demo`, which replaces this folder when run again.\n")
