"""One step of a stream as it is stored: a release, and what is needed to replay it.

The column that the quantifiers observed is stored to the bit, so that a stream goes on under
any processor, numpy and version of priste: nothing is computed anew to know what was released. A
file holds each column once, with the first release that has it; later ones name its digest.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.float_text import floats_from_text, number_from_json, number_to_json
from priste.release.ledger import Release


@dataclass(frozen=True, slots=True)
class Entry:
    """A release with what is needed to replay it.

    ``column`` is the digest of the column that the quantifiers observed, None for silence.
    ``likelihood`` is that column itself, as text, when the mechanism at the budget of the
    release does not determine it; else ``packed`` is it, as :func:`pack_column` writes it (None
    in files of the first versions, which computed it again). ``hints`` is what the calibrator
    left for itself. ``older`` marks an entry of a file from before beliefs were written: its belief
    was measured when it was read, and is not written, so that the line stays the same.
    """

    release: Release
    column: str | None = None
    likelihood: str | None = None
    hints: tuple[int, ...] = ()
    packed: bytes | None = None
    older: bool = False

    def stored_column(self, cells: int) -> NDArray[np.float64] | None:
        """Return (cells,) the column as it is stored, None if it is not; ValueError if broken."""
        if self.likelihood is not None:
            return floats_from_text(self.likelihood)
        return None if self.packed is None else unpack_column(self.packed, cells)


LARGEST_COLUMN = 2**27
"""Bytes of a column that is unpacked: that of 16 million cells."""


MOST_HINTS = 1000
"""How many whole numbers a calibrator may leave for itself with a release."""


def pack_column(column: NDArray[np.float64]) -> bytes:
    """Return the exact bits of a column, few where it is sparse, symmetric or the same everywhere.

    >>> unpack_column(pack_column(np.array([0.1, 0.0, 0.7])), 3).tolist()
    [0.1, 0.0, 0.7]
    """
    same = bool((column == column[0]).all())
    data = np.ascontiguousarray(column[:1] if same else column, dtype="<f8").tobytes()
    return zlib.compress(data)


def unpack_column(packed: bytes, cells: int) -> NDArray[np.float64]:
    """Undo :func:`pack_column` for a map of so many cells; ValueError if it is none of its."""
    wanted = min(8 * cells, LARGEST_COLUMN)
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, wanted + 1)
    except zlib.error as problem:
        raise ValueError(f"its column cannot be unpacked ({problem})") from problem
    if len(data) not in (8, wanted) or not unpacking.eof:
        raise ValueError("its column is not one of this map")
    column = np.broadcast_to(np.frombuffer(data, dtype="<f8").astype(np.float64), (cells,)).copy()
    column.flags.writeable = False
    return column


def column_digest(column: NDArray[np.float64]) -> str:
    """Return 16 hex digits that change with any bit of the column."""
    return hashlib.sha256(np.ascontiguousarray(column, dtype="<f8").tobytes()).hexdigest()[:16]


def entry_to_json(entry: Entry, stored: set[str]) -> dict[str, Any]:
    """Return the entry as one record of a state file.

    ``stored`` are the digests of the columns that the file holds already; that of this entry
    is added.
    """
    r = entry.release
    record: dict[str, Any] = {
        "step": r.step,
        "output": r.cell,
        "leakage": [number_to_json(value) for value in r.leakage],
    }
    if not entry.older:
        record["belief"] = list(r.belief)
    if r.cell is not None:
        record["budget"] = number_to_json(r.budget)
        record["attempts"] = r.attempts
        record["undecided"] = r.undecided
        record["column"] = entry.column
        record["hints"] = list(entry.hints)
    if entry.likelihood is not None:
        record["likelihood"] = entry.likelihood
    if entry.packed is not None and entry.column is not None and entry.column not in stored:
        record["packed"] = base64.b64encode(entry.packed).decode("ascii")
        stored.add(entry.column)
    return record


def entry_from_json(record: Mapping[str, Any], packed: dict[str, bytes]) -> Entry:
    """Undo :func:`entry_to_json`; KeyError, TypeError or ValueError if it is none.

    ``packed`` holds the columns of earlier records by their digests; that of this one is added.
    Entries of older files have no beliefs, and are marked.
    """
    silent = record["output"] is None
    release = Release(
        step=_count(record, "step"),
        cell=None if silent else _count(record, "output"),
        budget=0.0 if silent else number_from_json(record["budget"]),
        leakage=tuple(number_from_json(value) for value in record["leakage"]),
        attempts=0 if silent else _count(record, "attempts"),
        undecided=0 if silent else _count(record, "undecided"),
        belief=tuple(number_from_json(value) for value in record.get("belief", ())),
    )
    older = "belief" not in record
    if silent:
        return Entry(release, older=older)
    digest, likelihood = record["column"], record.get("likelihood")
    if "packed" in record:
        if not isinstance(record["packed"], str):
            raise ValueError("its column is no text")
        packed[digest] = base64.b64decode(record["packed"], validate=True)
    known = packed.get(digest) if likelihood is None else None
    return Entry(release, digest, likelihood, _hints(record["hints"]), known, older)


def _hints(values: Sequence[int]) -> tuple[int, ...]:
    """Return what a calibrator left for itself: few whole numbers, as every law takes them."""
    if len(values) > MOST_HINTS or not all(type(v) is int and abs(v) < 2**63 for v in values):
        raise ValueError("its hints are no whole numbers")
    return tuple(values)


def _count(record: Mapping[str, Any], name: str) -> int:
    value = record[name]
    if type(value) is not int or value < 0:
        raise ValueError(f"its {name!r} is {value!r}")
    return value
