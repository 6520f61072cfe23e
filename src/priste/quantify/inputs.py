"""Validation of what enters a quantifier: likelihoods and priors."""

from __future__ import annotations

import math

import numpy as np

from priste.errors import InvalidParameter
from priste.quantify.joint_probabilities import Floats
from priste.quantify.lifted import Likelihood

PRIOR_TOLERANCE = 1e-9
"""A prior must sum to 1 within this. It is used as given: no answer depends on its scale."""

_RANGE = 2.0**-1000
"""Least ratio of a positive likelihood to the largest one that can be carried."""

_LARGEST_SHIFT = 1000
"""Powers of two up to here are floats, and so are their inverses."""


def as_floats(values: object, name: str, owner: str) -> Floats:
    """Return a float64 array, without copying one; refuse what is not real numbers."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidParameter(
            "must be an array of numbers; its rows differ in length", parameter=name, owner=owner
        ) from error
    if array.dtype.kind not in "fiu":
        raise InvalidParameter(
            "must be real numbers", parameter=name, owner=owner, got=f"dtype {array.dtype}"
        )
    return array.astype(np.float64, copy=False)


def checked_nonnegative(
    values: object, shape: tuple[int | None, ...], name: str, owner: str
) -> Floats:
    """Refuse another shape (None matches any length), NaN, infinities and negatives."""
    array = as_floats(values, name, owner)
    fits = array.ndim == len(shape) and all(
        wanted in (None, got) for wanted, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise InvalidParameter(
            f"must have shape ({wanted})", parameter=name, owner=owner, value=array.shape
        )
    if array.min(initial=0.0) >= 0.0 and array.max(initial=0.0) < np.inf:  # no NaN either
        return array
    if not np.isfinite(array).all():
        raise InvalidParameter(
            "must be finite", parameter=name, owner=owner, got="NaN or an infinity"
        )
    raise InvalidParameter("must be >= 0", parameter=name, owner=owner, value=float(array.min()))


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
    array = checked_nonnegative(values, (cells,), name, owner)
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
    return checked_nonnegative(values, (cells, None), "likelihoods", "candidate releases")


def scaled_candidates(columns: Floats) -> Likelihood:
    """Take a power of two out of validated columns (cells, k); there must be one at least."""
    name, owner = "likelihoods", "candidate releases"
    if columns.shape[1] == 0:
        raise InvalidParameter(
            "must have at least one column", parameter=name, owner=owner, got="none"
        )
    return _scaled(np.ascontiguousarray(columns), name, owner)


def checked_priors(values: object, cells: int | None, name: str, owner: str) -> Floats:
    """Validate distributions, one per row; a single one may be given flat."""
    array = as_floats(values, name, owner)
    if array.ndim == 1:
        array = array[None, :]
    array = checked_nonnegative(array, (None, cells), name, owner)
    if len(array) == 0:
        raise InvalidParameter(
            "must hold at least one distribution", parameter=name, owner=owner, got="none"
        )
    for number, row in enumerate(array):
        total = math.fsum(row)
        if abs(total - 1.0) > PRIOR_TOLERANCE:
            raise InvalidParameter(
                f"must sum to 1 within {PRIOR_TOLERANCE}; row {number} does not",
                parameter=name,
                owner=owner,
                value=total,
            )
    frozen = array.copy()
    frozen.flags.writeable = False
    return frozen
