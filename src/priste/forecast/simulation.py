"""Streams of people who do not exist, released under one setting: what it will cost.

People are drawn from the mobility model, from a public distribution of where they begin, so that
nothing here has anything to do with anybody's data. What is released goes nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.audit.estimates import Estimate, mean
from priste.errors import InvalidParameter
from priste.events import Event, near_events
from priste.maps import best_constant, kilometres
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import Adversary, AnyPrior, Family, Guarantee
from priste.randomness import BitSource, bit_source
from priste.release import Calibrator, Protector
from priste.release.guarded_hours import Pads
from priste.release.prediction import Prediction
from priste.results.measures import Floats, Integers

FEWEST_RUNS = 2
"""An interval needs two runs."""

OnStep = Callable[[], None]
Flags = NDArray[np.bool_]
_Figures = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Setting:
    """What a stream is released under, and where people begin (``start`` (m,), public).

    People move by the first of the ``models``; all of them are guarded against.
    """

    models: tuple[MarkovModel, ...]
    events: Mapping[str, Event]
    mechanism: Mechanism
    guarantees: Mapping[str, Guarantee]
    calibrator: str | Calibrator
    adversary: Adversary
    start: Floats | None = None
    family: Family = "joint"
    guarded_hours: Pads = None

    @property
    def model(self) -> MarkovModel:
        """How the simulated people move."""
        return self.models[0]

    def protector(self, rng: BitSource) -> Protector:
        """Return a fresh stream that is kept nowhere, made as a policy makes its streams."""
        return Protector(
            self.models,
            self.events,
            self.mechanism,
            dict(self.guarantees),
            self.calibrator,
            rng,
            adversary=self.adversary,
            family=self.family,
            guarded_hours=self.guarded_hours,
            public_prior=None if self.adversary.states_prior else self.start,
        )


@dataclass(frozen=True)
class Metres:
    """Mean distances in metres over simulated streams: of all steps, near and far from events.

    ``near`` and ``far`` are None where no step is. ``exact`` is the share of steps whose released
    cell is the true one.
    """

    all: Estimate
    near: Estimate | None
    far: Estimate | None
    exact: Estimate


@dataclass(frozen=True)
class Cost:
    """What a setting costs: ``released`` under it, beside the uncalibrated mechanism and one
    constant cell.

    ``nothing`` always releases the public cell that is best over the steps simulated;
    ``beyond_nothing`` is how many metres farther off releases are than that cell, stream by stream.
    ``leakage`` maps each event to the largest figure that a release of any run had. ``steps`` is
    how many steps of each stream were released, ``of_steps`` how many were to be: fewer are when
    the time was over. ``anybody`` maps each event to what the releases of a run told, at most, to
    those whom the guarantee is not against; empty if there are none, or nobody asked.
    """

    runs: int
    steps: int
    of_steps: int
    released: Metres
    alone: Metres
    nothing: Metres
    beyond_nothing: Estimate
    leakage: Mapping[str, float]
    anybody: Mapping[str, float] = field(default_factory=dict)

    @property
    def over_nothing(self) -> float:
        """The mean distance as a share of that of one constant cell; nan if that is 0."""
        constant = self.nothing.all.value
        return self.released.all.value / constant if constant > 0 else float("nan")


def simulate(
    setting: Setting,
    told: Flags,
    *,
    runs: int,
    near_steps: int,
    seed: int,
    seconds: float | None = None,
    outsiders: bool = False,
    on_step: OnStep | None = None,
) -> Cost:
    """Release ``runs`` (>= 2) simulated streams, and measure them.

    ``told`` (steps,) are the steps with a release; at the others every stream is silent, which
    tells nothing and costs next to nothing. All streams go on step by step together: after
    ``seconds`` of computing after their first release, if given, they end where they are.

    The same seed gives the same people under every setting, so that settings are compared on
    the same movement. ``on_step`` is called after each release; what it raises ends the simulation.
    With ``outsiders`` all releases are gone through once more, to tell what anybody learns.
    """
    if runs < FEWEST_RUNS:
        raise InvalidParameter(f"A forecast needs at least {FEWEST_RUNS} runs. Got {runs!r}.")
    simulation = Simulation(
        setting, told, near_steps=near_steps, seed=seed, outsiders=outsiders, on_step=on_step
    )
    simulation.add(runs, seconds)
    return simulation.cost()


class Simulation:
    """Simulated streams under one setting, one group after the other, and what all of them cost.

    So many streams as one ``add`` or as several cost the same: each has its own randomness. Only
    the first group can end early, and those after it end where it did.
    """

    def __init__(
        self,
        setting: Setting,
        told: Flags,
        *,
        near_steps: int,
        seed: int,
        outsiders: bool = False,
        on_step: OnStep | None = None,
    ) -> None:
        if not told.any():
            raise InvalidParameter("A forecast needs at least one step with a release.")
        self._setting = setting
        self._told = [int(step) for step in np.flatnonzero(told)]
        self._near_steps = near_steps
        self._seed = seed
        self._outsiders = outsiders
        self._on_step = on_step
        self._at_work: list[_Stream] = []
        self._followed: list[int] = []
        self._constant = 0
        self._figures: dict[str, list[_Figures]] = {"released": [], "alone": [], "nothing": []}
        self._leakage = dict.fromkeys(setting.events, 0.0)
        self._anybody: dict[str, float] = {}
        self.runs = 0

    def add(self, runs: int, seconds: float | None = None) -> None:
        """Release so many more streams; the first end ``seconds`` after their first release."""
        first = self.runs == 0
        steps = self._told if first else self._followed
        numbers = range(self.runs, self.runs + runs)
        self._at_work = [_Stream(self._setting, self._told[-1] + 1, self._seed, n) for n in numbers]
        reached = self._release(steps, seconds if first else None)
        if first:
            self._followed = reached
            self._constant = public_constant(self._setting, reached)
        near = self._near()
        for stream in self._at_work:
            ways = {"released": stream.released, "alone": stream.alone}
            ways["nothing"] = [self._constant] * len(reached)
            for name, cells in ways.items():
                self._figures[name].append(_figures(stream.errors(cells), near))
            self._leakage = {k: max(v, stream.leakage[k]) for k, v in self._leakage.items()}
        if self._outsiders:
            found = _anybody(self._setting, self._at_work)
            self._anybody = {k: max(v, self._anybody.get(k, v)) for k, v in found.items()}
        self.runs += runs
        self._at_work = []

    def _release(self, steps: Sequence[int], seconds: float | None) -> list[int]:
        """Release the streams at work at these steps; return those that were reached."""
        over = math.inf
        wanted = set(steps)
        for step in range(steps[-1] + 1):
            if step not in wanted:
                for stream in self._at_work:
                    stream.protector.release(None)
                continue
            for stream in self._at_work:
                stream.release(step)
                if self._on_step is not None:
                    self._on_step()
            if seconds is not None and math.isinf(over):
                over = thread_time() + seconds  # loading and compiling with the first: not counted
            if thread_time() >= over:
                return [each for each in steps if each <= step]
        return list(steps)

    def metres_so_far(self) -> float:
        """Return how far the streams at work have been off on average until now; nan before any."""
        errors = [stream.errors(stream.released) for stream in self._at_work]
        found = np.concatenate(errors) if errors else np.zeros(0)
        return 1000.0 * float(found.mean()) if found.size else math.nan

    def cost(self) -> Cost:
        """Return what all streams so far cost; two of them at least."""
        near = self._near()
        return Cost(
            runs=self.runs,
            steps=len(self._followed),
            of_steps=len(self._told),
            **{name: _metres(figures, near) for name, figures in self._figures.items()},
            beyond_nothing=mean(
                [
                    released[0] - constant[0]
                    for released, constant in zip(
                        self._figures["released"], self._figures["nothing"], strict=True
                    )
                ]
            ),
            leakage=self._leakage,
            anybody=self._anybody,
        )

    def _near(self) -> Flags:
        steps = self._told[-1] + 1
        return near_events(steps, self._setting.events.values(), self._near_steps)[self._followed]


def _anybody(setting: Setting, streams: Sequence[_Stream]) -> dict[str, float]:
    if setting.adversary == AnyPrior():
        return {}
    told = [stream.protector.leakage_against(AnyPrior()) for stream in streams]
    return {
        name: max(each[number].value for each in told) for number, name in enumerate(setting.events)
    }


class _Stream:
    """One person who does not exist, and what is released about them."""

    def __init__(self, setting: Setting, steps: int, seed: int, run: int) -> None:
        self._grid = setting.model.grid
        self._mechanism = setting.mechanism
        self._places = _places(setting.mechanism)
        self._truth = setting.model.sample(steps, _bits(seed, run, 0), setting.start).tolist()
        self._uncalibrated = _bits(seed, run, 1)
        self.protector = setting.protector(_bits(seed, run, 2))
        self.leakage = dict.fromkeys(setting.events, 0.0)
        self._steps: list[int] = []
        self.released: list[int] = []
        self.alone: list[int] = []

    def release(self, step: int) -> None:
        cell = self._truth[step]
        release = self.protector.release(cell)
        self._steps.append(step)
        self.released.append(int(self._places[int(release.cell or 0)]))
        self.alone.append(int(self._places[self._mechanism.sample(cell, self._uncalibrated)]))
        for name, value in zip(self.leakage, release.leakage, strict=True):
            self.leakage[name] = max(self.leakage[name], value)

    def errors(self, cells: list[int]) -> Floats:
        """Return the km between the truth and these cells, one per release."""
        truth = np.array([self._truth[step] for step in self._steps], dtype=np.int64)
        return kilometres(self._grid, truth, np.array(cells, dtype=np.int64))


def _bits(seed: int, run: int, purpose: int) -> BitSource:
    return bit_source(np.random.default_rng([seed, run, purpose]))


def _places(mechanism: Mechanism) -> Integers:
    places = mechanism.output_cells()
    if places is None:
        raise InvalidParameter(
            "A forecast in metres needs a mechanism whose outputs are cells of the map. Got "
            f"{mechanism!r}."
        )
    return places


def public_constant(setting: Setting, steps: Sequence[int]) -> int:
    """Return the one cell that is best over the steps, as the model and the start predict them."""
    prediction = Prediction(setting.model, setting.start)
    weights = np.zeros(setting.model.grid.size)
    wanted = set(steps)
    for step in range(max(wanted) + 1):
        if step in wanted:
            weights += prediction.predicted()
        prediction.correct(None)
    return best_constant(setting.model.grid, weights)


def _figures(kilometres: Floats, near: Any) -> _Figures:
    metres = 1000.0 * kilometres
    return (
        float(metres.mean()),
        float(metres[near].mean()) if near.any() else np.nan,
        float(metres[~near].mean()) if not near.all() else np.nan,
        float((metres == 0.0).mean()),
    )


def _metres(figures: list[_Figures], near: Any) -> Metres:
    everywhere, close, far, exact = (list(column) for column in zip(*figures, strict=True))
    return Metres(
        all=mean(everywhere),
        near=mean(close) if near.any() else None,
        far=mean(far) if not near.all() else None,
        exact=mean(exact),
    )
