"""Jobs of kind "stream": one run of a release loop along one walk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from paper.experiments.excluding_set import ExcludingSet
from paper.experiments.experiment import Settings
from paper.experiments.normalised_laplace import NormalisedLaplace
from paper.experiments.sparing_set import SparingSet
from paper.experiments.together import Run, advance_together
from paper.running.jobs import Job, Result, seed_of
from paper.worlds.world import World, world_of
from priste.errors import InvalidParameter
from priste.events import Event, pattern, presence
from priste.mechanisms import LocationSet, Mechanism, PlanarLaplace
from priste.quantify import AnyPrior, Quantifier
from priste.randomness import bit_source
from priste.release import Calibrator, Paper, Protector, Release, calibrator_from_description
from priste.release.accountant import Prediction

PACE = 0.3
"""What share of the ε that is left one step of ``certified`` may use."""

NORMALISED = "paper-normalised"
"""The paper's loop on a table whose rows are normalised, so that a budget of 0 is uniform."""

CALIBRATORS: Mapping[str, Mapping[str, Any]] = {
    "paper": {"kind": "paper"},
    NORMALISED: {"kind": "paper"},
    "certified": {"kind": "certified", "pace": PACE},
    "optimal": {"kind": "optimal"},
}
"""The calibrators that experiments compare, with their parameters."""

Outside = Literal["surrogate", "excluded"]
LOCATION_SETS: Mapping[Outside, type[LocationSet]] = {
    "surrogate": SparingSet,
    "excluded": ExcludingSet,
}
"""What a location set means for the cells outside it."""

TABLES = {"integrals": PlanarLaplace, "normalised": NormalisedLaplace}
"""How a planar Laplace becomes a table of cells."""


@dataclass(frozen=True)
class Window:
    """An event on the world's region: PRESENCE or PATTERN at the steps ``first`` to ``last``.

    PRESENCE: in the region at one of these steps at least. PATTERN: at every one of them.
    Steps count from 0: the paper's T = [4:8] is 3 to 7.
    """

    kind: str
    first: int
    last: int

    @property
    def steps(self) -> range:
        """The steps that the event is about."""
        return range(self.first, self.last + 1)

    def event(self, region: Sequence[int]) -> Event:
        """Return the event on a region."""
        if self.kind == "presence":
            return presence(region, self.steps)
        if self.kind == "pattern":
            return pattern([region] * len(self.steps), self.steps)
        raise InvalidParameter(
            f"The kind of an event must be presence or pattern. Got {self.kind!r}."
        )


@dataclass(frozen=True)
class Case:
    """What one curve or point shows: where, which events, how strict, released how.

    ``worlds`` are specifications for ``world_of``, as canonical JSON;
    runs take them in turn. ``delta`` puts a δ-location set around the mechanism; ``outside`` tells
    what the check takes the likelihood at cells outside it to be (see
    :mod:`.excluding_set`). The set is predicted from one step after a uniform start, πM, as in the
    paper.
    """

    worlds: tuple[str, ...]
    events: tuple[Window, ...]
    epsilon: float
    alpha: float
    delta: float | None = None
    calibrator: str = "paper"
    table: str = "integrals"
    outside: Outside = "surrogate"

    @classmethod
    def on(
        cls, worlds: Sequence[Mapping[str, Any]], *events: Window, epsilon: float, alpha: float
    ) -> Case:
        """Return the case of the paper's loop on worlds given as plain values."""
        texts = tuple(json.dumps(dict(world), sort_keys=True) for world in worlds)
        return cls(texts, events, epsilon, alpha)

    def spec(self, run: int) -> dict[str, Any]:
        """Return the specification of the world of a run."""
        found: dict[str, Any] = json.loads(self.worlds[run % len(self.worlds)])
        return found

    def but(self, **changes: Any) -> Case:
        """Return this case with some fields replaced."""
        return replace(self, **changes)

    @property
    def _can_be_followed(self) -> bool:
        """Whether the adversary follows: not where the check gets other columns than the table has
        (nobody could), and not the loop on another table once more."""
        return self.outside == "surrogate" and self.calibrator != NORMALISED

    def jobs(self, settings: Settings, runs: int | None = None) -> list[Job]:
        """Return one job per run; the first ``truth_runs`` are followed by the adversary."""
        count = settings.runs_of(self.calibrator) if runs is None else runs
        return [
            Job.of(
                "stream",
                {
                    "world": self.spec(run),
                    "events": [[w.kind, w.first, w.last] for w in self.events],
                    "epsilon": self.epsilon,
                    "alpha": self.alpha,
                    "delta": self.delta,
                    "outside": self.outside,
                    "table": "normalised" if self.calibrator == NORMALISED else self.table,
                    "calibrator": dict(CALIBRATORS[self.calibrator]),
                    "steps": settings.steps,
                    "seed": settings.seed,
                    "run": run,
                    "truth": run < settings.truth_runs and self._can_be_followed,
                },
            )
            for run in range(count)
        ]


def perform(parameters: dict[str, Any]) -> Result:
    """Release one walk and return, per step, the budget, the distance and the leakages.

    ``uniform`` and ``constant`` are the distances per step of two releases that tell nothing: a
    cell drawn uniformly (its expectation), and the one public cell that is best in the long run.

    ``true_leakage`` is, per event, the largest over the steps of what the releases so far tell an
    adversary who knows the algorithm and sees the budgets; None if it was not asked for.
    """
    world = world_of(parameters["world"])
    events = _events(world, parameters)
    calibrator = calibrator_from_description(parameters["calibrator"])
    protector = Protector(
        world.model,
        events,
        _mechanism_of(parameters),
        parameters["epsilon"],
        calibrator,
        rng=_noise(parameters),
        public_prior=_after_one_move(world),
        adversary=AnyPrior(),
    )
    walk = _walk(world, parameters)
    adversary = _Adversary(world, events, calibrator) if parameters["truth"] else None
    releases = []
    for cell in walk:
        before = protector.node if adversary and adversary.needs_the_state else None
        release = protector.release(int(cell))
        if release.cell is None:
            raise InvalidParameter("A calibrator of the reproduction released nothing.")
        if adversary is not None:
            adversary.observe(release, before)
        releases.append(release)
    leakage = [list(release.leakage) for release in releases]
    return {
        "budgets": [release.budget for release in releases],
        **_distances(world, walk, [release.cell or 0 for release in releases]),
        "attempts": [release.attempts for release in releases],
        "leakage": leakage,
        "true_leakage": None if adversary is None else adversary.largest(leakage),
    }


def shared_work(parameters: dict[str, Any]) -> str | None:
    """Name what runs share that are quicker together: the world and the events.

    None for a run that is made alone: one of another calibrator, or with an adversary behind it.
    """
    if parameters["calibrator"] != CALIBRATORS["paper"] or parameters["truth"]:
        return None
    shared = (parameters["world"], parameters["events"], parameters["steps"])
    return json.dumps(shared, sort_keys=True)


def perform_together(runs: Sequence[dict[str, Any]]) -> list[Result]:
    """Do runs with the same :func:`shared_work`; as :func:`perform` of each, up to rounding."""
    world = world_of(runs[0]["world"])
    events = _events(world, runs[0])
    under_way = [
        Run(
            _walk(world, parameters),
            bit_source(_noise(parameters)),
            _mechanism_of(parameters),
            parameters["epsilon"],
            Prediction(world.model, _after_one_move(world)),
            len(events),
        )
        for parameters in runs
    ]
    advance_together(world.model, events, under_way)
    return [
        {
            "budgets": run.budgets,
            **_distances(world, run.walk, run.cells),
            "attempts": run.attempts,
            "leakage": run.leakage,
            "true_leakage": None,
        }
        for run in under_way
    ]


def _events(world: World, parameters: dict[str, Any]) -> list[Event]:
    return [Window(*each).event(world.region) for each in parameters["events"]]


def _walk(world: World, parameters: dict[str, Any]) -> tuple[int, ...]:
    return world.walk(seed_of(parameters["seed"], "walk", parameters["run"]), parameters["steps"])


def _noise(parameters: dict[str, Any]) -> int:
    return seed_of(parameters["seed"], "noise", parameters["run"])


def _after_one_move(world: World) -> NDArray[np.float64]:
    """Return πM of a uniform start, from where the paper predicts."""
    return world.model.transition(0).push(np.full(world.grid.size, 1 / world.grid.size))


def _distances(world: World, walk: Sequence[int], cells: Sequence[int]) -> dict[str, list[float]]:
    grid = world.grid
    constant = grid.distances_from(world.best_constant)
    return {
        "distances": [
            float(np.hypot(*(grid.centers[cell] - grid.centers[true])))
            for cell, true in zip(cells, walk, strict=True)
        ],
        "uniform": [float(grid.distances_from(int(true)).mean()) for true in walk],
        "constant": [float(constant[int(true)]) for true in walk],
    }


def _mechanism_of(parameters: dict[str, Any]) -> Mechanism:
    return _mechanism(
        json.dumps(parameters["world"], sort_keys=True),
        parameters["alpha"],
        parameters["table"],
        parameters["delta"],
        parameters["outside"],
    )


@lru_cache(maxsize=64)
def _mechanism(
    world: str, alpha: float, table: str, delta: float | None, outside: Outside
) -> Mechanism:
    base = TABLES[table](world_of(json.loads(world)).grid, alpha)
    return base if delta is None else LOCATION_SETS[outside](base, delta)


class _Adversary:
    """Follows a stream with the exact distribution of every release.

    For all but the paper's loop that table is the one the check assumed, by construction (and by
    the tests of these calibrators), so the leakage of the ledger is the truth already.
    """

    def __init__(self, world: World, events: Sequence[Event], calibrator: Calibrator) -> None:
        self._paper = calibrator if isinstance(calibrator, Paper) else None
        self._quantifiers = [Quantifier(world.model, event, method="forward") for event in events]
        self._largest = [0.0] * len(self._quantifiers)

    @property
    def needs_the_state(self) -> bool:
        return self._paper is not None

    def observe(self, release: Release, before: Any) -> None:
        if self._paper is None or release.cell is None:
            return
        column = before.rule.likelihood(release.cell, release.budget)
        for number, quantifier in enumerate(self._quantifiers):
            quantifier.observe(column)
            value = float(quantifier.leakage().value)
            self._largest[number] = max(self._largest[number], value)

    def largest(self, leakage: Sequence[Sequence[float]]) -> list[float]:
        if self._paper is not None:
            return self._largest
        return [max(step[number] for step in leakage) for number in range(len(self._largest))]
