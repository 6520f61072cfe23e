"""The HTML report: one self-contained file that asks nothing of the network."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from priste.report.figures import (
    belief_figure,
    budget_figure,
    distance_figure,
    leakage_figure,
    map_figure,
    svg,
)
from priste.report.stream_report import EventTrack, StreamReport, odds, percent


def render(reports: StreamReport | Sequence[StreamReport]) -> str:
    """Return the page for one stream or several, as text.

    A pure function of its input: the same report gives the same bytes. The true cells
    appear only if the report carries them.
    """
    streams = [reports] if isinstance(reports, StreamReport) else list(reports)
    title = streams[0].title if len(streams) == 1 else f"{len(streams)} protected streams"
    style = files("priste.report").joinpath("page.css").read_text(encoding="utf-8")
    bodies = []
    for number, report in enumerate(streams):
        body = _stream(report)
        if len(streams) > 1:
            opened = " open" if number == 0 else ""
            body = (
                f"<details{opened}><summary><h2 style='display:inline'>{escape(report.title)}"
                f"</h2></summary>{body}</details>"
            )
        bodies.append(body)
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta http-equiv='Content-Security-Policy' "
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>"
        f"<header><h1>{escape(title)}</h1><p>What the released locations tell, and to whom.</p>"
        f"</header>{''.join(bodies)}"
        "<footer>Leakage is the natural logarithm of the largest ratio between the probability of "
        "the releases if the event happened and if it did not, over every prior an adversary may "
        "hold about where the day began. Made by priste.</footer></main></body></html>\n"
    )


def write_html(
    reports: StreamReport | Sequence[StreamReport], path: str | Path, *, replace: bool = True
) -> Path:
    """Write the page atomically and return its path.

    The file is complete or absent, also after a crash. With ``replace=False`` an existing
    file is left alone and FileExistsError is raised.
    """
    path = Path(path)
    if not replace and path.exists():
        raise FileExistsError(path)
    text = render(reports)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def _stream(report: StreamReport) -> str:
    parts = [
        _warning(report),
        _verdict(report),
        _tiles(report),
        f"<section class='card'>{svg(map_figure(report))}</section>",
    ]
    if report.events:
        parts.append("<h2>Event by event</h2>")
    parts += [_event(report, event) for event in report.events]
    parts.append("<h2>The cost</h2><section class='card'>")
    if report.distances or report.bare_distances:
        parts.append(svg(distance_figure(report)))
    parts.append(svg(budget_figure(report)))
    parts.append("</section>")
    if report.promise:
        words = "".join(f"<p>{escape(line)}</p>" for line in report.promise)
        parts.append(f"<h2>The policy in words</h2><section class='card'>{words}</section>")
    if report.not_promised:
        lines = "".join(f"<li>{escape(line)}</li>" for line in report.not_promised)
        parts.append(
            f"<h2>What is not promised</h2><section class='card'><ul>{lines}</ul></section>"
        )
    parts.append(_table(report))
    return "".join(parts)


def _warning(report: StreamReport) -> str:
    if not report.private:
        return ""
    what = "the true path, distances" if report.truth is not None else "distances"
    return (
        "<section class='card private'><b>Keep this page to yourself.</b> It was made with the "
        f"true locations at hand: {what} and the comparison with the mechanism alone come from "
        "them. "
        "<code>priste report</code> without <code>--input</code> makes a page that may be shared."
        "</section>"
    )


def _verdict(report: StreamReport) -> str:
    if not report.events:
        return "<section class='card verdict'><p>No event was named.</p></section>"
    lines = []
    for event in report.events:
        name = f"<b>{escape(event.name)}</b>"
        line = (
            f"{name}: nobody’s odds moved by more than {odds(event.guarded.max)} "
            f"(promised {odds(event.epsilon)})"
            if event.guarded.max <= event.epsilon
            else f"{name}: odds can move {odds(event.guarded.max)}, over the promised "
            f"{odds(event.epsilon)}"
        )
        if event.bare is not None:
            line += f"; the mechanism alone would have allowed {odds(event.bare.max)}."
        else:
            line += "."
        lines.append(f"<p>{line}</p>")
    kind = "verdict" if report.kept else "verdict broken"
    head = "The promise was kept." if report.kept else "The promise was not kept."
    return f"<section class='card {kind}'><h3>{head}</h3>{''.join(lines)}</section>"


def _tiles(report: StreamReport) -> str:
    silent = sum(cell is None for cell in report.released)
    tiles = [(str(report.steps - silent), f"releases in {report.steps} steps")]
    if report.distances:
        median = f"(median {report.median_metres:,.0f} m)"
        tiles.append((f"{report.mean_metres:,.0f} m", f"mean distance from the truth {median}"))
    if report.bare_distances:
        median = f"(median {report.bare_median_metres:,.0f} m)"
        tiles.append((f"{report.bare_mean_metres:,.0f} m", f"with the mechanism alone {median}"))
    tiles.append((str(len(report.events)), "events kept deniable" if report.kept else "events"))
    cells = "".join(f"<div class='tile'><b>{b}</b><span>{s}</span></div>" for b, s in tiles)
    return f"<div class='tiles'>{cells}</div>"


def _event(report: StreamReport, event: EventTrack) -> str:
    last = event.guarded.belief[-1] if event.guarded.belief else event.guarded.prior_belief
    belief = (
        f"An observer who knows the mobility model and thinks every start equally likely held "
        f"{percent(event.guarded.prior_belief)} before and holds {percent(last)} after all releases"
    )
    if event.bare is not None and event.bare.belief:
        belief += f"; from the mechanism alone it would be {percent(event.bare.belief[-1])}"
    return (
        f"<section class='card'><h3>{escape(event.name)}</h3>"
        f"<p><code>{escape(event.text)}</code></p>"
        f"<p>{belief}. {_worst(event)}</p>{svg(leakage_figure(report, event))}"
        f"{svg(belief_figure(report, event))}</section>"
    )


def _worst(event: EventTrack) -> str:
    prior = event.guarded.worst_prior
    if not prior or event.guarded.max == 0:
        return "No prior learns anything."
    cells = " or ".join(f"cell {c} ({percent(w)})" for c, w in sorted(prior.items()))
    return f"Those who learn most think that the user began in {cells}."


def _table(report: StreamReport) -> str:
    heads = "".join(f"<th>{escape(e.name)}<br>leakage</th>" for e in report.events)
    rows = []
    for step, (time, cell, budget) in enumerate(
        zip(report.times, report.released, report.budgets, strict=True)
    ):
        leakages = "".join(
            f"<td class='{'good' if e.guarded.leakage[step] <= e.epsilon else 'bad'}'>"
            f"{_number(e.guarded.leakage[step])}</td>"
            for e in report.events
        )
        shown = "silence" if cell is None else str(cell)
        rows.append(
            f"<tr><td>{step}</td><td>{escape(time)}</td><td>{shown}</td>"
            f"<td>{_number(budget)}</td>{leakages}</tr>"
        )
    return (
        "<h2>Every release</h2><section class='card'><details><summary>Show the ledger</summary>"
        "<div class='scroll'><table><thead><tr><th>step</th><th>time</th><th>released cell</th>"
        f"<th>budget</th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        "</details></section>"
    )


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3f}"
