"""What releases are worth: mean distance over "nothing" and over the mechanism alone.

``python -m benchmarks.usefulness`` moves people of a built-in city, fits a model of movement on
others than those who are released, and compares calibrators, adversaries, guarantees and step
lengths. ``--geolife DIR`` takes real people from a Geolife folder instead; nothing of them is
stored but sums of distances.

- *nothing*: the one cell that is nearest to people on average, as the model of the line knows them:
  of everybody, or of those who live where this person does;
- *the city's cell*: that of everybody;
- *alone*: the mechanism without any guarantee;
- *far*: more than six hours before the event begins or after it ends.

One row for each line of the table and pair of days is appended to ``--rows`` as it is measured,
and a later run takes what is there as done: a run may be ended and begun again. Whoever
changes a distribution begins with another file. The tables are written to
``benchmarks/results/usefulness.json``: for each line the mean over people of their own ratio with
a 95 % Student interval, their median, the ratios of the means with 95 % jackknife intervals over
people, the largest true leakage of any release (that of the table that was drawn from, as its
columns are what is checked) and CPU milliseconds a step. A person counts once, however many days
there are. Each pair of days is a stream of its own.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from re import search
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from benchmarks.arguments import parser_of
from benchmarks.moving_people import City, Geolife, Stream, built_in_city
from priste import (
    AnyPrior,
    BeliefBound,
    KnownPrior,
    OddsBound,
    PlanarLaplace,
    PriorsWithin,
    PristeError,
    Protector,
    presence,
)
from priste.quantify import Adversary
from priste.release import Calibrator, Certified, Optimal

RESULTS = Path(__file__).parent / "results" / "usefulness.json"
Floats = NDArray[np.float64]
Row = dict[str, Any]

ALPHA = 2.0
EVENT_HOURS = 3
FAR_HOURS = 6
KINDS = ("released", "nothing", "alone", "city")
POPULATION, HOME, NEARBY, ANYBODY = "population", "population + home", "near", "anybody"


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    name: str
    calibrator: Calibrator
    guarantee: Any = 1.0
    adversary: str = HOME
    day: int = 0
    per_hour: int = 4
    home: bool = True
    """Whether the model knows where somebody lives; else it is that of everybody."""


def goals() -> list[Line]:
    """Return the lines for which there are goals."""
    upwards, belief = OddsBound(up=1.0, down=math.inf), BeliefBound(0.2)
    return [
        Line("optimal", Optimal()),
        Line("optimal, a day later", Optimal(), day=1),
        Line("optimal, upwards", Optimal(), upwards),
        Line("optimal, belief 0.2", Optimal(), belief),
        Line("optimal, upwards, a day later", Optimal(), upwards, day=1),
        Line("optimal, belief 0.2, a day later", Optimal(), belief, day=1),
    ]


def others() -> list[Line]:
    """Return calibrators, adversaries, ε and step lengths, each against the first line."""
    found = [
        Line("optimal, home not known", Optimal(), home=False),
        Line("optimal, home not known, a day later", Optimal(), day=1, home=False),
        Line("certified, pace 0.1", Certified(pace=0.1)),
        Line("certified, pace 0.1, no guess", Certified(pace=0.1, guess=False)),
        Line("certified, pace 0.1, a day later", Certified(pace=0.1), day=1),
        Line("optimal, against the population", Optimal(), adversary=POPULATION),
        Line("optimal, ε 0.5", Optimal(), 0.5),
        Line("optimal, ε 2", Optimal(), 2.0),
        Line("optimal, ε 0.5, upwards", Optimal(), OddsBound(0.5, math.inf)),
        Line("optimal, ε 2, upwards", Optimal(), OddsBound(2.0, math.inf)),
        Line("optimal, 1 h steps", Optimal(), per_hour=1),
        Line("optimal, 5 min steps", Optimal(), per_hour=12),
    ]
    for pace in (0.3, 0.1, 0.03):
        found += [
            Line(f"optimal, pace {pace}, {words} steps", Optimal(pace=pace), per_hour=per_hour)
            for per_hour, words in ((1, "1 h"), (4, "15 min"), (12, "5 min"))
        ]
    return [
        *found,
        Line("optimal, against those near the population", Optimal(), adversary=NEARBY),
        Line("optimal, against anybody", Optimal(), adversary=ANYBODY),
    ]


def adversary_of(name: str, midnight: Floats, began: int) -> Adversary:
    """Return whom a line is against."""
    if name == ANYBODY:
        return AnyPrior()
    if name == NEARBY:
        return PriorsWithin(midnight, 2.0)
    return KnownPrior([midnight] + ([np.eye(midnight.size)[began]] if name == HOME else []))


def measured(line: Line, city: City, stream: Stream) -> Row:
    """Release one stream under one line; return sums of distances over all and over far steps."""
    path, length = stream.path, EVENT_HOURS * city.per_hour
    public = city.public(stream.home if line.home else None)
    first = max(1, stream.middle - length // 2) + line.day * city.day
    first = min(first, len(path) - length)
    row = {"line": line.name, "person": stream.person, "pair": stream.pair}
    try:
        protector = Protector(
            public.model,
            presence([stream.place], range(first, first + length)),
            PlanarLaplace(city.grid, alpha=ALPHA),
            line.guarantee,
            line.calibrator,
            rng=1000 * stream.person + stream.pair,
            adversary=adversary_of(line.adversary, public.midnight, int(path[0])),
            public_prior=public.midnight if line.adversary == ANYBODY else None,
        )
    except PristeError:  # a cap below what is believed before any release
        return {**row, "refused": True}
    released, leaks, cpu = [], [], []
    for cell in path:
        begin = time.process_time()
        release = protector.release(int(cell))
        cpu.append(1e3 * (time.process_time() - begin))
        released.append(int(release.cell or 0))
        leaks.append(release.leakage[0])
    steps, gap = np.arange(len(path)), FAR_HOURS * city.per_hour
    far = (steps < first - gap) | (steps >= first + length + gap)
    kinds = {
        "released": city.apart[path, released],
        "nothing": city.apart[path, public.constant],
        "city": city.apart[path, city.public(None).constant],
        "alone": _alone(city, stream),
    }
    return {
        **row,
        **{name: round(float(each.sum()), 3) for name, each in kinds.items()},
        **{f"far_{name}": round(float(each[far].sum()), 3) for name, each in kinds.items()},
        "steps": len(path),
        "leakage": round(float(max(leaks)), 4),
        "happened": bool((path[first : first + length] == stream.place).any()),
        "cpu_ms": round(float(np.median(cpu[2:])), 2),
        "cpu_ms_95": round(float(np.percentile(cpu[2:], 95)), 2),
    }


def _alone(city: City, stream: Stream) -> Floats:
    """Return the distances of the mechanism's own draws."""
    table = PlanarLaplace(city.grid, alpha=ALPHA).emission()
    rng = np.random.default_rng(1000 * stream.person + stream.pair)
    drawn = [rng.choice(len(table), p=table[cell] / table[cell].sum()) for cell in stream.path]
    return np.asarray(city.apart[stream.path, drawn])


def summary(line: Line, rows: list[Row]) -> dict[str, Any]:
    """Return the means of one line and their intervals over people."""
    found: dict[str, Any] = {"name": line.name, "refused": sum("refused" in row for row in rows)}
    kept = [row for row in rows if "refused" not in row]
    if not kept:
        return found
    kinds = [f"{far}{kind}" for far in ("", "far_") for kind in KINDS]
    people = sorted({row["person"] for row in kept})
    sums = np.array(
        [
            [sum(row[kind] for row in kept if row["person"] == who) for kind in kinds]
            for who in people
        ]
    )
    each = sums[:, 0] / sums[:, 1]
    return {
        **found,
        "people": len(people),
        "streams": len(kept),
        "km": round(float(sums[:, 0].sum() / sum(row["steps"] for row in kept)), 3),
        **_mean(each, "over_nothing"),
        **_mean(sums[:, 0] / sums[:, 3], "over_city"),
        "median_over_nothing": round(float(np.median(each)), 3),
        **_ratio(sums, 0, 1, "means_over_nothing"),
        **_ratio(sums, 0, 2, "means_over_alone"),
        **_ratio(sums, 0, 3, "means_over_city"),
        **_ratio(sums, 4, 5, "far_over_nothing"),
        **_ratio(sums, 4, 6, "far_over_alone"),
        "largest_leakage": max(row["leakage"] for row in kept),
        "cpu_ms_median": round(float(np.median([row["cpu_ms"] for row in kept])), 1),
        "cpu_ms_95": round(float(np.median([row["cpu_ms_95"] for row in kept])), 1),
    }


def _mean(ratios: Floats, name: str) -> dict[str, float]:
    """Return the mean over people with the half width of a Student interval."""
    found = {name: round(float(ratios.mean()), 3)}
    if len(ratios) > 1:
        width = student.ppf(0.975, len(ratios) - 1) * ratios.std(ddof=1) / math.sqrt(len(ratios))
        found[f"{name}_interval"] = round(float(width), 3)
    return found


def _ratio(sums: Floats, top: int, bottom: int, name: str) -> dict[str, float]:
    """Return the ratio of two sums over people with the half width of a jackknife interval."""
    above, below, people = sums[:, top], sums[:, bottom], len(sums)
    ratio = float(above.sum() / below.sum())
    if people < 2:
        return {name: round(ratio, 3)}
    without = (above.sum() - above) / (below.sum() - below)
    error = math.sqrt((people - 1) * float(((without - without.mean()) ** 2).mean()))
    width = float(student.ppf(0.975, people - 1)) * error
    return {name: round(ratio, 3), f"{name}_interval": round(width, 3)}


def _rows(file: Path | None) -> list[Row]:
    if file is None or not file.exists():
        return []
    return [json.loads(text) for text in file.read_text(encoding="utf-8").splitlines()]


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Measure what is missing, print the table and write the results."""
    parser = parser_of(__doc__)
    parser.add_argument("--geolife", type=Path, help="a Geolife folder (its Data)")
    parser.add_argument("--group", choices=("measured", "tuned"), default="measured")
    parser.add_argument("--people", type=int, default=4)
    parser.add_argument(
        "--pairs", type=int, default=1, help="pairs of days of each; 0 measures nothing more"
    )
    parser.add_argument(
        "--all", action="store_true", help="every calibrator, adversary, ε and step"
    )
    parser.add_argument("--only", default="", help="a regular expression that lines must contain")
    parser.add_argument("--rows", type=Path, help="where rows are kept, to go on later")
    parser.add_argument("--results", type=Path, help="where to write, if not to the results")
    chosen = parser.parse_args(arguments)
    real = Geolife(chosen.geolife) if chosen.geolife else None
    cities: dict[int, City] = {}
    rows = _rows(chosen.rows)
    done = {(row["line"], row["person"], row["pair"]) for row in rows}
    wanted = [*goals(), *(others() if chosen.all else [])]
    wanted = [line for line in wanted if search(chosen.only, line.name)]
    for pair in range(chosen.pairs):  # a run that is ended early has some days of every line
        for line in wanted:
            if line.per_hour not in cities:
                cities[line.per_hour] = (
                    real.city(line.per_hour, chosen.group) if real else built_in_city(line.per_hour)
                )
            city = cities[line.per_hour]
            for stream in city.streams(chosen.people, pair):
                if (line.name, stream.person, pair) not in done:
                    rows.append(measured(line, city, stream))
                    if chosen.rows is not None:
                        with chosen.rows.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
    tables = [summary(line, [row for row in rows if row["line"] == line.name]) for line in wanted]
    for table in tables:
        print(json.dumps(table, ensure_ascii=False), flush=True)
    results = {
        "source": f"geolife, {chosen.group}" if real else "built-in city",
        "lines": [table for table in tables if "streams" in table],
    }
    text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
    name = "usefulness_geolife.json" if real else RESULTS.name
    (chosen.results or RESULTS.with_name(name)).write_text(text, encoding="utf-8")
    return results


if __name__ == "__main__":
    main(sys.argv[1:])
