"""Writes the results of ``priste reproduce all`` into docs/reproduction.md, with its pictures.

Run ``python docs/pictures/make_reproduction_results.py FOLDER`` with the folder that the command
filled. Everything below the marker in the page is replaced; the pictures are copied to
docs/images/reproduction.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from priste.reproduce import CATALOGUE

PAGE = Path(__file__).parent.parent / "reproduction.md"
PICTURES = Path(__file__).parent.parent / "images" / "reproduction"
MARKER = "<!-- Below: made by docs/pictures/make_reproduction_results.py -->"
LONGEST = 16
"""A table with more rows stays in the folder; only its first column would fit anyway."""

VERDICTS = ("reproduced", "not reproduced", "not decidable")

SUMMARY = {
    "curve": "curve",
    "calibrator": "calibrator",
    "epsilon": "ε",
    "alpha_per_km": "α",
    "runs": "runs",
    "mean_budget": "mean budget",
    "mean_distance_km": "mean distance, km",
    "uniform_distance_km": "uniform cell, km",
    "constant_distance_km": "constant cell, km",
    "stated_leakage_max": "stated leakage",
    "true_leakage_max": "true leakage",
}


def main(folder: Path) -> None:
    """Replace the results in the page by those of the folder."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir()
    parts: list[str] = []
    counts = {sweep: dict.fromkeys(VERDICTS, 0) for sweep in (False, True)}
    for name in CATALOGUE:
        place = folder / name
        if not (place / "outcome.json").is_file():
            continue
        outcome = json.loads((place / "outcome.json").read_text(encoding="utf-8"))
        account = json.loads((place / "settings.json").read_text(encoding="utf-8"))
        for finding in outcome["findings"]:
            counts[name.startswith("sweep-")][finding["verdict"]] += 1
        parts.append(section(name, outcome, account, place))
    claims, swept = (
        ", ".join(f"{count} {verdict}" for verdict, count in counts[sweep].items())
        for sweep in (False, True)
    )
    tally = f"{claims}. In the sweep, counted apart: {swept}"
    hand = PAGE.read_text(encoding="utf-8").split(MARKER)[0]
    text = f"{hand}{MARKER}\n\n## Results as run here\n\nClaims: {tally}.\n\n{''.join(parts)}"
    PAGE.write_text(text.rstrip() + "\n", encoding="utf-8")


def section(name: str, outcome: dict[str, Any], account: dict[str, Any], place: Path) -> str:
    """Return the Markdown of one experiment."""
    lines = [f"### {outcome['title']}", ""]
    lines += [f"`{name}`. The paper ({outcome['in_paper']}): {outcome['paper_says']}", ""]
    for picture, caption in outcome["pictures"]:
        shutil.copy(place / f"{picture}.png", PICTURES / f"{name}-{picture}.png")
        lines += [f"![{caption}](images/reproduction/{name}-{picture}.png)", ""]
    lines += ["| claim | here | difference, mean [95 % interval] |", "|---|---|---|"]
    for finding in outcome["findings"]:
        numbers = finding["numbers"].replace("|", "/")
        lines.append(f"| {finding['claim']} | **{finding['said']}** | {numbers} |")
    lines.append("")
    for table in outcome["tables"]:
        lines += markdown_table(place / f"{table}.csv")
    lines += [f"- {remark}" for remark in outcome["remarks"]]
    settings = account["settings"]
    lines += [
        f"- Made {account['made'][:10]} with seed {settings['seed']}: {account['jobs']:,} jobs, "
        f"{account['cpu_seconds']:,.0f} CPU seconds; `{account['command']}`",
        "",
        "",
    ]
    return "\n".join(lines)


def markdown_table(path: Path) -> list[str]:
    """Return a table of the folder if it is short, with its most telling columns."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows or len(rows) > 4 * LONGEST or path.name == "steps.csv":
        return []
    heads = SUMMARY if path.name == "summary.csv" else {head: head for head in rows[0]}
    shown = ["| " + " | ".join(heads.values()) + " |", "|" + "---|" * len(heads)]
    shown += ["| " + " | ".join(brief(row[head]) for head in heads) + " |" for row in rows]
    if len(rows) <= LONGEST:
        return [*shown, ""]
    summary = f"<details><summary>{path.stem}: {len(rows)} rows</summary>"
    return [summary, "", *shown, "", "</details>", ""]


def brief(value: str) -> str:
    """Return a value with at most three significant digits."""
    try:
        return f"{float(value):.3g}"
    except ValueError:
        return value.replace("|", "/")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
