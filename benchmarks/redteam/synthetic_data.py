"""Synthetic data of others: does a file of LDPTrace or RetraSyn tell where one person went?

Both publish synthetic paths of a crowd under local differential privacy with ε = 1. They are run as
they are, from copies that are given (``--ldptrace DIR``, ``--retrasyn DIR``: the folder with their
programs), except that each run has its own random numbers: their programs fix the seed. The crowd
is one Wednesday of the built-in town. In half of the runs Ada goes to the guarded place, in the
others she is at the office in those hours; everybody else does the same in all runs. The attacker
is trained on runs with labels, and sees a published file only.

- ``hospital``: the guarded place is the hospital, where others go too.
- ``edge``: the guarded place lies 300 m south of everything that the others visit.
"""

from __future__ import annotations

import contextlib
import json
import lzma
import os
import pickle
import random
import runpy
import subprocess
import sys
from datetime import datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from benchmarks.redteam.attackers import judged
from priste.policy import Policy
from priste.traces.fixes import Trace, microseconds
from priste.traces.town import FIRST_DAY, TOWN_ZONE, ada, residents, town_places

Floats = NDArray[np.float64]

PEOPLE = 200
"""How many others there are."""

EVERY = 15
"""Minutes between two points of a path."""

AWAY = (13.3, 16.7)
"""The hours of the day in which Ada is at the guarded place, or else at the office."""

SIDE = 12
"""The attacker counts published points in a lattice of so many by so many cells of its own."""

ARGUMENTS = {
    "ldptrace": ["main.py", "--dataset", "oldenburg", "--re_syn"],
    "retrasyn": ["RetraSyn_b.py", "--dataset", "tdrive"],
}
"""Their programs and options. By default ε is 1 and the map has 6 by 6 cells, as they recommend."""


def day_of(trace: Trace, policy: Policy) -> Floats:
    """Return (n, 2) where somebody is on Wednesday, in km, every ``EVERY`` minutes."""
    midnight = microseconds(datetime.combine(FIRST_DAY, time.min, ZoneInfo(TOWN_ZONE)))
    minutes = (trace.times - midnight) / 60e6 - 2 * 24 * 60
    wanted = np.arange(0, 24 * 60, EVERY)
    at = np.searchsorted(minutes, wanted).clip(max=len(minutes) - 1)
    x, y = policy.grid.xy(trace.lat[at], trace.lon[at])
    return np.column_stack([x, y])


def crowds(policy: Policy, case: str) -> dict[bool, list[Floats]]:
    """Return the paths of everybody, with Ada's visit and without it."""
    others = [day_of(trace, policy) for trace in residents(PEOPLE, days=7, seed=7)]
    hers = day_of(ada(7), policy)
    hours = np.arange(0, 24 * 60, EVERY) / 60
    away = (hours >= AWAY[0]) & (hours < AWAY[1])
    places = {
        name: np.array(policy.grid.xy(*town_places()[name])) for name in ("office", "hospital")
    }
    if case == "edge":
        south = min(path[:, 1].min() for path in [*others, hers[~away]])
        places["hospital"] = np.array([places["hospital"][0], south - 0.3])
    found = {}
    for visit in (True, False):
        path = hers.copy()
        path[away] = places["hospital" if visit else "office"]
        found[visit] = [*others, path]
    return found


def written(kind: str, crowd: list[Floats], folder: Path) -> None:
    """Write the paths of a crowd as the program of ``kind`` reads them."""
    data = folder / "data"
    if kind == "ldptrace":
        lines = [
            f"#{number}:\n>0:" + "".join(f"{x:.6f},{y:.6f};" for x, y in path) + "\n"
            for number, path in enumerate(crowd)
        ]
        (data / "oldenburg.dat").write_text("".join(lines))
        return
    moves: list[list[tuple[float, float, float, float, int]]] = []
    for step in range(len(crowd[0]) + 1):
        now = []
        for path in crowd:
            before, after = path[max(step - 1, 0)], path[min(step, len(path) - 1)]
            flag = 1 if step == 0 else 2 if step == len(path) else 0
            now.append((*map(float, before), *map(float, after), flag))
        moves.append(now)
    with lzma.open(data / "tdrive_transition.xz", "wb") as file:
        pickle.dump(moves, file)


def published(kind: str, folder: Path) -> Floats:
    """Return (n, 2) the points of a synthetic file."""
    data = folder / "data"
    found = next((data / "oldenburg" if kind == "ldptrace" else data / "syn_data/tdrive").iterdir())
    paths = pickle.loads(found.read_bytes())
    return np.array([point[:2] for path in paths for point in path], dtype=np.float64)


class _Done(Exception):
    """Their program has written its file and is about to measure itself."""


def run_once(kind: str, program: Path, folder: Path, seed: int) -> None:
    """Run their program once, with its own random numbers, until the synthetic file is written."""
    for part in ("data/oldenburg", "data/syn_data/tdrive", "here"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    seeded: list[int] = []
    seeds = {module: module.seed for module in (np.random, random)}

    def instead(module: Any) -> Any:
        def seed_of_run(_: int) -> None:
            if (folder / "data/oldenburg").exists() and any((folder / "data/oldenburg").iterdir()):
                raise _Done
            seeds[module](seed)
            seeded.append(seed)

        return seed_of_run

    before, argv = Path.cwd(), sys.argv
    try:
        for module in seeds:
            module.seed = instead(module)  # type: ignore[attr-defined]
        os.chdir(folder / "here")
        sys.argv = [str(program), *ARGUMENTS[kind][1:]]
        with contextlib.suppress(_Done), contextlib.redirect_stdout(sys.stderr):
            runpy.run_path(str(program), run_name="__main__")
    finally:
        os.chdir(before)
        sys.argv = argv
        for module, function in seeds.items():
            module.seed = function  # type: ignore[attr-defined]
    if not seeded:
        raise RuntimeError(f"{program.name} set no seed, so its runs would not differ.")


def features(points: Floats, box: Floats) -> Floats:
    """Return what the attacker looks at: counts in a lattice, and the extremes of the points."""
    counts = np.histogram2d(points[:, 0], points[:, 1], SIDE, range=box.T)[0].ravel()
    ends = np.concatenate([points.min(axis=0), points.max(axis=0)])
    return np.concatenate([counts / max(len(points), 1), ends])


def attacked(rows: Floats, labels: NDArray[np.bool_]) -> dict[str, list[float]]:
    """Return the area under the curve and the sure factor of a trained attacker and of the box."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    train, choose = len(rows) // 2, len(rows) // 5
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    model.fit(rows[:train], labels[:train])
    scores = {
        "trained": model.decision_function(rows),
        "southernmost point": -rows[:, -3],
    }
    found = {}
    for name, each in scores.items():
        chosen, tried = slice(train, train + choose), slice(train + choose, None)
        one = judged(name, (each[chosen], labels[chosen]), (each[tried], labels[tried]), train)
        found[name] = [round(one.auc, 4), round(one.sure, 4)]
    return found


def synthetic_data(kind: str, code: Path, policy: Policy, runs: int, work: Path) -> dict[str, Any]:
    """Return what published files of one program tell, per case; runs that were done are kept."""
    rows: dict[str, Any] = {}
    for case in ("hospital", "edge"):
        folder = work / f"{case}-{runs}"
        if not (folder / "points.pickle").exists():
            folder.mkdir(parents=True, exist_ok=True)
            given = folder / "given.pickle"
            given.write_bytes(pickle.dumps(crowds(policy, case)))
            program = code.absolute() / ARGUMENTS[kind][0]
            asked = [sys.executable, "-m", "benchmarks.redteam.synthetic_data"]
            asked += [kind, str(program), str(folder.absolute()), str(runs)]
            with (folder / "program.log").open("w") as log:
                subprocess.run(asked, check=True, stdout=log, stderr=log)
        files = pickle.loads((folder / "points.pickle").read_bytes())
        every = np.concatenate([points for _, points in files])
        box = np.array([every.min(axis=0), every.max(axis=0)])
        labels = np.array([visit for visit, _ in files])
        rows[case] = attacked(np.array([features(points, box) for _, points in files]), labels)
    return {"rows": rows, "runs": 2 * runs, "people": PEOPLE + 1, "revision": _revision(code)}


def _revision(code: Path) -> str:
    asked = ["git", "-C", str(code), "log", "-1", "--format=%h %as"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def main() -> None:
    """Run a program of others ``runs`` times with the visit and without, in turn."""
    kind, program, folder, runs = (
        sys.argv[1],
        Path(sys.argv[2]),
        Path(sys.argv[3]),
        int(sys.argv[4]),
    )
    crowd = pickle.loads((folder / "given.pickle").read_bytes())
    sys.path.insert(0, str(program.parent))
    files = []
    for number in range(runs):
        for visit in (True, False):
            once = folder / "once"
            subprocess.run(["rm", "-rf", str(once)], check=True)
            (once / "data").mkdir(parents=True)
            written(kind, crowd[visit], once)
            run_once(kind, program, once, seed=2 * number + visit)
            files.append((visit, published(kind, once)))
    (folder / "points.pickle").write_bytes(pickle.dumps(files))
    print(json.dumps({"files": len(files)}))


if __name__ == "__main__":
    main()
