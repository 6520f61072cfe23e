"""Reading coordinates, one or many, without ever showing one in an error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priste.errors import InvalidParameter


def read_pair(
    first: ArrayLike, second: ArrayLike, what: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two arrays of floats of one shape; the error shows no value."""
    arrays = []
    for values in (first, second):
        try:
            array = np.asarray(values)
        except ValueError:
            raise InvalidParameter("must be numbers or arrays of numbers", parameter=what) from None
        if array.size and array.dtype.kind not in "iuf":
            raise InvalidParameter(
                "must be real numbers", parameter=what, got=f"{array.dtype} values"
            )
        arrays.append(array.astype(np.float64))
    if arrays[0].shape != arrays[1].shape:
        raise InvalidParameter(
            "must have one shape", parameter=what, got=f"{arrays[0].shape} and {arrays[1].shape}"
        )
    return arrays[0], arrays[1]


def read_km(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return finite plane coordinates of one shape."""
    east, north = read_pair(x, y, "coordinates x and y")
    if not (np.all(np.isfinite(east)) and np.all(np.isfinite(north))):
        raise InvalidParameter(
            "must be finite (km); at least one was not", parameter="coordinates x and y"
        )
    return east, north


def as_plain(first: NDArray[np.float64], second: NDArray[np.float64]) -> Any:
    """Return two plain floats for single values, the arrays themselves otherwise."""
    return (float(first), float(second)) if first.ndim == 0 else (first, second)
