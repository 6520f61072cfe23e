"""Floats as text and back, to the bit: vectors, and single numbers in JSON."""

from __future__ import annotations

import base64
import math

import numpy as np
from numpy.typing import NDArray


def floats_to_text(array: NDArray[np.float64]) -> str:
    """Return the exact bits of a vector of floats as text.

    >>> floats_from_text(floats_to_text(np.array([0.1, 2.0]))).tolist()
    [0.1, 2.0]
    """
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode("ascii")


def floats_from_text(text: str) -> NDArray[np.float64]:
    """Undo :func:`floats_to_text`; ValueError if the text is none of its."""
    array = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f8").astype(np.float64)
    array.flags.writeable = False
    return array


def rows_from_texts(texts: object) -> NDArray[np.float64]:
    """Return an array of one row per text of :func:`floats_to_text`; TypeError if it is no list."""
    if not isinstance(texts, list):
        raise TypeError("rows of floats are a list of texts")
    return np.array([floats_from_text(text) for text in texts])


def number_to_json(value: float) -> float | str:
    """Return a number as JSON can hold it: infinity becomes the text "inf"."""
    return "inf" if math.isinf(value) else value


def number_from_json(value: float | str) -> float:
    """Undo :func:`number_to_json`; ValueError or TypeError if it is none of its."""
    try:
        found = float(value)
    except OverflowError:
        raise ValueError("a number is too large") from None
    if math.isnan(found):
        raise ValueError("a number is none")
    return found
