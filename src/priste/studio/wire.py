"""The messages between page and server: JSON, long arrays as base64, errors in words."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from starlette.responses import Response

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with what was sent; ``position`` counts characters of a formula."""

    path: str
    message: str
    position: int | None = None


class Refused(Exception):
    """An answer other than 200, in words for a person; never with a true location in it."""

    def __init__(
        self, status: int, message: str, hint: str = "", problems: Sequence[Problem] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type[Refused], tuple[object, ...]]:
        return Refused, (self.status, self.message, self.hint, self.problems)

    def response(self) -> Response:
        """Return the answer."""
        problems = [
            {"path": each.path, "message": each.message, "position": each.position}
            for each in self.problems
        ]
        error = {"message": self.message, "hint": self.hint, "problems": problems}
        return answer({"error": error}, self.status)


def floats(values: ArrayLike) -> dict[str, str]:
    """Return numbers as 32-bit floats in base64; NaN stands for none.

    >>> floats([1.0])
    {'f32': 'AACAPw=='}
    """
    array = np.ascontiguousarray(values, dtype="<f4")
    return {"f32": base64.b64encode(array.tobytes()).decode("ascii")}


def whole_numbers(values: Sequence[int | None] | NDArray[np.int64]) -> dict[str, str]:
    """Return whole numbers as 32-bit ones in base64; -1 stands for none.

    >>> whole_numbers([1, None])
    {'i32': 'AQAAAP////8='}
    """
    if not isinstance(values, np.ndarray):
        values = np.array([-1 if value is None else value for value in values], dtype=np.int64)
    array = np.ascontiguousarray(values, dtype="<i4")
    return {"i32": base64.b64encode(array.tobytes()).decode("ascii")}


def read_numbers(sent: object, what: str) -> list[int]:
    """Return whole numbers that a page sent, as a list or in base64; Refused for anything else.

    >>> read_numbers(whole_numbers([3, 4]), "cells"), read_numbers([5], "cells")
    ([3, 4], [5])
    """
    if isinstance(sent, dict) and set(sent) == {"i32"} and isinstance(sent["i32"], str):
        try:
            data = base64.b64decode(sent["i32"], validate=True)
            return [int(value) for value in np.frombuffer(data, dtype="<i4")]
        except (binascii.Error, ValueError):
            pass
    elif isinstance(sent, list) and all(type(value) is int for value in sent):
        return list(sent)
    raise Refused(422, f"The {what} must be a list of whole numbers.")


def plain(value: Any) -> Any:
    """Return a value that JSON can hold: infinite numbers as text, no number as null.

    >>> plain({"a": (1.0, math.inf), "b": math.nan})
    {'a': [1.0, 'inf'], 'b': None}
    """
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    return value


def text_of(value: Any) -> str:
    """Return a value as JSON text on one line."""
    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def answer(value: Any, status: int = 200) -> Response:
    """Return a value as an answer."""
    return Response(
        text_of(value).encode("utf-8", "replace"), status, media_type="application/json"
    )
