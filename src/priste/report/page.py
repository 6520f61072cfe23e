"""The HTML report: one self-contained file without network requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from priste.atomic_files import write_file
from priste.audit import EventAudit
from priste.policy.adversary_choice import ASSUMED
from priste.report.crowd import crowd
from priste.report.pages import page, script
from priste.report.pictures import (
    budget_chart,
    distance_chart,
    event_cards,
    learners_words,
    stream_map,
)
from priste.report.stream_report import StreamReport
from priste.report.strip import LEVEL_WORDS, longest_vague
from priste.results import PRISTE, UNCALIBRATED, RunSummary, Verdict, length

MARKS = {Verdict.KEPT: "kept", Verdict.BROKEN: "broken", Verdict.NOT_GUARANTEED: "unguaranteed"}
"""The style of each verdict."""


def render(
    reports: StreamReport | Sequence[StreamReport], summary: RunSummary | None = None
) -> str:
    """Return the page for one stream or several, as text.

    With a ``summary`` of a run it begins with a table of all users, and the reports are those of
    the users who matter. A pure function of its input: the same report gives the same
    bytes. The true cells appear only if the report carries them.
    """
    streams = [reports] if isinstance(reports, StreamReport) else list(reports)
    many = summary is not None and len(summary.users) > 1
    title = f"{len(streams)} protected streams" if len(streams) > 1 else streams[0].title
    code, allowed = script("sorting.js")
    return page(
        "report.html",
        title=f"{len(summary.users):,} protected users" if summary and many else title,
        streams=[_shown(report) for report in streams],
        crowd=crowd(summary) if summary and many else None,
        script=code if many else None,
        script_source=f"; script-src {allowed}" if many else "",
        last_belief=_last_belief,
        learners=learners_words,
        infinity=math.inf,
        length=length,
        level_words=LEVEL_WORDS,
        longest_vague=longest_vague,
        marks=MARKS,
        assumed=ASSUMED,
        number=_number,
    )


def write_html(
    reports: StreamReport | Sequence[StreamReport],
    path: str | Path,
    *,
    summary: RunSummary | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the page of :func:`render`, private and complete or not at all, and return its path.

    Raises OutputExists if there is something at the path and ``overwrite`` is not asked for.
    """
    return write_file(path, render(reports, summary), overwrite=overwrite)


def _shown(report: StreamReport) -> dict[str, Any]:
    return {
        "report": report,
        "mark": MARKS[report.verdict],
        "tiles": _tiles(report),
        "map": stream_map(report),
        "cards": event_cards(report),
        "distances": distance_chart(report),
        "budgets": budget_chart(report),
    }


def _tiles(report: StreamReport) -> list[tuple[str, str]]:
    silent = sum(cell is None for cell in report.released)
    tiles = [(str(report.steps - silent), f"releases in {report.steps} steps")]
    worth = report.usefulness
    if worth is not None and worth.ways:
        median = f"(median {length(worth.median)})"
        means = {name: length(way.everywhere) for name, way in worth.ways.items()}
        tiles.append((means[PRISTE], f"mean error, from the true fix {median}"))
        if UNCALIBRATED in means:
            tiles.append((means[UNCALIBRATED], "expected of the uncalibrated mechanism"))
    kept = report.verdict is Verdict.KEPT
    tiles.append((str(len(report.events)), "events kept deniable" if kept else "events"))
    return tiles


def _last_belief(audit: EventAudit) -> float:
    return audit.belief[-1] if audit.belief else audit.prior_belief


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3f}"
