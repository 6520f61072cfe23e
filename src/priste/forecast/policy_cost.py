"""What a policy will cost, before anything is released: for it and for its neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from priste.errors import InvalidParameter
from priste.events import near_reach
from priste.forecast.neighbours import Neighbour, neighbours_of
from priste.forecast.simulation import FEWEST_RUNS, Cost, Flags, Simulation, simulate

if TYPE_CHECKING:
    from priste.policy import Policy

DEFAULT_RUNS = 5
"""How many streams are simulated for each setting unless told."""

QUICK_RUNS = 3
QUICK_SECONDS = 3.0
QUICK_HOURS = 12.0
QUICK_STEPS = 110
"""How many streams a quick forecast simulates, how long it may compute, unless told, how long
before and after an event it follows them, and about how many of the steps at most."""

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

    ``every`` tells that of the steps one in so many was followed, to be quick.
    """

    name: str
    guarantee: str
    cost: Cost
    every: int = 1

    def sentence(self) -> str:
        """Say what the setting costs, beside the mechanism alone and one constant cell."""
        from priste.results import length, percent  # heavy, and only here

        cost = self.cost
        parts = [
            f"Expect releases {length(cost.released.all.value)} from the truth on average (the "
            f"mechanism alone {length(cost.alone.all.value)}, one constant cell "
            f"{length(cost.nothing.all.value)})"
        ]
        if cost.released.far is not None and cost.released.near is not None:
            parts.append(
                f"{length(cost.released.far.value)} far from the events, "
                f"{length(cost.released.near.value)} near them"
            )
        exact = percent(cost.released.exact.value)
        return "; ".join(parts) + f". {exact} of the steps are told as they are."

    def basis(self) -> str:
        """Say what the figures rest on."""
        cost = self.cost
        found = f"From {cost.runs} simulated streams of {cost.steps} releases"
        if self.every > 1:
            found += f", one every {self.every} steps"
        if cost.steps < cost.of_steps:
            found += f", of {cost.of_steps} that were to be simulated: the time was over"
        return f"{found}; nothing was released."


@dataclass(frozen=True)
class Forecast:
    """What a policy and its neighbours will cost; the policy itself comes first."""

    rows: tuple[Row, ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"seed": self.seed, "settings": [asdict(row) for row in self.rows]}


def quick_forecast(
    policy: Policy,
    *,
    seconds: float | None = QUICK_SECONDS,
    runs: int = QUICK_RUNS,
    seed: int = 1,
    outsiders: bool = False,
    on_progress: OnProgress | None = None,
) -> Row:
    """Return what the policy as it is will cost, within about ``seconds`` of computing.

    Steps within half a day of an event are followed, of many of them one in some (``row.every``).
    Where the time is over before they are, the row tells of the steps that were reached
    (``cost.steps`` of ``cost.of_steps``); they are the same on every machine, how many is not.
    ``on_progress`` (done, total) is called after every release; to cancel, raise from it: what it
    raises passes through. With ``outsiders`` the row also tells what those learn whom the
    guarantee is not against (``cost.anybody``), and takes longer.
    """
    steps, every = _quick_steps(policy)
    settings = [next(neighbours_of(policy))]
    (row,) = simulated_rows(policy, settings, steps, runs, seed, seconds, outsiders, on_progress)
    return replace(row, every=every)


def refined_forecast(
    policy: Policy,
    *,
    runs: int = REFINED_RUNS,
    seconds: float = REFINED_SECONDS,
    first_seconds: float = PATIENT_SECONDS,
    seed: int = 1,
    outsiders: bool = False,
    on_trial: OnTrial | None = None,
) -> Iterator[Row]:
    """Yield what the policy will cost from two streams, then from two more, and so on.

    For somebody who waits: the first row comes as soon as there is one, and the last rests on
    ``runs`` streams, or on as many as were begun within ``seconds`` of computing. Rows are
    those of :func:`quick_forecast` with so many runs. The first two streams may take
    ``first_seconds``; ``on_trial`` (done, total, metres) is called after each of their
    releases with how far they were off on average so far. What it raises passes through.
    """
    steps, every = _quick_steps(policy)
    chosen = next(neighbours_of(policy))
    total, done = FEWEST_RUNS * int(steps.sum()), 0
    began = thread_time()

    def tried() -> None:
        nonlocal done
        done += 1
        if on_trial is not None:
            on_trial(min(done, total), total, simulation.metres_so_far())

    simulation = Simulation(
        chosen.setting,
        steps,
        near_steps=near_reach(policy.timeline.step.total_seconds()),
        seed=seed,
        outsiders=outsiders,
        on_step=tried,
    )
    simulation.add(FEWEST_RUNS, first_seconds)
    while True:
        yield Row(chosen.name, chosen.guarantee, simulation.cost(), every)
        more = min(FEWEST_RUNS, runs - simulation.runs)
        if more <= 0 or thread_time() - began > seconds:
            return
        simulation.add(more)


def _quick_steps(policy: Policy) -> tuple[Flags, int]:
    """Return the steps of a quick forecast, and that one in so many of those near events is one."""
    told = followed_steps(policy, hours=QUICK_HOURS)
    every = math.ceil(int(told.sum()) / QUICK_STEPS)
    return _every(told, every), every


def forecast(
    policy: Policy,
    *,
    runs: int = DEFAULT_RUNS,
    seed: int = 1,
    steps: int | None = None,
    neighbours: bool = True,
    seconds: float | None = None,
    outsiders: bool = False,
    on_progress: OnProgress | None = None,
) -> Forecast:
    """Simulate streams under a policy and its neighbours, and measure them in metres.

    No data is needed and nothing is released: people are drawn from the policy's own model, the
    same for every setting. Unless ``steps`` asks for the first so many steps of the stream, those
    within a day of an event are followed (see :func:`followed_steps`). With ``seconds`` the
    policy itself ends when its share of the time is over, and its neighbours at the same step.
    """
    told = followed_steps(policy, steps)
    settings = list(neighbours_of(policy)) if neighbours else [next(neighbours_of(policy))]
    return Forecast(
        simulated_rows(policy, settings, told, runs, seed, seconds, outsiders, on_progress), seed
    )


def followed_steps(policy: Policy, steps: int | None = None, *, hours: float = 24.0) -> Flags:
    """Tell which steps of the clock a forecast releases at; at the others it is silent.

    The first ``steps``, or those within ``hours`` of the steps that an event speaks of. Of an event
    that recurs, the first occurrence is followed: the others cost the same.
    """
    told = np.zeros(policy.steps, dtype=np.bool_)
    if steps is not None:
        if not 1 <= steps <= policy.steps:
            raise InvalidParameter(
                f"The steps of a forecast must be 1 to {policy.steps}, as many as the policy's "
                f"clock has. Got {steps!r}."
            )
        told[:steps] = True
        return told
    around = round(3600 * hours / policy.timeline.step.total_seconds())
    firsts = {each.name: each.event for each in reversed(list(policy.events.values()))}
    for event in firsts.values():
        for layer in event.automaton().layers:
            told[max(0, layer.step - around) : layer.step + around + 1] = True
    return told


def simulated_rows(
    policy: Policy,
    settings: Sequence[Neighbour],
    told: Flags,
    runs: int,
    seed: int,
    seconds: float | None = None,
    outsiders: bool = False,
    on_progress: OnProgress | None = None,
) -> tuple[Row, ...]:
    """Simulate each setting on the same people and steps."""
    done = 0

    def step_done() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, max(done, len(settings) * runs * int(told.sum())))

    if runs < FEWEST_RUNS:
        raise InvalidParameter(f"A forecast needs at least {FEWEST_RUNS} runs. Got {runs!r}.")
    reach = near_reach(policy.timeline.step.total_seconds())
    rows: list[Row] = []
    for each in settings:
        share = seconds / len(settings) if seconds is not None and not rows else None
        followed = _every(told if not rows else _first(told, rows[0].cost.steps), each.every)
        if not followed.any():
            continue
        cost = simulate(
            each.setting,
            followed,
            runs=runs,
            near_steps=reach,
            seed=seed,
            seconds=share,
            outsiders=outsiders,
            on_step=step_done,
        )
        rows.append(Row(each.name, each.guarantee, cost))
    return tuple(rows)


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
