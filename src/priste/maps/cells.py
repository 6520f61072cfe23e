"""The one validator for cell numbers, wherever cells are taken."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np

from priste.arguments import is_int
from priste.errors import InvalidParameter

Cells: TypeAlias = Iterable[int]
"""Any iterable of cell numbers; a ``Region`` is one."""

CELL_NUMBER_LIMIT = 2**31
"""Cell numbers are below this, so that they and their pairs fit the integers of numpy."""

MOST_NUMBERS = 10_000_000
"""The most numbers read from one iterable: an endless one must not fill the memory."""


def cell_numbers(cells: Cells, *, name: str = "cells") -> frozenset[int]:
    """Return the cell numbers in ``cells`` as a frozen set of plain ``int``.

    ``cells`` is any iterable of whole numbers (``numpy`` integers included), or a
    ``Region``. Repetitions count once. The map is not known here, so a number is only
    checked to be in ``[0, 2**31)``. Raises :class:`InvalidParameter` for an empty
    iterable, ``bool``, ``float`` (even a whole one), negative numbers, text, mappings,
    and anything that is not iterable. ``name`` is what the error calls the argument.

    >>> sorted(cell_numbers(range(3)))
    [0, 1, 2]
    >>> cell_numbers([1.0], name="region")
    Traceback (most recent call last):
    ...
    priste.errors.InvalidParameter: The 'region' must hold cell numbers (whole numbers in \
[0, 2147483648), not bools). Got 1.0.
    """
    numbers = read_cell_numbers(cells, name=name)
    if not numbers:
        raise InvalidParameter(
            "must hold at least one cell",
            parameter=name,
            got="none",
            hint="An event about no cell never holds.",
        )
    return numbers


def read_cell_numbers(cells: Cells, *, name: str) -> frozenset[int]:
    """Do what :func:`cell_numbers` does, but let an empty iterable pass."""
    if isinstance(cells, (str, bytes, bytearray, Mapping)) or not isinstance(cells, Iterable):
        raise InvalidParameter(
            "must be an iterable of cell numbers or a Region",
            parameter=name,
            value=type(cells),
            hint="For a single cell write [cell].",
        )
    if isinstance(cells, np.ndarray):
        if cells.ndim != 1 or (cells.size and cells.dtype.kind not in "iuO"):
            raise InvalidParameter(
                "must be one-dimensional and of an integer type where it is an array",
                parameter=name,
                got=f"shape {cells.shape} of {cells.dtype}",
                hint="For a mask of booleans use numpy.flatnonzero(mask).",
            )
        cells = cells.tolist()
    found: set[int] = set()
    for count, entry in enumerate(cells):
        if count >= MOST_NUMBERS:
            raise InvalidParameter(
                f"must hold at most {MOST_NUMBERS} numbers", parameter=name, got="more"
            )
        found.add(_cell_number(entry, name))
    return frozenset(found)


def _cell_number(entry: object, name: str) -> int:
    if is_int(entry):
        number = operator.index(entry)  # type: ignore[arg-type]  # whole, as just checked
        if 0 <= number < CELL_NUMBER_LIMIT:
            return number
    raise InvalidParameter(
        f"must hold cell numbers (whole numbers in [0, {CELL_NUMBER_LIMIT}), not bools)",
        parameter=name,
        value=entry,
    )
