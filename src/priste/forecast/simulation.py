"""Streams of people who do not exist, released under one setting: what it will cost.

People are drawn from the mobility model, from a public distribution of where they begin, so that
nothing here has anything to do with anybody's data. What is released goes nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from priste.audit.estimates import Estimate, mean
from priste.errors import InvalidParameter
from priste.events import Event, near_events
from priste.forecast.measures import Floats, Integers
from priste.maps import best_constant, kilometres
from priste.mechanisms import Mechanism
from priste.mobility import MarkovModel
from priste.quantify import Observer, Promise
from priste.randomness import BitSource, bit_source
from priste.release import Calibrator, Protector
from priste.release.prediction import Prediction

FEWEST_RUNS = 2
"""An interval needs two runs."""

OnStep = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Setting:
    """What a stream is released under, and where people begin (``start`` (m,), public).

    People move by the first of the ``models``; all of them are guarded against.
    """

    models: tuple[MarkovModel, ...]
    events: Mapping[str, Event]
    mechanism: Mechanism
    promises: Mapping[str, Promise]
    calibrator: str | Calibrator
    observer: Observer
    start: Floats | None = None

    @property
    def model(self) -> MarkovModel:
        """How the simulated people move."""
        return self.models[0]

    def protector(self, rng: BitSource) -> Protector:
        """Return a fresh stream that is kept nowhere."""
        return Protector(
            self.models,
            self.events,
            self.mechanism,
            dict(self.promises),
            self.calibrator,
            rng,
            observer=self.observer,
            public_prior=self.start,
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
    """What a setting costs: ``released`` under it, beside the bare mechanism and one constant cell.

    ``nothing`` always releases the public cell that is best over the steps simulated.
    ``leakage`` maps each event to the largest figure that a release of any run had.
    """

    runs: int
    steps: int
    released: Metres
    alone: Metres
    nothing: Metres
    leakage: Mapping[str, float]

    @property
    def over_nothing(self) -> float:
        """The mean distance as a share of that of one constant cell; nan if that is 0."""
        constant = self.nothing.all.value
        return self.released.all.value / constant if constant > 0 else float("nan")


def simulate(
    setting: Setting,
    *,
    steps: int,
    runs: int,
    near_steps: int,
    seed: int,
    on_step: OnStep | None = None,
) -> Cost:
    """Release ``runs`` (>= 2) simulated streams of ``steps`` steps, and measure them.

    The same seed gives the same people under every setting, so that settings are compared on
    the same movement. ``on_step`` is called after each step.
    """
    if runs < FEWEST_RUNS:
        raise InvalidParameter(f"A forecast needs at least {FEWEST_RUNS} runs. Got {runs!r}.")
    grid = setting.model.grid
    constant = public_constant(setting, steps)
    places = _places(setting.mechanism)
    near = near_events(steps, setting.events.values(), near_steps)
    found: dict[str, list[tuple[float, float, float, float]]] = {
        name: [] for name in ("released", "alone", "nothing")
    }
    leakage = dict.fromkeys(setting.events, 0.0)
    for run in range(runs):
        truth = setting.model.sample(steps, _bits(seed, run, 0), setting.start)
        bare = _bits(seed, run, 1)
        protector = setting.protector(_bits(seed, run, 2))
        told: dict[str, Integers] = {
            name: np.full(steps, constant, dtype=np.int64) for name in found
        }
        for step, cell in enumerate(truth.tolist()):
            release = protector.release(cell)
            told["released"][step] = places[int(release.cell or 0)]
            told["alone"][step] = places[setting.mechanism.sample(cell, bare)]
            for name, value in zip(leakage, release.leakage, strict=True):
                leakage[name] = max(leakage[name], value)
            if on_step is not None:
                on_step()
        for name, cells in told.items():
            found[name].append(_figures(kilometres(grid, truth, cells), near))
    return Cost(
        runs=runs,
        steps=steps,
        **{name: _metres(figures, near) for name, figures in found.items()},
        leakage=leakage,
    )


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


def public_constant(setting: Setting, steps: int) -> int:
    """Return the one cell that is best over the steps, as the model and the start predict them."""
    prediction = Prediction(setting.model, setting.start)
    weights = np.zeros(setting.model.grid.size)
    for _ in range(steps):
        weights += prediction.predicted()
        prediction.correct(None)
    return best_constant(setting.model.grid, weights)


def _figures(kilometres: Floats, near: Any) -> tuple[float, float, float, float]:
    metres = 1000.0 * kilometres
    return (
        float(metres.mean()),
        float(metres[near].mean()) if near.any() else np.nan,
        float(metres[~near].mean()) if not near.all() else np.nan,
        float((metres == 0.0).mean()),
    )


def _metres(figures: list[tuple[float, float, float, float]], near: Any) -> Metres:
    everywhere, close, far, exact = (list(column) for column in zip(*figures, strict=True))
    return Metres(
        all=mean(everywhere),
        near=mean(close) if near.any() else None,
        far=mean(far) if not near.all() else None,
        exact=mean(exact),
    )
