"""Exact leakage and verdicts against every prior, rounded so that doubt is never safety."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.quantify.leakage import Leakage
from priste.quantify.moments import Moments
from priste.quantify.worst_prior.weights import pair_weights

Floats = NDArray[np.float64]

SLACK = 1e-9
"""A reported ratio e^leakage is at most this much (relatively) above the exact supremum,
plus four times the relative error of the moments."""

SEARCH_ROUNDING = 64 * 2.0**-53
"""Bounds what the roundings of the search can hide, relative to the ratio (docs/soundness.md)."""

LARGEST_SPREAD = 2**50
"""Exponents are compared as doubles, which must hold their differences exactly."""

FEW_ROWS = 12
"""Up to this many rows, testing every pair is quicker than searching."""


def worst_prior_leakage(moments: Moments, *, all_pairs: bool = False) -> Leakage:
    """Bound the log-likelihood ratio of event and complement over every prior, from above.

    Guarantee: never below the exact supremum; the ratio e^value is above the exact one by
    at most ``SLACK`` + 4 * ``moments.relative_error``, relatively, when
    ``moments.absolute_error`` is 0. Rows that the releases have excluded take part: a prior
    may sit on them. A prior under which the event, its complement or the releases have
    probability 0 compares nothing and is left out; if that leaves no prior, all values are
    0 and ``worst_prior`` is empty. ``inf`` when no finite ratio bounds all priors (or one
    above e^620). A direction whose supremum is below e^-34 is reported as that bound.

    ``all_pairs`` tests every pair of rows instead of searching: the same guarantee, slower.

    >>> import numpy as np
    >>> m = Moments(np.array([0.5, 0.2]), np.array([0.5, 0.8]), np.array([0.5, 0.2]),
    ...             np.array([0.25, 0.4]), np.array([0, 0]), 0.0, 0.0)
    >>> worst = worst_prior_leakage(m)
    >>> round(float(np.exp(worst.for_event)), 6), worst.worst_prior
    (2.0, {0: 1.0})
    """
    if moments.event.ndim != 1:
        raise InvalidParameter(
            "The moments of worst_prior_leakage must describe one set of releases. Got "
            f"{moments.candidates} candidates. Use leakages(moments) for many."
        )
    ratios, pairs = _suprema(moments, all_pairs)
    for_event, against_event = (float(log) for log in _logarithms(moments, ratios)[:, 0])
    if pairs.max() < 0:
        return Leakage(0.0, 0.0, 0.0, {})
    side = int(against_event > for_event)
    one, other = (int(row) for row in pairs[side, 0])
    prior = pair_weights(moments, one, other, float(ratios[side, 0]), reverse=side == 1)
    return Leakage(max(for_event, against_event), for_event, against_event, prior)


def leakages(moments: Moments, *, all_pairs: bool = False) -> Floats:
    """The ``value`` of :func:`worst_prior_leakage` for each candidate column, shape (k,).

    One set of releases counts as one column.
    """
    ratios, pairs = _suprema(moments, all_pairs)
    return np.where(pairs.max(axis=(0, 2)) < 0, 0.0, _logarithms(moments, ratios).max(axis=0))


def passes(moments: Moments, epsilon: float, *, all_pairs: bool = False) -> NDArray[np.bool_]:
    """Whether every prior keeps the leakage of each candidate within ``epsilon``, shape (k,).

    True only if it certainly does, given the error bounds of the moments; a candidate
    whose leakage is within about ``SLACK`` of ``epsilon`` may be False. One set of releases
    counts as one column.

    >>> import numpy as np
    >>> m = Moments(np.array([0.5, 0.2]), np.array([0.5, 0.8]), np.array([0.5, 0.2]),
    ...             np.array([0.25, 0.4]), np.array([0, 0]), 0.0, 0.0)
    >>> passes(m, 0.7), passes(m, 0.69)
    (array([ True]), array([False]))
    """
    if not epsilon >= 0:
        raise InvalidParameter(f"The 'epsilon' of passes must be >= 0. Got {epsilon!r}.")
    from priste.quantify.worst_prior import kernels

    columns = moments.candidates
    passed = np.zeros(1 if columns is None else columns, dtype=np.bool_)
    if epsilon == math.inf:
        passed[:] = True
        return passed
    doubt = _doubt(moments)
    if doubt == math.inf:
        return passed
    r = min(math.exp(min(epsilon, 700.0)) / doubt, kernels.LARGEST_RATIO)
    events, complements = _lines(moments.event), _lines(moments.complement)
    every_pair = all_pairs or moments.rows <= FEW_ROWS
    kernels.column_verdicts(events, complements, *_shared(moments), r, every_pair, passed)
    return passed


def _lines(columns: Floats) -> Floats:
    """The columns as contiguous lines, (k, n)."""
    return np.ascontiguousarray(np.atleast_2d(columns.T))


def _shared(moments: Moments) -> tuple[Floats, Floats, NDArray[np.int64], Floats, float]:
    """What all columns share, as the kernels take it: a, ā, exponents, scales, absolute error."""
    a = np.ascontiguousarray(moments.prior_event)
    c = np.ascontiguousarray(moments.prior_complement)
    unlikely = np.flatnonzero((a <= 0) & (c <= 0))
    if unlikely.size:
        raise InvalidParameter(
            "Each row of the moments needs an event or a complement of positive probability. "
            f"Row {unlikely[0]} has neither."
        )
    exponent = np.ascontiguousarray(moments.exponent)
    if int(exponent.max()) - int(exponent.min()) > LARGEST_SPREAD:
        raise InvalidParameter(
            f"The exponents of the moments must lie within {LARGEST_SPREAD} of each other. Got "
            f"{exponent.min()} to {exponent.max()}."
        )
    below = exponent - exponent.max()
    scale = np.ldexp(1.0, np.maximum(below, -2000))
    return a, c, below, scale, float(moments.absolute_error)


def _doubt(moments: Moments) -> float:
    """By what factor the exact ratio may exceed the one that the search sees."""
    gamma = moments.relative_error
    if not gamma < 0.5:
        return math.inf
    return ((1 + gamma) / (1 - gamma)) ** 2 * (1 + SEARCH_ROUNDING)


def _suprema(moments: Moments, all_pairs: bool) -> tuple[Floats, NDArray[np.int64]]:
    """Bounds of sup R and sup 1/R, (2, k), and the rows that reach them, (2, k, 2)."""
    from priste.quantify.worst_prior import kernels

    events, complements = _lines(moments.event), _lines(moments.complement)
    ratios = np.empty((2, events.shape[0]))
    pairs = np.empty((2, events.shape[0], 2), dtype=np.int64)
    every_pair = all_pairs or moments.rows <= FEW_ROWS
    kernels.column_suprema(events, complements, *_shared(moments), every_pair, ratios, pairs)
    return ratios, pairs


def _logarithms(moments: Moments, ratios: Floats) -> Floats:
    """ln of the ratios and of the doubt about them, rounded upwards."""
    doubt = _doubt(moments)
    logs = np.log(ratios) + math.log(doubt) if doubt < math.inf else np.full_like(ratios, math.inf)
    return np.asarray(logs + 2.0**-50 * (1.0 + np.abs(np.where(np.isfinite(logs), logs, 0.0))))
