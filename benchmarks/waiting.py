"""What people wait for, now and before: ``python -m benchmarks.waiting [PART ...] --beside TREE``.

Each part is a short program that prints CPU seconds (or megabytes). It runs in its own process,
``--times`` times with this tree and, in turn, with the sources of another one (``--beside``, the
folder of an older checkout), so that both see the same machine; the least of each counts. ``floor``
is what nothing of the kind can do without: bare matrix products of the same sizes, or reading the
file once. Set OPENBLAS_NUM_THREADS=1. Writes ``benchmarks/results/waiting.json`` part by part.

- reading: ``read_policy`` of a policy with a home on 2,419 cells; floor: parsing its TOML;
- forecast: ``forecast`` of such a policy on about 200 cells, six neighbours, within its 30 seconds;
- first_answer: the same until the first answer is there;
- users_100, users_400: a step of ``optimal`` against a known prior and a home, of eight users one
  after the other; floor: the products that move the prior and price every target for every output;
- any_400: a step of ``optimal`` against any prior; floor: the same products;
- rows_10000, rows_40000: a step of ``optimal`` against eight priors on a large map; floor: moving
  them through the model once, which is a product with its banded matrix;
- family_400: four models by ``each``; floor: one model, so that the ratio is the cost of a family;
- crowd: ``priste init`` and then ``priste protect`` with two workers and its summary, of 60 people
  of the built-in town for two days; floor: ``priste init`` alone;
- cold_demo: ``make demo`` of a copy of the tree without an environment, with empty caches of pip
  and uv; floor: ``priste demo``;
- demo: ``priste demo``, everything included; floor: ``priste --version``;
- memory: megabytes of a process that has protected one user on 400 cells; floor: Python with numpy
  and scipy loaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances

HERE = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).parent / "results" / "waiting.json"

PEOPLE, DAYS = 60, 2
"""How many people of the town are released together, and how many days of each."""

POLICY = """
[map]
south = 46.0
west = 7.0
north = {north}
east = {east}
cell_size = 0.5
[clock]
start = 2026-03-02T00:00:00
zone = "UTC"
step = "15min"
steps = 1344
[mobility]
kind = "stay-or-go"
stay = 0.8
away_share = 0.05
home = "home"
stay_home = 0.95
back_home = 0.1
[mechanism]
kind = "planar-laplace"
alpha = 6.0
[adversary]
knows = "population"
also = ["home"]
[guarantee]
epsilon = 1.0
[release]
outside = "off-map"
[regions.home]
circle = {{ lat = 46.01, lon = 7.01, radius_km = 0.1 }}
[regions.clinic]
circle = {{ lat = 46.02, lon = 7.02, radius_km = 0.1 }}
[events.visit]
formula = 'presence(clinic, "wed 14:00-16:00")'
every = "week"
"""

READ = """
from time import process_time
import priste.policy
text = {text!r}
priste.policy.read_policy({small!r})  # what is loaded once
begin = process_time()
policy = priste.policy.read_policy(text)
print(process_time() - begin)
"""

PARSE = """
from time import process_time
import tomllib
begin = process_time()
tomllib.loads({text!r})
print(process_time() - begin)
"""

FORECAST = """
from time import process_time
from priste.forecast import forecast
from priste.policy import read_policy
policy = read_policy({text!r})
class Answered(Exception): pass
def answered(row):
    if {first!r}: raise Answered
begin = process_time()
try:
    forecast(policy, seconds=30.0, on_row=answered)
except Answered:
    pass
print(process_time() - begin)
"""

STREAMS = """
from time import process_time
import numpy as np
from priste import AnyPrior, Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.release import Optimal
from priste.release.stream_tree import StreamTree
from priste.release.terms import make_terms
side, steps, users, priors, models, cell = {side}, {steps}, {users}, {priors}, {models}, {cell}
grid = Grid(rows=side, columns=side, cell_size=cell)
held = [MarkovModel.gaussian(grid, sigma=(1.4 + 0.2 * k) * cell) for k in range(models)]
model = held[0]
def rows_of(model):
    if priors == 0:
        return AnyPrior()
    places = np.linspace(side + 1, grid.size - side - 2, priors - 1).astype(int)
    return KnownPrior(np.vstack([model.stationary(),
                                 *(np.eye(1, grid.size, k) for k in places)]))
adversary = [rows_of(each) for each in held] if models > 1 else rows_of(model)
event = presence([grid.size // 2 + side // 2, grid.size // 2 + side // 2 + 1], range(6, 9))
mechanism = PlanarLaplace(grid, alpha=2.0 / cell)
terms = make_terms(held, {{"event": event}}, mechanism, 1.0, None, adversary, "each")
tree = StreamTree.of(terms, Optimal())  # as the users of one policy share it
def stream(user):
    protector = Protector.sharing(tree, user)
    seconds = []
    for at in model.sample(steps, rng=user, start=model.stationary()).tolist():
        begin = process_time()
        protector.release(at)
        seconds.append(process_time() - begin)
    return seconds
stream(0)  # what is compiled and tabulated once
print(np.mean([each for user in range(1, users + 1) for each in stream(user)]))
"""

PRODUCTS = """
from time import process_time
import numpy as np
cells, rows, whole = {side} ** 2, {rows}, {whole}
rng = np.random.default_rng(1)
left, right = rng.random((rows, cells)), rng.random((cells, cells))
emission, costs = rng.random((cells, cells)), rng.random((cells, cells))
times = []
for _ in range(7):
    begin = process_time()
    left @ right
    if whole:
        emission.T @ costs
    times.append(process_time() - begin)
print(np.median(times))
"""

MOVED = """
from time import process_time
import numpy as np
from priste import Grid, MarkovModel
grid = Grid(rows={side}, columns={side}, cell_size={cell})
model = MarkovModel.gaussian(grid, sigma=1.4 * {cell})
people = np.random.default_rng(1).random(({rows}, grid.size))
times = []
for _ in range(7):
    begin = process_time()
    model.transition(0).push(people)
    times.append(process_time() - begin)
print(np.median(times))
"""

COMMAND = """
import os, resource, subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as folder:
    environment = {{**os.environ, "PRISTE_STATE": folder}}
    subprocess.run([sys.executable, "-m", "priste", *{words!r}], cwd=folder, check=True,
                   env=environment, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""

CROWD = """
import json, os, subprocess, sys, tempfile
from pathlib import Path
from priste.traces import write_traces
from priste.traces.town import residents
seconds = 0.0
def command(*words):
    global seconds
    ran = subprocess.run([sys.executable, "-m", "benchmarks.command", *words, "--json"],
                         cwd=folder, env=environment, check=True, capture_output=True, text=True)
    costs = json.loads(ran.stderr.splitlines()[-1])
    seconds += costs["here"] + costs["others"]
    return json.loads(ran.stdout)
with tempfile.TemporaryDirectory() as folder:
    environment = {{**os.environ, "PRISTE_STATE": folder + "/state"}}
    write_traces(residents({people}, {days}), Path(folder) / "people.csv")
    drafted = command("init", "people.csv", "-o", "policy.toml")
    if {released!r}:
        homes = ["--places", drafted["places"]] if drafted["places"] else []
        command("protect", "people.csv", "-p", "policy.toml", *homes, "-o", "released.csv",
                "--workers", "2", "--seed", "1")
print(seconds)
"""

COLD = """
import os, resource, shutil, subprocess, tempfile
with tempfile.TemporaryDirectory() as folder:
    tree = os.environ["PYTHONPATH"].split(os.pathsep)[0].removesuffix("/src")
    unused = shutil.ignore_patterns(".git", ".venv", "__pycache__", "node_modules", ".*_cache")
    shutil.copytree(tree, folder + "/tree", ignore=unused)
    caches = {"UV_CACHE_DIR": folder + "/uv", "PIP_CACHE_DIR": folder + "/pip"}
    outside = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    subprocess.run(["make", "demo"], cwd=folder + "/tree", check=True, capture_output=True,
                   env={**outside, **caches, "PRISTE_STATE": folder + "/state"})
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""

MEMORY = """
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def policy_of(rows: int, columns: int) -> str:
    """Return a policy on a map of at least so many rows and columns of 500 m, and a ring."""
    return POLICY.format(
        north=f"{46.0 + 0.5 * rows / 111.2:.5f}", east=f"{7.0 + 0.5 * columns / 77.4:.5f}"
    )


def streams(side: int, priors: int, *, users: int = 4, steps: int = 16, models: int = 1) -> str:
    """Return the program that releases users one after the other."""
    cell = 0.5
    return STREAMS.format(
        side=side, steps=steps, users=users, priors=priors, models=models, cell=cell
    )


def parts() -> dict[str, tuple[str, str]]:
    """Return the program of each part and that of its floor."""
    large, middle, small = policy_of(39, 57), policy_of(12, 13), policy_of(8, 8)
    read = READ.format(text=large, small=small)
    memory = streams(20, 2, users=1) + MEMORY
    whole = {"rows": 2, "whole": True}
    return {
        "reading": (read, PARSE.format(text=large)),
        "forecast": (FORECAST.format(text=middle, first=False), PARSE.format(text=middle)),
        "first_answer": (FORECAST.format(text=middle, first=True), PARSE.format(text=middle)),
        "users_100": (streams(10, 2, users=8), PRODUCTS.format(side=10, **whole)),
        "users_400": (streams(20, 2, users=8), PRODUCTS.format(side=20, **whole)),
        "any_400": (streams(20, 0), PRODUCTS.format(side=20, rows=400, whole=True)),
        "rows_10000": (
            streams(100, 8, users=1, steps=8), MOVED.format(side=100, rows=24, cell=0.5)
        ),
        "rows_40000": (
            streams(200, 8, users=1, steps=8), MOVED.format(side=200, rows=24, cell=0.5)
        ),
        "family_400": (streams(20, 2, models=4), streams(20, 2)),
        "crowd": (
            CROWD.format(people=PEOPLE, days=DAYS, released=True),
            CROWD.format(people=PEOPLE, days=DAYS, released=False),
        ),
        "cold_demo": (COLD, COMMAND.format(words=["demo"])),
        "demo": (COMMAND.format(words=["demo"]), COMMAND.format(words=["--version"])),
        "memory": (memory, "import numpy, scipy.sparse" + MEMORY),
    }  # fmt: skip


def printed_by(program: str, tree: Path, benchmarks: Path = HERE) -> str:
    """Run a program with the sources of a tree and the benchmarks of another; return its output."""
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{benchmarks}"}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=folder, check=True,
            capture_output=True, text=True,
        ).stdout  # fmt: skip


def figure(program: str, tree: Path) -> float:
    """Return the last number that a program prints with the sources of a tree."""
    return float(printed_by(program, tree).split()[-1])


def measured(program: str, floor: str, trees: Sequence[Path], times: int) -> dict[str, Any]:
    """Return the least figure of this tree, of the one before, and of the floor."""
    runs: list[list[float]] = [[] for _ in trees]
    for _ in range(times):
        for tree, found in zip(trees, runs, strict=True):
            found.append(figure(program, tree))
    row: dict[str, Any] = {"now": min(runs[0]), "floor": figure(floor, HERE)}
    if len(trees) > 1:
        row["before"] = min(runs[1])
    return row | {"runs": runs}


def main(arguments: Sequence[str] = ()) -> None:
    """Measure the parts named, or all."""
    known = parts()
    parser = parser_of(__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(known)}; else all")
    parser.add_argument("--beside", type=Path, metavar="TREE", help="an older checkout, in turn")
    parser.add_argument("--times", type=int, default=3, help="how often each is run (3)")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.parts) - set(known)):
        parser.error(f"no such part: {', '.join(unknown)}. There are {', '.join(known)}.")
    trees = [HERE, *([options.beside.resolve()] if options.beside else [])]
    held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in options.parts or known:
        row = measured(*known[name], trees, options.times)
        held[name] = row | {"circumstances": circumstances()}
        RESULTS.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
        before = f"before {row['before']:.4g}, " if "before" in row else ""
        print(f"{name}: {before}now {row['now']:.4g}, floor {row['floor']:.4g}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
