"""The nonnegative quantities on which every statement about an event or a secret rests.

Every quantity is a sum of products of nonnegative floats, computed without a subtraction. A
rounding changes a nonnegative number by a factor within ``1 ± u``, ``u = 2**-53``, and sums of
nonnegative numbers keep such factors. So with N roundings on the way from the inputs to a result,
in whatever order a matrix product adds, the result is the exact one times a factor within
``1 ± N u / (1 - N u)``. Fused multiply-adds only round less.

Two more factors separate the floats we were given from the probabilities that are meant: a
transition means its rows divided by their exact sums (``row_sum_error`` each step), and a release
is drawn from the column's rows divided by theirs (``EMISSION_ROW_SUM_ERROR`` each observation). A
likelihood that comes with a relative error of its own brings that as a third. They multiply::

    1 + relative_error
        = (1 + N u / (1 - N u)) * prod(1 + row_sum_error) * (1 + EMISSION_ROW_SUM_ERROR)**releases
          / prod(1 - likelihood_error)

This is Theorem 13 of docs/explanation/proofs.md.

Beliefs: Pr(EVENT | o) <= p under a prior w means w·b <= c w·d with c = p / (1 - p): linear in w, so
every mixture of rows keeps it iff every row does (Theorem 6 of docs/explanation/proofs.md). With
|x̂ - x| <= γ x + δ,

    b <= (b̂ + δ) / (1 - γ),    d >= (d̂ - δ) / (1 + γ),

so b̂ + δ, taken times (1 + γ) / (1 - γ), is compared with c times d̂ - δ. The factors cover the
roundings of both sides, and one more float outwards covers what underflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.mechanisms import ROW_SUM_TOLERANCE

UNIT_ROUNDOFF = 2.0**-53

EMISSION_ROW_SUM_ERROR = ROW_SUM_TOLERANCE
"""What the rows of a mechanism's emission may miss 1 by."""

_BOUND_ITSELF = 1.0 + 2.0**-40
"""Covers the roundings of evaluating the bound itself."""


def relative_error_bound(roundings: int, factors: float, observations: int) -> float:
    """Bound the relative error; ``factors`` is the logarithm of all factors but the roundings.

    ``inf`` when there are so many roundings (2**52) that nothing is left to guarantee.

    >>> relative_error_bound(1000, 0.0, 0) < 1.2e-13
    True
    """
    spent = roundings * UNIT_ROUNDOFF
    if spent >= 0.5:
        return math.inf
    logarithm = (
        math.log1p(spent / (1.0 - spent))
        + factors
        + observations * math.log1p(EMISSION_ROW_SUM_ERROR)
    )
    return math.expm1(logarithm) * _BOUND_ITSELF


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class AnswerRows:
    """The arrays ``prior`` (C, n) and ``joint`` (C, n, ...), with names for an event."""

    prior: Floats
    joint: Floats

    @property
    def prior_event(self) -> Floats:
        """The prior of the first answer, (n,): Pr(EVENT | row) for an event."""
        return np.asarray(self.prior[0])

    @property
    def prior_complement(self) -> Floats:
        """The prior of the second answer, (n,): Pr(not EVENT | row) for an event."""
        return np.asarray(self.prior[1])

    @property
    def event(self) -> Floats:
        """The joint of the first answer."""
        return np.asarray(self.joint[0])

    @property
    def complement(self) -> Floats:
        """The joint of the second answer."""
        return np.asarray(self.joint[1])

    @property
    def rows(self) -> int:
        """The number of rows: first cells or priors."""
        return int(self.prior.shape[1])


@dataclass(frozen=True, eq=False)
class JointProbabilities(AnswerRows):
    """What the model and the releases say about each answer of a secret, one row per start.

    A row is a first cell, or one of K given priors. With releases o, answer c and row i::

        a_ci = Pr(answer c | i)    = prior[c, i]
        b_ci = Pr(answer c, o | i) = joint[c, i] * 2**exponent[i]

    An event has two answers: that it happened (``prior_event``, ``event``) and that it did not
    (``prior_complement``, ``complement``). ``joint`` is (C, n), or (C, n, k) for k candidate
    releases that share the exponent of their row. ``has_rest`` says whether the last answer is
    that nothing happened. All numbers come from sums of products of nonnegative numbers, never
    from a difference, so small values are as accurate as large ones: with x̂ the stored number and
    x the exact one in the same units (mantissa units for b)

        |x̂ - x| <= relative_error * x + absolute_error.

    ``absolute_error`` covers what underflow took away; it is 0 where nothing can
    have underflowed. A row of zeros in ``joint`` is an ordinary
    row: the releases exclude that start, up to ``absolute_error``.

    The arrays are kept as read-only views. Shapes, signs and finiteness are checked
    here once.

    >>> m = JointProbabilities(np.array([[0.5], [0.5]]), np.array([[0.25], [0.75]]),
    ...             np.array([-3]), 1e-15, 0.0)
    >>> m.answers, m.rows, m.candidates
    (2, 1, None)
    """

    prior: Floats
    joint: Floats
    exponent: Integers
    relative_error: float
    absolute_error: float
    has_rest: bool = True

    def __post_init__(self) -> None:
        prior, joint = np.shape(self.prior), np.shape(self.joint)
        shapes_fit = (
            len(prior) == 2
            and prior[0] >= 2
            and prior[1] >= 1
            and np.shape(self.exponent) == prior[1:]
            and len(joint) in (2, 3)
            and joint[:2] == prior
        )
        if not shapes_fit:
            raise InvalidParameter(
                "must be 'prior' (C, n) with C >= 2 and n >= 1, 'joint' (C, n) or (C, n, k), and "
                "'exponent' (n,)",
                parameter="arrays",
                owner="JointProbabilities",
                got=f"shapes {prior}, {joint} and {np.shape(self.exponent)}",
            )
        for name in ("prior", "joint"):
            array = np.asarray(getattr(self, name), dtype=np.float64)
            # NaN fails the first comparison
            if not (array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < np.inf):
                raise InvalidParameter(
                    "must be finite and >= 0 everywhere (probabilities or densities)",
                    parameter=name,
                    owner="JointProbabilities",
                )
            self._keep(name, array)
        self._keep("exponent", np.asarray(self.exponent, dtype=np.int64))
        for name in ("relative_error", "absolute_error"):
            bound = getattr(self, name)
            if math.isnan(bound) or bound < 0:
                raise InvalidParameter(
                    "must be >= 0 (it bounds an error)",
                    parameter=name,
                    owner="JointProbabilities",
                    value=bound,
                )

    @classmethod
    def of_checked(
        cls,
        prior: Floats,
        joint: Floats,
        exponent: Integers,
        relative_error: float,
        absolute_error: float,
        has_rest: bool = True,
    ) -> JointProbabilities:
        """Make them of float64 and int64 arrays that are known to keep the rules above."""
        made = object.__new__(cls)
        for name, array in (("prior", prior), ("joint", joint), ("exponent", exponent)):
            made._keep(name, array)
        object.__setattr__(made, "relative_error", relative_error)
        object.__setattr__(made, "absolute_error", absolute_error)
        object.__setattr__(made, "has_rest", has_rest)
        return made

    def _keep(self, name: str, array: NDArray[np.float64] | Integers) -> None:
        view = array.view()
        view.flags.writeable = False
        object.__setattr__(self, name, view)

    @property
    def answers(self) -> int:
        """The number of answers; 2 for an event."""
        return len(self.prior)

    @property
    def columns(self) -> int:
        """The number of candidate releases; one set of releases counts as one."""
        return int(self.joint.shape[2]) if self.joint.ndim == 3 else 1

    @property
    def candidates(self) -> int | None:
        """The number of candidate releases, or None when there is one set of releases."""
        return int(self.joint.shape[2]) if self.joint.ndim == 3 else None

    def compared(
        self, first: Sequence[int], second: Sequence[int]
    ) -> tuple[JointProbabilities, Integers | None]:
        """Return "one of the first answers" and "one of the second" as an event and its negation.

        With them the numbers of the rows that are left, None for all: a row in which neither is
        possible has no part in any comparison. Where underflow may have taken a probability away,
        rows stay, with the largest probability that may be missing.
        """
        if self.answers == 2 and (*first, *second) == (0, 1):
            return self, None
        prior = np.stack([_summed(self.prior, first), _summed(self.prior, second)])
        joint = np.stack([_summed(self.joint, first), _summed(self.joint, second)])
        most = max(len(first), len(second))
        relative = self.relative_error + 2 * (most - 1) * UNIT_ROUNDOFF
        absolute = self.absolute_error * most
        possible = np.asarray((prior > 0.0).any(axis=0))
        rows, exponent = None, self.exponent
        if absolute > 0.0:
            prior[:, ~possible] = absolute
        elif not possible.all():
            rows = np.flatnonzero(possible)
            prior, joint, exponent = prior[:, rows], joint[:, rows], exponent[rows]
        made = JointProbabilities.of_checked(prior, joint, exponent, relative, absolute)
        return made, rows


def _summed(values: Floats, answers: Sequence[int]) -> Floats:
    if len(answers) == 1:
        return np.asarray(values[answers[0]])
    return np.asarray(values[list(answers)].sum(axis=0))


_LOST = 2.0**-1022
"""What one number can lose when it underflows on its way to another scale, at most."""


def stacked(parts: Sequence[JointProbabilities]) -> JointProbabilities:
    """Return the rows of all parts, in order, with the largest of their error bounds.

    All parts must speak of the same candidates: the rows of several models under one secret.
    """
    if len(parts) == 1:
        return parts[0]
    return JointProbabilities(
        np.concatenate([part.prior for part in parts], axis=1),
        np.concatenate([part.joint for part in parts], axis=1),
        np.concatenate([part.exponent for part in parts]),
        max(part.relative_error for part in parts),
        max(part.absolute_error for part in parts),
        parts[0].has_rest,
    )


@lru_cache(maxsize=16)
def pairs_of(rows: int) -> tuple[Integers, Integers]:
    """Return the numbers of each two of a few rows, the smaller ones first; read-only."""
    pairs = first, second = np.triu_indices(rows, 1)
    for each in pairs:
        each.flags.writeable = False
    return first, second


def candidates_of(joint: JointProbabilities, chosen: Integers | slice) -> JointProbabilities:
    """Return the joint probabilities of some of the candidates, with the same error bounds."""
    return _with(joint, joint.prior, joint.joint[:, :, chosen], joint.exponent)


def candidate_of(joint: JointProbabilities, place: int) -> JointProbabilities:
    """Return one of the candidates as one set of releases, with the same error bounds."""
    return _with(joint, joint.prior, joint.joint[:, :, place], joint.exponent)


def with_constant(
    joint: JointProbabilities, places: Integers, amounts: Floats
) -> JointProbabilities:
    """Return those of the candidates at ``places`` plus so much of the last candidate each.

    For searches: what the products may lose to underflow is not counted.
    """
    values = joint.joint[:, :, places] + amounts * joint.joint[:, :, -1:]
    return JointProbabilities.of_checked(
        joint.prior,
        values,
        joint.exponent,
        joint.relative_error + 4 * UNIT_ROUNDOFF,
        2.0 * joint.absolute_error * (1.0 + float(amounts.max(initial=0.0))),
        joint.has_rest,
    )


def rows_of(joint: JointProbabilities, chosen: Integers | slice) -> JointProbabilities:
    """Return some of the rows, with the same error bounds."""
    return _with(joint, joint.prior[:, chosen], joint.joint[:, chosen], joint.exponent[chosen])


def before_releases(joint: JointProbabilities) -> JointProbabilities:
    """Return what the model says without any release."""
    return _with(joint, joint.prior, joint.prior, np.zeros(joint.rows, dtype=np.int64))


def _with(
    joint: JointProbabilities, prior: Floats, values: Floats, exponent: Integers
) -> JointProbabilities:
    return JointProbabilities.of_checked(
        prior, values, exponent, joint.relative_error, joint.absolute_error, joint.has_rest
    )


def layers_added(joint: JointProbabilities, layers: int) -> JointProbabilities:
    """Return those of outputs from those of pairs (layer, output), layer first."""
    values = joint.joint.reshape(joint.answers, joint.rows, layers, -1).sum(axis=2)
    return _with_sums(joint, values, joint.exponent, layers, 0.0)


def added(parts: Sequence[JointProbabilities]) -> JointProbabilities:
    """Return the joint probabilities of "one of these": their sums; priors stay as they are.

    All parts must speak of one secret under one model. Sums of nonnegative numbers keep their
    relative accuracy; what a change of scale can lose is added to ``absolute_error``.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    top = np.stack([part.exponent for part in parts]).max(axis=0)
    total = np.zeros_like(first.joint)
    lost = sum(part.absolute_error for part in parts)
    for part in parts:
        down = np.maximum(part.exponent - top, -5000).astype(np.int32)
        shift = down if part.joint.ndim == 2 else down[:, None]
        moved = np.ldexp(part.joint, shift)
        total = total + moved
        lost += 0.0 if (np.ldexp(moved, -shift) == part.joint).all() else _LOST
    worst = max(parts, key=lambda part: part.relative_error)
    return _with_sums(worst, total, top, len(parts), lost)


def _with_sums(
    joint: JointProbabilities,
    values: Floats,
    exponent: Integers,
    summands: int,
    absolute_error: float,
) -> JointProbabilities:
    return replace(
        joint,
        joint=values,
        exponent=exponent,
        relative_error=joint.relative_error + 2 * summands * UNIT_ROUNDOFF,
        absolute_error=max(joint.absolute_error * summands, absolute_error),
    )


_ONE_LINE = 1.0 + 16.0 * UNIT_ROUNDOFF
"""Covers the roundings of one line of arithmetic."""


def beliefs_within(joint: JointProbabilities, odds: float) -> NDArray[np.bool_]:
    """Return (k,) for each candidate whether b <= ``odds`` times d surely holds in every row.

    Rows that the releases exclude (b = d = 0) keep any bound.
    """
    event, complement = _bounds(joint)
    with np.errstate(over="ignore"):
        right = np.nextafter(complement * (odds / _ONE_LINE), 0.0)
    return np.asarray((event <= right).all(axis=0))


def largest_belief(joint: JointProbabilities) -> float:
    """Bound Pr(EVENT | releases) over every mixture of the rows, from above; at most 1.

    The joint probabilities describe one set of releases. Rows that the releases exclude hold no
    belief; 0.0 when that leaves none.
    """
    event, complement = _bounds(joint)
    return _share(event[:, 0], complement[:, 0])


def _bounds(joint: JointProbabilities) -> tuple[Floats, Floats]:
    columns = (joint.event, joint.complement)
    return _outwards(joint, *(np.asarray(x).reshape(joint.rows, -1) for x in columns))


def _outwards(
    joint: JointProbabilities, event: Floats, complement: Floats
) -> tuple[Floats, Floats]:
    """Return an upper bound of b and a lower one of d, both times the same (1 + γ)."""
    gamma, delta = joint.relative_error, joint.absolute_error
    if not gamma < 0.5 or delta == math.inf:
        return np.full_like(event, math.inf), np.zeros_like(complement)
    above = (event + delta) * ((1.0 + gamma) / (1.0 - gamma) * _ONE_LINE)
    above = np.where(event + delta > 0.0, np.nextafter(above, math.inf), 0.0)
    below = np.where(complement > delta, np.nextafter(complement - delta, 0.0), 0.0)
    return above, np.where(delta > 0.0, below, complement)


def _share(event: Floats, complement: Floats) -> float:
    """Return the largest event / (event + complement), rounded up."""
    possible = (event > 0.0) | (complement > 0.0)
    if not possible.any():
        return 0.0
    event, complement = event[possible], complement[possible]
    with np.errstate(over="ignore", invalid="ignore"):
        share = np.where(event < math.inf, event / (event + complement), 1.0)
    largest = float(np.nextafter(share.max() * _ONE_LINE, math.inf)) if share.any() else 0.0
    return min(largest, 1.0)
