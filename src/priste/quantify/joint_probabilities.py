"""The nonnegative quantities on which every statement about an event or a secret rests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.quantify.rounding import UNIT_ROUNDOFF

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JointProbabilities:
    """What the model and the releases say about each answer of a secret, one row per start.

    A row is a first cell, or one of K given priors. With releases o, answer c and row i::

        a_ci = Pr(answer c | i)    = prior[c, i]
        b_ci = Pr(answer c, o | i) = joint[c, i] * 2**exponent[i]

    An event has two answers: that it happened (``prior_event``, ``event``) and that it did not
    (``prior_complement``, ``complement``). ``joint`` is (C, n), or (C, n, k) for k candidate
    releases that share the exponent of their row. ``has_rest`` tells whether the last answer is
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
                "The arrays of JointProbabilities must be 'prior' (C, n) with C >= 2 and n >= 1, "
                "'joint' (C, n) or (C, n, k), and 'exponent' (n,). Got shapes "
                f"{prior}, {joint} and {np.shape(self.exponent)}."
            )
        for name in ("prior", "joint"):
            array = np.asarray(getattr(self, name), dtype=np.float64)
            # NaN fails the first comparison
            if not (array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < np.inf):
                raise InvalidParameter(
                    f"The '{name}' of JointProbabilities must be finite and >= 0 everywhere; it "
                    "is a probability or a density."
                )
            self._keep(name, array)
        self._keep("exponent", np.asarray(self.exponent, dtype=np.int64))
        for name in ("relative_error", "absolute_error"):
            bound = getattr(self, name)
            if math.isnan(bound) or bound < 0:
                raise InvalidParameter(
                    f"The '{name}' of JointProbabilities must be >= 0: it bounds an error. Got "
                    f"{bound!r}."
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
    def prior_event(self) -> Floats:
        """The (n,) Pr(EVENT | row): that of the first answer."""
        return np.asarray(self.prior[0])

    @property
    def prior_complement(self) -> Floats:
        """The (n,) Pr(not EVENT | row): that of the second answer."""
        return np.asarray(self.prior[1])

    @property
    def event(self) -> Floats:
        """The b of the first answer, in mantissa units."""
        return np.asarray(self.joint[0])

    @property
    def complement(self) -> Floats:
        """The b of the second answer, in mantissa units."""
        return np.asarray(self.joint[1])

    @property
    def rows(self) -> int:
        """The number of starts or priors."""
        return int(self.prior.shape[1])

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
