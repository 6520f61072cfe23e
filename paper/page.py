"""The page of a reproduction: each figure next to what the paper says of it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from priste.report.pages import drawn, page

Shown = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, str], Mapping[str, str]]
"""An experiment's outcome, the account of how it was made, its pictures (SVG) and tables (CSV)."""

LONGEST_TABLE = 60
"""A longer table is not shown in the page; its CSV is next to it."""

_MARKS = {"reproduced": "yes", "not reproduced": "no", "not decidable": "open"}


def render(experiments: Sequence[Shown]) -> str:
    """Return the page as text; it asks nothing of the network."""
    return page(
        "reproduction.html",
        package="paper",
        title="The paper, reproduced",
        marks=_MARKS,
        tally=tally,
        claims=_findings(experiments, sweep=False),
        swept=_findings(experiments, sweep=True),
        experiments=[
            {
                "outcome": outcome,
                "account": account,
                "pictures": {name: drawn(svg) for name, svg in pictures.items()},
                "tables": [_table(name, text) for name, text in tables.items()],
            }
            for outcome, account, pictures, tables in experiments
        ],
    )


def tally(findings: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    """Return how many findings have which verdict: the count, the verdict in words and its mark.

    What was reproducible with a setting chosen for it is counted apart.

    >>> told = {"verdict": "reproduced", "said": "reproducible with σ = 10 km"}
    >>> tally([told, {"verdict": "reproduced", "said": "reproduced"}, told])
    [(1, 'reproduced', 'yes'), (2, 'reproducible with σ = 10 km', 'yes')]
    """
    found = Counter((finding["verdict"], finding["said"]) for finding in findings)
    places = list(_MARKS)
    order = sorted(found, key=lambda pair: (places.index(pair[0]), pair[0] != pair[1], pair[1]))
    return [(found[pair], pair[1], _MARKS[pair[0]]) for pair in order]


def _findings(experiments: Sequence[Shown], *, sweep: bool) -> list[Mapping[str, Any]]:
    return [
        finding
        for outcome, *_ in experiments
        if outcome["name"].startswith("sweep-") == sweep
        for finding in outcome["findings"]
    ]


def _table(name: str, text: str) -> dict[str, Any]:
    head, *rows = csv.reader(io.StringIO(text))
    shown = [[_short(value) for value in row] for row in rows]
    return {
        "name": name,
        "head": [title.replace("_", " ") for title in head],
        "rows": shown if len(rows) <= LONGEST_TABLE else None,
        "length": len(rows),
    }


def _short(value: str) -> str:
    try:
        return f"{float(value):.4g}"
    except ValueError:
        return value
