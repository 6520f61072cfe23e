"""The whole of it: run experiments, write what they show, and keep one page of everything.

A folder holds ``results.jsonl`` (every finished job), one folder per experiment with its tables
(CSV), pictures (PNG, PDF, SVG), ``settings.json`` and ``outcome.json``, and ``index.html``.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paper.catalogue import chosen
from paper.experiments.experiment import Experiment, Finding, Outcome, Settings, Table
from paper.page import render
from paper.running.execution import perform_all
from paper.running.provenance import account_of_machine
from paper.running.store import Store
from priste.arguments import check_int
from priste.atomic_files import write_file
from priste.report.figures import STYLE, svg

OnProgress = Callable[[str, int, int], None]
"""Called with the name of the experiment, and the CPU seconds that are done and that are expected
in all."""

OUTCOME = "outcome.json"


@dataclass(frozen=True)
class Reproduced:
    """One experiment that was made: where it is and what it found."""

    experiment: Experiment
    folder: Path
    findings: tuple[Finding, ...]
    cpu_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "name": self.experiment.name,
            "folder": str(self.folder),
            "cpu_seconds": self.cpu_seconds,
            "findings": [_told(finding) for finding in self.findings],
        }


def reproduce(
    names: Sequence[str],
    folder: str | Path,
    settings: Settings,
    *,
    workers: int | None = None,
    command: str = "",
    on_progress: OnProgress | None = None,
) -> list[Reproduced]:
    """Make experiments by name ("all" for every one) and return what they found.

    Jobs that ``folder`` has results of are not done again, so a run that was stopped is continued.
    ``workers`` is the number of processes, all cores unless given; the numbers do not depend on it.
    ``command`` is written into the settings next to the results.
    """
    folder = Path(folder)
    experiments = chosen(names)
    count = os.cpu_count() or 1 if workers is None else workers
    check_int(count, "workers", "a reproduction", least=1)
    made = []
    with Store(folder) as store:
        for experiment in experiments:
            jobs = experiment.jobs(settings)
            tell = None if on_progress is None else _telling(on_progress, experiment.name)
            perform_all(jobs, store, workers=count, on_progress=tell)
            outcome = experiment.outcome(settings, store.results)
            seconds = store.seconds(jobs)
            place = folder / experiment.name
            write_outcome(experiment, outcome, place)
            _write(place / "settings.json", _json(_account(settings, len(jobs), seconds, command)))
            write_index(folder)
            made.append(Reproduced(experiment, place, outcome.findings, seconds))
    return made


def _telling(on_progress: OnProgress, name: str) -> Callable[[int, int], None]:
    return lambda done, total: on_progress(name, done, total)


def write_outcome(experiment: Experiment, outcome: Outcome, folder: Path) -> None:
    """Write the tables, pictures and findings of an experiment into its folder."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    for table in outcome.tables:
        _write(folder / f"{table.name}.csv", csv_text(table))
    dateless = {"pdf": {"CreationDate": None}, "png": {}}
    for picture in outcome.pictures:
        figure = picture.draw()
        with matplotlib.rc_context(STYLE):
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # it would be worked out again for every format
            for kind, metadata in dateless.items():
                figure.savefig(
                    folder / f"{picture.name}.{kind}", format=kind, dpi=130, metadata=metadata
                )
        _write(folder / f"{picture.name}.svg", svg(figure))
    told = {
        "name": experiment.name,
        "title": experiment.title,
        "in_paper": experiment.in_paper,
        "paper_says": experiment.paper_says,
        "findings": [_told(finding) for finding in outcome.findings],
        "remarks": list(outcome.remarks),
        "pictures": [[picture.name, picture.caption] for picture in outcome.pictures],
        "tables": [table.name for table in outcome.tables],
    }
    _write(folder / OUTCOME, _json(told))


def write_index(folder: Path) -> Path:
    """Write the page of all experiments in a folder, in the order of the catalogue."""
    shown = []
    for experiment in chosen(["all"]):
        place = folder / experiment.name
        if (place / OUTCOME).is_file() and (place / "settings.json").is_file():
            outcome = json.loads((place / OUTCOME).read_text(encoding="utf-8"))
            account = json.loads((place / "settings.json").read_text(encoding="utf-8"))
            pictures = {
                name: (place / f"{name}.svg").read_text(encoding="utf-8")
                for name, _ in outcome["pictures"]
            }
            tables = {
                name: (place / f"{name}.csv").read_text(encoding="utf-8")
                for name in outcome["tables"]
            }
            shown.append((outcome, account, pictures, tables))
    _write(folder / "index.html", render(shown))
    return folder / "index.html"


def csv_text(table: Table) -> str:
    """Return a table as CSV; floats are written so that they read back as the same numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


def _account(settings: Settings, jobs: int, seconds: float, command: str) -> dict[str, Any]:
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        **account_of_machine(),
        "jobs": jobs,
        "cpu_seconds": round(seconds, 1),
        "settings": {
            **asdict(settings),
            # The folder is the user's own affair; that there was one is what matters.
            "geolife": settings.geolife is not None,
        },
    }


def _told(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "said": finding.said}


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    write_file(path, text, overwrite=True, private=False)
