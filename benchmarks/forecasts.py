"""Whether forecasts come true: ``python -m benchmarks.forecasts --geolife DIR [--group held-out]``.

For each person of Geolife a policy is drafted from their trace as ``priste init`` does. It is
forecast twice, once on people drawn from its model and once on the opened trace, and then the trace
is released under it ``--turns`` times. A forecast comes true if the mean error of a release lies in
its 80 % interval. Everything is read, drafted, forecast and released with the functions behind the
commands. The figures of each person are appended to ``--rows``; a later run takes them as done.

``--group seen`` are people on whom the constants of forecasts were chosen, ``earlier`` people whose
figures were known when the spread near events was chosen, ``held-out`` people whom no choice has
seen. Nothing of them is stored but means, and the numbers of their folders. The
summary is written to ``results/forecasts.json`` by ``--write``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from benchmarks.arguments import parser_of
from benchmarks.circumstances import circumstances
from priste.errors import PristeError
from priste.forecast import Row, forecast
from priste.policy import Policy, drafted, read_policy
from priste.results import PRISTE, true_steps, usefulness
from priste.results.true_steps import NONE
from priste.traces import Trace, read_traces

SEEN = (
    "017", "019", "022", "024", "025", "035", "036", "038", "039", "041", "044", "050", "052",
    "064", "067", "068", "071", "082", "092", "096", "112", "126", "128", "140", "163", "167",
)  # fmt: skip
"""People whose figures were looked at while earlier versions or these forecasts were made."""

EARLIER = (
    "115", "119", "122", "124", "125", "131", "135", "141", "142", "144", "153", "165", "168",
    "179",
)  # fmt: skip
"""Of the folders from 100 on, those with most data: no choice had seen them until the spread near
events was chosen, for which their figures were looked at."""

HELD_OUT = (
    "000", "001", "002", "003", "004", "005", "007", "008", "009", "011", "014", "015", "030",
    "034", "062", "085",
)  # fmt: skip
"""No choice of forecasts has seen these: of the folders below 100, those with most data that are
not ``SEEN``. Some of them are in the population models of other benchmarks."""

GROUPS = {"seen": SEEN, "earlier": EARLIER, "held-out": HELD_OUT}

RESULTS = Path(__file__).parent / "results" / "forecasts.json"
FEWEST_STEPS = 48
"""Somebody with fewer steps with a fix in the clock of the draft is left out."""

Figures = dict[str, Any]


def main(arguments: Sequence[str] = ()) -> None:
    """Forecast and release everybody of a group, and print how often forecasts come true."""
    parser = parser_of(__doc__)
    parser.add_argument("--geolife", type=Path, required=True, help="a Geolife folder (its Data)")
    parser.add_argument("--group", choices=tuple(GROUPS), default="seen")
    parser.add_argument("--people", nargs="*", help="these people instead")
    parser.add_argument("--turns", type=int, default=3, help="how often each is released (3)")
    parser.add_argument("--rows", type=Path, help="where the figures of each person are kept")
    parser.add_argument("--write", action="store_true", help="keep the summary with the results")
    options = parser.parse_args(arguments)
    people = options.people or GROUPS[options.group]
    done: dict[str, Figures] = {}
    if options.rows is not None and options.rows.exists():
        lines = options.rows.read_text(encoding="utf-8").splitlines()
        done = {row["person"]: row for row in map(json.loads, lines)}
    for person in people:
        if person in done:
            continue
        done[person] = figures_of(person, options.geolife / person, options.turns)
        if options.rows is not None:
            with options.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(done[person]) + "\n")
        print(line_of(done[person]), flush=True)
    rows = [done[person] for person in people if "realised" in done[person]]
    summary = {way: summary_of(rows, way) for way in ("model", "trace")}
    print(table(summary))
    if options.write:
        held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        held[options.group] = {
            "people": [row["person"] for row in rows],
            **summary,
            "circumstances": circumstances(),
        }
        RESULTS.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


def table(summary: dict[str, Figures]) -> str:
    """Return the summary as a table in Markdown, as docs/evidence/forecasts.md has it."""
    lines = [
        "| forecast on | mean error | people | first release in the interval | all releases | "
        "ln(realised / forecast) | interval, high / low |",
        "|---|---|---|---|---|---|---|",
    ]
    ways = {"model": "people drawn from the model", "trace": "the opened trace"}
    for way, words in ways.items():
        for side, where in (("all", "everywhere"), ("far", "far"), ("near", "near")):
            found = summary[way][side]
            lines.append(
                f"| {words} | {where} | {found['people']} | "
                f"{found['first release in the interval']} | "
                f"{found['share of releases in the interval']:.0%} | "
                f"{found['mean of ln(realised / forecast)']:+.2f} ± "
                f"{found['its standard deviation']:.2f} | {found['median of high / low']:.1f} |"
            )
    return "\n".join(lines)


def figures_of(person: str, folder: Path, turns: int) -> Figures:
    """Return what was forecast for one person and what came of it."""
    try:
        trace = read_traces(folder, user=person).one()
        policy = read_policy(drafted([trace]).text)
        realised = [released(policy, trace, turn) for turn in range(turns)]
        if realised[0]["steps"] < FEWEST_STEPS:
            return {"person": person, "left out": f"{realised[0]['steps']} steps with a fix"}
        found: Figures = {"person": person, "cells": policy.grid.size, "realised": realised}
        for way, opened in (("model", None), ("trace", trace)):
            begun = thread_time()
            whole = forecast(policy, trace=opened, neighbours=False)
            found[way] = plain(whole.rows[0]) | {"cpu": thread_time() - begun}
        return found
    except PristeError as error:
        return {"person": person, "left out": f"{type(error).__name__}"}


def released(policy: Policy, trace: Trace, seed: int) -> Figures:
    """Release a trace once under a policy; return its mean errors in metres."""
    mine = policy.for_user(trace)
    truth = true_steps(mine, trace)
    stream = mine.protector(rng=1000 + seed)
    cells = [
        stream.release(None if cell == NONE else int(cell)).cell for cell in truth.cells.tolist()
    ]
    ways = usefulness(mine, truth, cells).ways
    if PRISTE not in ways:
        return {"steps": 0}
    worth = ways[PRISTE]
    return {
        "steps": int(truth.known.sum()),
        "all": worth.everywhere,
        "near": worth.near,
        "far": worth.far,
    }


def plain(row: Row) -> Figures:
    """Return the estimates of a row as lists."""
    found = row.cost.released
    sides = {"all": found.all, "near": found.near, "far": found.far}
    return {
        **{name: each and [each.value, each.low, each.high] for name, each in sides.items()},
        "runs": row.cost.runs,
        "steps": row.cost.steps,
    }


def line_of(row: Figures) -> str:
    """Say the figures of one person in a line."""
    if "realised" not in row:
        return f"{row['person']}: left out, {row['left out']}"
    means = " ".join(f"{each['all']:.0f}" for each in row["realised"])
    ways = [
        f"{way} {row[way]['all'][0]:.0f} ({row[way]['all'][1]:.0f}-{row[way]['all'][2]:.0f}), "
        f"{row[way]['cpu']:.1f} s"
        for way in ("model", "trace")
    ]
    return f"{row['person']}: {row['cells']} cells, realised {means}; {'; '.join(ways)}"


def summary_of(rows: Sequence[Figures], way: str) -> Figures:
    """Return how often forecasts of one way came true, and how far off they were."""
    summary: Figures = {"people": len(rows)}
    for side in ("all", "near", "far"):
        hits, logs, first, wide = [], [], [], []
        for row in rows:
            estimate = row[way][side]
            means = [each[side] for each in row["realised"] if each[side] == each[side]]
            if estimate is None or not means:
                continue
            value, low, high = estimate
            inside = [low <= mean <= high for mean in means]
            hits.append(np.mean(inside))
            first.append(inside[0])
            logs.append(np.log(np.mean(means) / value))
            wide.append(high / low)
        summary[side] = {
            "people": len(hits),
            "first release in the interval": int(sum(first)),
            "share of releases in the interval": round(float(np.mean(hits)), 3),
            "mean of ln(realised / forecast)": round(float(np.mean(logs)), 3),
            "its standard deviation": round(float(np.std(logs, ddof=1)), 3),
            "median of high / low": round(float(np.median(wide)), 2),
        }
    seconds = [row[way]["cpu"] for row in rows]
    summary["CPU s without neighbours, median and most"] = [
        round(float(f(seconds)), 1) for f in (np.median, np.max)
    ]
    return summary


if __name__ == "__main__":
    main(sys.argv[1:])
