"""A stream of observations under one model: the joint probabilities of each row.

The two ways to them, the forward operator and the replay, and the choice between them live
here. A :class:`~priste.quantify.Quantifier` holds one of these per model.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from priste.arguments import check_array, check_choice
from priste.errors import InvalidParameter
from priste.quantify.joint_probabilities import (
    Floats,
    Integers,
    JointProbabilities,
    relative_error_bound,
)
from priste.quantify.lifted import (
    BackwardVectors,
    ForwardOperator,
    LiftedChain,
    Likelihood,
    Record,
    replay,
)
from priste.quantify.scaling import SMALLEST, TOP, Band, ScaledRows, to_shared_exponent

if TYPE_CHECKING:
    from priste.events import Guarded
    from priste.mobility import MarkovModel
    from priste.quantify.lifted import StartRows

_LARGEST_EXPONENT = 2**53
"""Beyond any that a stream could reach: 2**40 steps of the smallest floats."""


_LARGEST_INHERITED = 100.0
"""Nothing is left of a number that may be off by a factor e**100."""


@dataclass(frozen=True, eq=False)
class StreamSnapshot:
    """The forward operator of an event and model after ``step`` observations, to the bit.

    It is all that a stream without history needs to go on, here or on another machine. The numbers
    come from sums and products that were rounded once, wherever that was, so the error bound of a
    stream that goes on from it is the one it would have had: it follows from the counts, and
    ``inherited``.

    ``observed`` of them were not silent; ``inherited`` is the logarithm of the factor by which they
    may be off together. ``rows`` are (rows, worlds, states). ``layout`` is a digest of what those
    three axes mean, so that the numbers are never read as something else.
    """

    step: int
    observed: int
    inherited: float
    rows: ScaledRows
    layout: str

    @property
    def bytes(self) -> int:
        """How much memory the numbers take."""
        return sum(band.nbytes + band.exponent.nbytes for band in self.rows.bands)


def layout_digest(chain: LiftedChain, labels: Integers, step: int) -> str:
    """Return a digest of what rows, worlds and states stand for after ``step`` observations."""
    worlds = [
        [layer.step, [sorted(cells) for cells in layer.classes], layer.moves]
        for layer in chain.layers.values()
    ]
    digest = hashlib.sha256(json.dumps([worlds, chain.outcome.tolist()]).encode("ascii"))
    for numbers in (labels, chain.movement.cells(step - 1)):
        digest.update(np.ascontiguousarray(numbers, dtype="<i8").tobytes() + b";")
    return digest.hexdigest()


def check_snapshot(snapshot: StreamSnapshot, chain: LiftedChain, labels: Integers) -> None:
    """Raise ValueError if a snapshot is not one of a stream under this chain with these rows.

    What is checked are its shape and the invariants of scaled rows; not how it came about.
    """
    step = snapshot.step
    known = 0.0 <= snapshot.inherited <= _LARGEST_INHERITED
    if step < 1 or not 0 <= snapshot.observed <= step or not known:
        raise ValueError("its counts are impossible")
    chain.roundings(step - 1)  # refuses a step that the model does not have
    if snapshot.layout != layout_digest(chain, labels, step):
        raise ValueError("its numbers are of other rows, worlds or states")
    shape = (len(labels), chain.worlds(step - 1), chain.movement.states(step - 1))
    if not snapshot.rows.bands:
        raise ValueError("it holds no numbers")
    for each in snapshot.rows.bands:
        band = Band(each.values, each.exponent)
        if band.values.shape != shape or band.exponent.shape != shape[:1]:
            raise ValueError("its numbers have another shape")
        least = band.values.min(where=band.values != 0.0, initial=SMALLEST)
        largest = band.values.max(initial=0.0)
        if not (least >= SMALLEST and largest <= shape[2] * 2.0**TOP):  # NaN is neither
            raise ValueError("its numbers are not scaled")
        if (np.abs(band.exponent) > _LARGEST_EXPONENT).any():
            raise ValueError("its exponents are impossible")


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


Method = Literal["auto", "forward", "replay", "stream"]

OPERATOR_BYTES = 2**31
"""Memory above which "auto" and "stream" never build the forward operator of an event and model:
2 GiB, 11,585 cells with two worlds and any start."""

_PASSES = 4
"""Passes over the numbers in each step besides the movement: likelihood and scaling."""

_REMIX = 16
"""Roundings of bringing the numbers of first cells to one scale and back: two per band."""


_RANGE = 2.0**-1000
"""Least ratio of a positive likelihood to the largest one that can be carried."""

_LARGEST_SHIFT = 1000
"""Powers of two up to here are floats, and so are their inverses."""


def _scaled(array: Floats, name: str, owner: str) -> Likelihood:
    """Take out a power of two so that the largest value lies in [0.5, 1). Exact."""
    largest = float(array.max(initial=0.0))
    if largest == 0.0:
        return Likelihood(array.copy(), 0)
    if largest > 1.0:
        least = float(np.min(array, where=array > 0.0, initial=np.inf))
        if least / largest < _RANGE:
            raise InvalidParameter(
                "must not span more than a factor 2**1000",
                parameter=name,
                owner=owner,
                got=f"{least!r} to {largest!r}",
            )
    exponent = math.frexp(largest)[1]
    if abs(exponent) < _LARGEST_SHIFT:  # a product with a power of two, as ldexp, and quicker
        return Likelihood(array * 2.0**-exponent, exponent)
    return Likelihood(np.ldexp(array, -exponent), exponent)


def checked_likelihood(values: object, cells: int) -> Likelihood:
    """Validate P(release | cell), one number per cell, densities allowed."""
    name, owner = "likelihood", "Quantifier.observe"
    array = check_array(values, name, owner, (cells,))
    if not array.any():
        raise InvalidParameter(
            "must be positive for some cell: a release that no cell can make was not made",
            parameter=name,
            owner=owner,
            hint="For silence pass None.",
        )
    return _scaled(array, name, owner)


def checked_candidates(values: object, cells: int) -> Floats:
    """Validate candidate likelihoods (cells, k).

    Columns of zeros are allowed: a release that no cell can make is never made.
    """
    return check_array(values, "likelihoods", "candidate releases", (cells, None))


def scaled_candidates(columns: Floats) -> Likelihood:
    """Take a power of two out of validated columns (cells, k); there must be one at least."""
    name, owner = "likelihoods", "candidate releases"
    if columns.shape[1] == 0:
        raise InvalidParameter(
            "must have at least one column", parameter=name, owner=owner, got="none"
        )
    return _scaled(np.ascontiguousarray(columns), name, owner)


class ModelStream:
    """b of every answer and row under one model, for the observations so far and for candidates."""

    def __init__(
        self, model: MarkovModel, event: Guarded, starts: StartRows, method: Method, history: bool
    ) -> None:
        self.chain = LiftedChain(model, event)
        self.backward = BackwardVectors(self.chain)
        self.by_start = self.backward.at_start()
        self.by_start.flags.writeable = False
        self._set_rows(starts)
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

    def _set_rows(self, starts: StartRows) -> None:
        self.starts = starts
        rows = starts.mixed(ScaledRows.of(self.by_start))
        self.prior_rows, lost = rows.plain()
        self._start_error = _LEAST_FLOAT if lost else 0.0

    @property
    def step(self) -> int:
        """Return the number of observations so far."""
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
        twin._set_rows(starts)
        twin._method = "replay"
        twin._operator = None
        return twin

    def check_step(self, step: int) -> None:
        """Raise ``InvalidParameter`` when the model has no such step."""
        if self.chain.movement.horizon is not None:
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
        by_cell = np.zeros((self.chain.answers, self.chain.size))
        places = np.zeros(by_cell.shape, dtype=np.int64)
        by_cell[:, self.starts.labels] = mantissa.T
        places[:, self.starts.labels] = exponent.T
        twin = self.with_rows(starts)
        mixed, binary = starts.mixed(ScaledRows.from_entries(by_cell, places)).entries()
        joint = to_shared_exponent(mixed.T, binary.T)
        return twin._assembled(joint, twin.relative_error(0, _REMIX))

    def _joint(self) -> tuple[Floats, Integers]:
        """Return mantissas and exponents (rows, answers) of b."""
        if not self.observed:  # silence reveals nothing: b = a, exactly
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
            joint = self._caught_up().candidate_rows(self.backward, columns)
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
        """Bound the relative error of b, as :class:`JointProbabilities` states it.

        ``extra`` is the number of releases beyond those observed: 1 with candidates; ``beside``
        counts roundings that are not made on the way of every answer.
        """
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
        roundings += chain.worlds(step) * chain.movement.states(step) + 2 * chain.size
        factors = row_sums + before_sums + self._inherited
        bound = relative_error_bound(roundings, factors, observations)
        if beside == 0:
            self._errors[extra] = bound
        return bound

    # ------------------------------------------------------------------ the two methods

    def goes_forward(self, columns: int, *, candidates: bool) -> bool:
        """Decide how to answer about this many columns; a replay is counted as spent."""
        if self._method != "auto":
            return self._method == "forward"
        chain = self.chain
        step = self.step if candidates else self.step - 1
        worlds = chain.worlds(min(step, chain.last))
        if 8 * self.rows * worlds * chain.movement.states(step) > OPERATOR_BYTES:
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
        return 8 * self.rows * width * chain.movement.states(1)

    def _work(self, step: int) -> tuple[float, float]:
        """Return the multiply-adds of one step: of the operator, and of replaying a column."""
        chain = self.chain
        cost = chain.cost(step) + _PASSES * chain.movement.states(step)
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
    check_choice(method, get_args(Method), "method", "Quantifier")
    if not history and method not in ("forward", "stream"):
        raise InvalidParameter(
            "must be True unless method is 'forward' or 'stream', as others need the observations "
            "again",
            parameter="history",
            owner="Quantifier",
            got=f"{history!r} with method={method!r}",
        )
