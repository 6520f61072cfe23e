"""Steps of releases and the lines of ``benchmarks.quantification``, beside an older commit.

Run ``python -m benchmarks.regressions --beside TREE``, where TREE is a checkout of that commit.
Each part runs in a process of its own, with this tree and with the other in turn, ``--times``
times. A line counts with its least CPU seconds. Set OPENBLAS_NUM_THREADS=1. Writes
``benchmarks/results/regressions.json`` part by part; a ratio is this tree over the other.

- release_100, release_400: a step of each calibrator on so many cells, with the event of the
  paper's run: the mean over some streams, each with its least time. *New* is the first stream of a
  process with its model and mechanism, *reused* the same stream again with the same objects;
- quantification: a step or a verdict of every part of ``benchmarks.quantification``. Each tree
  measures with its own copy, as names differ.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances
from benchmarks.waiting import printed_by

HERE = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results" / "regressions.json"

RELEASE = """
import json
from time import process_time
from priste import AnyPrior, Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.quantify.warm_up import warm_up
from priste.release import Certified, Optimal
warm_up()
grid, event = Grid(rows={side}, columns={side}, cell_size=1.0), presence(range(10), range(3, 8))
seconds = {{}}
for stream in range({streams}):
    model = MarkovModel.gaussian(grid, sigma=1.0 + 0.05 * stream)
    mechanism = PlanarLaplace(grid, alpha=0.5 + 0.02 * stream)
    cells = model.sample({steps}, rng=stream).tolist()
    ways = {{
        "certified, any prior": (Certified(pace=0.1), AnyPrior()),
        "certified, known prior": (Certified(pace=0.1), KnownPrior(model.stationary())),
        "optimal, any prior": (Optimal(), AnyPrior()),
        "optimal, known prior": (Optimal(), KnownPrior(model.stationary())),
    }}
    for way, (calibrator, adversary) in ways.items():
        for name in ("new", "reused"):
            begin = process_time()
            protector = Protector(
                model, event, mechanism, 0.5, calibrator, rng=stream, adversary=adversary
            )
            for cell in cells:
                protector.release(cell)
            seconds[f"{{way}}, {{name}}/{{stream}}"] = (process_time() - begin) / {steps}
print(json.dumps(seconds))
"""

QUANTIFICATION = """
import json
import benchmarks.quantification as b
from priste.quantify.warm_up import warm_up
warm_up()
seconds = {}
for each in b.runtime_against_event([10, 15], [15]):
    line = "pattern of {length} steps, {width} cells wide, 400 cells"
    seconds[line.format(**each)] = each["ours_seconds"]
for each in b.known_prior_step([20, 30, 40]):
    seconds["one known prior, {cells:,} cells".format(**each)] = each["step_seconds"]
for each in b.growth([14, 20], "dense"):
    seconds["any prior, forward step, {cells:,} cells".format(**each)] = each["seconds"]
for kind in ("sparse", "separable"):
    for each in b.growth([50], kind):
        seconds[f"any prior, 8 releases replayed, {kind}, 2,500 cells"] = each["seconds"]
for each in b.few_rows([50, 100]):
    seconds["eight priors, {cells:,} cells".format(**each)] = each["seconds"]
for each in b.given_priors((1, 4, 16), 200):
    line = "{priors} given priors, {cells:,} cells, ten verdicts"
    seconds[line.format(**each)] = each["step_seconds"]
for each in b.near_verdicts([10, 20]):
    seconds["verdict near a prior, {cells:,} cells".format(**each)] = each["seconds"]
    line = "leakage near a prior, {cells:,} cells"
    seconds[line.format(**each)] = each["leakage_seconds"]
print(json.dumps(seconds))
"""

PARTS = {
    "release_100": RELEASE.format(side=10, streams=6, steps=24),
    "release_400": RELEASE.format(side=20, streams=2, steps=24),
    "quantification": QUANTIFICATION,
}


def figures(program: str, tree: Path) -> dict[str, float]:
    """Run a program with the sources and the benchmarks of a tree; return what it measured."""
    measured: dict[str, float] = json.loads(printed_by(program, tree, tree).splitlines()[-1])
    return measured


def least(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the least seconds of each line; a line of many streams counts with their mean.

    >>> least([{"a/0": 3.0, "a/1": 1.0, "b": 2.0}, {"a/0": 2.0, "a/1": 5.0, "b": 4.0}])
    {'a': 1.5, 'b': 2.0}
    """
    lines: dict[str, list[float]] = {}
    for name in runs[0]:
        lines.setdefault(name.partition("/")[0], []).append(min(run[name] for run in runs))
    return {name: sum(found) / len(found) for name, found in lines.items()}


def commit_of(tree: Path) -> str:
    """Return the short name of the commit that is checked out."""
    command = ["git", "-C", str(tree), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: Sequence[str] = ()) -> None:
    """Measure the parts named, or all."""
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; else all")
    parser.add_argument("--beside", type=Path, metavar="TREE", required=True)
    parser.add_argument("--times", type=int, default=4, help="how often each is run (4)")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.parts) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}. There are {', '.join(PARTS)}.")
    held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for part in options.parts or PARTS:
        both = [
            [figures(PARTS[part], tree) for tree in (options.beside.resolve(), HERE)]
            for _ in range(options.times)
        ]
        before, now = (least(runs) for runs in zip(*both, strict=True))
        lines = {
            name: {"before": before[name], "now": now[name], "ratio": now[name] / before[name]}
            for name in now
        }
        found = {"lines": lines, "before": commit_of(options.beside)}
        held[part] = found | {"circumstances": circumstances()}
        RESULTS.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
        for name, line in lines.items():
            print(f"{part}, {name}: {line['ratio']:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
