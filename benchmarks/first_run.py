"""A first run on anybody's data: ``priste init`` and then ``priste protect``, with nothing edited.

``python -m benchmarks.first_run PATH ... [--geolife DIR --single 003 004 --crowd 15]`` takes files
and folders of traces, single people of a Geolife folder and a crowd of its first people, drafts a
policy from each and releases them under it, as somebody would on the command line. It prints one
line each: the draft, what was forecast, what came of it and the CPU seconds of both commands.
Distances are from true locations; nothing of the traces but these means is shown, and everything
that was written is removed, unless ``--keep DIR`` says where it shall stay.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.arguments import parser_of
from priste.policy import load_policy

COLUMNS = (
    "what", "map km", "cells", "beyond", "zone", "step", "steps", "places", "forecast",
    "released", "near", "far", "constant", "alone", "init s", "protect s", "verdict",
)  # fmt: skip


def main(arguments: Sequence[str] = ()) -> None:
    """Run all of it and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders of locations")
    parser.add_argument("--zone", help="of times that carry none")
    parser.add_argument("--geolife", type=Path, help="a Geolife folder (its Data)")
    parser.add_argument("--single", nargs="*", default=[], help="people of that, one by one")
    parser.add_argument("--crowd", type=int, default=0, help="so many people of that together")
    parser.add_argument("--keep", type=Path, help="where to keep what is made")
    options = parser.parse_args(arguments)
    if not (options.paths or options.single or options.crowd):
        parser.error("name files or folders, or --geolife with --single or --crowd.")
    if missing := [str(path) for path in options.paths if not path.exists()]:
        parser.error(f"there is no {missing[0]!r}.")
    with tempfile.TemporaryDirectory() as folder:
        kept = options.keep or Path(folder)
        sources = {path.name: path for path in options.paths}
        sources |= {f"person {name}": options.geolife / name for name in options.single}
        if options.crowd:
            sources[f"{options.crowd} people"] = crowd_of(
                options.geolife, options.crowd, kept / "crowd"
            )
        print("| " + " | ".join(COLUMNS) + " |", flush=True)
        print("|" + "---|" * len(COLUMNS))
        for name, source in sources.items():
            row = first_run(name, source, kept / name.replace(" ", "-"), options.zone)
            print("| " + " | ".join(row[column] for column in COLUMNS) + " |", flush=True)


def crowd_of(geolife: Path, people: int, folder: Path) -> Path:
    """Return a folder with the first people of a Geolife folder, by links."""
    folder.mkdir(parents=True, exist_ok=True)
    for person in sorted(path for path in geolife.iterdir() if path.is_dir())[:people]:
        for trip in sorted(person.glob("Trajectory/*.plt")):
            place = folder / person.name / "Trajectory"
            place.mkdir(parents=True, exist_ok=True)
            if not (place / trip.name).exists():
                os.link(trip, place / trip.name)
    return folder


def first_run(name: str, source: Path, folder: Path, zone: str | None) -> dict[str, str]:
    """Draft and release one source; return a line of the table."""
    folder.mkdir(parents=True, exist_ok=True)
    policy_file = folder / "policy.toml"
    reading = ["--zone", zone] if zone else []
    row = dict.fromkeys(COLUMNS, "") | {"what": name}
    drafted, row["init s"] = _priste(
        "init", source, "-o", policy_file, "--overwrite", "--json", *reading
    )
    if "policy" not in drafted:
        return row | {"verdict": f"refused: {drafted['error']}"}
    policy = load_policy(policy_file)
    grid = policy.grid
    beyond = [note for note in drafted["notes"] if note.startswith("Map:")]
    row |= {
        "map km": f"{grid.width:.3g} × {grid.height:.3g}",
        "cells": f"{grid.rows} × {grid.columns}",
        "beyond": beyond[0].partition(". ")[2].partition(" of")[0],
        "zone": str(policy.timeline.zone),
        "step": f"{policy.timeline.step.total_seconds() / 60:g} min",
        "steps": str(policy.steps),
        "places": str(len(policy.regions)),
        "forecast": _told(drafted["forecast"]),
    }
    released = folder / f"released{source.suffix}"
    homes = ["--places", drafted["places"]] if drafted["places"] else []
    made, row["protect s"] = _priste(
        "protect", source, "-p", policy_file, *homes, "-o", released, "--again", "--json", *reading
    )
    if "metres" not in made:
        return row | {"verdict": f"refused: {made['error']}"}
    metres = made["metres"]
    return row | {
        "released": _metres(metres["with_priste"]["everywhere"]),
        "near": _metres(metres["with_priste"]["near"]),
        "far": _metres(metres["with_priste"]["far"]),
        "constant": _metres(metres["one_constant_cell"]["everywhere"]),
        "alone": _metres(metres["alone"]["everywhere"]),
        "verdict": made["verdict"],
    }


def _told(forecast: dict[str, Any] | None) -> str:
    if forecast is None:
        return "–"
    return f"{_metres(forecast['released'])} of {_metres(forecast['constant'])}"


def _metres(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _priste(*words: object) -> tuple[dict[str, Any], str]:
    """Run a command; return what it printed, or its error, and its CPU seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "priste", *map(str, words)], capture_output=True, text=True
    )
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    used = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    seconds = f"{used:.1f} ({ended - begun:.0f})"
    if done.stdout.startswith("{"):
        return json.loads(done.stdout), seconds
    return {"error": " ".join(done.stderr.replace("│", " ").split())[:300]}, seconds


if __name__ == "__main__":
    main(sys.argv[1:])
