"""One step of a stream as it is stored: a release, and what is needed to replay it.

The likelihood that was counted is stored to the bit, so that a stream goes on under any processor
and numpy: nothing is computed anew to know what was released. A file holds each likelihood once,
with the first release that has it; later ones name its digest.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from priste.float_text import floats_to_text, number_from_json, number_to_json
from priste.release.ledger import Release

LARGEST_LIKELIHOOD = 2**27
"""Bytes of a likelihood that is unpacked, at most: that of 16 million cells."""

MOST_HINTS = 1000
"""How many integers a calibrator may leave for itself with a release."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A release, the digest of its likelihood (None for silence), and the calibrator's hints."""

    release: Release
    digest: str | None = None
    hints: tuple[int, ...] = ()


class Likelihoods:
    """The likelihoods of a stream by digest, each packed once."""

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}

    def add(self, likelihood: NDArray[np.float64]) -> str:
        """Keep a likelihood and return its digest."""
        digest = likelihood_digest(likelihood)
        if digest not in self._packed:
            self._packed[digest] = pack(likelihood)
        return digest

    def add_packed(self, digest: str, text: object) -> None:
        """Keep what a file holds of a likelihood; ValueError if it is not text."""
        if not isinstance(text, str):
            raise ValueError("its likelihood is not text")
        self._packed[digest] = base64.b64decode(text, validate=True)

    def packed_text(self, digest: str) -> str:
        """Return a likelihood as a file holds it."""
        return base64.b64encode(self._packed[digest]).decode("ascii")

    def array(self, digest: str) -> NDArray[np.float64]:
        """Return (m,) a likelihood; ValueError if it is missing or not that of its digest."""
        packed = self._packed.get(digest)
        if packed is None:
            raise ValueError("its likelihood is missing")
        found = unpack(packed)
        if likelihood_digest(found) != digest:
            raise ValueError("its likelihood does not match its digest")
        return found


class LikelihoodTexts(Sequence[str | None]):
    """The likelihoods of entries as a ledger holds them, made when they are asked for."""

    def __init__(self, entries: Sequence[Entry], likelihoods: Likelihoods) -> None:
        self._digests = tuple(entry.digest for entry in entries)
        self._likelihoods = likelihoods

    def __len__(self) -> int:
        return len(self._digests)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str | None] | None:
        if isinstance(index, slice):
            return [self._text(digest) for digest in self._digests[index]]
        return self._text(self._digests[index])

    def _text(self, digest: str | None) -> str | None:
        return None if digest is None else floats_to_text(self._likelihoods.array(digest))


def pack(likelihood: NDArray[np.float64]) -> bytes:
    """Return the exact bits of a likelihood, compressed.

    >>> unpack(pack(np.array([0.1, 0.0, 0.7]))).tolist()
    [0.1, 0.0, 0.7]
    """
    return zlib.compress(np.ascontiguousarray(likelihood, dtype="<f8").tobytes())


def unpack(packed: bytes) -> NDArray[np.float64]:
    """Undo :func:`pack`; ValueError if these are not its bytes."""
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed, LARGEST_LIKELIHOOD)
    except zlib.error as problem:
        raise ValueError(f"its likelihood cannot be unpacked ({problem})") from problem
    if not data or len(data) % 8 or not unpacking.eof:
        raise ValueError("its likelihood is not a list of floats")
    found = np.frombuffer(data, dtype="<f8").astype(np.float64)
    found.flags.writeable = False
    return found


def likelihood_digest(likelihood: NDArray[np.float64]) -> str:
    """Return 32 hex digits that change with any bit of the likelihood."""
    data = np.ascontiguousarray(likelihood, dtype="<f8").tobytes()
    return hashlib.sha256(data).hexdigest()[:32]


def entry_to_json(entry: Entry, likelihoods: Likelihoods, written: set[str]) -> dict[str, Any]:
    """Return an entry as a record of a state file.

    ``written`` are the digests whose likelihood the file holds; that of this entry is added.
    """
    r = entry.release
    record: dict[str, Any] = {
        "step": r.step,
        "output": r.cell,
        "leakage": [number_to_json(value) for value in r.leakage],
        "belief": list(r.belief),
    }
    if entry.digest is not None:
        record["budget"] = number_to_json(r.budget)
        record["attempts"] = r.attempts
        record["undecided"] = r.undecided
        record["hints"] = list(entry.hints)
        record["digest"] = entry.digest
        if entry.digest not in written:
            record["likelihood"] = likelihoods.packed_text(entry.digest)
            written.add(entry.digest)
    return record


def entry_from_json(record: Mapping[str, Any], likelihoods: Likelihoods, against: str) -> Entry:
    """Undo :func:`entry_to_json`; KeyError, TypeError or ValueError if the record is another.

    The likelihood of the record, if it holds one, is added to ``likelihoods``.
    """
    silent = record["output"] is None
    release = Release(
        step=_count(record, "step"),
        cell=None if silent else _count(record, "output"),
        budget=0.0 if silent else number_from_json(record["budget"]),
        leakage=tuple(number_from_json(value) for value in record["leakage"]),
        attempts=0 if silent else _count(record, "attempts"),
        undecided=0 if silent else _count(record, "undecided"),
        belief=tuple(number_from_json(value) for value in record["belief"]),
        against=against,
    )
    if silent:
        return Entry(release)
    digest = record["digest"]
    if not isinstance(digest, str):
        raise ValueError("its digest is not text")
    if "likelihood" in record:
        likelihoods.add_packed(digest, record["likelihood"])
    return Entry(release, digest, _hints(record["hints"]))


def _hints(values: Sequence[int]) -> tuple[int, ...]:
    if len(values) > MOST_HINTS or not all(type(v) is int and abs(v) < 2**63 for v in values):
        raise ValueError("its hints are not integers")
    return tuple(values)


def _count(record: Mapping[str, Any], name: str) -> int:
    value = record[name]
    if type(value) is not int or value < 0:
        raise ValueError(f"its {name!r} is {value!r}")
    return value
