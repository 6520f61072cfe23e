"""The page of a reproduction: each figure beside what the paper says of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

Shown = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, str], Mapping[str, str]]
"""An experiment's outcome, the account of how it was made, its pictures (SVG) and tables (CSV)."""

LONGEST_TABLE = 60
"""A longer table is not shown in the page; its CSV is beside it."""

_MARKS = {"reproduced": "yes", "not reproduced": "no", "not decidable": "open"}


def render(experiments: Sequence[Shown]) -> str:
    """Return the page as text; it asks nothing of the network."""
    style = "".join(
        files(package).joinpath(name).read_text(encoding="utf-8")
        for package, name in (("priste.report", "page.css"), ("priste.reproduce", "page.css"))
    )
    links = "".join(
        f"<li><a href='#{escape(outcome['name'])}'>{escape(outcome['title'])}</a> "
        f"{_tally(outcome)}</li>"
        for outcome, *_ in experiments
    )
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta http-equiv='Content-Security-Policy' "
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        f"<title>The paper, reproduced</title><style>{style}</style></head><body><main>"
        "<header><h1>The paper, reproduced</h1><p>Every figure and table of PriSTE's evaluation, "
        "made anew, beside what the paper says.</p></header>"
        f"<section class='card'><ol class='contents'>{links}</ol></section>"
        f"{''.join(_experiment(*each) for each in experiments)}"
        "<footer>Intervals are 95 % of Student's t over runs. A claim is reproduced when all "
        "of its intervals lie on the claimed side, not reproduced when one lies wholly on the "
        "other, and not decidable otherwise. Made by priste.</footer></main></body></html>\n"
    )


def _tally(outcome: Mapping[str, Any]) -> str:
    verdicts = [finding["verdict"] for finding in outcome["findings"]]
    return " ".join(
        f"<span class='verdict {mark}'>{verdicts.count(verdict)} {verdict}</span>"
        for verdict, mark in _MARKS.items()
        if verdict in verdicts
    )


def _experiment(
    outcome: Mapping[str, Any],
    account: Mapping[str, Any],
    pictures: Mapping[str, str],
    tables: Mapping[str, str],
) -> str:
    shown = "".join(
        f"<figure>{pictures[name]}<figcaption>{escape(caption)}</figcaption></figure>"
        for name, caption in outcome["pictures"]
    )
    rows = "".join(
        f"<tr><td>{escape(finding['claim'])}</td>"
        f"<td><span class='verdict {_MARKS[finding['verdict']]}'>{finding['verdict']}</span></td>"
        f"<td class='numbers'>{escape(finding['numbers'])}</td></tr>"
        for finding in outcome["findings"]
    )
    findings = (
        "<table><thead><tr><th>claim</th><th>here</th><th>difference, mean [95 % interval]</th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
        if rows
        else ""
    )
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in outcome["remarks"])
    settings = account["settings"]
    return (
        f"<h2 id='{escape(outcome['name'])}'>{escape(outcome['title'])}</h2>"
        "<section class='card'><div class='beside'><div><h3>The paper "
        f"({escape(outcome['in_paper'])})</h3><p>{escape(outcome['paper_says'])}</p></div>"
        f"<div><h3>How it was made here</h3><ul>{remarks}</ul></div></div>"
        f"{shown}{findings}"
        f"{''.join(_table(outcome['name'], name, text) for name, text in tables.items())}"
        f"<p class='made'>{escape(outcome['name'])}: {account['jobs']} jobs, "
        f"{account['cpu_seconds']:,.0f} CPU seconds, seed {settings['seed']}, "
        f"{escape(settings['size'])}, {escape(account['made'])}, "
        f"priste {escape(account['priste'])}, {escape(account['machine'])}. "
        f"<code>{escape(account['command'])}</code></p></section>"
    )


def _table(experiment: str, name: str, text: str) -> str:
    head, *rows = csv.reader(io.StringIO(text))
    link = f"<a href='{escape(experiment)}/{escape(name)}.csv'>{escape(name)}.csv</a>"
    if len(rows) > LONGEST_TABLE:
        return f"<p>{link} ({len(rows)} rows)</p>"
    cells = "".join(
        f"<tr>{''.join(f'<td>{escape(_short(value))}</td>' for value in row)}</tr>" for row in rows
    )
    titles = "".join(f"<th>{escape(title.replace('_', ' '))}</th>" for title in head)
    return (
        f"<details><summary>{escape(name)} ({len(rows)} rows)</summary><div class='wide'>"
        f"<table class='values'><thead><tr>{titles}</tr></thead><tbody>{cells}</tbody></table>"
        f"</div><p>{link}</p></details>"
    )


def _short(value: str) -> str:
    try:
        return f"{float(value):.4g}"
    except ValueError:
        return value
