"""Exact leakage and verdicts against every prior, rounded so that doubt is never safety.

The pair test is Theorem 1 of docs/explanation/proofs.md; that no rounding makes a verdict unsafe is
Theorem 14.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.quantify.guarantees import Guarantee, Limits, as_limits
from priste.quantify.joint_probabilities import JointProbabilities, beliefs_within, pairs_of
from priste.quantify.leakage import Leakage, bounded_directions
from priste.quantify.scaling import positive_minimum
from priste.quantify.worst_prior.compilation import is_memory_spared, plain_copy

Floats = NDArray[np.float64]

SLACK = 1e-9
"""A reported ratio e^leakage is at most this much, relatively, above the exact supremum."""

LEAST_LOGARITHM = -50 * math.log(2.0)
"""A direction whose supremum is below e to this is reported as this bound."""

SEARCH_ROUNDING = 64 * 2.0**-53
"""Bound of what the roundings of the search can hide, relative to the ratio.

Derived in docs/explanation/soundness-pairs.md."""

LARGEST_SPREAD = 2**50
"""Exponents are compared as doubles, which must hold their differences exactly."""


def worst_prior_leakage(
    joint: JointProbabilities, guarantee: float | Guarantee | None = None
) -> Leakage:
    """Bound the log-likelihood ratio of event and complement over every prior, from above.

    Guarantee: never below the exact supremum; the ratio e^value is above the exact one by
    at most ``SLACK``, relatively, when ``joint.relative_error`` is at most 1e-10 and
    ``joint.absolute_error`` is 0. In general 8 times the relative error comes on top, and
    numbers as small as the absolute error are taken at their worst.

    Rows that the releases have excluded (b = d = 0) take part: a prior may sit on them. A
    prior under which the event, its complement or the releases have probability 0
    compares nothing and is left out; if that leaves no prior, all values are 0 and
    ``worst_rows`` is empty. ``inf`` when no finite ratio bounds all priors, or only one
    above e^620. A direction whose supremum is below e^-34 is reported as that bound.

    With a ``guarantee`` the ``worst_rows`` are that of a direction which it bounds; the numbers are
    the same.

    >>> import numpy as np
    >>> m = JointProbabilities(np.array([[0.5, 0.2], [0.5, 0.8]]),
    ...             np.array([[0.5, 0.2], [0.25, 0.4]]), np.array([0, 0]), 0.0, 0.0)
    >>> worst = worst_prior_leakage(m)
    >>> round(float(np.exp(worst.for_event)), 6), worst.worst_rows
    (2.0, {0: 1.0})
    """
    if joint.joint.ndim != 2:
        raise InvalidParameter(
            "must describe one set of releases",
            parameter="joint",
            owner="worst_prior_leakage",
            got=f"{joint.candidates} candidates",
            hint="Use leakages(joint) for many.",
        )
    if error_factor(joint) == math.inf:
        return Leakage(math.inf, math.inf, math.inf, {})
    ratios, pairs = _suprema(joint)
    for_event, against_event = _both_directions(joint, ratios, pairs)
    if pairs.max() < 0:
        return Leakage(0.0, 0.0, 0.0, {})
    side = max(bounded_directions(guarantee), key=(for_event, against_event).__getitem__)
    one, other = (int(row) for row in pairs[side, 0])
    prior = pair_weights(joint, one, other, float(ratios[side, 0]), reverse=side == 1)
    return Leakage(max(for_event, against_event), for_event, against_event, prior)


def worst_directions(joint: JointProbabilities) -> tuple[float, float]:
    """Return ``for_event`` and ``against_event`` of :func:`worst_prior_leakage`, and no prior."""
    if error_factor(joint) == math.inf:
        return math.inf, math.inf
    return _both_directions(joint, *_suprema(joint))


def column_directions(joint: JointProbabilities) -> Floats:
    """Bound ln sup R and ln sup 1/R of each candidate over every mixture of the rows, (2, k)."""
    return _logarithms(joint, _suprema(joint)[0])


def _both_directions(
    joint: JointProbabilities, ratios: Floats, pairs: NDArray[np.int64]
) -> tuple[float, float]:
    if pairs.max() < 0:
        return 0.0, 0.0
    for_event, against_event = _logarithms(joint, ratios)[:, 0].tolist()
    return for_event, against_event


def leakages(joint: JointProbabilities, guarantee: float | Guarantee | None = None) -> Floats:
    """Return the ``value`` of :func:`worst_prior_leakage` for each candidate column, shape (k,).

    With a ``guarantee`` the largest over the directions that it bounds, as ``Leakage.over``. One
    set of releases counts as one column.
    """
    if error_factor(joint) == math.inf:
        return np.full(joint.columns, math.inf)
    ratios, pairs = _suprema(joint)
    bounded = _logarithms(joint, ratios)[bounded_directions(guarantee)]
    return np.where(pairs.max(axis=(0, 2)) < 0, 0.0, bounded.max(axis=0))


def passes(joint: JointProbabilities, epsilon: float | Guarantee | Limits) -> NDArray[np.bool_]:
    """Return whether every prior keeps a guarantee after each candidate, shape (k,).

    ``epsilon`` is >= 0 for both directions, an ``OddsBound``, a ``BeliefBound``, or ``Limits``.
    True only if it is certainly kept, given the error bounds of the joint probabilities; False may
    also mean doubt, when e^leakage is within ``SLACK`` (and 8 times the relative error) of the
    bound. A direction that is not bounded is not looked at. One set of releases counts as one
    column.

    >>> import numpy as np
    >>> m = JointProbabilities(np.array([[0.5, 0.2], [0.5, 0.8]]),
    ...             np.array([[0.5, 0.2], [0.25, 0.4]]), np.array([0, 0]), 0.0, 0.0)
    >>> passes(m, 0.7), passes(m, 0.69)
    (array([ True]), array([False]))
    >>> from priste.quantify.guarantees import BeliefBound, OddsBound
    >>> passes(m, OddsBound(up=math.inf, down=0.69)), passes(m, BeliefBound(0.7))
    (array([ True]), array([ True]))
    """
    limits = as_limits(epsilon)
    factor = error_factor(joint)
    if limits == Limits(math.inf, math.inf, math.inf):
        return np.ones(joint.columns, dtype=np.bool_)
    if factor == math.inf:
        return np.zeros(joint.columns, dtype=np.bool_)
    if limits.up == limits.down == math.inf:
        return beliefs_within(joint, limits.belief)
    bounds = [
        math.inf if bound == math.inf else math.exp(min(bound, 700.0)) / factor
        for bound in (limits.up, limits.down)
    ]
    passed = _every_pair_passes(joint, bounds) if joint.rows <= FEW_ROWS else None
    if passed is None:
        _, pairs = _searched(joint, bounds, raising=False)
        passed = np.asarray(pairs[:, :, 0].max(axis=0) < 0)
    if limits.belief < math.inf:
        passed &= beliefs_within(joint, limits.belief)
    return passed


def lines_of(columns: Floats) -> Floats:
    """Return the columns as lines (k, n), copied: one kind of array means one compilation."""
    return np.array(columns.T, order="C", ndmin=2)


def _shared(joint: JointProbabilities) -> tuple[Floats, Floats, NDArray[np.int64], Floats, float]:
    """Return a, ā, exponents, scales and absolute error, which all columns have in common."""
    if joint.answers != 2:
        raise InvalidParameter(
            "must be of two answers",
            parameter="joint",
            value=joint.answers,
            hint="compared() picks them, and a Quantifier compares each two.",
        )
    a = np.array(joint.prior_event)
    c = np.array(joint.prior_complement)
    if not (a + c).min() > 0.0:
        unlikely = np.flatnonzero(a + c == 0.0)
        raise InvalidParameter(
            "must give each row an event or a complement of positive probability",
            parameter="joint",
            got=f"neither in row {unlikely[0]}",
        )
    exponent = np.array(joint.exponent)
    alive = _alive(joint)
    if alive.any():
        highest, lowest = exponent[alive].max(), exponent[alive].min()
        if int(highest) - int(lowest) > LARGEST_SPREAD:
            raise InvalidParameter(
                f"must have exponents within {LARGEST_SPREAD} of each other",
                parameter="joint",
                got=f"{lowest} to {highest}",
            )
        exponent[alive] -= highest
    exponent[~alive] = 0  # an excluded row has no scale of its own
    scale = np.ldexp(1.0, np.maximum(exponent, -2000).astype(np.int32))
    return a, c, exponent, scale, float(joint.absolute_error)


def _alive(joint: JointProbabilities) -> NDArray[np.bool_]:
    """Return (n,) which rows some candidate leaves possible."""
    event, complement = joint.event, joint.complement
    if event.ndim == 1:
        return (event > 0.0) | (complement > 0.0)
    if event.shape[1]:
        alive = (event[:, 0] > 0.0) | (complement[:, 0] > 0.0)  # nearly always all of them
        if alive.all():
            return alive
    return np.asarray(event.any(axis=1) | complement.any(axis=1))


def error_factor(joint: JointProbabilities) -> float:
    """Return by what factor the exact ratio may exceed the one that the search sees."""
    gamma = joint.relative_error
    if not gamma < 0.5 or joint.absolute_error == math.inf:
        return math.inf
    return ((1 + gamma) / (1 - gamma)) ** 2 * (1 + SEARCH_ROUNDING)


def _suprema(joint: JointProbabilities) -> tuple[Floats, NDArray[np.int64]]:
    """Return bounds of sup R and sup 1/R, (2, k), and the rows that reach them, (2, k, 2)."""
    found = _one_row_suprema(joint) if joint.rows == 1 else None
    return _searched(joint, None, raising=True) if found is None else found


FEW_ROWS = 4
"""Up to this many rows verdicts test all pairs at once, in numpy.

That is some five times as quick as kernels as plain Python. Compiled ones are 1.5 to 2 times as
quick as it, but take 110 MB and a third of a second to load."""


@dataclass(frozen=True, eq=False)
class _NarrowRows:
    """Bounds of b, d, a and ā in the narrow range of the kernels, as those prepare them.

    ``upper`` and ``lower`` (2, n, k) bound the joint probabilities, ``prior_upper`` and
    ``prior_lower`` (2, n) the priors. For side 0, the event, b is the upper one of answer 0 and d
    the lower one of answer 1; for side 1 the reverse.
    """

    upper: Floats
    lower: Floats
    prior_upper: Floats
    prior_lower: Floats
    limits: Any

    @classmethod
    def of(cls, joint: JointProbabilities) -> _NarrowRows | None:
        """Return the bounds; None where numbers are not in the range, or not as they should be."""
        values = joint.joint if joint.joint.ndim == 3 else joint.joint[:, :, None]
        prior, delta = joint.prior, joint.absolute_error
        least, least_prior = float(values.min(initial=math.inf)), float(prior.min())
        if joint.answers != 2 or not (
            (least > 0.0 or values.any(axis=(0, 2)).all())
            and (least_prior > 0.0 or prior.any(axis=0).all())
        ):
            return None
        kernels = plain_copy(_KERNELS)
        upper, lower, prior_upper, prior_lower = values, values, prior, prior
        if delta > 0.0:
            upper, lower = values + delta, np.maximum(values - delta, 0.0)
            prior_upper, prior_lower = prior + delta, np.maximum(prior - delta, 0.0)
        if delta > 0.0 or least == 0.0 or least_prior == 0.0:
            least = min(least + delta or math.inf, positive_minimum(lower))
            least_prior = min(least_prior + delta or math.inf, positive_minimum(prior_lower))
        least_scale = 1.0
        if joint.rows > 1:
            down_to = joint.exponent - joint.exponent.max()
            least_scale = math.ldexp(1.0, max(int(down_to.min()), -2000))
        if not (
            least * least_scale >= kernels.NARROW_JOINT
            and least_prior >= kernels.NARROW_PRIOR
            and max(upper.max(initial=0.0), prior_upper.max()) <= kernels.LARGEST_NARROW
        ):
            return None
        if joint.rows > 1:
            scale = np.ldexp(1.0, down_to.astype(np.int32))[:, None]
            upper, lower = upper * scale, lower * scale
        return cls(upper, lower, prior_upper, prior_lower, kernels)


def _every_pair_passes(joint: JointProbabilities, bounds: list[float]) -> NDArray[np.bool_] | None:
    """Test each row and each two rows as the kernels ``any_row`` and ``any_pair`` do, (k,).

    The same operations in the same order. None beyond the narrow range: then the kernels are asked.
    """
    rows = _NarrowRows.of(joint)
    if rows is None:
        return None
    sides = [side for side in (0, 1) if bounds[side] < math.inf]
    others = [1 - side for side in sides]
    b, d = rows.upper[sides], rows.lower[others]
    a, c = rows.prior_lower[sides][:, :, None], rows.prior_upper[others][:, :, None]
    r = np.array([min(bounds[side], rows.limits.NARROW_RATIO) for side in sides])[:, None, None]
    up, down = 1.0 + rows.limits.MARGIN, 1.0 - rows.limits.MARGIN
    ra = r * a
    own = ra * d * down - b * c * up
    exceeds = (own < 0.0).any(axis=(0, 1))
    if joint.rows > 1:
        p, q = pairs_of(joint.rows)
        cross = b[:, p] * c[:, q] * up - ra[:, q] * d[:, p] * down
        cross += b[:, q] * c[:, p] * up - ra[:, p] * d[:, q] * down
        with np.errstate(invalid="ignore"):  # a row that exceeds by itself has no root
            root = np.sqrt(own)
            mixed = (cross > 0.0) & ~(cross <= 2.0 * down * root[:, p] * root[:, q] * down)
        exceeds |= mixed.any(axis=(0, 1))
    return np.asarray(~exceeds)


def _one_row_suprema(joint: JointProbabilities) -> tuple[Floats, NDArray[np.int64]] | None:
    """Return :func:`_suprema` of one row, whose ratio needs no search: ``any_row`` to the bit.

    None beyond the narrow range.
    """
    rows = _NarrowRows.of(joint)
    if rows is None:
        return None
    least, margin = rows.limits.SMALLEST_RATIO, rows.limits.MARGIN
    above = rows.upper[:, 0] * rows.prior_upper[::-1]
    own = rows.prior_lower * rows.lower[::-1, 0]
    exceeds = above * (1.0 + margin) > least * own * (1.0 - margin)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(exceeds, above / own * (1.0 + 8.0 * margin), least)
    ratios[ratios > rows.limits.LARGEST_RATIO] = math.inf
    pairs = np.where(exceeds, 0, -1)[:, :, None]
    return ratios, np.repeat(pairs, 2, axis=2)


PLAIN_ROWS = 4
"""Up to this many rows the kernels may run as plain Python.

225 likelihoods of 4 rows take 7 ms then, compiled 0.3 ms (``python -m benchmarks.live memory``)."""

PLAIN_WORK = 50_000
"""So many rows times likelihoods are searched as plain Python before the compiled kernels are
loaded: about the third of a second that loading takes. Where nothing was compiled before, as on the
first day of an installation, loading takes seconds, and a first verdict need not wait for that.

Single likelihoods, one for each step of a stream, do not count: a stream against few priors then
never takes the memory of the compiled kernels, and a step of it 0.1 ms longer."""

_KERNELS = "priste.quantify.worst_prior.kernels"


def _kernels(rows: int, columns: int) -> Any:
    """Return the kernels: as plain Python while that is quicker, or where memory is spared."""
    if rows <= PLAIN_ROWS and _KERNELS not in sys.modules:
        plain: Any = plain_copy(_KERNELS)
        plain.searched += rows * columns if columns > 1 else 0
        if plain.searched <= PLAIN_WORK or is_memory_spared():
            return plain
    from priste.quantify.worst_prior import kernels

    return kernels


def _searched(
    joint: JointProbabilities, bounds: list[float] | None, *, raising: bool
) -> tuple[Floats, NDArray[np.int64]]:
    """Ask the kernel about each column; None for the least bounds that it knows."""
    kernels = _kernels(joint.rows, joint.columns)
    events, complements = lines_of(joint.event), lines_of(joint.complement)
    least = [kernels.SMALLEST_RATIO, kernels.SMALLEST_RATIO]
    highest = [
        bound if bound == math.inf else min(bound, kernels.LARGEST_RATIO)
        for bound in (bounds or least)
    ]
    ratios = np.empty((2, events.shape[0]))
    pairs = np.empty((2, events.shape[0], 2), dtype=np.int64)
    space, waits = np.empty((3, 6, joint.rows)), np.empty((kernels.WAITING, 4))
    kernels.column_search(
        events,
        complements,
        *_shared(joint),
        np.array(highest),
        raising,
        space,
        np.empty((2, 3, joint.rows)),
        waits,
        ratios,
        pairs,
    )
    return ratios, pairs


def _logarithms(joint: JointProbabilities, ratios: Floats) -> Floats:
    """Return ln of the ratios and of the doubt about them, rounded upwards."""
    logs = np.log(ratios) + math.log(error_factor(joint))
    return np.asarray(logs + 2.0**-50 * (1.0 + np.abs(np.where(np.isfinite(logs), logs, 0.0))))


CLOSE_ENOUGH = 1e-9
SMALLEST_WEIGHT = 5e-324


def _log2(x: float) -> float:
    return math.log2(x) if x > 0 else -math.inf


def _log2_sum(x: float, y: float) -> float:
    """Return log2(2**x + 2**y)."""
    if x < y:
        x, y = y, x
    return x if y == -math.inf else x + math.log1p(2.0 ** (y - x)) / math.log(2)


def _log2_difference(x: float, y: float) -> float:
    """Return log2(2**x - 2**y); -inf unless x > y."""
    if not x > y:
        return -math.inf
    return x if y == -math.inf else x + math.log2(-math.expm1((y - x) * math.log(2)))


def pair_weights(
    joint: JointProbabilities, first: int, second: int, ratio: float, *, reverse: bool
) -> dict[int, float]:
    """Return a prior on two rows whose likelihood ratio comes close to ``ratio``.

    Where the supremum is a limit that no prior attains, or needs weights that doubles
    cannot hold, this is a prior on the way there; no weight is below ``SMALLEST_WEIGHT``.
    """
    if first < 0:
        return {}
    if first == second:
        return {first: 1.0}
    logs = []
    for row in (first, second):
        scale = int(joint.exponent[row])
        b = _log2(float(joint.event[row])) + scale
        d = _log2(float(joint.complement[row])) + scale
        a = _log2(float(joint.prior_event[row]))
        c = _log2(float(joint.prior_complement[row]))
        logs.append((d, b, c, a) if reverse else (b, d, a, c))
    (b1, d1, a1, c1), (b2, d2, a2, c2) = logs

    def log2_ratio(t: float) -> float:
        """Return log2 R when the first row has 2**t times the weight of the second."""
        above = _log2_sum(t + b1, b2) + _log2_sum(t + c1, c2)
        below = _log2_sum(t + a1, a2) + _log2_sum(t + d1, d2)
        if above == -math.inf:
            return -math.inf
        return above - below if below > -math.inf else math.inf

    # At the supremum F is a square: the weights balance the two rows' own terms.
    level = math.log2(ratio) if ratio < math.inf else math.inf
    if ratio < math.inf:
        balance = _log2_difference(level + a2 + d2, b2 + c2)
        balance = (balance - _log2_difference(level + a1 + d1, b1 + c1)) / 2.0
        if math.isfinite(balance) and log2_ratio(balance) >= level - CLOSE_ENOUGH:
            return _weights(first, second, balance)
    # A limit, or a balance lost to rounding: look around the corners of the four sums,
    # between which log R is straight and beyond which it levels out.
    corners = [
        q - p
        for p, q in ((b1, b2), (d1, d2), (a1, a2), (c1, c2))
        if p > -math.inf and q > -math.inf
    ]
    tries = [corner + offset for corner in corners or [0.0] for offset in _OFFSETS]
    return _weights(first, second, max(tries, key=log2_ratio))


_OFFSETS = (0.0, *(sign * 2.0**k for k in range(7) for sign in (-1.0, 1.0)))


def _weights(first: int, second: int, log2_share: float) -> dict[int, float]:
    """Return weights that sum to 1, the first row having 2**log2_share times that of the second."""
    share = 2.0 ** max(-abs(log2_share), -1074.0)
    small, large = max(share / (1.0 + share), SMALLEST_WEIGHT), 1.0 / (1.0 + share)
    return {first: small, second: large} if log2_share < 0 else {first: large, second: small}
