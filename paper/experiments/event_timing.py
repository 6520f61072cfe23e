"""Jobs of kind "runtime": how long one joint probability takes, ours and naively.

What is timed is the paper's task: the joint probability of an event and the releases of its steps,
under a known prior one step before it. Ours is :class:`~priste.quantify.Quantifier`, from building
the event to the number; the baseline is :func:`~.naive.naive_pattern_joint`.
Both get the same events, and a job fails if their answers differ.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.experiments.experiment import Settings, Size
from paper.experiments.naive import naive_pattern_joint
from paper.running.jobs import Job, Result, Results, seed_of
from priste.errors import PristeError
from priste.events import Event, pattern, presence
from priste.maps import Grid
from priste.mechanisms import PlanarLaplace
from priste.mobility import MarkovModel
from priste.quantify import KnownPrior, Quantifier

Floats = NDArray[np.float64]

SWEPT = range(5, 16)
"""The lengths and the widths of the paper's figure."""

FIXED = 5
"""The width while the length is swept, and the length while the width is."""

ALPHA = 0.2
"""The budget of the planar Laplace whose outputs are released, per km."""

REPEATS = 3
"""Each event is timed this often and the least time is kept."""

AGREEMENT = 1e-9
"""Relative difference above which the two algorithms are said to disagree."""

NAIVE_LIMIT: dict[Size, int] = {"full": 10_000_000, "quick": 400_000, "tiny": 20_000}
"""Trajectories of an event above which the baseline is not run. Where all events of a point have
more than that together it gets fewer events, but ``FEWEST_NAIVE_EVENTS``."""

FEWEST_NAIVE_EVENTS = 4


@dataclass(frozen=True)
class Point:
    """One point of the figure: the events of one length and one width."""

    length: int
    width: int

    @property
    def trajectories(self) -> int:
        """How many trajectories a PATTERN of this length and width has."""
        return int(self.width**self.length)

    def naive_events(self, settings: Settings) -> int:
        """Return how many events the baseline gets; 0 where it is left out."""
        limit = NAIVE_LIMIT[settings.size]
        if self.trajectories > limit:
            return 0
        affordable = max(limit // self.trajectories, FEWEST_NAIVE_EVENTS)
        return min(settings.runtime_events, affordable)

    def job(self, settings: Settings) -> Job:
        """Return the job that times all events of the point."""
        return Job.of(
            "runtime",
            {
                "side": settings.side,
                "length": self.length,
                "width": self.width,
                "events": settings.runtime_events,
                "naive_events": self.naive_events(settings),
                "seed": settings.seed,
            },
        )


@dataclass(frozen=True)
class Sweep:
    """One panel: what is swept, and its points."""

    name: str
    points: tuple[Point, ...]

    @property
    def values(self) -> Floats:
        """The swept lengths or widths."""
        return np.array([getattr(point, self.name) for point in self.points], dtype=np.float64)


BY_LENGTH = Sweep("length", tuple(Point(length, FIXED) for length in SWEPT))
BY_WIDTH = Sweep("width", tuple(Point(FIXED, width) for width in SWEPT))


def perform(parameters: dict[str, Any]) -> Result:
    """Time one point: CPU seconds per event, the least of a few tries.

    Raises ``PristeError`` when the two algorithms differ by more than ``AGREEMENT``.
    """
    length, width = parameters["length"], parameters["width"]
    model, mechanism, matrix = _map(parameters["side"])
    cells = model.grid.size
    prior = np.full(cells, 1.0 / cells)
    ours: dict[str, list[float]] = {"pattern": [], "presence": []}
    naive: list[float] = []
    for number in range(parameters["events"]):
        rng = np.random.default_rng(seed_of(parameters["seed"], "event", length, width, number))
        regions = [rng.choice(cells, size=width, replace=False).tolist() for _ in range(length)]
        columns = [mechanism.likelihood(int(rng.integers(cells))) for _ in range(length)]
        steps = range(1, length + 1)
        events: dict[str, Callable[[], Event]] = {
            "pattern": partial(pattern, regions, steps),
            "presence": partial(presence, regions[0], steps),
        }
        answers = {}
        for kind, make in events.items():
            work = partial(_joint, model, make, prior, columns)
            if number == 0:
                work()  # once untimed: whatever is compiled or loaded lazily
            seconds, answers[kind] = _least_seconds(work)
            ours[kind].append(seconds)
        if number < parameters["naive_events"]:
            lists = [column.tolist() for column in columns]
            begin = time.process_time()
            summed = naive_pattern_joint(matrix, prior.tolist(), lists, regions)
            naive.append(time.process_time() - begin)
            if not math.isclose(summed, answers["pattern"], rel_tol=AGREEMENT):
                raise PristeError(
                    "The quantification and the sum over all trajectories must agree. Got "
                    f"{answers['pattern']!r} and {summed!r} for length {length}, width {width}, "
                    f"event {number} of seed {parameters['seed']}. Please report this."
                )
    return {"ours": ours, "naive": naive}


def _joint(
    model: MarkovModel, event: Callable[[], Event], prior: Floats, columns: Sequence[Floats]
) -> float:
    """Return Pr(event, releases), the event made anew; nothing is released at step 0."""
    quantifier = Quantifier(model, event(), KnownPrior(prior))
    quantifier.observe(None)
    for column in columns:
        quantifier.observe(column)
    joint = quantifier.joint_probabilities()
    return math.ldexp(float(joint.event[0]), int(joint.exponent[0]))


def _least_seconds(work: Callable[[], float]) -> tuple[float, float]:
    times = []
    for _ in range(REPEATS):
        begin = time.process_time()
        answer = work()
        times.append(time.process_time() - begin)
    return min(times), answer


@lru_cache(maxsize=2)
def _map(side: int) -> tuple[MarkovModel, PlanarLaplace, list[list[float]]]:
    grid = Grid(rows=side, columns=side, cell_size=1.0)
    model = MarkovModel.gaussian(grid, sigma=side / 2.0)
    return model, PlanarLaplace(grid, ALPHA), model.transition(0).toarray().tolist()


@dataclass(frozen=True, eq=False)
class Times:
    """The seconds of one sweep; ``naive`` covers the first points only."""

    sweep: Sweep
    ours: dict[str, Floats]
    naive: list[list[float]]

    @classmethod
    def of(cls, sweep: Sweep, settings: Settings, results: Results) -> Times:
        found = results.of(point.job(settings) for point in sweep.points)
        ours = {
            kind: np.array([result["ours"][kind] for result in found])
            for kind in ("pattern", "presence")
        }
        return cls(sweep, ours, [result["naive"] for result in found if result["naive"]])

    @property
    def naive_means(self) -> Floats:
        """The baseline's mean seconds at the points where it ran."""
        return np.array([np.mean(times) for times in self.naive])

    @property
    def naive_values(self) -> Floats:
        """The lengths or widths at which the baseline ran."""
        return self.sweep.values[: len(self.naive)]

    def extrapolated(self) -> Floats:
        """Return the baseline's seconds at every point, by its trajectories.

        The seconds per trajectory and step of the longest measured point, times both numbers.
        """
        last = self.sweep.points[len(self.naive) - 1]
        each = self.naive_means[-1] / (last.trajectories * last.length)
        return np.array([each * p.trajectories * p.length for p in self.sweep.points])

    def naive_events(self) -> Floats:
        """Return the baseline's seconds as (events, points), with as many events as all have."""
        fewest = min(len(times) for times in self.naive)
        return np.array([times[:fewest] for times in self.naive]).T


def growth_exponents(values: Floats, seconds: Floats) -> Floats:
    """Return, for each row of seconds, the power p of the best fit ``seconds ~ values**p``.

    >>> growth_exponents(np.array([1.0, 2.0, 4.0]), np.array([[3.0, 12.0, 48.0]])).round(6)
    array([2.])
    """
    slopes, _ = straight_lines(np.log(values), np.log(seconds))
    return slopes


def straight_lines(x: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return the slope and the mean squared residual of every row against x."""
    centred = x - x.mean()
    around = rows - rows.mean(axis=1, keepdims=True)
    slopes = around @ centred / (centred @ centred)
    residuals = around - slopes[:, None] * centred
    return slopes, np.asarray((residuals**2).mean(axis=1))
