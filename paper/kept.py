"""What the page docs/evidence/reproduction.md is made of: verdicts, small tables and settings.

``python -m paper … --keep`` writes it from all experiments that the output folder holds, into
``benchmarks/results/reproduction.json``. Experiments that the folder does not hold stay as they
were kept. Pictures of the page are replaced by those of the folder.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paper.catalogue import CATALOGUE
from paper.reproduction import OUTCOME
from priste.atomic_files import write_file

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "benchmarks" / "results" / "reproduction.json"
PICTURES = ROOT / "docs" / "images" / "reproduction"

TABLES: Mapping[str, tuple[str, ...]] = {
    "summary": (
        "curve", "calibrator", "alpha_per_km", "epsilon", "delta", "runs", "mean_budget",
        "mean_distance_km", "constant_distance_km",
    ),
    "choices": ("choice", "share_kept_at_1", "verdict"),
    "true-leakage": ("epsilon", "calibrator", "adversary", "releases", "true_leakage"),
    "clocks": (),
}  # fmt: skip
"""The tables that are kept, by name, with their columns; all of them where none is named."""

ACCOUNT = ("command", "commit", "jobs", "cpu_seconds", "settings")


def keep(folder: Path, kept: Path = KEPT, pictures: Path = PICTURES) -> Path:
    """Write the figures of the experiments in a folder, and return the file."""
    figures = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    experiments = figures.get("experiments", {})
    for name in CATALOGUE:
        place = folder / name
        if (place / OUTCOME).is_file() and (place / "settings.json").is_file():
            experiments[name] = _figures(place)
            for picture, _ in _read(place / OUTCOME)["pictures"]:
                shown = pictures / f"{name}-{picture}.png"
                if shown.is_file():
                    shutil.copyfile(place / f"{picture}.png", shown)
    ordered = {name: experiments[name] for name in CATALOGUE if name in experiments}
    text = json.dumps({"experiments": ordered}, indent=1, ensure_ascii=False) + "\n"
    write_file(kept, text, overwrite=True, private=False)
    return kept


def _figures(place: Path) -> dict[str, Any]:
    outcome, account = _read(place / OUTCOME), _read(place / "settings.json")
    return {
        "title": outcome["title"],
        "in_paper": outcome["in_paper"],
        "day": account["made"][:10],
        **{key: account[key] for key in ACCOUNT},
        "findings": [
            {key: finding[key] for key in ("claim", "verdict", "said", "given")}
            for finding in outcome["findings"]
        ],
        "tables": {
            name: _rows(place / f"{name}.csv", TABLES[name])
            for name in outcome["tables"]
            if name in TABLES
        },
    }


def _rows(path: Path, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {name: _value(row[name]) for name in columns or row} for row in csv.DictReader(file)
        ]


def _value(text: str) -> Any:
    """Return a number with four significant digits, None for nothing, or the text itself.

    >>> _value("0.123456"), _value(""), _value("σ = 1 km")
    (0.1235, None, 'σ = 1 km')
    """
    try:
        return float(f"{float(text):.4g}") if text else None
    except ValueError:
        return text


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
