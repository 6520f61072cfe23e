"""Writes the results of ``priste reproduce`` into docs/reproduction.md, with its pictures.

Run ``python docs/pictures/make_reproduction_results.py FOLDER`` with the folder that the command
filled. The sections of its experiments are replaced below the marker in the page, and those of
others stay as they are. Pictures are copied to docs/images/reproduction, and the tables of single
runs, except those of real people, to docs/reproduction-runs.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from paper.catalogue import CATALOGUE
from paper.page import tally

PAGE = Path(__file__).parent.parent / "reproduction.md"
PICTURES = Path(__file__).parent.parent / "images" / "reproduction"
RUNS = Path(__file__).parent.parent / "reproduction-runs"
MARKER = "<!-- Below: made by docs/pictures/make_reproduction_results.py -->"
LONGEST = 16
"""A table with more rows stays in the folder; only its first column would fit anyway."""

SUMMARY = {
    "curve": "curve",
    "calibrator": "calibrator",
    "epsilon": "ε",
    "alpha_per_km": "α",
    "runs": "runs",
    "samples": "samples",
    "mean_budget": "mean budget",
    "mean_distance_km": "mean distance, km",
    "uniform_distance_km": "uniform cell, km",
    "constant_distance_km": "constant cell, km",
    "stated_leakage_max": "stated leakage",
    "true_leakage_max": "true leakage",
}


def main(folder: Path) -> None:
    """Replace the results of the folder's experiments in the page."""
    hand, _, before = PAGE.read_text(encoding="utf-8").partition(MARKER)
    sections = {
        found.group(1): text.strip()
        for text in re.split(r"^(?=### )", before, flags=re.MULTILINE)
        if (found := re.match(r"### [^\n]*\n\n`([a-z-]+)`\.", text))
    }
    for name in CATALOGUE:
        place = folder / name
        if (place / "outcome.json").is_file():
            outcome = json.loads((place / "outcome.json").read_text(encoding="utf-8"))
            account = json.loads((place / "settings.json").read_text(encoding="utf-8"))
            keep_files(name, outcome, account, place)
            sections[name] = section(name, outcome, account, place).strip()
    parts = [sections[name] for name in CATALOGUE if name in sections]
    text = f"{hand}{MARKER}\n\n## Results as run here\n\n{told(sections)}\n\n"
    PAGE.write_text(text + "\n\n".join(parts) + "\n", encoding="utf-8")


def told(sections: dict[str, str]) -> str:
    """Return how many findings of which kind the sections have, the sweeps apart."""
    findings: dict[bool, list[dict[str, str]]] = {False: [], True: []}
    for name, text in sections.items():
        for said in re.findall(r"^\| .* \| \*\*([^*]+)\*\* \| ", text, flags=re.MULTILINE):
            verdict = "reproduced" if said.startswith("reproducible") else said
            findings[name.startswith("sweep-")].append({"verdict": verdict, "said": said})
    claims, swept = (
        ", ".join(f"{count} {said}" for count, said, _ in tally(findings[sweep]))
        for sweep in (False, True)
    )
    return f"Claims: {claims}. In the sweeps, counted apart: {swept}."


def keep_files(name: str, outcome: dict[str, Any], account: dict[str, Any], place: Path) -> None:
    """Copy the pictures of an experiment, and the table of its runs where nobody real is in it."""
    for old in PICTURES.glob(f"{name}-*.png"):
        old.unlink()
    for picture, _ in outcome["pictures"]:
        shutil.copy(place / f"{picture}.png", PICTURES / f"{name}-{picture}.png")
    on_people = account["settings"]["geolife"] and "geolife" in name
    if "runs" in outcome["tables"] and not on_people:
        RUNS.mkdir(exist_ok=True)
        shutil.copy(place / "runs.csv", RUNS / f"{name}.csv")


def section(name: str, outcome: dict[str, Any], account: dict[str, Any], place: Path) -> str:
    """Return the Markdown of one experiment."""
    lines = [f"### {outcome['title']}", ""]
    lines += [f"`{name}`. The paper ({outcome['in_paper']}): {outcome['paper_says']}", ""]
    for picture, caption in outcome["pictures"]:
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
        f"- Made {account['made'][:10]} with seed {settings['seed']}, source {account['source']}: "
        f"{account['jobs']:,} jobs, {account['cpu_seconds']:,.0f} CPU seconds; "
        f"`{account['command']}`",
        "",
        "",
    ]
    return "\n".join(lines)


def markdown_table(path: Path) -> list[str]:
    """Return a table of the folder if it is short, with its most telling columns."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows or len(rows) > 4 * LONGEST or path.name in ("steps.csv", "runs.csv"):
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
