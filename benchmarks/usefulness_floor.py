"""How small the error of any procedure can be that keeps a guarantee and guarded hours.

``python -m benchmarks.usefulness_floor --geolife DIR`` takes the people and events of
:mod:`benchmarks.usefulness_families` and computes errors that nobody can avoid (Theorem 12 of
docs/explanation/proofs.md), for people who move by the model with their home, or by the one without
a home, half of them with the event and half without:

- *guarded*: in guarded hours a release is a function of what was released before them. At best it
  is the best point for everybody who was in the same cell just before;
- *outside*: where people with the event are at other hours, and people without it are not, and the
  other way round, some must be released away from the truth.

Both are shares of the error of the best constant point over two days. *told* is by how much exact
releases at other hours exceed the bound: the delta of (epsilon, delta).
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import moving_people
from benchmarks.arguments import parser_of
from benchmarks.usefulness_families import DAY, GROUPS, KINDS, PER_HOUR, Case, City
from priste import MarkovModel
from priste.events import Event
from priste.mobility import with_home
from priste.quantify.lifted import BackwardVectors, ForwardOperator, LiftedChain
from priste.quantify.scaling import ScaledRows
from priste.release.guarded_hours import event_steps

Floats = NDArray[np.float64]

STEPS = 2 * DAY
THRESHOLDS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""A cell belongs to a side that is e^epsilon times one of these likelier there; the best counts."""

FIGURES = ("guarded", "outside", "outside, upwards", "told, event", "told, no event")
RESULTS = Path(__file__).parent / "results" / "usefulness_floor.json"


class Sides:
    """Where people with an event (side 0) and without it (side 1) are, under a model.

    ``most`` is e^epsilon.
    """

    def __init__(self, model: MarkovModel, event: Event, start: Floats, most: float) -> None:
        self.chain = LiftedChain(model, event)
        self.backward = BackwardVectors(self.chain)
        self.start, self.most = start, most
        self.chance = self.backward.at_start() @ start

    def marginals(self, steps: int) -> Floats:
        """Return (steps, 2, cells), where each side is at each step."""
        operator = ForwardOperator.at_start(self.chain, ScaledRows.of(self.start[None, None, :]))
        found = []
        for _ in range(steps):
            joint = operator.candidates(self.backward).plain()[0][0]
            found.append(joint / joint.sum(axis=1, keepdims=True))
            operator = operator.observed(None)
        return np.array(found)

    def guarded_error(self, first: int, last: int, apart: Floats) -> float:
        """Return the error of steps ``first`` to ``last``, the cell before them known exactly."""
        rows = ScaledRows.of(np.diag(self._before(first))[:, None, :])
        operator, error = ForwardOperator(self.chain, rows, first), 0.0
        for _ in range(first, last + 1):
            joint = operator.candidates(self.backward).plain()[0]
            half = np.einsum("rcl,c->rl", joint, 0.5 / self.chance)
            error += float((half @ apart).min(axis=1).sum())
            operator = operator.observed(None)
        return error

    def outside_error(self, marginals: Floats, more: int, silent: range, apart: Floats) -> float:
        """Return what a bound on the odds of side ``more`` costs outside the hours ``silent``."""
        error = 0.0
        for step in set(range(len(marginals))) - set(silent):
            this, other = marginals[step, more], marginals[step, 1 - more]
            bounds = [0.0]
            for threshold in THRESHOLDS:
                beyond = this > threshold * self.most * other
                if beyond.any() and not beyond.all():
                    away = apart[:, ~beyond].min(axis=1)  # changes no faster than distances
                    bounds.append(float(away @ (this / self.most - other)))
            error += 0.5 * max(bounds)
        return error

    def told(self, first: int, last: int) -> tuple[float, float]:
        """Return per side by how much the cells around these steps exceed the bound.

        With the cells before ``first`` and after ``last`` it is the sum of
        (Pr(cells | side) - most * Pr(cells | other side))+.
        """
        rows = ScaledRows.of(np.diag(self._before(first))[:, None, :])
        operator = ForwardOperator(self.chain, rows, first)
        for _ in range(first, last + 1):
            operator = operator.observed(None)
        joint = operator.candidates(self.backward).plain()[0]
        one, other = (joint[:, side] / joint[:, side].sum() for side in (0, 1))
        return (
            float(np.maximum(one - self.most * other, 0.0).sum()),
            float(np.maximum(other - self.most * one, 0.0).sum()),
        )

    def _before(self, first: int) -> Floats:
        before = self.start
        for step in range(first - 1):
            before = self.chain.model.transition(step).push(before)
        return before


def floor_of(city: City, case: Case, home: bool, epsilon: float, pad: int) -> dict[str, Any]:
    """Return the figures of one event for people who move by a model."""
    steps = event_steps(case.event)
    silent = range(max(steps[0] - pad, 1), steps[-1] + pad + 1)
    model = city.roaming
    if home:
        model = with_home(model, [city.home_of(case.who)], city.habits, city.night)
    start = city.midnight(model)
    sides = Sides(model, case.event, start, math.exp(epsilon))
    marginals = sides.marginals(STEPS)
    constant = float((marginals.mean(axis=1) @ city.apart).sum(axis=0).min())
    up = sides.outside_error(marginals, 0, silent, city.apart)
    down = sides.outside_error(marginals, 1, silent, city.apart)
    told_up, told_down = sides.told(silent[0], silent[-1])
    found = {
        "who": case.who,
        "kind": case.kind,
        "model": "home" if home else "roaming",
        "guarded": sides.guarded_error(silent[0], silent[-1], city.apart) / constant,
        "outside": max(up, down) / constant,
        "outside, upwards": up / constant,
        "told, event": told_up,
        "told, no event": told_down,
    }
    return {key: round(each, 4) if isinstance(each, float) else each for key, each in found.items()}


def main(arguments: Sequence[str] = ()) -> None:
    """Print one line an event, and the means."""
    parser = parser_of(__doc__)
    parser.add_argument("--geolife", type=Path, required=True, help="a Geolife folder (its Data)")
    parser.add_argument("--cache", type=Path, help="where the cells of the folder are kept")
    parser.add_argument("--group", choices=tuple(GROUPS), default="chosen")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--pad", type=int, default=PER_HOUR, help="of guarded hours, in steps")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--known-quarters", type=int, default=moving_people.WELL_KNOWN)
    parser.add_argument("--write", action="store_true", help="keep the means with the results")
    chosen = parser.parse_args(arguments)
    moving_people.WELL_KNOWN = chosen.known_quarters
    city = City(chosen.geolife, chosen.cache)
    found: list[dict[str, Any]] = []
    for who in GROUPS[chosen.group]:
        for case in city.cases(who, chosen.kinds.split(",")):
            for home in (True, False) if case.happened else ():
                found.append(floor_of(city, case, home, chosen.epsilon, chosen.pad))
                print(json.dumps(found[-1]), flush=True)
    summaries = []
    for model in ("home", "roaming"):
        some = [row for row in found if row["model"] == model]
        kept = {name: [row[name] for row in some if name in row] for name in FIGURES}
        means = {name: round(float(np.mean(each)), 3) for name, each in kept.items() if each}
        summaries.append({"model": model, "events": len(some), **means})
        print(json.dumps(summaries[-1]))
    if chosen.write:
        held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
        setting = {"group": chosen.group, "epsilon": chosen.epsilon, "pad": chosen.pad}
        held = [each for each in held if setting.items() - each.items()]
        held += [{**setting, **each} for each in summaries]
        RESULTS.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
