"""Attack priste and its alternatives, and write what was found to docs/evidence/red-team.md.

``python -m benchmarks.redteam`` (``make redteam``) runs every part and writes the page; ``--quick``
runs a small form within minutes and writes figures and page to the work folder. Labelled streams
are attacked way by way, and each way is kept in the work folder as soon as it is done: run the
command again to go on, remove the folder to begin anew. Days of real people need folders:
``--geolife DIR``, ``--cabs DIR``; so do programs of others: ``--privkit DIR`` (an environment that
is made there), ``--ldptrace DIR`` and ``--retrasyn DIR`` (the folders with their programs). Figures
of parts that are not run stay. They are kept in ``benchmarks/results/redteam.json``. No position is
kept there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances
from benchmarks.redteam.page import page

ROOT = Path(__file__).parent.parent.parent
FULL = {
    "model": 1000,
    "residents": 1500,
    "ada": 200,
    "days": 1000,
    "visitors": 24,
    "streams": 4,
    "pairs": 40,
    "guessed": 200,
    "walkers": 100,
    "files": 150,
}
QUICK = {
    "model": 30,
    "residents": 90,
    "ada": 10,
    "days": 40,
    "visitors": 8,
    "streams": 1,
    "pairs": 3,
    "guessed": 10,
    "walkers": 5,
    "files": 10,
}
"""How many there are: with and without the event each, people, weeks, days and so on."""

QUICK_WAYS = ("priste", "exact", "coarse:3", "zones:0.5", "laplace", "velocity", "constant")

LIBRARIES = ("qif", "lightgbm", "torch", "scikit-learn", "leuvenmapmatching")

Part = Callable[[], dict[str, Any]]


def world_part(make: Callable[[], Any], ways: Sequence[str], folder: Path) -> dict[str, Any]:
    """Attack every way of releasing in one world; a way that was done before is read back."""
    from benchmarks.redteam.attackers import attack
    from benchmarks.redteam.labelled_streams import released

    folder.mkdir(parents=True, exist_ok=True)
    world = None
    found: dict[str, Any] = {"ways": {}}
    for way in ways:
        kept = folder / f"{way.replace(':', '-')}.json"
        if not kept.exists():
            world = world or make()
            began = time.process_time()
            rows = [each.to_dict() for each in attack(world, released(world, way))]
            about: dict[str, Any] = {
                "people": len(world.labels),
                "happened": int(world.labels.sum()),
            }
            about["circumstances"] = {**circumstances(), **versions()}
            kept.write_text(json.dumps({"rows": rows, **about}))
            seconds = round(time.process_time() - began, 1)
            print(f"{world.name} {way}: {seconds} CPU s", file=sys.stderr, flush=True)
        one = json.loads(kept.read_text())
        found |= {name: one[name] for name in ("people", "happened", "circumstances")}
        found["tried"] = one["rows"][0]["tried"]
        found["ways"][way] = {
            row["attacker"]: [round(row["auc"], 6), round(row["sure"], 4)] for row in one["rows"]
        }
    return found


def own_history(folder: Path, ways: Sequence[str], streams: int) -> dict[str, Any]:
    """Return what an adversary learns who holds Ada's other hours, by ``priste.compare``."""
    from benchmarks.redteam.labelled_streams import town
    from priste.forecast.alternatives_compared import compare
    from priste.traces.town import ada

    others = [way for way in ways if way != "priste"]
    compared = compare(town(folder), others, trace=ada(weeks_before=4), streams=streams)
    rows = {}
    for way in compared.ways:
        figures = list(way.events.values())
        rows[way.name] = {
            "model": _finite(max(each.leakage for each in figures)),
            "own_history": _finite(max(each.own_history or 0.0 for each in figures)),
        }
    return {"rows": rows, "streams": streams}


def _finite(value: float) -> float | None:
    return round(value, 3) if value < float("inf") else None


def parts_of(arguments: Any, work: Path) -> dict[str, Part]:
    """Return what there is to do, by name."""
    from benchmarks.redteam import (
        combinations,
        exact_figures,
        map_matching,
        privkit_attacks,
        synthetic_data,
        zone_attack,
    )
    from benchmarks.redteam import labelled_streams as worlds

    sizes = QUICK if arguments.quick else FULL
    ways = QUICK_WAYS if arguments.quick else worlds.WAYS
    folder = work / "town"

    def in_world(name: str, size: int, make: Callable[[int], Any]) -> Part:
        return lambda: world_part(lambda: make(size), ways, work / f"{name}-{size}")

    parts: dict[str, Part] = {
        "own-history": lambda: own_history(folder, ways, sizes["streams"]),
        "together": lambda: combinations.combinations(folder, sizes["pairs"], sizes["streams"]),
        "model": in_world(
            "model", sizes["model"], lambda n: worlds.model_world(worlds.town(folder), n)
        ),
        "residents": in_world(
            "residents",
            sizes["residents"],
            lambda n: worlds.residents_world(worlds.town(folder), n),
        ),
        "ada": in_world("ada", sizes["ada"], lambda n: worlds.ada_world(worlds.town(folder), n)),
        "qif": exact_figures.exact_figures,
        "zones": lambda: zone_attack.zone_attack(worlds.town(folder), sizes["visitors"]),
    }
    parts["streets"] = lambda: map_matching.map_matching(sizes["walkers"])
    if arguments.privkit is not None:
        home = arguments.privkit.absolute()
        parts["privkit"] = lambda: privkit_attacks.privkit_attacks(
            worlds.town(folder), sizes["guessed"], work.absolute() / "privkit", home
        )
    for name in synthetic_data.ARGUMENTS:
        if (source := getattr(arguments, name)) is not None:
            parts[name] = partial(
                synthetic_data.synthetic_data,
                name,
                source,
                worlds.town(folder),
                sizes["files"],
                work / name,
            )
    for name, source in (("geolife", arguments.geolife), ("cabs", arguments.cabs)):
        if source is not None:
            days = partial(_days, name, source, work / f"{name}-policy")
            parts[name] = in_world(name, sizes["days"], days)
    return parts


def _days(name: str, source: Path, folder: Path, most: int) -> Any:
    from benchmarks.redteam.labelled_streams import days_world

    return days_world(name, source, folder, most=most)


def versions() -> dict[str, str]:
    """Return the last change of priste's code, and the versions of the attackers' libraries."""
    asked = ["git", "log", "-1", "--format=%h", "--", "src"]
    shown = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    found = {"priste": shown.stdout.strip() or version("priste")}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def small_json(value: Any) -> str:
    """Return JSON in which what holds no other table takes one line."""
    text = json.dumps(value, indent=1)
    for brackets in (r"\[[^\[\]{}]*\]", r"\{[^{}]*\}"):
        text = re.sub(brackets, lambda found: re.sub(r"\s+", " ", found.group()), text)
    return text + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts asked for, and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these parts")
    parser.add_argument("--quick", action="store_true", help="a small form, within minutes")
    parser.add_argument("--work", type=Path, default=ROOT / "redteam-output", help="work folder")
    parser.add_argument("--geolife", type=Path, help="the Data folder of Geolife")
    parser.add_argument("--cabs", type=Path, help="a folder with new_*.txt of Cabspotting")
    parser.add_argument("--privkit", type=Path, help="where Privkit is, or is put: 9 GB")
    parser.add_argument("--ldptrace", type=Path, help="the folder with main.py of LDPTrace")
    parser.add_argument("--retrasyn", type=Path, help="the folder with RetraSyn_b.py of RetraSyn")
    asked = parser.parse_args(arguments)
    work = asked.work / ("quick" if asked.quick else "full")
    parts = parts_of(asked, work)
    if unknown := sorted(set(asked.parts) - set(parts)):
        parser.error(f"no such part: {', '.join(unknown)}. There are {', '.join(parts)}.")
    results = work / "redteam.json" if asked.quick else ROOT / "benchmarks/results/redteam.json"
    written = work / "red-team.md" if asked.quick else ROOT / "docs/evidence/red-team.md"
    kept = json.loads(results.read_text()) if results.exists() else {}
    for name in asked.parts or parts:
        kept[name] = {"circumstances": {**circumstances(), **versions()}, **parts[name]()}
        results.parent.mkdir(parents=True, exist_ok=True)
        results.write_text(small_json(kept))
        written.write_text(page(kept))
    print(f"The page is {written}.")


if __name__ == "__main__":
    main()
