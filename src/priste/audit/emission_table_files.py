"""Other people's mechanisms: emission tables from CSV files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from priste.errors import InvalidParameter
from priste.maps import Grid
from priste.mechanisms import EmissionTable
from priste.mechanisms.mechanism import MAX_TABLE_BYTES

_OWNER = "an emission table"

LONG_HEADER = ["cell", "output", "probability"]
"""The header of a table with one probability a line."""


def read_emission_table(path: str | Path, grid: Grid) -> EmissionTable:
    """Read a mechanism from a CSV file in one of two forms.

    - *Long*: the header ``cell,output,probability`` and one line per entry; entries that are not
      listed are 0. Cells and outputs count from 0.
    - *Wide*: one line per cell in order, one number per output, no header.

    Everything else is as in :class:`~priste.mechanisms.EmissionTable`: rows are true cells and sum
    to 1 within 1e-9. Raises InvalidParameter with the number of the first wrong line.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [(n, line) for n, line in enumerate(csv.reader(file), start=1) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise InvalidParameter(
            f"must be a table that can be read: {problem}",
            parameter="path",
            owner=_OWNER,
            value=str(path),
        ) from problem
    if not lines:
        raise InvalidParameter("must not be empty", parameter="path", owner=_OWNER, value=str(path))
    if [word.strip().lower() for word in lines[0][1]] == LONG_HEADER:
        return EmissionTable(grid, _long(lines[1:], grid, path))
    return EmissionTable(grid, _wide(lines, grid, path))


def _long(lines: list[tuple[int, list[str]]], grid: Grid, path: Path) -> np.ndarray:
    entries: dict[tuple[int, int], float] = {}
    most = MAX_TABLE_BYTES // (8 * grid.size)
    for number, line in lines:
        try:
            cell, output, probability = int(line[0]), int(line[1]), float(line[2])
        except (IndexError, ValueError) as problem:
            raise InvalidParameter(
                f"must hold a cell, an output and a probability in line {number}",
                parameter="path",
                owner=_OWNER,
                got=f"{line!r} in {str(path)!r}",
            ) from problem
        inside = 0 <= cell < grid.size and 0 <= output < most
        if not inside or (cell, output) in entries:
            raise InvalidParameter(
                f"must hold a cell from 0 to {grid.size - 1} and an output from 0 to {most - 1} in "
                f"line {number}, and each pair once",
                parameter="path",
                owner=_OWNER,
                got=f"{line!r} in {str(path)!r}",
            )
        entries[cell, output] = probability
    table = np.zeros((grid.size, 1 + max((output for _, output in entries), default=0)))
    for place, probability in entries.items():
        table[place] = probability
    return table


def _wide(lines: list[tuple[int, list[str]]], grid: Grid, path: Path) -> np.ndarray:
    rows = []
    for number, line in lines:
        try:
            rows.append([float(word) for word in line])
        except ValueError as problem:
            raise InvalidParameter(
                f"must hold numbers alone in line {number}: one line per cell, one number per "
                "output",
                parameter="path",
                owner=_OWNER,
                value=str(path),
                hint=f"For one entry a line, begin with {','.join(LONG_HEADER)!r}.",
            ) from problem
        if len(rows[-1]) != len(rows[0]):
            raise InvalidParameter(
                f"must have {len(rows[0])} numbers in line {number}, as in the first",
                parameter="path",
                owner=_OWNER,
                got=f"{len(rows[-1])} in {str(path)!r}",
            )
    if len(rows) != grid.size:
        raise InvalidParameter(
            f"must have one line for each of the {grid.size} cells",
            parameter="path",
            owner=_OWNER,
            got=f"{len(rows)} in {str(path)!r}",
        )
    return np.array(rows)
