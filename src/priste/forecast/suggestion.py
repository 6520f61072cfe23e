"""The strongest guarantee for a given error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from priste.errors import InvalidParameter
from priste.forecast.neighbours import Neighbour, against, guaranteeing, neighbour
from priste.forecast.policy_cost import (
    NEIGHBOUR_RUNS,
    OnProgress,
    Row,
    Trial,
)
from priste.quantify import OddsBound

if TYPE_CHECKING:
    from priste.policy import Policy
    from priste.traces import Trace

LADDER = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The ε that are tried, strongest first."""

MOST_TRIED = 4
"""How many ε of the ladder are simulated for one kind of guarantee: it is halved each time."""

Where = Literal["far", "near", "everywhere"]

WHERE_WORDS = {"far": "far from the events", "near": "near the events", "everywhere": "on average"}


@dataclass(frozen=True)
class Suggestion:
    """What can be guaranteed for ``metres`` at most, on average over the steps of ``where``.

    ``rows`` are kinds of guarantees, those as strict as the policy's first, each with the smallest
    ε of the ladder that is cheap enough; a kind that never is, is left out.
    """

    metres: float
    where: Where
    rows: tuple[Row, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        settings = [asdict(row) for row in self.rows]
        return {"at_most": self.metres, "where": self.where, "settings": settings}


def suggest(
    policy: Policy,
    metres: float,
    *,
    trace: Trace | None = None,
    where: Where = "far",
    runs: int = NEIGHBOUR_RUNS,
    seed: int = 1,
    steps: int | None = None,
    on_progress: OnProgress | None = None,
) -> Suggestion:
    """Find the strongest guarantees that cost at most ``metres`` where it matters.

    Kinds of guarantees: both ways and upwards only, against the policy's adversary and against one
    who knows the population. Of each kind the smallest ε on ``LADDER`` is looked for by halving,
    all events alike; what is returned was itself simulated and is within the metres.
    """
    if not metres > 0:
        raise InvalidParameter("must be > 0", parameter="at_most", owner="forecast", value=metres)
    if where not in WHERE_WORDS:
        raise InvalidParameter(
            f"must be one of {', '.join(WHERE_WORDS)}",
            parameter="where",
            owner="forecast",
            value=where,
        )
    trial = Trial.of(policy, trace, seed=seed, steps=steps)
    kinds = list(_kinds(trial.policy))
    done = 0

    def tried() -> None:
        nonlocal done
        done += 1
        if on_progress is not None:
            on_progress(done, max(done, MOST_TRIED * len(kinds)))

    found = []
    for kind in kinds:

        def cost_at(epsilon: float, kind: Callable[[float], Neighbour] = kind) -> Row:
            setting = kind(epsilon)
            simulation = trial.simulation(setting)
            simulation.add(runs)
            tried()
            return trial.row(setting, simulation.cost())

        row = _strongest(cost_at, lambda row: _metres(row, where) <= metres)
        if row is not None:
            found.append(row)
    return Suggestion(metres, where, tuple(found))


def _strongest(cost_at: Callable[[float], Row], is_cheap: Callable[[Row], bool]) -> Row | None:
    """Halve the ladder: a larger ε is taken to cost no more; the row returned is cheap itself."""
    low, high = 0, len(LADDER)  # the answer is at low or above; everything from high on is cheap
    best = None
    while low < high:
        middle = (low + high) // 2
        row = cost_at(LADDER[middle])
        if is_cheap(row):
            best, high = row, middle
        else:
            low = middle + 1
    return best


def _kinds(policy: Policy) -> Iterator[Callable[[float], Neighbour]]:
    """Yield the kinds of guarantees, each a function of ε."""
    policies = [policy]
    choice = policy.adversary_choice
    if choice.section is None or choice.section.knows != "population" or choice.places:
        policies.append(against(policy, "population"))
    for each in policies:
        for upwards in (False, True):

            def kind(epsilon: float, each: Policy = each, upwards: bool = upwards) -> Neighbour:
                guarantee = OddsBound(epsilon, math.inf if upwards else epsilon)
                name = f"ε = {epsilon:g}{', upwards only' if upwards else ''}"
                return neighbour(name, guaranteeing(each, lambda _: guarantee))

            yield kind


def _metres(row: Row, where: Where) -> float:
    """Return the mean metres where it is asked for; everywhere, if there is no such step."""
    found = row.cost.released
    chosen = {"far": found.far, "near": found.near, "everywhere": found.all}[where]
    return (chosen or found.all).value
