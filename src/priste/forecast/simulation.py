"""Simulated streams, released under one policy and measured as runs are. Nothing is published."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from priste.audit.estimates import Estimate, mean
from priste.errors import InvalidParameter
from priste.forecast.simulated_people import OpenedTrace, drawn_person
from priste.randomness import BitSource, bit_source
from priste.results import (
    CONSTANT,
    PRISTE,
    UNCALIBRATED,
    OffMap,
    RunErrors,
    TrueSteps,
    Worth,
    fine_steps,
    person_errors,
)
from priste.results.true_steps import NONE

if TYPE_CHECKING:
    from priste.events import Guarded
    from priste.policy import Policy

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FEWEST_RUNS = 2
"""An interval needs two runs."""

INTERVAL = 0.8
"""The mean error of a run lies in the interval of a forecast with this probability."""

NO_BETTER = 0.95
"""From this share of a constant point's error on, releases are no better: forecasts are rough."""

USUAL_SPREAD = 0.12
SPREAD_COUNTS = 4
"""The usual spread of ln(mean error) from stream to stream, and as how many streams it counts
next to those of the forecast."""

DRAWN_SPREAD, DRAWN_SPREAD_NEAR = 0.15, 0.55
OPENED_SPREAD, OPENED_SPREAD_NEAR = 0.0, 0.35
DENSE_SPREAD = 0.4
"""By how much more ln(mean error) spreads from person to person than over the streams of one
forecast, everywhere and near the events: around people drawn from the model, and around an opened
trace, whose guarded hours are not read. Chosen on the people ``SEEN`` of
``python -m benchmarks.forecasts``. Of a dense trace a part is followed: the spread is times the
share that is not. Five runs of one person with 896 releases spread by 0.5."""

OnStep = Callable[[], None]


@dataclass(frozen=True)
class Metres:
    """Mean errors in metres of simulated streams: of the whole clock, near and far from events.

    Each has the interval in which the mean error of a run lies in 80 of 100 cases. ``near`` and
    ``far`` are None where no step is. ``exact`` is the share of steps whose released cell is the
    true one, with its 95 % interval.
    """

    all: Estimate
    near: Estimate | None
    far: Estimate | None
    exact: Estimate

    def times(self, other: Metres, base: Metres) -> Metres:
        """Return these means changed as ``other`` differs from ``base``, on the same streams."""
        return Metres(
            _times(self.all, other.all, base.all) or other.all,
            _times(self.near, other.near, base.near),
            _times(self.far, other.far, base.far),
            other.exact,
        )


def _times(mine: Estimate | None, other: Estimate | None, base: Estimate | None) -> Estimate | None:
    if mine is None or other is None or base is None or not base.value > 0:
        return other
    factor = other.value / base.value
    return Estimate(mine.value * factor, mine.low * factor, mine.high * factor)


@dataclass(frozen=True)
class Cost:
    """What a policy costs: ``released`` under it, ``uncalibrated``, and one ``constant`` point.

    The constant point is the one that is best for each person's whole time up to the last release,
    the steps between the released ones included. ``beyond_constant`` is how many metres farther off
    releases are than that, stream by stream, with its 95 % interval; ``leakage``
    maps each event to the largest figure that a release of any stream had. ``steps`` is how many
    steps of each stream were released, ``of_steps`` how many were to be: fewer are when the time
    was over. ``happened`` is to how many of the people a guarded event happened. ``off_map`` are
    the steps off the map, over all streams, of ``releases`` releases.
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
    off_map: OffMap = field(default_factory=OffMap)
    releases: int = 0

    def beside(self, usual: Cost, same: Cost) -> Cost:
        """Return this cost of few streams on the scale of another setting's, known from more.

        ``usual`` is that of all its streams, and ``same`` that of the streams of this one.
        """
        return replace(
            self,
            released=usual.released.times(self.released, same.released),
            uncalibrated=usual.uncalibrated.times(self.uncalibrated, same.uncalibrated),
            constant=usual.constant.times(self.constant, same.constant),
        )

    @property
    def over_constant(self) -> float:
        """The mean error as a share of that of one constant point; nan if that is 0."""
        other = self.constant.all.value
        return self.released.all.value / other if other > 0 else math.nan

    @property
    def constant_does(self) -> Literal["everywhere", "near", "nowhere"]:
        """Where a constant point would be as good or better: over all steps, near the events."""
        if self.over_constant >= NO_BETTER:
            return "everywhere"
        near, constant = self.released.near, self.constant.near
        if near is None or constant is None or near.value < NO_BETTER * constant.value:
            return "nowhere"
        return "near"


def predictive(values: Sequence[float], more: float = 0.0) -> Estimate:
    """Return the middle of mean errors, and where that of a run lies in 80 of 100 cases.

    Errors are taken for log-normal, so the middle is their geometric mean: a run is as often above
    it as below. The spread of few values is uncertain, so ``USUAL_SPREAD`` counts as
    ``SPREAD_COUNTS`` more (a scaled inverse χ² prior, which makes the interval that of Student's
    t). ``more`` is what real people add to it.

    >>> found = predictive([100.0, 200.0, 400.0])
    >>> round(found.value), round(found.low), round(found.high)
    (200, 101, 397)
    """
    from scipy.special import stdtrit

    found = np.array([value for value in values if not math.isnan(value)], dtype=np.float64)
    if not found.size:
        return Estimate(math.nan, math.nan, math.nan)
    mean_error = float(found.mean())
    if not mean_error > 0:
        return Estimate(mean_error, mean_error, mean_error)
    shares = np.log(np.maximum(found, 1e-3 * mean_error) / mean_error)
    middle = mean_error * math.exp(float(shares.mean()))
    count, freedom = len(found), SPREAD_COUNTS + len(found) - 1
    squares = SPREAD_COUNTS * USUAL_SPREAD**2 + float(((shares - shares.mean()) ** 2).sum())
    spread = math.sqrt(squares / freedom * (1 + 1 / count) + more**2)
    half = float(stdtrit(freedom, (1 + INTERVAL) / 2)) * spread
    return Estimate(middle, middle * math.exp(-half), middle * math.exp(half))


class Simulation:
    """Streams under one policy, some more of them whenever they are asked for.

    There is a release at the steps of ``followed`` (T,), which may depend on the number of the
    stream; at others the stream is silent. ``events`` happen in turn to every second person that
    is drawn. ``near_share`` is the share of near steps
    in the time by which "everywhere" is weighed. With an ``opened`` trace every stream is of that
    person; of a dense one the share ``left_out`` of its releases is not followed. Equal seeds
    give equal people and draws.
    """

    def __init__(
        self,
        policy: Policy,
        followed: Flags | Callable[[int], Flags],
        *,
        seed: int,
        events: Sequence[Guarded] = (),
        near_share: float | None = None,
        opened: OpenedTrace | None = None,
        left_out: float = 0.0,
        on_step: OnStep | None = None,
    ) -> None:
        self._policy = policy
        self._followed = followed if callable(followed) else lambda _: followed
        if not self._followed(0).any():
            raise InvalidParameter(
                "must hold at least one step with a release",
                parameter="followed",
                owner="Simulation",
            )
        self._end = policy.steps
        self._seed, self._events = seed, list(events)
        self._near_share = near_share
        self._opened = opened
        self._left_out = left_out
        self._on_step = on_step
        self._ways: list[dict[str, Worth]] = []
        self._leakage = dict.fromkeys(policy.events, 0.0)
        self._happened = 0
        self._off_map = OffMap()
        self._releases = 0

    @property
    def runs(self) -> int:
        """How many streams are done."""
        return len(self._ways)

    @property
    def end(self) -> int:
        """The step before which streams end, as the time was over: that of the clock otherwise."""
        return self._end

    def add(self, runs: int, seconds: float | None = None) -> None:
        """Release this many more streams; the first end ``seconds`` after their first release."""
        first = self.runs == 0
        streams = [self._stream(run) for run in range(self.runs, self.runs + runs)]
        self._end = self._release(streams, seconds if first else None)
        for stream in streams:
            errors = person_errors(self._policy, *stream.measured())
            # Of the short stretches that are released, one point is nearly always near: it would
            # seem better than any is for a whole week.
            whole = fine_steps(self._policy, stream.whole())
            errors = replace(errors, fine=whole) if errors.released.steps.sum() else errors
            self._releases += stream.releases
            total = RunErrors(self._policy.grid)
            total.add([errors])
            self._ways.append(total.ways())
            self._off_map = self._off_map + errors.off_map
            self._leakage = {k: max(v, stream.leakage[k]) for k, v in self._leakage.items()}
            self._happened += stream.happened

    def _stream(self, run: int) -> _Stream:
        bits = _bits(self._seed, run, 0)
        if self._opened is not None:
            person = self._opened.person(bits)
        else:
            # Somebody who guards an event is likely to take part in it, and errors are largest
            # then: it happens to every second person, where such a one is found.
            odd = run % 2 == 1 and bool(self._events)
            event = self._events[run // 2 % len(self._events)] if odd else None
            person = drawn_person(self._policy, bits, event)
        followed = self._followed(run)
        return _Stream(self._policy, person, followed, _bits(self._seed, run, 1))

    def _release(self, streams: Sequence[_Stream], seconds: float | None) -> int:
        """Release streams side by side; return the step before which they ended."""
        over = math.inf
        for step in range(self._end):
            at_step = [stream for stream in streams if stream.followed[step]]
            for stream in at_step:
                stream.release(step)
                if self._on_step is not None:
                    self._on_step()
            if at_step and seconds is not None and math.isinf(over):
                over = thread_time() + seconds  # loading and compiling with the first: not counted
            if thread_time() >= over:
                return step + 1
        return self._end

    def cost(self, runs: int | None = None) -> Cost:
        """Return what all streams so far cost, or the first of them; two at least."""
        ways = self._ways[:runs]
        pairs = [(each[PRISTE], each[CONSTANT]) for each in ways if PRISTE in each]
        return Cost(
            runs=len(ways),
            steps=int(self._followed(0)[: self._end].sum()),
            of_steps=int(self._followed(0).sum()),
            released=self._metres(ways, PRISTE),
            uncalibrated=self._metres(ways, UNCALIBRATED),
            constant=self._metres(ways, CONSTANT),
            beyond_constant=_mean(
                self._everywhere(one) - self._everywhere(two) for one, two in pairs
            ),
            leakage=self._leakage,
            happened=self._happened,
            off_map=self._off_map,
            releases=self._releases,
        )

    def _metres(self, ways: Sequence[Mapping[str, Worth]], name: str) -> Metres:
        found = [each[name] for each in ways if name in each]
        more, more_near = DRAWN_SPREAD, DRAWN_SPREAD_NEAR
        if self._opened is not None:
            more, more_near = OPENED_SPREAD, OPENED_SPREAD_NEAR
        if self._left_out:
            more = DENSE_SPREAD * self._left_out
        near, far = ([getattr(worth, side) for worth in found] for side in ("near", "far"))
        return Metres(
            all=predictive([self._everywhere(worth) for worth in found], more),
            near=None if np.isnan(near).all() else predictive(near, more_near),
            far=None if np.isnan(far).all() else predictive(far, more),
            exact=_mean(worth.exact for worth in found),
        )

    def _everywhere(self, worth: Worth) -> float:
        share = self._near_share
        if share is None or math.isnan(worth.near) or math.isnan(worth.far):
            return worth.everywhere
        return share * worth.near + (1 - share) * worth.far


def _mean(values: Iterable[float]) -> Estimate:
    found = [value for value in values if not math.isnan(value)]
    if len(found) > 1:
        return mean(found)
    value = found[0] if found else math.nan
    return Estimate(value, value, value)


class _Stream:
    """What is released about one person."""

    def __init__(self, policy: Policy, truth: TrueSteps, followed: Flags, bits: BitSource) -> None:
        self._truth = truth
        self.followed = followed
        self._protector = policy.protector(rng=bits)
        self._released: dict[int, int | None] = {}
        self._chances: dict[int, Floats] = {}
        self.leakage = dict.fromkeys(policy.events, 0.0)
        self.happened = any(_happens(each.event, truth) for each in policy.events.values())

    def release(self, step: int) -> None:
        """Release at one step; steps that were passed over are silent."""
        cell = int(self._truth.cells[step])
        while self._protector.next_step < step:
            self._protector.release(None)
        self._chances[step] = self._protector.node.rule.chances(cell)
        release = self._protector.release(cell)
        self._released[step] = release.cell
        for name, value in zip(self.leakage, release.leakage, strict=True):
            self.leakage[name] = max(self.leakage[name], value)

    @property
    def releases(self) -> int:
        """How many releases there were."""
        return len(self._released)

    def measured(self) -> tuple[TrueSteps, list[int | None], dict[int, Floats]]:
        """Return the truth of the steps, what was released, and what could have been."""
        truth, steps = self._truth, list(self._released)
        off_map = np.zeros(len(truth), dtype=np.bool_)
        off_map[steps] = truth.off_map[steps]
        released = [self._released.get(step) for step in range(len(truth))]
        return TrueSteps(truth.cells, truth.places, off_map), released, self._chances

    def whole(self) -> TrueSteps:
        """Return the truth of every step up to the last release."""
        return self._truth.first(max(self._released, default=-1) + 1)


def _happens(event: Guarded, truth: TrueSteps) -> bool:
    """Return whether an event happens to a person whose cells are all known while it lasts."""
    last = event.last_step or 0
    cells = truth.cells[: last + 1]
    return len(cells) > last and bool((cells != NONE).all()) and event.holds(cells.tolist())


def _bits(seed: int, run: int, purpose: int) -> BitSource:
    return bit_source(np.random.default_rng([seed, run, purpose]))
