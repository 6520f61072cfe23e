"""One step of a stream as it is stored: a release, and what is needed to replay it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.float_text import number_from_json, number_to_json
from priste.release.ledger import Release


@dataclass(frozen=True, slots=True)
class Entry:
    """A release with what is needed to replay it.

    ``column`` is the digest of the column that the quantifiers observed, None for silence.
    ``likelihood`` is that column itself, as text, when the mechanism at the budget of the
    release does not determine it. ``hints`` is what the calibrator left for itself. ``older`` marks
    an entry of a file from before beliefs were written: its belief was measured when it was read,
    and is not written, so that the line stays the same.
    """

    release: Release
    column: str | None = None
    likelihood: str | None = None
    hints: tuple[int, ...] = ()
    older: bool = False


def column_digest(column: NDArray[np.float64]) -> str:
    """Return 16 hex digits that change with any bit of the column."""
    return hashlib.sha256(np.ascontiguousarray(column, dtype="<f8").tobytes()).hexdigest()[:16]


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """Return the entry as one record of a state file."""
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
    return record


def entry_from_json(record: Mapping[str, Any]) -> Entry:
    """Undo :func:`entry_to_json`; KeyError, TypeError or ValueError if it is none.

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
    likelihood, hints = record.get("likelihood"), tuple(record["hints"])
    return Entry(release, record["column"], likelihood, hints, older)


def _count(record: Mapping[str, Any], name: str) -> int:
    value = record[name]
    if type(value) is not int or value < 0:
        raise ValueError(f"its {name!r} is {value!r}")
    return value
