"""Attack priste and its alternatives, and write what was found to docs/evidence/red-team.md.

``python -m benchmarks.redteam`` (``make redteam``) runs every part and writes the page; ``--quick``
runs a small form within minutes and writes figures and page to the work folder. Labelled streams
are attacked way by way, and each way is kept in the work folder as soon as it is done: run the
command again to continue. Another commit of priste begins anew, ``--way priste`` with this way of
releasing alone. Days of real people need folders: ``--geolife DIR``, ``--cabs DIR``. So do programs
of others: ``--privkit DIR`` (an environment that is made there), ``--ldptrace DIR`` and
``--retrasyn DIR`` (the folders with their programs). Figures of parts and ways that are not run
stay. They are kept in ``benchmarks/results/redteam.json``. No position is kept there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
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
    "guessed": 20,
    "walkers": 100,
    "files": 150,
    "weeks": 4,
    "exact": 20,
}
QUICK = {
    "model": 15,
    "residents": 60,
    "ada": 10,
    "days": 40,
    "visitors": 8,
    "streams": 1,
    "pairs": 2,
    "guessed": 10,
    "walkers": 5,
    "files": 10,
    "weeks": 2,
    "exact": 3,
}
"""How many there are: with and without the event each, people, weeks, days and so on."""

QUICK_WAYS = ("priste", "exact", "coarse:3", "zones:0.5", "laplace", "velocity", "constant")

LIBRARIES = ("qif", "lightgbm", "torch", "scikit-learn", "leuvenmapmatching")

Part = Callable[[], dict[str, Any]]


def world_part(make: Callable[[], Any], ways: Sequence[str], folder: Path) -> dict[str, Any]:
    """Attack every way of releasing in one world; a way that was done before is read back."""
    from benchmarks.redteam.attackers import attack
    from benchmarks.redteam.labelled_streams import digest, released

    def attacked(way: str) -> dict[str, Any]:
        world = make()
        streams = released(world, way)
        return {
            "rows": [each.to_dict() for each in attack(world, streams)],
            "people": len(world.labels),
            "happened": int(world.labels.sum()),
            "streams": digest(world, streams),
        }

    found: dict[str, Any] = {"ways": {}, "of": {}, "streams": {}}
    for way, one in _each_way(attacked, ways, folder):
        found |= {name: one[name] for name in ("people", "happened")}
        found["tried"] = one["rows"][0]["tried"]
        found["ways"][way] = {
            row["attacker"]: [round(row["auc"], 6), round(row["sure"], 4)] for row in one["rows"]
        }
        found["of"][way] = one["priste"]
        found["streams"][way] = one["streams"]
    return found


def exact_part(
    make: Callable[[], Any], ways: Sequence[str], folder: Path, each: int
) -> dict[str, Any]:
    """Return the exact leakage of every way, and its mean error, for some people of one world."""
    from benchmarks.redteam.labelled_streams import leakage, mean_error, released, some_of

    def measured(way: str) -> dict[str, Any]:
        world = some_of(make(), each)
        streams = released(world, way)
        largest = max(leakage(world.policy, told) for told in streams.likelihoods)
        error = mean_error(world, streams)
        return {
            "leakage": _finite(largest),
            "error_m": round(error) if error == error else None,
            "people": [int(world.labels.sum()), int((~world.labels).sum())],
        }

    found: dict[str, Any] = {"ways": {}, "of": {}}
    for way, one in _each_way(measured, ways, folder):
        found["people"] = one["people"]
        found["ways"][way] = [one["leakage"], one["error_m"]]
        found["of"][way] = one["priste"]
    return found


def _each_way(
    measure: Callable[[str], dict[str, Any]], ways: Sequence[str], folder: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what was measured of each way, and of which priste; kept as soon as it is done."""
    folder.mkdir(parents=True, exist_ok=True)
    for way in ways:
        kept = folder / f"{way.replace(':', '-')}-{versions()['priste']}.json"
        if not kept.exists():
            began = time.process_time()
            kept.write_text(json.dumps({**measure(way), "priste": versions()["priste"]}))
            _took(f"{folder.name} {way}", began)
        yield way, json.loads(kept.read_text())


def _took(what: str, began: float) -> None:
    print(f"{what}: {time.process_time() - began:.1f} CPU s", file=sys.stderr, flush=True)


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
            "model": _finite(max(each.reached.leakage for each in figures)),
            "own_history": _finite(
                max(each.own_history.leakage for each in figures if each.own_history)
            ),
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
    ways = arguments.way or (QUICK_WAYS if arguments.quick else worlds.WAYS)
    folder = work / "town"
    parts: dict[str, Part] = {}

    def in_world(name: str, make: Callable[[], Any]) -> None:
        once = cache(make)
        size = sizes.get(name, sizes["days"])
        parts[name] = lambda: world_part(once, ways, work / f"{name}-{size}")
        exact, each = f"{name}-exact", sizes["exact"]
        parts[exact] = lambda: exact_part(once, ways, work / f"{exact}-{each}", each)

    in_world("model", lambda: worlds.model_world(worlds.town(folder), sizes["model"]))
    in_world("residents", lambda: worlds.residents_world(worlds.town(folder), sizes["residents"]))
    in_world("ada", lambda: worlds.ada_world(worlds.town(folder), sizes["ada"]))
    parts |= {
        "own-history": lambda: own_history(folder, ways, sizes["streams"]),
        "together": lambda: combinations.combinations(
            folder, sizes["pairs"], sizes["streams"], sizes["weeks"]
        ),
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
            here = work / f"{name}-policy"
            in_world(name, partial(worlds.days_world, name, source, here, most=sizes["days"]))
    return parts


@cache
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


def joined(before: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what was found, with the ways of releasing that were measured before and not again."""
    for each in ("ways", "of", "streams"):
        if "ways" in found and each in found:
            found[each] = {**before.get(each, {}), **found[each]}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts asked for, and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these parts")
    parser.add_argument("--quick", action="store_true", help="a small form, within minutes")
    parser.add_argument("--work", type=Path, default=ROOT / "redteam-output", help="work folder")
    parser.add_argument("--way", action="append", help="only this way of releasing")
    parser.add_argument("--geolife", type=Path, help="the Data folder of Geolife")
    parser.add_argument("--cabs", type=Path, help="a folder with new_*.txt of Cabspotting")
    parser.add_argument("--privkit", type=Path, help="where Privkit is, or is put")
    parser.add_argument("--ldptrace", type=Path, help="the folder with main.py of LDPTrace")
    parser.add_argument("--retrasyn", type=Path, help="the folder with RetraSyn_b.py of RetraSyn")
    asked = parser.parse_args(arguments)
    work = asked.work / ("quick" if asked.quick else "full")
    parts = parts_of(asked, work)
    if unknown := sorted(set(asked.parts) - set(parts)):
        parser.error(f"no such part: {', '.join(unknown)}. There are {', '.join(parts)}.")
    results = work / "redteam.json" if asked.quick else ROOT / "benchmarks/results/redteam.json"
    written = work / "red-team.md" if asked.quick else ROOT / "docs/evidence/red-team.md"
    versions()  # of the code that is loaded now, whatever is committed while it runs
    for name in asked.parts or parts:
        began = time.process_time()
        found = parts[name]()
        kept = json.loads(results.read_text()) if results.exists() else {}  # others may write too
        kept[name] = joined(kept.get(name, {}), found)
        kept[name]["circumstances"] = {**circumstances(), **versions()}
        _took(name, began)
        results.parent.mkdir(parents=True, exist_ok=True)
        results.write_text(small_json(kept))
        written.write_text(page(kept))
    print(f"The page is {written}.")


if __name__ == "__main__":
    main()
