"""The four nonnegative quantities on which every statement about an event rests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JointProbabilities:
    """What the model and the releases say about an event, one row per start.

    A row is a first cell, or one of K given priors. With releases o and row i::

        a_i = Pr(EVENT | i)      = prior_event[i]
        ā_i = Pr(not EVENT | i)  = prior_complement[i]
        b_i = Pr(EVENT, o | i)     = event[i]      * 2**exponent[i]
        d_i = Pr(not EVENT, o | i) = complement[i] * 2**exponent[i]

    ``event`` and ``complement`` are (n,), or (n, k) for k candidate releases that
    share the exponent of their row. All four come from sums of products of
    nonnegative numbers, never from a difference, so small values are as accurate as
    large ones: with x̂ the stored number and x the exact one in the same units
    (mantissa units for b and d)

        |x̂ - x| <= relative_error * x + absolute_error.

    ``absolute_error`` covers what underflow took away; it is 0 where nothing can
    have underflowed. A row of zeros in ``event`` and ``complement`` is an ordinary
    row: the releases exclude that start, up to ``absolute_error``.

    The arrays are kept as read-only views. Shapes, signs and finiteness are checked
    here once.

    >>> m = JointProbabilities(np.array([0.5]), np.array([0.5]), np.array([0.25]), np.array([0.75]),
    ...             np.array([-3]), 1e-15, 0.0)
    >>> m.rows, m.candidates
    (1, None)
    """

    prior_event: Floats
    prior_complement: Floats
    event: Floats
    complement: Floats
    exponent: Integers
    relative_error: float
    absolute_error: float

    def __post_init__(self) -> None:
        n = np.shape(self.prior_event)[0] if np.ndim(self.prior_event) == 1 else -1
        shapes_fit = (
            n >= 1
            and np.shape(self.prior_complement) == (n,)
            and np.shape(self.exponent) == (n,)
            and np.shape(self.event) == np.shape(self.complement)
            and np.ndim(self.event) in (1, 2)
            and np.shape(self.event)[0] == n
        )
        if not shapes_fit:
            raise InvalidParameter(
                "The arrays of JointProbabilities must be (n,) with n >= 1, 'event' and "
                "'complement' "
                "(n,) or (n, k). Got shapes "
                f"{[np.shape(getattr(self, name)) for name in _ARRAYS]} for {list(_ARRAYS)}."
            )
        for name in _ARRAYS:
            kind = np.int64 if name == "exponent" else np.float64
            view = np.asarray(getattr(self, name), dtype=kind).view()
            # NaN fails the first comparison
            if name != "exponent" and not (
                view.min(initial=0.0) >= 0.0 and view.max(initial=0.0) < np.inf
            ):
                raise InvalidParameter(
                    f"The '{name}' of JointProbabilities must be finite and >= 0 everywhere; it "
                    f"is a "
                    "probability or a density."
                )
            view.flags.writeable = False
            object.__setattr__(self, name, view)
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
        prior_event: Floats,
        prior_complement: Floats,
        event: Floats,
        complement: Floats,
        exponent: Integers,
        relative_error: float,
        absolute_error: float,
    ) -> JointProbabilities:
        """Make them of float64 and int64 arrays that are known to keep the rules above."""
        made = object.__new__(cls)
        arrays = prior_event, prior_complement, event, complement, exponent
        for name, array in zip(_ARRAYS, arrays, strict=True):
            view = array.view()
            view.flags.writeable = False
            object.__setattr__(made, name, view)
        object.__setattr__(made, "relative_error", relative_error)
        object.__setattr__(made, "absolute_error", absolute_error)
        return made

    @property
    def rows(self) -> int:
        """The number of starts or priors."""
        return int(self.prior_event.shape[0])

    @property
    def columns(self) -> int:
        """The number of candidate releases; one set of releases counts as one."""
        return int(self.event.shape[1]) if self.event.ndim == 2 else 1

    @property
    def candidates(self) -> int | None:
        """The number of candidate releases, or None when there is one set of releases."""
        return int(self.event.shape[1]) if self.event.ndim == 2 else None


_ARRAYS = ("prior_event", "prior_complement", "event", "complement", "exponent")
