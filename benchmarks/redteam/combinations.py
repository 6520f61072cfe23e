"""What several releases tell together: streams side by side, two people, several weeks.

Each leakage is exact for what was released. Two streams of one person, and those of two people who
travel together, are independent given the path: the likelihood of both is the product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.redteam.exact_figures import EPSILON, EVENT, GRID, MODEL, PRIOR, STEPS, paths
from benchmarks.redteam.labelled_streams import leakage, model_world, released, town
from priste import KnownPrior, PlanarLaplace, Protector
from priste.audit.procedure import Procedure
from priste.audit.recurrences import audit_recurrence
from priste.events import Event
from priste.forecast.alternatives_at_work import with_priste
from priste.policy import Policy, load_policy
from priste.policy.town_policy import town_policy
from priste.randomness import bit_source
from priste.release.stream_tree import StreamNode
from priste.results import true_steps
from priste.traces.town import ada

Floats = NDArray[np.float64]

TOGETHER = {
    "one stream": ("priste",),
    "two streams of one person, or of two who travel together": ("priste",) * 2,
    "four such streams": ("priste",) * 4,
    "a companion's stream of plain Laplace noise": ("priste", "laplace"),
    "a companion who is off in the guarded hours, and exact at others": ("priste", "hours-off"),
    "a companion's exact stream": ("priste", "exact"),
}
"""What is known about the same hours; the person's own stream is always of priste."""


def side_by_side(policy: Policy, each: int) -> dict[str, float]:
    """Return the largest leakage about the event of any of ``2 * each`` people of the model."""
    world = model_world(policy, each)
    streams: dict[tuple[str, int], Any] = {}
    found = {}
    for words, ways in TOGETHER.items():
        largest = 0.0
        for number, way in enumerate(ways):
            if (way, number) not in streams:
                streams[way, number] = released(world, way, seed=100 + number).likelihoods
        for person in range(2 * each):
            told = [streams[way, number][person] for number, way in enumerate(ways)]
            both = [_product(likelihoods) for likelihoods in zip(*told, strict=True)]
            largest = max(largest, leakage(policy, both))
        found[words] = largest
    return found


def _product(likelihoods: Sequence[Floats | None]) -> Floats | None:
    given = [each for each in likelihoods if each is not None]
    return np.prod(given, axis=0) if given else None


def every_pair() -> dict[str, float]:
    """Return the largest leakage of any stream, and of any two side by side, on the small map."""
    protector = Protector(
        MODEL, EVENT, PlanarLaplace(GRID, 1.0), EPSILON, "optimal", adversary=KnownPrior(PRIOR)
    )
    every, weights, holds = paths()
    columns: list[Floats] = []

    def follow(node: StreamNode, told: Floats, step: int) -> None:
        if step == STEPS:
            columns.append(told)
            return
        seen = node.distribution
        for layer, output in np.argwhere(seen.joint.any(axis=1)).tolist():
            after = node.after(node.rule.outcome(output, seen.budgets[layer]))
            follow(after, told * seen.joint[layer, :, output][every[:, step]], step + 1)

    follow(Procedure(protector).start, np.ones(len(every)), 0)
    table = np.array(columns)
    happens = float(weights[holds].sum())
    with_it = table[:, holds] * (weights[holds] / happens)
    without = table[:, ~holds] * (weights[~holds] / (1 - happens))
    one = np.abs(np.log(with_it.sum(axis=1)) - np.log(without.sum(axis=1)))
    two = np.abs(np.log(with_it @ table[:, holds].T) - np.log(without @ table[:, ~holds].T))
    return {"sequences": len(table), "one": float(one.max()), "two": float(two.max())}


def several_weeks(folder: Path, streams: int, weeks: int) -> dict[str, Any]:
    """Return what Ada's streams of some weeks tell about "every time", apart and together."""
    found: dict[str, Any] = {}
    town(folder)
    weekly: list[Event] = []
    for words, more in {
        "each week by itself": "",
        "each two neighbouring weeks together": '\ntogether = "weeks"\nspan = 2\n',
    }.items():
        text = town_policy().replace("steps = 336", f"steps = {168 * weeks}")
        (folder / "weeks.toml").write_text(text + more)
        policy = load_policy(folder / "weeks.toml")
        if not more:
            weekly = [
                each.event for each in policy.events.values() if isinstance(each.event, Event)
            ]
        rows = []
        for run in range(streams):
            person = true_steps(policy, ada(7 * weeks, seed=1 + run))
            bits = bit_source(np.random.default_rng([run, 9]))
            stream = with_priste(policy).release(person, person.known, bits)
            audit = audit_recurrence(
                policy.models,
                weekly,
                stream.likelihoods,
                policy.chosen_adversary.adversary,
                family=policy.family,
            )
            rows.append([audit.at_least_once, audit.every_time])
        found[words] = [max(row[k] or 0.0 for row in rows) for k in (0, 1)]
    return found


def combinations(folder: Path, each: int, streams: int, weeks: int) -> dict[str, Any]:
    """Return every figure of releases taken together, as natural logarithms."""
    return {
        "side_by_side": {
            words: round(value, 3) if math.isfinite(value) else None
            for words, value in side_by_side(town(folder), each).items()
        },
        "people": 2 * each,
        "pairs": {**every_pair(), "epsilon": EPSILON},
        "weeks": several_weeks(folder, streams, weeks),
        "of_weeks": weeks,
        "streams": streams,
    }
