"""A stream of observations under one model: the joint probabilities of each row.

The two ways to them, the forward operator and the replay, and the choice between them live
here. A :class:`~priste.quantify.Quantifier` holds one of these per model.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from priste.errors import InvalidParameter
from priste.quantify.joint_probabilities import (
    Floats,
    Integers,
    JointProbabilities,
    relative_error_bound,
)
from priste.quantify.leakage import Leakage
from priste.quantify.lifted import (
    BackwardVectors,
    ForwardOperator,
    LiftedChain,
    Likelihood,
    Record,
    replay,
)
from priste.quantify.scaling import ScaledRows, to_shared_exponent
from priste.quantify.stream_snapshot import StreamSnapshot, check_snapshot, layout_digest

if TYPE_CHECKING:
    from priste.events import Guarded
    from priste.mobility import MarkovModel
    from priste.quantify.lifted import StartRows


_LEAST_FLOAT = 2.0**-1074


def assembled(
    prior_rows: Floats,
    values: Floats,
    exponent: Integers,
    lost: bool,
    relative_error: float,
    backward_error: float,
    has_rest: bool,
) -> JointProbabilities:
    """Build joint probabilities from priors (C, rows) and values (rows, C) or (rows, C, k).

    ``values``, ``exponent`` and ``lost`` are as :func:`~priste.quantify.scaling.to_shared_exponent`
    returns them; the numbers come from sums of products of checked ones, so that nothing is left to
    check.
    ``backward_error`` is the absolute error of Pr(answer | world, state). A joint probability is a
    mass times that, the masses of a row add up to the sum of b over the C answers, and the largest
    b is below 1 in mantissa units: so each b is off by at most C times it.
    """
    absolute = len(prior_rows) * backward_error * (1.0 + 2.0 * relative_error)
    if backward_error > 0.0:
        absolute += _LEAST_FLOAT  # the line above may itself have rounded down
    if lost:
        absolute += _LEAST_FLOAT
    return JointProbabilities.of_checked(
        prior_rows,
        np.moveaxis(values, 1, 0),
        exponent,
        relative_error,
        absolute,
        has_rest,
    )


def weighted_sum(weights: Floats, values: Floats, exponent: Integers) -> tuple[float, int]:
    """Return mantissa and exponent of ``sum(weights * values * 2**exponent)``; (0.0, 0) for 0."""
    used = (weights > 0.0) & (values > 0.0)
    if not used.any():
        return 0.0, 0
    mantissa, binary = np.frexp(values[used])
    place = exponent[used] + binary
    top = int(place.max())
    shift = np.maximum(place - top, -3000).astype(np.int32)
    total, carry = math.frexp(float(np.ldexp(mantissa, shift) @ weights[used]))
    return total, carry + top


def log_ratio(upper: tuple[float, int], lower: tuple[float, int]) -> float:
    """Return ln(upper / lower) of two (mantissa, exponent); lower > 0. Exactly 0 when equal."""
    if upper[0] == 0.0:
        return -math.inf
    return math.log(upper[0] / lower[0]) + (upper[1] - lower[1]) * math.log(2.0)


@dataclass(frozen=True)
class PriorSums:
    """a and b of each answer under one prior, each as (mantissa, exponent)."""

    prior: tuple[tuple[float, int], ...]
    joint: tuple[tuple[float, int], ...]
    has_rest: bool

    @classmethod
    def of(cls, joint: JointProbabilities, weights: Floats) -> PriorSums:
        """Mix the rows of ``joint`` with ``weights``."""
        plain = np.zeros(joint.rows, dtype=np.int64)
        return cls(
            tuple(weighted_sum(weights, each, plain) for each in joint.prior),
            tuple(weighted_sum(weights, each, joint.exponent) for each in joint.joint),
            joint.has_rest,
        )

    @property
    def possible(self) -> bool:
        """Whether the releases have positive probability."""
        return any(mantissa for mantissa, _ in self.joint)

    def log_likelihoods(self) -> tuple[float, ...]:
        """Return ln Pr(o | answer) of each answer, which must have positive probability."""
        return tuple(map(log_ratio, self.joint, self.prior))

    def posteriors(self) -> tuple[float, ...]:
        """Return Pr(answer | o) of each answer; the releases must have positive probability."""
        shares = self._shares()
        return tuple(share / sum(shares) for share in shares)

    def posterior(self) -> float:
        """Return Pr(EVENT | o), or that of any answer but the last, as :meth:`posteriors`."""
        *happened, did_not = self._shares()
        return sum(happened) / (sum(happened) + did_not)

    def _shares(self) -> list[float]:
        """Return Pr(answer, o) of each answer, all times one power of two."""
        top = max(exponent for mantissa, exponent in self.joint if mantissa)
        return [
            math.ldexp(mantissa, max(exponent - top, -3000)) for mantissa, exponent in self.joint
        ]

    def log_likelihood_ratio(self, first: int, second: int) -> float:
        """Return ln of Pr(o | first) / Pr(o | second), 0 where there is nothing to learn."""
        if not (self.prior[first][0] and self.prior[second][0]):
            return 0.0
        if not (self.joint[first][0] or self.joint[second][0]):
            return 0.0
        here, there = (log_ratio(self.joint[k], self.prior[k]) for k in (first, second))
        return here - there


def known_prior_leakage(sums: PriorSums) -> Leakage:
    """Return the log-likelihood ratio under one prior, in both directions.

    Where the prior leaves nothing to learn (it makes the event certain or impossible, or
    the releases impossible) both directions are 0: no prior of this kind ever breaks a
    guarantee. The ratio is plain arithmetic: off by a few times the relative error.
    """
    last = len(sums.prior) - 1
    most, up, down, worst = -math.inf, -math.inf, -math.inf, (0, 1)
    for first, second in combinations(range(last + 1), 2):
        ratio = sums.log_likelihood_ratio(first, second)
        one_way = sums.has_rest and second == last
        up = max(up, ratio if one_way else abs(ratio))
        down = max(down, 0.0 - ratio if one_way else abs(ratio))
        if abs(ratio) > most:
            most, worst = abs(ratio), (first, second)
    return Leakage(max(up, down), up, down, {}, between=worst)


Method = Literal["auto", "forward", "replay", "stream"]

OPERATOR_BYTES = 2**31
"""Memory above which "auto" and "stream" never build the forward operator of an event and model:
2 GiB, 11,585 cells with two worlds and any start."""

_PASSES = 4
"""Passes over the numbers in each step besides the movement: likelihood and scaling."""

_REMIX = 16
"""Roundings of bringing the numbers of first cells to one scale and back: two per band."""


class ModelStream:
    """b of every answer and row under one model, for the observations so far and for candidates."""

    def __init__(
        self, model: MarkovModel, event: Guarded, starts: StartRows, method: Method, history: bool
    ) -> None:
        self.chain = LiftedChain(model, event)
        self.backward = BackwardVectors(self.chain)
        self.by_start = self.backward.at_start()
        self.by_start.flags.writeable = False
        self._use(starts)
        if method == "stream":
            method = "forward" if self.operator_bytes <= OPERATOR_BYTES else "replay"
            history = method == "replay"
        self._method = method
        self.keeps_history = history
        self.records: list[Record] = []
        self._forgotten = 0  # how many came before the first of them
        self.observed = 0
        self._errors: dict[int, float] = {}  # bounds for the observations so far
        self._inherited = 0.0  # logarithm of the factor by which observations may be off
        self._operator: ForwardOperator | None = None
        self._pending = 0.0  # work to catch the operator up
        self._replay_work = 0.0  # work of one replay of one column
        self._replayed = 0.0  # work spent on replays since the operator was last caught up

    def _use(self, starts: StartRows) -> None:
        self.starts = starts
        rows = starts.mixed(ScaledRows.of(self.by_start))
        self.prior_rows, lost = rows.plain()
        self._start_error = _LEAST_FLOAT if lost else 0.0

    @property
    def step(self) -> int:
        """The number of observations so far."""
        return self._forgotten + len(self.records)

    @property
    def rows(self) -> int:
        return len(self.starts.labels)

    @property
    def absolute_error(self) -> float:
        """What underflow may have taken from Pr(answer | world, state) or Pr(answer | row)."""
        return self.backward.absolute_error + self._start_error

    def copy(self) -> ModelStream:
        """Return an independent stream in the same state; the arrays are shared."""
        twin = copy.copy(self)
        twin.records = list(self.records)
        twin._errors = {}
        return twin

    def with_rows(self, starts: StartRows) -> ModelStream:
        """Return the same stream with other rows, which it computes by replaying its history."""
        twin = self.copy()
        twin._use(starts)
        twin._method = "replay"
        twin._operator = None
        return twin

    def check_step(self, step: int) -> None:
        """Raise ``InvalidParameter`` when the model has no such step."""
        if self.chain.model.horizon is not None:
            self.chain.roundings(step)

    def observe(self, record: Record, relative_error: float = 0.0) -> None:
        """Take in the next observation; its step was checked."""
        forward, back = self._work(self.step)
        self.records.append(record)
        self.observed += record is not None
        self._inherited -= math.log1p(-relative_error)
        self._errors = {}
        self._pending += forward
        self._replay_work += back

    def snapshot(self) -> StreamSnapshot | None:
        """Return what a stream without history remembers; None with one, or before any step."""
        if self.keeps_history or not self.step:
            return None
        layout = layout_digest(self.chain, self.starts.labels, self.step)
        rows = self._caught_up().rows
        return StreamSnapshot(self.step, self.observed, self._inherited, rows, layout)

    def restored(self, snapshot: StreamSnapshot) -> ModelStream:
        """Return this stream as it was at a snapshot; ValueError if it is of another one."""
        if self.keeps_history:
            raise ValueError("this stream keeps its observations, and needs them")
        check_snapshot(snapshot, self.chain, self.starts.labels)
        twin = self.copy()
        twin.records, twin._forgotten = [], snapshot.step
        twin.observed, twin._inherited = snapshot.observed, snapshot.inherited
        twin._operator = ForwardOperator(self.chain, snapshot.rows, snapshot.step)
        twin._pending = twin._replayed = twin._replay_work = 0.0
        return twin

    # ------------------------------------------------------------------ joint probabilities

    def joint_probabilities(self) -> JointProbabilities:
        """Return a and b for the observations so far."""
        return self._assembled(to_shared_exponent(*self._joint()), self.relative_error(0))

    def remixed(self, starts: StartRows) -> JointProbabilities:
        """Return the same for other rows; those of this stream must be first cells."""
        mantissa, exponent = self._joint()
        by_cell = np.zeros((self.chain.answers, self.chain.model.grid.size))
        places = np.zeros(by_cell.shape, dtype=np.int64)
        by_cell[:, self.starts.labels] = mantissa.T
        places[:, self.starts.labels] = exponent.T
        twin = self.with_rows(starts)
        mixed, binary = starts.mixed(ScaledRows.from_entries(by_cell, places)).entries()
        joint = to_shared_exponent(mixed.T, binary.T)
        return twin._assembled(joint, twin.relative_error(0, _REMIX))

    def _joint(self) -> tuple[Floats, Integers]:
        """Return mantissas and exponents (rows, answers) of b."""
        if not self.observed:  # silence tells nothing: b = a, exactly
            mantissa, binary = np.frexp(self.prior_rows.T)
            return mantissa, binary.astype(np.int64)
        if self.goes_forward(1, candidates=False):
            return self._caught_up().joint(self.backward)
        mantissa, exponent = self._replayed_rows(None)
        return mantissa[:, :, 0], exponent[:, :, 0]

    def candidate_joint(self, columns: Likelihood) -> JointProbabilities:
        """Return a and b if the next observation were one of k columns (cells, k)."""
        candidates = columns.values
        if self.goes_forward(candidates.shape[1], candidates=True):
            joint = self.operator().times_power(columns.exponent).by_row(candidates)
        else:
            lines = Likelihood(np.ascontiguousarray(candidates.T), columns.exponent)
            joint = to_shared_exponent(*self._replayed_rows(lines))
        return self._assembled(joint, self.relative_error(1))

    def operator(self) -> ScaledRows:
        """Return H (rows, answers, cells): b of the next observation is H times its likelihood."""
        return self._caught_up().candidates(self.backward)

    def _assembled(self, joint: tuple[Floats, Integers, bool], gamma: float) -> JointProbabilities:
        return assembled(self.prior_rows, *joint, gamma, self.absolute_error, self.chain.has_rest)

    def relative_error(self, extra: int, beside: int = 0) -> float:
        """``extra`` is the number of releases beyond those observed: 1 with candidates;
        ``beside`` counts roundings that are not made on the way of every answer."""
        if beside == 0 and extra in self._errors:
            return self._errors[extra]
        chain = self.chain
        steps = max(self.step - 1 + extra, chain.last, 0)
        roundings, row_sums = chain.roundings(steps)
        before, before_sums = self.starts.losses
        step = max(self.step - 1 + extra, 0)
        observations = self.observed + extra
        # Likelihoods and the merging of bands; the sums over worlds and states, over
        # cells for candidates, and over first cells for given priors.
        roundings += before + beside + 3 * observations + 8
        roundings += chain.worlds(step) * chain.model.states(step) + 2 * chain.model.grid.size
        factors = row_sums + before_sums + self._inherited
        bound = relative_error_bound(roundings, factors, observations)
        if beside == 0:
            self._errors[extra] = bound
        return bound

    # ------------------------------------------------------------------ the two methods

    def goes_forward(self, columns: int, *, candidates: bool) -> bool:
        """Decide how to answer about so many columns; a replay is counted as spent."""
        if self._method != "auto":
            return self._method == "forward"
        chain = self.chain
        step = self.step if candidates else self.step - 1
        worlds = chain.worlds(min(step, chain.last))
        if 8 * self.rows * worlds * chain.model.states(step) > OPERATOR_BYTES:
            return False
        ahead, back = self._pending, self._replay_work
        if candidates:
            forward_step, replay_step = self._work(step)
            ahead, back = ahead + forward_step, back + replay_step
        back *= columns
        if ahead - self._replayed <= back:
            return True
        self._replayed += back
        return False

    @property
    def operator_bytes(self) -> int:
        """How much memory the forward operator takes at most."""
        chain = self.chain
        width = max((chain.worlds(step) for step in range(chain.last + 1)), default=1)
        return 8 * self.rows * width * chain.model.states(1)

    def _work(self, step: int) -> tuple[float, float]:
        """Return the multiply-adds of one step: of the operator, and of replaying a column."""
        chain = self.chain
        cost = chain.cost(step) + _PASSES * chain.model.states(step)
        worlds = chain.worlds(step - 1)
        lifted = chain.answers * worlds if step <= chain.last else 1
        return self.rows * worlds * cost, cost * lifted

    def _caught_up(self) -> ForwardOperator:
        operator = self._operator
        if operator is None:
            operator = ForwardOperator.at_start(self.chain, self.starts.distributions())
        for record in self.records[operator.absorbed - self._forgotten :]:
            operator = operator.observed(record)
        self._operator, self._pending, self._replayed = operator, 0.0, 0.0
        if not self.keeps_history:
            self.records, self._forgotten = [], operator.absorbed
        return operator

    def _replayed_rows(self, columns: Likelihood | None) -> tuple[Floats, Integers]:
        """Return mantissas and exponents (rows, answers, k)."""
        back = self.starts.mixed(replay(self.chain, self.backward, self.records, columns))
        mantissa, exponent = back.entries(lambda values: values[:, :, 0, :])
        return mantissa.transpose(2, 1, 0), exponent.transpose(2, 1, 0)


def check_history(method: Method, history: bool) -> None:
    """Refuse an unknown method, and forgetting where a method needs its observations."""
    if method not in ("auto", "forward", "replay", "stream"):
        raise InvalidParameter(
            "The 'method' of Quantifier must be 'auto', 'forward', 'replay' or 'stream'. "
            f"Got {method!r}."
        )
    if not history and method not in ("forward", "stream"):
        raise InvalidParameter(
            "A Quantifier with history=False forgets its observations, which only "
            f"method='forward' can do without. Got method={method!r}."
        )
