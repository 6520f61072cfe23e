"""What a policy will cost, before anything is released: for it and for its neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from priste.errors import InvalidParameter
from priste.events import near_events, near_reach
from priste.forecast.neighbours import Neighbour, neighbours_of
from priste.forecast.simulation import FEWEST_RUNS, Cost, Flags, Simulation
from priste.results import TrueSteps, length, percent

if TYPE_CHECKING:
    from priste.policy import Policy

DEFAULT_RUNS = 8
NEIGHBOUR_RUNS = 2
"""How many streams are simulated for the policy, and for each of its neighbours, unless told."""

QUICK_RUNS = 4
QUICK_SECONDS = 3.0
QUICK_STEPS = 110
"""How many streams a quick forecast simulates, how long it may compute, unless told, and about how
many steps of each it follows at most."""

HOURS_BEFORE, HOURS_AFTER = 12.0, 24.0
"""How long before and after an event streams are followed."""

REFINED_RUNS = 16
REFINED_SECONDS = 12.0
PATIENT_SECONDS = 60.0
"""How many streams a refined forecast simulates at most, after how long it begins no more of them,
and how long the first two may take."""

OnProgress = Callable[[int, int], None]
OnTrial = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Row:
    """One setting: its name, what it guarantees in words, and what it costs.

    ``every`` tells that of the steps one in so many was followed, to be quick; ``opened`` that the
    streams are those of an opened trace.
    """

    name: str
    guarantee: str
    cost: Cost
    every: int = 1
    opened: bool = False

    def sentence(self) -> str:
        """Say what the setting costs, beside the uncalibrated mechanism and one constant point."""
        cost = self.cost
        told = cost.released
        parts = [
            f"Expect a mean error of {length(told.all.value)}, in 80 of 100 cases between "
            f"{length(told.all.low)} and {length(told.all.high)} (the uncalibrated mechanism "
            f"{length(cost.uncalibrated.all.value)}, one constant point "
            f"{length(cost.constant.all.value)})"
        ]
        if told.far is not None and told.near is not None:
            parts.append(
                f"{length(told.far.value)} far from the events, {length(told.near.value)} near them"
            )
        plainly = " Near the events a constant point would do as well." * cost.constant_does
        exact = percent(told.exact.value)
        return "; ".join(parts) + f".{plainly} {exact} of the steps are released in the true cell."

    def basis(self) -> str:
        """Say what the figures rest on."""
        cost = self.cost
        found = f"From {cost.runs} simulated streams of {cost.steps} releases"
        if self.every > 1:
            found += f", one every {self.every} steps"
        if cost.steps < cost.of_steps:
            found += f", of {cost.of_steps} that were to be simulated: the time was over"
        if self.opened:
            return f"{found}, on the opened trace: keep them to yourself. Nothing was released."
        happened = f"to {cost.happened} of these people a guarded event happens"
        return f"{found}; {happened}. Nothing was released."


@dataclass(frozen=True)
class Forecast:
    """What a policy and its neighbours will cost; the policy itself comes first.

    It is not ``complete`` where it was stopped before all were simulated.
    """

    rows: tuple[Row, ...]
    seed: int
    complete: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        settings = [asdict(row) for row in self.rows]
        return {"seed": self.seed, "complete": self.complete, "settings": settings}


@dataclass(frozen=True, eq=False)
class Trial:
    """How settings are tried: the steps to follow, on whom, and with which random numbers."""

    policy: Policy
    told: Flags
    seed: int = 1
    truth: TrueSteps | None = field(default=None, repr=False)

    def simulation(self, each: Neighbour, on_step: Callable[[], None] | None = None) -> Simulation:
        """Return the simulation of one setting."""
        policy = self.policy
        reach = near_reach(policy.timeline.step.total_seconds())
        events = [event.event for event in policy.events.values()]
        near = near_events(policy.steps, events, reach)
        if self.truth is not None:
            near = near[: len(self.truth)][self.truth.known[: policy.steps]]
        return Simulation(
            each.setting,
            _every(self.told, each.every),
            near_steps=reach,
            seed=self.seed,
            near_share=float(near.mean()) if near.size else None,
            truth=self.truth,
            on_step=on_step,
        )

    def row(self, each: Neighbour, cost: Cost, every: int = 1) -> Row:
        """Return the row of a setting."""
        return Row(each.name, each.guarantee, cost, every, self.truth is not None)


def quick_forecast(
    policy: Policy,
    *,
    seconds: float | None = QUICK_SECONDS,
    runs: int = QUICK_RUNS,
    seed: int = 1,
    truth: TrueSteps | None = None,
    on_progress: OnProgress | None = None,
) -> Row:
    """Return what the policy as it is will cost, within about ``seconds`` of computing.

    Steps around an event are followed, of many of them one in some (``row.every``). Where the time
    is over before they are, the row tells of the steps that were reached (``cost.steps`` of
    ``cost.of_steps``); they are the same on every machine, how many is not. With the ``truth`` of
    an opened trace streams are of that person. ``on_progress`` (done, total) is called after every
    release; to cancel, raise from it: what it raises passes through.
    """
    trial, every = _quick_trial(policy, seed, truth)
    chosen = next(neighbours_of(policy))
    count = _Count(on_progress, runs * int(trial.told.sum()))
    simulation = trial.simulation(chosen, count.more)
    simulation.add(runs, seconds)
    return trial.row(chosen, simulation.cost(), every)


def refined_forecast(
    policy: Policy,
    *,
    runs: int = REFINED_RUNS,
    seconds: float = REFINED_SECONDS,
    first_seconds: float = PATIENT_SECONDS,
    seed: int = 1,
    truth: TrueSteps | None = None,
    on_trial: OnTrial | None = None,
) -> Iterator[Row]:
    """Yield what the policy will cost from two streams, then from two more, and so on.

    For somebody who waits: the first row comes as soon as there is one, and the last rests on
    ``runs`` streams, or on as many as were begun within ``seconds`` of computing. Rows are
    those of :func:`quick_forecast` with so many runs. The first two streams may take
    ``first_seconds``; ``on_trial`` (done, total, metres) is called after each of their
    releases with how far they were off on average so far. What it raises passes through.
    """
    trial, every = _quick_trial(policy, seed, truth)
    chosen = next(neighbours_of(policy))
    total, done = FEWEST_RUNS * int(trial.told.sum()), 0
    began = thread_time()

    def tried() -> None:
        nonlocal done
        done += 1
        if on_trial is not None:
            on_trial(min(done, total), total, simulation.metres_so_far())

    simulation = trial.simulation(chosen, tried)
    simulation.add(FEWEST_RUNS, first_seconds)
    while True:
        yield trial.row(chosen, simulation.cost(), every)
        more = min(FEWEST_RUNS, runs - simulation.runs)
        if more <= 0 or thread_time() - began > seconds:
            return
        simulation.add(more)


def _quick_trial(policy: Policy, seed: int, truth: TrueSteps | None) -> tuple[Trial, int]:
    """Return the trial of a quick forecast, and that one step in so many is followed."""
    told = followed_steps(policy, truth=truth)
    every = math.ceil(int(told.sum()) / QUICK_STEPS)
    return Trial(policy, _every(told, every), seed, truth), every


def forecast(
    policy: Policy,
    *,
    runs: int = DEFAULT_RUNS,
    neighbour_runs: int = NEIGHBOUR_RUNS,
    seed: int = 1,
    steps: int | None = None,
    neighbours: bool = True,
    seconds: float | None = None,
    truth: TrueSteps | None = None,
    on_progress: OnProgress | None = None,
) -> Forecast:
    """Simulate streams under a policy and its neighbours, and measure them in metres.

    Nothing is released. People are drawn from the policy's own model, the same for every setting
    and with the same random numbers; or, with the ``truth`` of an opened trace, it is that person.
    Unless ``steps`` asks for the first so many steps of the stream, those around an event are
    followed (see :func:`followed_steps`). With ``seconds`` the policy itself ends when its share of
    the time is over, and its neighbours at the same step. After Ctrl-C the forecast is made of the
    streams that are done, if there are two.
    """
    trial = Trial(policy, followed_steps(policy, steps, truth=truth), seed, truth)
    settings = list(neighbours_of(policy)) if neighbours else [next(neighbours_of(policy))]
    rows: list[Row] = []
    wanted = [runs, *[min(runs, neighbour_runs)] * (len(settings) - 1)]
    if runs < FEWEST_RUNS:
        raise InvalidParameter(f"A forecast needs at least {FEWEST_RUNS} runs. Got {runs!r}.")
    count = _Count(on_progress, sum(wanted) * int(trial.told.sum()))
    for each, number in zip(settings, wanted, strict=True):
        share = seconds / len(settings) if seconds is not None and not rows else None
        if rows:  # all settings are about the steps that the first one reached
            trial = replace(trial, told=_first(trial.told, rows[0].cost.steps))
        if not _every(trial.told, each.every).any():
            continue
        simulation = trial.simulation(each, count.more)
        try:
            while simulation.runs < number:
                group = min(number - simulation.runs, FEWEST_RUNS + number % FEWEST_RUNS)
                simulation.add(group, None if share is None else share * group / number)
        except KeyboardInterrupt:
            if simulation.runs:
                rows.append(trial.row(each, simulation.cost()))
            if not rows:
                raise
            return Forecast(tuple(rows), seed, complete=False)
        rows.append(trial.row(each, simulation.cost()))
    return Forecast(tuple(rows), seed)


class _Count:
    """Counts releases, and tells how many are done and of how many."""

    def __init__(self, on_progress: OnProgress | None, total: int) -> None:
        self._on_progress, self._total, self._done = on_progress, total, 0

    def more(self) -> None:
        """Tell that one more is done."""
        self._done += 1
        if self._on_progress is not None:
            self._on_progress(self._done, max(self._done, self._total))


def followed_steps(
    policy: Policy, steps: int | None = None, *, truth: TrueSteps | None = None
) -> Flags:
    """Tell which steps of the clock a forecast releases at; at the others it is silent.

    The first ``steps``, or those around the steps that an event speaks of, from ``HOURS_BEFORE`` to
    ``HOURS_AFTER``. Of an event that recurs, the first occurrence is followed, the others cost the
    same; with the ``truth`` of an opened trace the first around which there is a fix. Then steps
    without a fix are left out.
    """
    told = np.zeros(policy.steps, dtype=np.bool_)
    known = np.ones(policy.steps, dtype=np.bool_)
    if truth is not None:
        known[:] = False
        known[: len(truth)] = truth.known[: policy.steps]
    if steps is not None:
        if not 1 <= steps <= policy.steps:
            raise InvalidParameter(
                f"The steps of a forecast must be 1 to {policy.steps}, as many as the policy's "
                f"clock has. Got {steps!r}."
            )
        told[:steps] = True
        return told & known
    hour = 3600 / policy.timeline.step.total_seconds()
    before, after = round(HOURS_BEFORE * hour), round(HOURS_AFTER * hour)
    followed: set[str] = set()
    for each in policy.events.values():
        around = np.zeros(policy.steps, dtype=np.bool_)
        for layer in each.event.automaton().layers:
            around[max(0, layer.step - before) : layer.step + after + 1] = True
        if each.name not in followed and (around & known).any():
            followed.add(each.name)
            told |= around
    return told & known


def _every(told: Flags, every: int) -> Flags:
    """Return the flags of every ``every``-th step."""
    kept = np.zeros_like(told)
    kept[::every] = told[::every]
    return kept


def _first(told: Flags, most: int) -> Flags:
    """Return the flags up to the ``most``-th that is set."""
    kept = np.zeros_like(told)
    kept[np.flatnonzero(told)[:most]] = True
    return kept
