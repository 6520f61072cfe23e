"""Arrays of floats as text, exact to the bit, for state files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.errors import InvalidParameter
from priste.float_text import floats_from_text, floats_to_text

_RULE, _OWNER = "must hold a 'shape' and its 'float64' in base64", "a saved mechanism"


def array_to_dict(array: NDArray[np.float64]) -> dict[str, Any]:
    """Return shape and content (little-endian float64 in base64) of an array of floats.

    >>> array_to_dict(np.array([0.5]))
    {'shape': [1], 'float64': 'AAAAAAAA4D8='}
    """
    return {"shape": list(array.shape), "float64": floats_to_text(array)}


def array_from_dict(saved: object, *, name: str) -> NDArray[np.float64]:
    """Return the array that ``array_to_dict`` saved, exact to the bit."""
    if not isinstance(saved, dict) or set(saved) != {"shape", "float64"}:
        raise InvalidParameter(_RULE, parameter=name, owner=_OWNER, value=type(saved))
    shape, text = saved["shape"], saved["float64"]
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise InvalidParameter(
            _RULE, parameter=name, owner=_OWNER, got="a shape that cannot be read"
        )
    try:
        content = floats_from_text(text)
    except (TypeError, ValueError) as problem:
        raise InvalidParameter(
            _RULE, parameter=name, owner=_OWNER, got="content that cannot be read"
        ) from problem
    if len(content) != math.prod(shape):
        raise InvalidParameter(
            _RULE, parameter=name, owner=_OWNER, got="content that does not have its shape"
        )
    return content.reshape(shape)
