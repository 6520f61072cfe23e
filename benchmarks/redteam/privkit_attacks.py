"""Attacks of Privkit on releases of priste and of others, in an environment of its own.

The environment is made in a folder that is given: Privkit imports libraries for faces, whichever
part of it is used. All versions are those of ``privkit-requirements.txt``, and torch is installed
first, since Privkit alone would bring another one; open3d is held below 0.20, whose modules Privkit
0.5.1 does not find. Privkit guesses a place from each release; the guess about the event is whether
a guessed place of the guarded hours is in the guarded cells.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.redteam.attackers import limits
from benchmarks.redteam.labelled_streams import World, model_world, released
from priste.mechanisms import PlanarLaplace
from priste.policy import Policy
from priste.release.guarded_hours import event_steps
from priste.results.true_steps import NONE

WAYS = (
    "priste", "exact", "coarse:3", "rounding:2", "landmarks", "laplace", "remapped", "adaptive",
    "velocity", "pglp", "constant",
)  # fmt: skip
"""Ways that release a point in every guarded hour."""

TRAINING = 100
"""So many people with the event, and without it, are what Privkit's profiles are learnt from."""

TORCH = "torch==2.13.0"
REQUIREMENTS = Path(__file__).with_name("privkit-requirements.txt")

EDGE = 1e-4
"""So many degrees are added to the map on each side: Privkit refuses points on its edge."""


def environment(folder: Path) -> Path:
    """Return the Python of an environment with Privkit; make it unless it is there."""
    python = folder / "bin/python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, TORCH], check=True)
        subprocess.run([*pip, "--no-deps", "-r", REQUIREMENTS], check=True)
        (folder / "ready").touch()
    return python


def places(world: World, way: str, seed: int = 3) -> list[list[float]]:
    """Return a row for each release: person, true place, released place, step."""
    grid = world.policy.grid
    points = released(world, way, seed).points
    rows = []
    for number, person in enumerate(world.people):
        for place, step in enumerate(world.steps.tolist()):
            if person.cells[step] == NONE or np.isnan(points[number, place, 0]):
                continue
            true = grid.latlon_at(*person.places[step])
            shown = grid.latlon_at(*points[number, place])
            rows.append([number, *map(float, true), *map(float, shown), step])
    return rows


def privkit_attacks(policy: Policy, each: int, work: Path, home: Path) -> dict[str, Any]:
    """Return what Privkit finds about ``each`` people with the event and as many without."""
    work.mkdir(parents=True, exist_ok=True)
    world, others = model_world(policy, each, seed=21), model_world(policy, TRAINING, seed=22)
    steps = sorted(event_steps(next(iter(policy.events.values())).event))
    assert isinstance(policy.mechanism, PlanarLaplace)
    half = policy.grid.cell_size / 2
    ends = policy.grid.centers.min(axis=0) - half, policy.grid.centers.max(axis=0) + half
    (south, west), (north, east) = (map(float, policy.grid.latlon_at(*end)) for end in ends)
    order = np.argsort(np.tile(np.arange(each), 2), kind="stable")  # with, without, with, ...
    mixed = World("model", policy, world.followed, [world.people[k] for k in order],
                  world.labels[order], world.owners)  # fmt: skip
    every = {way: places(mixed, way) for way in WAYS}
    guarded = {way: [row for row in rows if row[5] in steps] for way, rows in every.items()}
    given = {
        "epsilon": policy.mechanism.alpha / 1000,
        "bounds": [south - EDGE, north + EDGE, west - EDGE, east + EDGE],
        "spacing": 1000 * policy.grid.cell_size,
        "train": [row[1:3] for row in places(others, "exact") if row[5] in steps],
        "streams": {way: [row[:5] for row in rows] for way, rows in guarded.items()},
        "long_streams": {way: [row[:5] for row in rows] for way, rows in every.items()},
    }
    (work / "given.json").write_text(json.dumps(given))
    script = Path(__file__).with_name("privkit_side.py")
    asked = [environment(home), script, work / "given.json", work / "found.json"]
    with (work / "privkit.log").open("w") as log:
        subprocess.run(asked, check=True, stderr=log, cwd=work)
    found = json.loads((work / "found.json").read_text())
    rows = {
        way: {name: _judged(mixed, attack) for name, attack in attacks.items()}
        for way, attacks in found["ways"].items()
    }
    return {"rows": rows, "people": 2 * each, "versions": found["versions"]}


def _judged(world: World, attack: dict[str, Any]) -> dict[str, float]:
    """Return the error, how often the event is guessed with and without it, and what is sure."""
    if "share" in attack:
        return {"share": round(attack["share"], 3)}
    grid, guarded = world.policy.grid, list(world.policy.guarded_cells)
    rows = np.array(attack["places"], dtype=np.float64)
    rows = rows[~np.isnan(rows).any(axis=1)]
    cells = grid.cell_at_xy(*grid.xy(rows[:, 1], rows[:, 2]), "nearest")
    people = np.unique(rows[:, 0].astype(np.int64))
    yes = np.isin(people, rows[np.isin(cells, guarded), 0].astype(np.int64))
    labels = world.labels[people]
    counts = [(int((yes & each).sum()), int(each.sum())) for each in (labels, ~labels)]
    sure = 0.0
    for flip in (False, True):
        sides = [(n - k if flip else k, n) for k, n in counts]
        (more, of), (less, others) = reversed(sides) if flip else sides
        low, high = limits(more, of)[0], limits(less, others)[1]
        sure = max(sure, math.log(low / high) if low > 0 else 0.0)
    return {
        "error_m": round(attack["error_m"]),
        "with_event": round(counts[0][0] / counts[0][1], 3),
        "without": round(counts[1][0] / counts[1][1], 3),
        "sure": round(sure, 4),
    }
