"""How cost grows: ``python -m benchmarks.growth [users steps cells events families reading]``.

Each part measures CPU seconds for growing sizes of one thing, and fits the exponent p of
cost = constant × size^p by least squares in logarithms, over its larger half too (``at the end``).

- users: the whole command ``priste protect`` on a table of simulated users, 16 cells, two steps
  each, all processes together, and the largest memory of one of them;
- steps: one stream of so many steps on 100 cells, with one event early in it;
- cells: one release in the middle of a stream (median of five) on a square map;
- events: one stream of 100 steps on 100 cells with so many events of two steps each;
- families: one stream of 24 steps on 100 cells that guards so many models by ``each``;
- reading: ``read_policy`` of a policy with a home on a map of so many cells.

Everything but users is one thread of this process, with the default calibrator against an adversary
who knows the population. ``--quick`` leaves the largest size out. Set OPENBLAS_NUM_THREADS=1.
Writes ``benchmarks/results/growth.json`` part by part; ``--picture FILE`` draws what is there.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from benchmarks.arguments import asked_for
from benchmarks.batch import SMALL_STEPS, command, prepared
from benchmarks.circumstances import circumstances
from priste import Grid, KnownPrior, MarkovModel, PlanarLaplace, Protector, presence
from priste.events import Event
from priste.policy import read_policy

RESULTS = Path(__file__).parent / "results" / "growth.json"

USERS = (100, 1_000, 10_000, 100_000)
STEPS = (100, 300, 1_000, 3_000, 10_000)
SIDES = (10, 20, 40, 70, 100, 200)
EVENTS = (1, 2, 5, 10, 20, 50)
FAMILIES = (1, 2, 4, 8)

READ = """
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
steps = 672
[mobility]
kind = "stay-or-go"
stay = 0.8
away_share = 0.05
home = "home"
stay_home = 0.95
back_home = 0.1
[mechanism]
kind = "planar-laplace"
alpha = 2.0
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
"""

Sizes = dict[int, float]


def stream(
    side: int = 10, events: Sequence[Event] = (), sigmas: Sequence[float] = (1.0,)
) -> tuple[Protector, MarkovModel]:
    """Return a fresh stream on a square map of 1 km cells, and the model people move by."""
    grid = Grid(rows=side, columns=side, cell_size=1.0)
    models = [MarkovModel.gaussian(grid, sigma=sigma) for sigma in sigmas]
    guarded = events or [presence([5, 6], range(8, 11))]
    protector = Protector(
        models if len(models) > 1 else models[0],
        {f"event {number}": event for number, event in enumerate(guarded)},
        PlanarLaplace(grid, alpha=1.5),
        0.8,
        rng=1,
        adversary=[KnownPrior(model.stationary()) for model in models]
        if len(models) > 1
        else KnownPrior(models[0].stationary()),
        family="each",
    )
    return protector, models[0]


def timed(protector: Protector, model: MarkovModel, steps: int) -> list[float]:
    """Release so many steps of somebody who moves by the model; return the seconds of each."""
    seconds = []
    for cell in model.sample(steps, rng=2, start=model.stationary()).tolist():
        begin = process_time()
        protector.release(cell)
        seconds.append(process_time() - begin)
    return seconds


def users(sizes: Sequence[int]) -> dict[str, Any]:
    """Measure the whole command; the memory is that of its largest process."""
    cpu, memory = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for count in sizes:
            place = prepared(Path(folder), count, 16, SMALL_STEPS)
            cost, said = command(place, "released", "--workers", "2")
            cpu[count] = cost.cpu
            memory[count] = max(said["here_mb"], said["largest_other_mb"])
            print(f"  {count} users: {cost.cpu:.1f} s, {memory[count]:.0f} MB", flush=True)
    return {"seconds": cpu, "megabytes": memory}


def steps(sizes: Sequence[int]) -> dict[str, Any]:
    """Measure one stream."""
    return {"seconds": {count: sum(timed(*stream(), count)) for count in sizes}}


def cells(sizes: Sequence[int]) -> dict[str, Any]:
    """Measure one release."""
    return {"seconds": {side * side: median(timed(*stream(side), 8)[3:]) for side in sizes}}


def events(sizes: Sequence[int]) -> dict[str, Any]:
    """Measure a stream that guards so many events, one after the other in time."""
    found = {}
    for count in sizes:
        listed = [presence([2 * k % 98, 2 * k % 98 + 1], [2 * k, 2 * k + 1]) for k in range(count)]
        found[count] = sum(timed(*stream(events=listed), 100))
    return {"seconds": found}


def families(sizes: Sequence[int]) -> dict[str, Any]:
    """Measure a stream that guards so many models."""
    spread = [0.8 + 0.1 * number for number in range(max(sizes))]
    return {"seconds": {n: sum(timed(*stream(sigmas=spread[:n]), 24)) for n in sizes}}


def reading(sizes: Sequence[int]) -> dict[str, Any]:
    """Measure the reading of a policy, up to a stream that is ready to begin."""
    found = {}
    for side in sizes:
        north, east = 46.0 + 0.5 * side / 111.2, 7.0 + 0.5 * side / 77.2
        begin = process_time()
        policy = read_policy(READ.format(north=f"{north:.5f}", east=f"{east:.5f}"))
        found[policy.grid.size] = process_time() - begin
    return {"seconds": found}


PARTS: dict[str, tuple[Callable[[Sequence[int]], dict[str, Any]], Sequence[int]]] = {
    "users": (users, USERS),
    "steps": (steps, STEPS),
    "cells": (cells, SIDES),
    "events": (events, EVENTS),
    "families": (families, FAMILIES),
    "reading": (reading, SIDES),
}


def exponent(sizes: Sizes) -> float:
    """Return the exponent of the power that fits best.

    >>> round(exponent({1: 3.0, 2: 12.0, 4: 48.0}), 3)
    2.0
    """
    x, y = np.log(list(sizes)), np.log(list(sizes.values()))
    return float(np.polyfit(x, y, 1)[0])


def main(arguments: Sequence[str] = ()) -> None:
    """Measure the parts named, or all, and print what they took."""
    options = asked_for(
        arguments,
        __doc__,
        PARTS,
        quick="leave the largest size out",
        picture="draw what is there into docs/images/growth.png instead of measuring",
    )
    held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if options.picture:
        draw(held, Path(__file__).parent.parent / "docs" / "images" / "growth.png")
        return
    timed(*stream(), 3)  # what is compiled and tabulated once
    for name in options.parts or PARTS:
        measure, sizes = PARTS[name]
        found = measure(sizes[:-1] if options.quick else sizes)
        seconds: Sizes = found["seconds"]
        found["exponent"] = round(exponent(seconds), 2)
        later = dict(list(seconds.items())[len(seconds) // 2 :])
        found["at the end"] = round(exponent(later), 2) if len(later) > 1 else None
        held[name] = found | {"circumstances": circumstances()}
        RESULTS.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")
        said = ", ".join(f"{size}: {value:.3g} s" for size, value in seconds.items())
        print(f"{name}: {said}; exponent {found['exponent']}, {found['at the end']} at the end")


def draw(held: dict[str, Any], path: Path) -> None:
    """Draw a panel for each part: what was measured, and the power that fits."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    from priste.report.figures import STYLE

    titles = {
        "users": "priste protect, by users",
        "steps": "one stream, by steps",
        "cells": "one release, by cells",
        "events": "one stream, by events",
        "families": "one stream, by models",
        "reading": "reading a policy, by cells",
    }
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 5.2), layout="constrained")
        for axes, (name, title) in zip(figure.subplots(2, 3).ravel(), titles.items(), strict=True):
            if name not in held:
                continue
            found = {int(size): value for size, value in held[name]["seconds"].items()}
            sizes = np.array(list(found), dtype=np.float64)
            power = held[name]["exponent"]
            middle = np.exp(np.mean(np.log(list(found.values())) - power * np.log(sizes)))
            axes.loglog(sizes, list(found.values()), "o", color="#0b6e6e")
            axes.loglog(sizes, middle * sizes**power, color="#c8553d", linewidth=1.0)
            axes.set_title(f"{title}\nexponent {power:g}", fontsize=9)
            axes.set_ylabel("CPU s")
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_minor_formatter(NullFormatter())
        figure.savefig(path, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main(sys.argv[1:])
