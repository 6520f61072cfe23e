"""Checkpoints: what a long stream's releases left, beside its file, so that none is replayed.

Beside ``today.journal`` lies ``today.journal.checkpoint``, two lines of text and then numbers::

    priste-checkpoint 1 <digest>      name and version; SHA-256 of all that follows this line
    {...}                             JSON: of which file and step it is, and the arrays' shapes
    ...                               the arrays in that order: little-endian doubles and integers

The JSON holds ``chain``, the digest of the journal's line of the last step that is counted (see
:mod:`priste.release.stream_file.journal`), which stands for all lines before it; ``step``, how many
steps are counted; ``prediction`` with its ``step`` and ``due``; ``quantifiers``, per event and
model ``observed``, ``inherited``, ``layout`` and the number of ``bands``. The arrays are the states
of the prediction, then per event, model and band the values (rows, worlds, states) and the
exponents (rows,). All numbers are exact, so any machine goes on from the same ones, with the error
bound they had.

A checkpoint saves work and decides nothing about what was released. One that is missing, damaged,
of another version or of another file is ignored, and the steps are replayed; it may be deleted at
any time. Like the chain of a journal its digest has no key: it finds accidents. A person who can
write to these private files (mode 0600) on purpose could make later releases count too little of
the earlier ones, and could as well change the journal or the program.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priste.atomic_files import write_file
from priste.errors import OutputError
from priste.quantify import StreamSnapshot
from priste.quantify.scaling import Band, ScaledRows
from priste.release.accountant import PredictionSnapshot, StateSnapshot

FORMAT, VERSION = "priste-checkpoint", 1

EVERY = 100
"""Steps from one checkpoint to the next: this many are replayed at most. Writing one takes about as
long as one step, so that a stream is slower by about one part in a hundred."""

LARGEST = 2**28
"""Bytes of a checkpoint, at most: 256 MiB, about 4,000 cells with one event of two worlds."""

_HEAD = re.compile(rf"{FORMAT} {VERSION} ([0-9a-f]{{64}})\n".encode("ascii"))
_MOST_DIMENSIONS = 3

_log = logging.getLogger("priste.release")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """What the first ``state.step`` steps of the file whose chain was ``chain`` left."""

    chain: str
    state: StateSnapshot


def checkpoint_of(path: Path) -> Path:
    """Return where the checkpoint of a state file or journal lies."""
    return path.with_name(path.name + ".checkpoint")


def keep(path: Path, chain: str, state: StateSnapshot | None) -> None:
    """Write the checkpoint of the file at ``path``, whose last line has the digest ``chain``.

    None, or more than ``LARGEST``, is not kept. A disk that is full costs the checkpoint only.
    """
    if state is None or state.bytes > LARGEST:
        return
    try:
        write_file(checkpoint_of(path), encode(Checkpoint(chain, state)), overwrite=True)
    except OutputError as problem:
        _log.warning("No checkpoint was kept beside %s: %s", path, problem)


def found(path: Path, chains: Sequence[str]) -> Checkpoint | None:
    """Return the checkpoint of a file, if it has one; ``chains[n]`` is its chain after n steps.

    None where it cannot be used, whatever the reason; the log names the reason.
    """
    try:
        read = decode(checkpoint_of(path).read_bytes())
        step = read.state.step
        if not 1 <= step < len(chains) or chains[step] != read.chain:
            raise ValueError("it is of another file")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        ignored(path, str(problem))
        return None
    return read


def ignored(path: Path, why: str) -> None:
    """Log that a checkpoint is not used."""
    _log.warning("The checkpoint of %s is ignored, and its steps are replayed: %s", path, why)


def encode(checkpoint: Checkpoint) -> bytes:
    """Return the bytes of a checkpoint."""
    state, arrays = checkpoint.state, list(_arrays(checkpoint.state))
    head = {
        "chain": checkpoint.chain,
        "step": state.step,
        "prediction": {"step": state.prediction.step, "due": state.prediction.due},
        "quantifiers": [
            [
                {
                    "observed": each.observed,
                    "inherited": each.inherited,
                    "layout": each.layout,
                    "bands": len(each.rows.bands),
                }
                for each in snapshots
            ]
            for snapshots in state.quantifiers
        ],
        "arrays": [[array.dtype.str[1:], list(array.shape)] for array in arrays],
    }
    parts = [json.dumps(head, separators=(",", ":"), allow_nan=False).encode("ascii"), b"\n"]
    parts += [np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("<")).tobytes() for a in arrays]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    first = f"{FORMAT} {VERSION} {digest.hexdigest()}\n".encode("ascii")
    return b"".join([first, *parts])


def decode(data: bytes) -> Checkpoint:
    """Undo :func:`encode`; ValueError if it is none of its."""
    match = _HEAD.match(data)
    if match is None:
        raise ValueError("it does not begin as a checkpoint of this version")
    if hashlib.sha256(memoryview(data)[match.end() :]).hexdigest().encode() != match[1]:
        raise ValueError("it does not match its digest")
    try:
        return _decoded(data, match.end())
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError) as problem:
        raise ValueError(f"it does not say what it holds ({problem})") from problem


def _decoded(data: bytes, start: int) -> Checkpoint:
    end = data.index(b"\n", start)
    head = json.loads(data[start:end])
    numbers = _numbers(data, end + 1, head["arrays"])
    states = _next(numbers, "f")
    step, predicted = _count(head["step"]), head["prediction"]
    quantifiers = tuple(
        tuple(_stream(each, step, numbers) for each in snapshots)
        for snapshots in head["quantifiers"]
    )
    prediction = PredictionSnapshot(states, _count(predicted["step"]), _count(predicted["due"]))
    if next(numbers, None) is not None:
        raise ValueError("it holds more numbers than it names")
    return Checkpoint(str(head["chain"]), StateSnapshot(step, quantifiers, prediction))


def _arrays(state: StateSnapshot) -> Iterator[NDArray[Any]]:
    yield state.prediction.states
    for snapshots in state.quantifiers:
        for each in snapshots:
            for band in each.rows.bands:
                yield band.values
                yield band.exponent


def _numbers(data: bytes, start: int, arrays: Sequence[Sequence[Any]]) -> Iterator[NDArray[Any]]:
    """Yield the arrays that begin at a byte; together they must be the rest of the data."""
    for kind, shape in arrays:
        if kind not in ("f8", "i8") or not 1 <= len(shape) <= _MOST_DIMENSIONS:
            raise ValueError("it holds arrays of another kind")
        count = math.prod(_count(length) for length in shape)
        if count == 0 or start + 8 * count > len(data):
            raise ValueError("its arrays do not fit into it")
        yield np.frombuffer(data, dtype=f"<{kind}", count=count, offset=start).reshape(shape)
        start += 8 * count
    if start != len(data):
        raise ValueError("its arrays do not fill it")


def _next(numbers: Iterator[NDArray[Any]], kind: str) -> NDArray[Any]:
    array = next(numbers, None)
    if array is None or array.dtype.kind != kind:
        raise ValueError("it lacks numbers that it names")
    return array


def _stream(head: dict[str, Any], step: int, numbers: Iterator[NDArray[Any]]) -> StreamSnapshot:
    bands = tuple(
        Band(_next(numbers, "f"), _next(numbers, "i")) for _ in range(_count(head["bands"]))
    )
    observed, inherited = _count(head["observed"]), float(head["inherited"])
    return StreamSnapshot(step, observed, inherited, ScaledRows(bands), str(head["layout"]))


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("a count is none")
    return value
