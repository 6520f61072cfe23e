"""What a policy will cost, before anything is released: for it and for its neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from time import thread_time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from priste.errors import InvalidParameter
from priste.events import near_events, near_reach
from priste.forecast.neighbours import Neighbour, neighbours_of, without_models
from priste.forecast.simulated_people import OpenedTrace
from priste.forecast.simulation import FEWEST_RUNS, Cost, Flags, Simulation
from priste.policy.policy_reader import somewhere
from priste.results import length, percent

if TYPE_CHECKING:
    from priste.policy import Policy, PolicyEvent
    from priste.traces import Trace

DEFAULT_RUNS = 8
NEIGHBOUR_RUNS = 2
"""How many streams are simulated for the policy, and for each of its neighbours, unless given."""

MOST_RELEASES = 100
"""About how many releases of each stream are simulated at most."""

FEWEST_RELEASES = 24
PROBED = 16
"""How many releases a stream has at least where time is short, and how many are timed to know."""

LENIENT = 2.0
"""A stream that takes this many times as long as planned is ended early."""

FAR_HOURS = 6.0
"""Time far from the events is followed in stretches of this many hours."""

DENSE = 4
"""A trace with so many times as many releases as are followed is followed without a break: what is
released between two stretches would weigh on the second one, for days where fixes are many."""

GOLDEN = (math.sqrt(5) - 1) / 2
"""The golden ratio: the fractional parts of its multiples lie evenly in [0, 1)."""

QUICK_RUNS = 4
QUICK_RELEASES = 60
QUICK_SECONDS = 3.0
"""How many streams a quick forecast simulates, about how many releases of each, and how long it may
compute, unless given."""

REFINED_RUNS = 16
REFINED_SECONDS = 12.0
PATIENT_SECONDS = 60.0
"""How many streams a refined forecast simulates at most, after how long it begins no more of them,
and how long the first two may take."""

SMALL_MAP = 500
LEAST_REFINED = 14
"""Up to this many cells a stream of a refined forecast has ``QUICK_RELEASES`` releases. On larger
maps it has fewer, in proportion, but at least ``LEAST_REFINED``: a release takes longer there, and
more streams fit into the same time. The number follows from the map only, so that two settings on
one map are tried at the same steps."""

AGAINST = {
    "own": "also against an adversary who knows your earlier days",
    "roaming": "also against an adversary who does not know your home",
    "narrow": "also against an adversary who takes people to move less far",
    "wide": "also against an adversary who takes people to move farther",
    "plain": "also against an adversary who knows no hours of the day",
    "day": "also against an adversary who knows the hours of the day",
    "week": "also against an adversary who knows the hours of the week",
}
"""What is guarded against by each model of a family but the first, in words."""

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Row:
    """One setting: its name, what it guarantees in words, and what it costs.

    ``share`` is which share of the releases was simulated, to be quick; ``opened`` says that the
    streams are those of an opened trace; ``without`` names the model that the setting leaves out.
    """

    name: str
    guarantee: str
    cost: Cost
    share: float = 1.0
    opened: bool = False
    without: str | None = None

    def sentence(self) -> str:
        """Say what the setting costs, next to the uncalibrated mechanism and one constant point."""
        cost = self.cost
        found = cost.released
        parts = [
            f"Expect a mean error of {length(found.all.value)}, in 80 of 100 cases between "
            f"{length(found.all.low)} and {length(found.all.high)} (the uncalibrated mechanism "
            f"{length(cost.uncalibrated.all.value)}, one constant point "
            f"{length(cost.constant.all.value)})"
        ]
        if found.far is not None and found.near is not None:
            parts.append(
                f"{length(found.far.value)} far from the events, {length(found.near.value)} near "
                "them"
            )
        plainly = {
            "everywhere": " A constant point would do as well or better.",
            "near": " Near the events a constant point would do as well.",
            "nowhere": "",
        }[cost.constant_does]
        exact = percent(found.exact.value)
        return (
            "; ".join(parts) + f".{plainly} {exact} of the steps are released in the true cell."
            f"{self._off_map()}"
        )

    def _off_map(self) -> str:
        """Say what time off the map costs; nothing where nobody is there."""
        off, releases = self.cost.off_map, self.cost.releases
        if not releases or not (off.steps or off.wrongly):
            return ""
        shown = percent(off.released / off.steps) if off.steps else "0 %"
        on_map = max(1, releases - off.steps)
        return (
            f" {percent(off.steps / releases)} of the steps are off the map and not in these "
            f"means: {shown} of them are released as off-map, and so are "
            f"{percent(off.wrongly / on_map)} of those on the map."
        )

    def basis(self) -> str:
        """Say what the figures rest on."""
        cost = self.cost
        found = f"From {cost.runs} simulated streams of {cost.steps} releases"
        if self.share < 1.0:
            found += f" ({percent(self.share)} of those of the clock, around the events and far)"
        if cost.steps < cost.of_steps:
            found += f", of {cost.of_steps} that were to be simulated: the time was over"
        if self.opened:
            return (
                f"{found}, on the opened trace without its guarded hours: keep them to yourself. "
                "Nothing was released."
            )
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


def model_costs(rows: Sequence[Row]) -> list[str]:
    """Say what each model of a family costs: the first row is the policy, others are without one.

    Nothing where the policy has one model, or the rows are not there.
    """
    here, found = rows[0].cost.released.all.value, []
    for row in rows[1:]:
        if row.without is not None:
            more = here - row.cost.released.all.value
            much = "nearly nothing" if more < 0.02 * here else f"{length(more)} of that"
            found.append(f"Guarding {AGAINST.get(row.without, row.without)} costs {much}.")
    return found


@dataclass(frozen=True, eq=False)
class Trial:
    """How a policy and its neighbours are simulated: the steps, the people and the random numbers.

    ``released`` (T,) are the steps that a run would release at, and ``near_share`` is the share of
    near ones among them; ``steps`` and ``most`` are those of :func:`followed_steps`. Streams end
    before step ``end``. A ``dense`` trace is followed as :func:`unbroken_steps` says.
    """

    policy: Policy
    released: Flags
    seed: int
    near_share: float
    end: int
    steps: int | None = None
    most: int = MOST_RELEASES
    opened: OpenedTrace | None = None
    dense: bool = False

    @classmethod
    def of(
        cls,
        policy: Policy,
        trace: Trace | None = None,
        *,
        seed: int = 1,
        steps: int | None = None,
        most: int = MOST_RELEASES,
    ) -> Trial:
        """Return the trial of a policy, on the opened trace of somebody if one is given.

        Personal places that are not stated are where people usually are.
        """
        opened = None
        policy = somewhere(policy)
        if trace is not None:
            policy = policy.for_user(trace)
            opened = OpenedTrace.of(policy, trace)
        released = np.ones(policy.steps, dtype=np.bool_) if opened is None else opened.released
        if not released.any():
            raise InvalidParameter(
                "must have a fix while the clock of the policy runs, outside its guarded hours",
                parameter="trace",
                owner="forecast",
                hint="Forecast without it.",
            )
        near = near_events(
            policy.steps,
            [each.event for each in policy.events.values()],
            near_reach(policy.timeline.step.total_seconds()),
        )
        share = float(near[released].mean())
        dense = opened is not None and steps is None and released.sum() > DENSE * most
        most = 2 * most if dense else most
        return cls(policy, released, seed, share, policy.steps, steps, most, opened, dense)

    def runs(self, asked: int) -> int:
        """Return how many streams to simulate: of a dense trace half as many, twice as long."""
        return max(FEWEST_RUNS, asked // 2) if self.dense else asked

    def within(self, seconds: float | None, streams: int) -> Trial:
        """Return the trial with as many releases of a stream as this many streams have time for.

        A few releases are timed for that. It has ``FEWEST_RELEASES`` at least.
        """
        if seconds is None or self.steps is not None:
            return self
        few = replace(self, most=PROBED)
        times: list[float] = []
        probe = few.simulation(Neighbour("", "", self.policy), lambda: times.append(thread_time()))
        probe.add(1, seconds)
        if len(times) <= PROBED // 2:
            return self
        later = times[PROBED // 4 :]  # loading and compiling with the first ones: not counted
        each = max((later[-1] - later[0]) / max(1, len(later) - 1), 1e-6)
        most = int(seconds / (streams * each))
        return replace(self, most=min(self.most, max(most, FEWEST_RELEASES)))

    def followed(self, run: int = 0) -> Flags:
        """Return (T,) the steps at which a stream is followed."""
        if self.dense:
            flags = unbroken_steps(self.policy, self.released, self.most, run)
        else:
            flags, _ = followed_steps(self.policy, self.released, self.steps, self.most, run)
        return flags & (np.arange(self.policy.steps) < self.end)

    def simulation(self, each: Neighbour, on_step: Callable[[], None] | None = None) -> Simulation:
        """Return the simulation of one setting."""
        _, events = followed_steps(self.policy, self.released, self.steps, self.most)
        return Simulation(
            each.policy,
            lambda run: every(self.followed(run), each.every),
            seed=self.seed,
            events=[event.event for event in events],
            near_share=self.near_share,
            opened=self.opened,
            left_out=1.0 - self.share if self.dense else 0.0,
            on_step=on_step,
        )

    def row(self, each: Neighbour, cost: Cost) -> Row:
        """Return the row of a setting."""
        opened = self.opened is not None
        return Row(each.name, each.guarantee, cost, self.share, opened, each.without)

    @property
    def share(self) -> float:
        """Which share of the releases is simulated."""
        return float(self.followed().sum() / self.released.sum())


def quick_forecast(
    policy: Policy,
    *,
    trace: Trace | None = None,
    seconds: float | None = QUICK_SECONDS,
    runs: int = QUICK_RUNS,
    seed: int = 1,
    on_progress: OnProgress | None = None,
) -> Row:
    """Return what the policy as it is will cost, within about ``seconds`` of computing.

    Where the time is over before the steps are, the row is about the steps that were reached
    (``cost.steps`` of ``cost.of_steps``); how many depends on the machine. With a ``trace`` the
    streams are of that person, without what happened in guarded hours. ``on_progress`` (done,
    total) is called after every release; to cancel, raise from it: what it raises passes through.
    """
    found = forecast(
        policy,
        trace=trace,
        runs=runs,
        releases=QUICK_RELEASES,
        seed=seed,
        neighbours=False,
        seconds=seconds,
        on_progress=on_progress,
    )
    return found.rows[0]


def refined_forecast(
    policy: Policy,
    *,
    trace: Trace | None = None,
    runs: int = REFINED_RUNS,
    seconds: float = REFINED_SECONDS,
    first_seconds: float = PATIENT_SECONDS,
    seed: int = 1,
    on_trial: OnProgress | None = None,
) -> Iterator[Row]:
    """Yield what the policy will cost from two streams, then from two more, and so on.

    The first row comes as soon as there is one, and the last rests on ``runs`` streams, or on as
    many as were begun within ``seconds`` of computing. Rows are those of :func:`quick_forecast`
    with this many runs. After them come those of the policy without each of its models but the
    first, from two streams: see :func:`model_costs`. The first two streams may take
    ``first_seconds``; ``on_trial`` (done, total) is called after each release. What it raises
    passes through.
    """
    fewer = QUICK_RELEASES * SMALL_MAP // policy.grid.size
    most = min(QUICK_RELEASES, max(LEAST_REFINED, fewer))
    trial = Trial.of(policy, trace, seed=seed, most=most)
    chosen = next(neighbours_of(trial.policy))
    total, done = FEWEST_RUNS * int(trial.followed().sum()), 0
    began = thread_time()

    def tried() -> None:
        nonlocal done
        done += 1
        if on_trial is not None:
            on_trial(min(done, total), total)

    simulation = trial.simulation(chosen, tried)
    simulation.add(FEWEST_RUNS, first_seconds)
    while True:
        yield trial.row(chosen, simulation.cost())
        more = min(FEWEST_RUNS, runs - simulation.runs)
        if more <= 0 or thread_time() - began > seconds:
            break
        simulation.add(more)
    usual, same = simulation.cost(), simulation.cost(FEWEST_RUNS)
    trial = replace(trial, end=simulation.end)
    for each in without_models(trial.policy):
        simulation, done = trial.simulation(each, tried), 0
        simulation.add(FEWEST_RUNS)
        yield trial.row(each, simulation.cost().beside(usual, same))


def forecast(
    policy: Policy,
    *,
    trace: Trace | None = None,
    runs: int = DEFAULT_RUNS,
    neighbour_runs: int = NEIGHBOUR_RUNS,
    releases: int = MOST_RELEASES,
    seed: int = 1,
    steps: int | None = None,
    neighbours: bool | Literal["models"] = True,
    seconds: float | None = None,
    on_progress: OnProgress | None = None,
    on_row: Callable[[Row], None] | None = None,
) -> Forecast:
    """Simulate streams under a policy and its neighbours, and measure them in metres.

    Nothing is released. People are drawn from the policy's own model, or with a ``trace`` it is
    that person, without what happened in guarded hours. Neighbours are tried on the first
    ``neighbour_runs`` streams of the policy, with the same random numbers; their figures are those
    of the policy, changed by how these streams differ; with ``"models"`` they are the policy
    without each of its models but the first. A stream has about ``releases`` releases; unless
    ``steps`` asks for that many first steps of the clock, see :func:`followed_steps`. With
    ``seconds`` of computing streams have fewer releases where that would take longer; how many
    depends on the machine. After Ctrl-C the forecast is made of the streams that are done, if there
    are two. ``on_row`` is called with the first two streams of the policy.
    """
    if runs < FEWEST_RUNS:
        raise InvalidParameter(
            f"must be at least {FEWEST_RUNS}", parameter="runs", owner="forecast", value=runs
        )
    trial = Trial.of(policy, trace, seed=seed, steps=steps, most=releases)
    runs = trial.runs(runs)
    listed = neighbours_of(trial.policy)
    settings = [next(listed)]
    if neighbours:
        settings += without_models(trial.policy) if neighbours == "models" else listed
    few = min(runs, max(FEWEST_RUNS, neighbour_runs))
    wanted = [runs, *[few] * (len(settings) - 1)]
    trial = trial.within(seconds, sum(wanted))
    count = _Count(on_progress, sum(wanted) * int(trial.followed().sum()))
    rows: list[Row] = []
    first: Simulation | None = None
    for each, number in zip(settings, wanted, strict=True):
        share = None
        if seconds is not None and first is None:
            share = LENIENT * seconds * runs / sum(wanted)
        if not every(trial.followed(), each.every).any():
            continue
        simulation = trial.simulation(each, count.more)
        interrupted = False
        try:
            while simulation.runs < number:
                group = min(number - simulation.runs, FEWEST_RUNS + number % FEWEST_RUNS)
                simulation.add(group, None if share is None else share * group / number)
                if on_row is not None and first is None and simulation.runs == group < number:
                    on_row(trial.row(each, simulation.cost()))
        except KeyboardInterrupt:
            if not rows and not simulation.runs:
                raise
            interrupted = True
        if simulation.runs:
            cost = simulation.cost()
            if first is not None:
                cost = cost.beside(rows[0].cost, first.cost(simulation.runs))
            rows.append(trial.row(each, cost))
        if interrupted:
            return Forecast(tuple(rows), seed, complete=False)
        if first is None:  # all settings are about the steps that the first one reached
            first = simulation
            trial = replace(trial, end=simulation.end)
    return Forecast(tuple(rows), seed)


class _Count:
    """Counts releases, and says how many are done and of how many."""

    def __init__(self, on_progress: OnProgress | None, total: int) -> None:
        self._on_progress, self._total, self._done = on_progress, total, 0

    def more(self) -> None:
        """Say that one more is done."""
        self._done += 1
        if self._on_progress is not None:
            self._on_progress(self._done, max(self._done, self._total))


def followed_steps(
    policy: Policy,
    released: Flags,
    steps: int | None = None,
    most: int = MOST_RELEASES,
    run: int = 0,
) -> tuple[Flags, tuple[PolicyEvent, ...]]:
    """Return (T,) at which of the ``released`` steps a forecast releases, and around which events.

    The first ``steps``, or all, if they are no more than ``most``. Of more, those near the first
    occurrence of each event that has any, at most half of ``most`` (every so many of them), and far
    from all events stretches of ``FAR_HOURS``, or of half of ``most``, evenly over the clock,
    others for each ``run``. At other steps a forecast is silent.
    """
    occurrences: dict[str, PolicyEvent] = {}
    for each in policy.events.values():
        occurrences.setdefault(each.name, each)
    first = tuple(occurrences.values())
    if steps is not None:
        if not 1 <= steps <= policy.steps:
            raise InvalidParameter(
                f"must be 1 to {policy.steps}, as many as the policy's clock has",
                parameter="steps",
                owner="forecast",
                value=steps,
            )
        return released & (np.arange(policy.steps) < steps), first
    if released.sum() <= most:
        return released, first
    seconds = policy.timeline.step.total_seconds()
    reach = near_reach(seconds)
    followed = np.zeros(policy.steps, dtype=np.bool_)
    chosen: dict[str, PolicyEvent] = {}
    for each in policy.events.values():
        near = near_events(policy.steps, [each.event], reach) & released
        if each.name not in chosen and near.any():
            chosen[each.name] = each
            followed |= near
    followed = every(followed, math.ceil(followed.sum() / (most / 2)) or 1)
    far = released & ~near_events(
        policy.steps, [each.event for each in policy.events.values()], reach
    )
    length = max(1, min(round(FAR_HOURS * 3600 / seconds), most // 2))
    blocks = [
        kept
        for begin in range(0, policy.steps, length)
        if (kept := np.flatnonzero(far[begin : begin + length]) + begin).size
    ]
    room = most - int(followed.sum())
    if blocks and room > 0:
        usual = sum(map(len, blocks)) / len(blocks)
        wanted = min(len(blocks), max(1, math.floor(room / usual)))
        shift = run * GOLDEN % 1.0
        for place in np.floor((np.arange(wanted) + shift) * len(blocks) / wanted).astype(int):
            followed[blocks[place]] = True
    return followed, tuple(chosen.values()) or first


def unbroken_steps(policy: Policy, released: Flags, most: int, run: int = 0) -> Flags:
    """Return (T,) at which of the ``released`` steps a forecast on a dense trace releases.

    ``most`` of them, one after the other, from where the steps near an occurrence of an event begin
    (another one for each ``run``). Of the near steps there are at most a third of ``most``, every
    so many of them.
    """
    reach = near_reach(policy.timeline.step.total_seconds())
    places = np.flatnonzero(released)
    near = near_events(policy.steps, [each.event for each in policy.events.values()], reach)
    begins = np.flatnonzero(near[places] & ~np.concatenate([[False], near[places][:-1]]))
    begins = begins[: max(1, int((begins <= len(places) - most).sum()))]
    if begins.size:
        first = int(begins[run % len(begins)])
    else:
        first = int(run * GOLDEN % 1.0 * max(1, len(places) - most))
    later = near[places[first:]]
    stretch = int(np.argmin(later)) if not later.all() else len(later)
    apart = math.ceil(3 * stretch / most) if stretch else 1
    kept = np.concatenate([places[first : first + stretch : apart], places[first + stretch :]])
    flags = np.zeros_like(released)
    flags[kept[:most]] = True
    return flags


def every(flags: Flags, number: int) -> Flags:
    """Return every so many of the flags that are set."""
    kept = np.zeros_like(flags)
    kept[np.flatnonzero(flags)[::number]] = True
    return kept
