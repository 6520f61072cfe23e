"""What a policy will cost, before anything is released: for it and for its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from priste.errors import InvalidParameter
from priste.events import near_reach
from priste.forecast.neighbours import neighbours_of, setting_of
from priste.forecast.simulation import Cost, Setting, simulate
from priste.quantify import Odds

if TYPE_CHECKING:
    from priste.policy import Policy

DEFAULT_RUNS = 5
"""How many streams are simulated for each setting unless told."""

LADDER = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The ε that :func:`suggest` tries, strongest first."""

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Row:
    """One setting: its name, what it promises in words, and what it costs."""

    name: str
    promise: str
    cost: Cost


@dataclass(frozen=True)
class Forecast:
    """What a policy and its neighbours will cost; the policy itself comes first."""

    rows: tuple[Row, ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"seed": self.seed, "settings": [asdict(row) for row in self.rows]}


def forecast(
    policy: Policy,
    *,
    runs: int = DEFAULT_RUNS,
    seed: int = 1,
    steps: int | None = None,
    neighbours: bool = True,
    on_progress: OnProgress | None = None,
) -> Forecast:
    """Simulate streams under a policy and its neighbours, and measure them in metres.

    No data is needed and nothing is released: people are drawn from the policy's own model, the
    same for every setting. ``steps`` is how much of the stream is simulated: unless told, up to a
    day after its last event.
    """
    length = simulated_steps(policy, steps)
    settings = list(neighbours_of(policy)) if neighbours else [next(neighbours_of(policy))]
    costs = _costs(policy, [each.setting for each in settings], length, runs, seed, on_progress)
    rows = (Row(each.name, each.promise, cost) for each, cost in zip(settings, costs, strict=True))
    return Forecast(tuple(rows), seed)


def suggest(
    policy: Policy,
    metres: float,
    *,
    runs: int = DEFAULT_RUNS,
    seed: int = 1,
    steps: int | None = None,
    on_progress: OnProgress | None = None,
) -> Row | None:
    """Return the strongest two-sided promise that costs at most ``metres`` far from the events.

    ε is taken from ``LADDER``, strongest first, all events alike, against the policy's observer.
    None when even the weakest costs more.
    """
    if not metres > 0:
        raise InvalidParameter(f"The metres of a suggestion must be > 0. Got {metres!r}.")
    here, length = setting_of(policy), simulated_steps(policy, steps)
    against = policy.chosen_observer.words
    for number, epsilon in enumerate(LADDER):
        promise = Odds(epsilon, epsilon)
        setting = replace(here, promises=dict.fromkeys(here.events, promise))
        (cost,) = _costs(policy, [setting], length, runs, seed, None)
        if on_progress is not None:
            on_progress(number + 1, len(LADDER))
        far = cost.released.far or cost.released.all
        if far.value <= metres:
            return Row(f"ε = {epsilon:g}", f"{promise.words()}; against {against}", cost)
    return None


def simulated_steps(policy: Policy, steps: int | None = None) -> int:
    """Return how many steps a forecast follows: ``steps``, or up to a day after the last event."""
    if steps is not None:
        if not 1 <= steps <= policy.steps:
            raise InvalidParameter(
                f"The steps of a forecast must be 1 to {policy.steps}, as many as the policy's "
                f"clock has. Got {steps!r}."
            )
        return steps
    ends = (each.event.automaton().layers[-1].step for each in policy.events.values())
    day = round(86400 / policy.timeline.step.total_seconds())
    return min(policy.steps, max(ends, default=0) + 1 + day)


def _costs(
    policy: Policy,
    settings: Sequence[Setting],
    steps: int,
    runs: int,
    seed: int,
    on_progress: OnProgress | None,
) -> list[Cost]:
    done = 0

    def step_done() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, len(settings) * runs * steps)

    reach = near_reach(policy.timeline.step.total_seconds())
    return [
        simulate(each, steps=steps, runs=runs, near_steps=reach, seed=seed, on_step=step_done)
        for each in settings
    ]
