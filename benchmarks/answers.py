"""What several answers cost: ``python -m benchmarks.answers [speed town geolife]``.

- speed: CPU seconds of one release in the middle of a stream on 400 cells: with one event (two
  answers), with two events guarded together (four answers), and with the two guarded apart. Ratios
  are of one run.
- town: mean error (m) of the built-in town's resident, with a treatment and an evening in the
  office quarter guarded apart and together at the same ε, and the leakage of "both" and "exactly
  one" of the first week that the releases of each have.
- geolife: mean errors (m) of four Geolife people under the policy that ``priste init`` drafts, with
  a second event at the same place five hours later, apart and together. The folder of the people
  is in ``GEOLIFE``.

Writes ``benchmarks/results/answers.json`` part by part.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from time import process_time
from typing import Any

import numpy as np

from benchmarks.arguments import asked_for
from benchmarks.circumstances import circumstances
from benchmarks.forecasts import released
from priste import (
    AnyPrior,
    Grid,
    KnownPrior,
    MarkovModel,
    PlanarLaplace,
    Protector,
    Quantifier,
    presence,
    together,
)
from priste.events import Guarded
from priste.policy import drafted, read_policy
from priste.policy.town_policy import RESIDENTS, town_policy
from priste.traces import read_traces, write_traces
from priste.traces.town import ada, residents

RESULTS = Path(__file__).parent / "results" / "answers.json"
SEEDS = 4
TOWN_SEEDS = 12
GEOLIFE_PEOPLE = ("036", "067", "082", "128")
"""People whose figures were looked at before."""
EVENING = """
[events.evening]
formula = 'presence(office, "wed 18:00-20:00")'
every = "week"
"""


def speed() -> list[dict[str, Any]]:
    """Return CPU milliseconds a release for one event, two apart and two together."""
    grid = Grid(rows=20, columns=20, cell_size=1.0)
    model, mechanism = MarkovModel.gaussian(grid, sigma=1.0), PlanarLaplace(grid, alpha=1.0)
    one, other = presence(range(10), range(3, 8)), presence(range(390, 400), range(5, 10))
    kinds: dict[str, list[Guarded]] = {
        "event": [one],
        "apart": [one, other],
        "together": [together(one, other)],
    }
    found = []
    for adversary in (KnownPrior(model.stationary()), AnyPrior()):
        for calibrator in ("certified", "optimal"):
            row: dict[str, Any] = {
                "adversary": type(adversary).__name__,
                "calibrator": calibrator,
            }
            for name, events in kinds.items():
                best = np.inf
                for _ in range(3):
                    protector = Protector(
                        model, events, mechanism, 1.0, calibrator, 1, adversary=adversary
                    )
                    protector.release(30)
                    began = process_time()
                    for cell in (50, 70, 90, 110, 130, 150):
                        protector.release(cell)
                    best = min(best, (process_time() - began) / 6)
                row[name] = round(1000 * best, 1)
            row["ratio"] = round(row["together"] / row["event"], 2)
            found.append(row)
    return found


def town() -> list[dict[str, Any]]:
    """Return the mean error of the town's resident, and what the releases tell together."""
    apart = town_policy() + EVENING
    joined = apart + '[secrets.health]\ntogether = ["treatment", "evening"]\n'
    trace, found = ada(), []
    folder = Path(tempfile.mkdtemp())
    write_traces(residents(RESIDENTS), folder / "residents.csv")
    for name, text in (("apart", apart), ("together", joined)):
        policy = read_policy(text, folder=folder).for_user(trace)
        cells = policy.cells(trace).cells
        centers = policy.grid.centers
        errors, both, one = [], [], []
        period = next(e.period for e in policy.events.values() if e.period)
        parts = {
            label.split(": ")[-1]: event
            for each in read_policy(joined, folder=folder).events.values()
            for label, week, event in each.recurrences
            if week == period
        }
        first, second = parts["treatment"], parts["evening"]
        for seed in range(TOWN_SEEDS):
            protector = policy.protector(rng=seed)
            for cell in cells:
                protector.release(cell)
            places = policy.mechanism.output_cells()
            pairs = [
                (cell, int(places[release.cell]))
                for cell, release in zip(cells, protector.ledger, strict=True)
                if cell is not None and release.cell is not None and places is not None
            ]
            errors.append(mean(float(np.hypot(*(centers[a] - centers[b]))) for a, b in pairs))
            statements = (first & second, (first & ~second) | (second & ~first))
            for event, told in zip(statements, (both, one), strict=True):
                asked = Quantifier(
                    policy.models,
                    event,
                    policy.chosen_adversary.adversary,
                    family=policy.family,
                    method="stream",
                )
                largest = 0.0
                for step in range(len(protector.ledger)):
                    asked.observe(protector.ledger.likelihood(step))
                    largest = max(largest, *asked.directions())
                told.append(largest)
        found.append(
            {
                "guarded": name,
                "streams": TOWN_SEEDS,
                "mean_error_m": round(1000 * mean(errors)),
                "standard_error_m": round(1000 * stdev(errors) / TOWN_SEEDS**0.5),
                "both": round(max(both), 3),
                "exactly_one": round(max(one), 3),
            }
        )
    return found


def geolife() -> list[dict[str, Any]]:
    """Return the mean errors of each person with two events guarded apart and together."""
    found = []
    for person in GEOLIFE_PEOPLE:
        trace = read_traces(Path(os.environ["GEOLIFE"]) / person, user=person).one()
        text = drafted([trace]).text
        drawn = re.search(r"formula = '(presence\(.*\))'", text)
        if drawn is None:
            raise ValueError(f"the draft of {person} has no event")
        later = drawn[1].replace("14:00-16:00", "19:00-21:00")
        apart = f"{text}\n[events.later]\nformula = '{later}'\nevery = \"week\"\n"
        joined = f'{apart}[secrets.both]\ntogether = ["example", "later"]\n'
        for name, written in (("apart", apart), ("together", joined)):
            policy = read_policy(written)
            runs = [released(policy, trace, seed) for seed in range(SEEDS)]
            sides = {side: round(mean(each[side] for each in runs)) for side in ("all", "near")}
            found.append({"person": person, "guarded": name, "streams": SEEDS, **sides})
    return found


PARTS = {"speed": speed, "town": town, "geolife": geolife}


def main(arguments: Sequence[str]) -> None:
    """Measure the parts named, or all."""
    asked = asked_for(arguments, __doc__, PARTS).parts or [
        name for name in PARTS if name != "geolife" or "GEOLIFE" in os.environ
    ]
    kept = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    for name in asked:
        kept[name] = {"circumstances": circumstances(), "found": PARTS[name]()}
        for row in kept[name]["found"]:
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
