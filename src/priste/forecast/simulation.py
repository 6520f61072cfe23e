"""Simulated streams, released under one setting: what it will cost.

People are drawn from the mobility model, from a public distribution of where they begin, and half
of them are such that a guarded event happens to them where that can be drawn: whoever guards an
event is likely to be one of those. Or the person is the one of an opened trace, with its gaps. What
is released goes nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from time import thread_time

import numpy as np
from numpy.typing import NDArray

from priste.audit.estimates import Estimate, mean
from priste.errors import InvalidParameter
from priste.events import Event, near_events
from priste.maps import best_constant
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import Adversary, Family, Guarantee
from priste.randomness import BitSource, bit_source
from priste.release import Calibrator, Protector, StreamTree, make_terms
from priste.release.calibrators import as_calibrator
from priste.release.guarded_hours import Pads
from priste.release.prediction import Prediction
from priste.results import TrueSteps
from priste.results.true_steps import NONE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FEWEST_RUNS = 2
"""An interval needs two runs."""

OnStep = Callable[[], None]
Flags = NDArray[np.bool_]
_Figures = tuple[float, float, float, float]

INTERVAL = 0.8
"""The mean error of the next stream lies in an interval of a forecast with this probability."""

TRIES = 300
"""How many people are drawn to find one to whom a guarded event happens."""


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

    @cached_property
    def _tree(self) -> StreamTree:
        """What all streams of the setting have in common."""
        terms = make_terms(
            self.models,
            self.events,
            self.mechanism,
            dict(self.guarantees),
            None if self.adversary.states_prior else self.start,
            self.adversary,
            self.family,
            self.guarded_hours,
        )
        return StreamTree.of(terms, as_calibrator(self.calibrator))

    def protector(self, rng: BitSource) -> Protector:
        """Return a fresh stream that is kept nowhere, made as a policy makes its streams."""
        return Protector.sharing(self._tree, rng)


@dataclass(frozen=True)
class Metres:
    """Mean errors in metres over simulated streams: of the whole clock, near and far from events.

    Each has the interval in which the mean error of one more stream lies in 80 of 100 cases.
    ``near`` and ``far`` are None where no step is. ``exact`` is the share of steps whose released
    cell is the true one, with its 95 % interval.
    """

    all: Estimate
    near: Estimate | None
    far: Estimate | None
    exact: Estimate


@dataclass(frozen=True)
class Cost:
    """What a setting costs: ``released`` under it, ``uncalibrated``, and one ``constant`` point.

    The constant is the public cell that is best over the steps simulated; ``beyond_constant`` is
    how many metres farther off releases are than that, stream by stream, with its 95 % interval.
    ``leakage`` maps each event to the largest figure that a release of any run had. ``steps`` is
    how many steps of each stream were released, ``of_steps`` how many were to be: fewer are when
    the time was over. ``happened`` is to how many of the people a guarded event happened.
    """

    runs: int
    steps: int
    of_steps: int
    released: Metres
    uncalibrated: Metres
    constant: Metres
    beyond_constant: Estimate
    leakage: Mapping[str, float]
    happened: int = 0

    @property
    def over_constant(self) -> float:
        """The mean error as a share of that of one constant point; nan if that is 0."""
        other = self.constant.all.value
        return self.released.all.value / other if other > 0 else math.nan

    @property
    def constant_does(self) -> bool:
        """Whether near the events a constant point would do as well."""
        near, constant = self.released.near, self.constant.near
        return near is not None and constant is not None and near.value >= 0.95 * constant.value


def predictive(values: Sequence[float]) -> Estimate:
    """Return the mean, and where one more value lies in 80 of 100 cases if they are log-normal.

    Values that are not all > 0 are taken for normal. With Student's t of two values or more.

    >>> found = predictive([100.0, 200.0, 400.0])
    >>> round(found.value), round(found.low), round(found.high)
    (233, 44, 905)
    """
    from scipy.special import stdtrit

    found = np.array(values, dtype=np.float64)
    logs = bool((found > 0).all())
    scaled = np.log(found) if logs else found
    count = len(found)
    wide = float(stdtrit(count - 1, (1 + INTERVAL) / 2)) * math.sqrt(1 + 1 / count)
    half = wide * float(scaled.std(ddof=1))
    ends = (float(scaled.mean()) - half, float(scaled.mean()) + half)
    low, high = (
        (math.exp(min(end, 700.0)) for end in ends) if logs else (max(0.0, ends[0]), ends[1])
    )
    return Estimate(float(found.mean()), low, high)


def simulate(
    setting: Setting,
    told: Flags,
    *,
    runs: int,
    near_steps: int,
    seed: int,
    near_share: float | None = None,
    truth: TrueSteps | None = None,
    seconds: float | None = None,
    on_step: OnStep | None = None,
) -> Cost:
    """Release ``runs`` (>= 2) simulated streams, and measure them; see :class:`Simulation`."""
    if runs < FEWEST_RUNS:
        raise InvalidParameter(f"A forecast needs at least {FEWEST_RUNS} runs. Got {runs!r}.")
    simulation = Simulation(
        setting,
        told,
        near_steps=near_steps,
        seed=seed,
        near_share=near_share,
        truth=truth,
        on_step=on_step,
    )
    simulation.add(runs, seconds)
    return simulation.cost()


class Simulation:
    """Simulated streams under one setting, one group after the other, and what all of them cost.

    ``told`` (steps,) are the steps with a release; at the others every stream is silent, which
    tells nothing and costs next to nothing. So many streams as one ``add`` or as several cost the
    same: each has its own randomness, and the same seed gives the same people and the same random
    numbers under every setting, so that settings are compared on them. Only the first group can
    end early, and those after it end where it did.

    ``near_share`` is the share of near steps in the whole clock, with which the mean over all steps
    is weighted; that of the steps simulated unless given. With the ``truth`` of an opened trace
    every stream is of that person, and steps without a fix are silent.
    """

    def __init__(
        self,
        setting: Setting,
        told: Flags,
        *,
        near_steps: int,
        seed: int,
        near_share: float | None = None,
        truth: TrueSteps | None = None,
        on_step: OnStep | None = None,
    ) -> None:
        if truth is not None:
            told = told[: len(truth)] & (truth.known & (truth.cells != NONE))[: len(told)]
        if not told.any():
            raise InvalidParameter("A forecast needs at least one step with a release.")
        self._setting = setting
        self._told = [int(step) for step in np.flatnonzero(told)]
        self._near_steps, self._near_share = near_steps, near_share
        self._seed = seed
        self._truth = truth
        self._on_step = on_step
        self._at_work: list[_Stream] = []
        self._followed: list[int] = []
        self._constant = 0
        self._figures: dict[str, list[_Figures]] = {
            "released": [],
            "uncalibrated": [],
            "constant": [],
        }
        self._leakage = dict.fromkeys(setting.events, 0.0)
        self._happened = 0
        self.runs = 0

    def add(self, runs: int, seconds: float | None = None) -> None:
        """Release so many more streams; the first end ``seconds`` after their first release."""
        first = self.runs == 0
        steps = self._told if first else self._followed
        self._at_work = [self._stream(run) for run in range(self.runs, self.runs + runs)]
        reached = self._release(steps, seconds if first else None)
        if first:
            self._followed = reached
            self._constant = public_constant(self._setting, reached)
        near = self._near()
        for stream in self._at_work:
            ways = {"released": stream.released, "uncalibrated": stream.uncalibrated}
            ways["constant"] = [self._constant] * len(reached)
            for name, cells in ways.items():
                self._figures[name].append(self._measured(stream, cells, near))
            self._leakage = {k: max(v, stream.leakage[k]) for k, v in self._leakage.items()}
            self._happened += stream.happened
        self.runs += runs
        self._at_work = []

    def _stream(self, run: int) -> _Stream:
        steps = self._told[-1] + 1
        bits = _bits(self._seed, run, 0)
        # Every second person is one whom a guarded event happens to, where one is found.
        wanted = self._truth is None and run % 2 == 1
        truth = self._truth or drawn_person(self._setting, steps, bits, happening=wanted)
        return _Stream(self._setting, truth, self._seed, run)

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
        pairs = zip(self._figures["released"], self._figures["constant"], strict=True)
        return Cost(
            runs=self.runs,
            steps=len(self._followed),
            of_steps=len(self._told),
            **{name: _metres(figures, near) for name, figures in self._figures.items()},
            beyond_constant=mean([released[0] - constant[0] for released, constant in pairs]),
            leakage=self._leakage,
            happened=self._happened,
        )

    def _near(self) -> Flags:
        steps = self._told[-1] + 1
        return near_events(steps, self._setting.events.values(), self._near_steps)[self._followed]

    def _measured(self, stream: _Stream, cells: list[int], near: Flags) -> _Figures:
        """Return metres everywhere, near and far, and the share of true cells."""
        metres = 1000.0 * stream.errors(cells)
        exact = float(np.mean(stream.cells() == np.array(cells)))
        close = float(metres[near].mean()) if near.any() else math.nan
        far = float(metres[~near].mean()) if not near.all() else math.nan
        if self._near_share is None or not near.any() or near.all():
            return float(metres.mean()), close, far, exact
        everywhere = self._near_share * close + (1 - self._near_share) * far
        return everywhere, close, far, exact


def drawn_person(setting: Setting, steps: int, bits: BitSource, *, happening: bool) -> TrueSteps:
    """Return a person drawn from the model, somewhere in their cell at each step.

    If it should be ``happening``, one to whom an event of the setting happens; anybody where none
    is found in ``TRIES`` draws.
    """
    grid = setting.model.grid
    last = max([steps - 1, *(event.last_step or 0 for event in setting.events.values())])
    for _ in range(TRIES if happening else 1):
        cells = setting.model.sample(last + 1, bits, setting.start)
        if not happening or any(e.holds(cells.tolist()) for e in setting.events.values()):
            break
    cells = np.asarray(cells[:steps], dtype=np.int64)
    shifts = np.array([[bits.below(_PLACES), bits.below(_PLACES)] for _ in range(steps)])
    places = grid.centers[cells] + grid.cell_size * ((shifts + 0.5) / _PLACES - 0.5)
    return TrueSteps(cells, places, np.zeros(steps, dtype=np.bool_))


_PLACES = 1 << 16
"""A place within a cell is one of so many along each side."""


class _Stream:
    """What is released about one person."""

    def __init__(self, setting: Setting, truth: TrueSteps, seed: int, run: int) -> None:
        self._grid = setting.model.grid
        self._mechanism = setting.mechanism
        self._places = _places(setting.mechanism)
        self._truth = truth
        self._noise = _bits(seed, run, 1)
        self.protector = setting.protector(_bits(seed, run, 2))
        self.leakage = dict.fromkeys(setting.events, 0.0)
        self.happened = _happens(setting, truth)
        self._steps: list[int] = []
        self.released: list[int] = []
        self.uncalibrated: list[int] = []

    def release(self, step: int) -> None:
        cell = int(self._truth.cells[step])
        release = self.protector.release(cell)
        self._steps.append(step)
        self.released.append(int(self._places[int(release.cell or 0)]))
        self.uncalibrated.append(int(self._places[self._mechanism.sample(cell, self._noise)]))
        for name, value in zip(self.leakage, release.leakage, strict=True):
            self.leakage[name] = max(self.leakage[name], value)

    def cells(self) -> Integers:
        """Return the true cells of the releases."""
        return self._truth.cells[self._steps]

    def errors(self, cells: list[int]) -> Floats:
        """Return the km from the true place to the centres of these cells, one per release."""
        apart = self._truth.places[self._steps] - self._grid.centers[np.array(cells, dtype=int)]
        return np.asarray(np.hypot(apart[:, 0], apart[:, 1]))


def _happens(setting: Setting, truth: TrueSteps) -> bool:
    """Tell whether an event happens to a person whose cells are all known while it lasts."""
    for event in setting.events.values():
        last = event.last_step or 0
        cells = truth.cells[: last + 1]
        if len(cells) > last and (cells != NONE).all() and event.holds(cells.tolist()):
            return True
    return False


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


def _metres(figures: list[_Figures], near: Flags) -> Metres:
    everywhere, close, far, exact = (list(column) for column in zip(*figures, strict=True))
    return Metres(
        all=predictive(everywhere),
        near=predictive(close) if near.any() else None,
        far=predictive(far) if not near.all() else None,
        exact=mean(exact),
    )
