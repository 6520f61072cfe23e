"""Sequences of cells with gaps: checked, cut into moves, counted.

Training data are true locations, so no message here repeats a cell number: it says which
sequence and which position to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from priste.arguments import check_int, is_int
from priste.errors import InvalidParameter
from priste.mobility.validation import IntArray

GAP = -1
"""How a missing cell is stored once the sequences are checked."""

LATEST_STEP = 2**53
"""Largest offset of a sequence: steps are counted in int64."""

CellSequences = Iterable[Sequence[int | None] | IntArray]


def _checked_sequence(sequence: object, index: int, size: int, owner: str) -> IntArray:
    if isinstance(sequence, int | np.integer) or sequence is None:
        raise InvalidParameter(
            "must be a list of sequences of cells",
            parameter="sequences",
            owner=owner,
            got="a list of cells",
            hint="For one sequence write [cells].",
        )
    if isinstance(sequence, np.ndarray) and sequence.ndim == 1 and sequence.dtype.kind in "iu":
        array, gaps = sequence.astype(np.int64), None
        if sequence.dtype.kind == "u" and sequence.size and sequence.max() >= size:
            array[sequence >= size] = size  # too large for int64, perhaps: refused below
    else:
        array, gaps = _from_items(sequence, index, owner)
    wrong = (array < 0) | (array >= size)
    if gaps is not None:
        wrong &= ~gaps
    if wrong.any():
        raise InvalidParameter(
            f"must hold cell numbers 0..{size - 1} or None for a gap",
            parameter="sequences",
            owner=owner,
            got=f"another number at position {int(np.argmax(wrong))} of sequence {index}",
        )
    return array


def _from_items(sequence: object, index: int, owner: str) -> tuple[IntArray, np.ndarray]:
    try:
        items = list(sequence)  # type: ignore[call-overload]  # a TypeError is the answer
    except TypeError:
        raise InvalidParameter(
            f"must be sequences of cells; sequence {index} is not",
            parameter="sequences",
            owner=owner,
            value=type(sequence),
        ) from None
    for position, item in enumerate(items):
        if item is not None and not is_int(item):
            raise InvalidParameter(
                "must hold whole numbers, or None for a gap",
                parameter="sequences",
                owner=owner,
                got=f"{type(item).__name__} at position {position} of sequence {index}",
            )
    gaps = np.array([item is None for item in items], dtype=np.bool_)
    # A number too large for int64 is no cell either; -2 is refused like any negative.
    numbers = (GAP if item is None else int(item) for item in items)
    array = np.fromiter(
        (number if -2 < number < 2**62 else -2 for number in numbers), np.int64, len(items)
    )
    return array, gaps


def checked_sequences(sequences: object, size: int, *, owner: str) -> list[IntArray]:
    """Return one int64 array per sequence, ``GAP`` where it had ``None``.

    Sequences of length 0 and 1 are fine; they hold no move.
    """
    if isinstance(sequences, str | bytes) or not isinstance(sequences, Iterable):
        raise InvalidParameter(
            "must be a list of sequences of cells",
            parameter="sequences",
            owner=owner,
            value=type(sequences),
        )
    return [
        _checked_sequence(sequence, index, size, owner) for index, sequence in enumerate(sequences)
    ]


def checked_offsets(offsets: Iterable[int] | None, count: int, *, owner: str) -> list[int]:
    """Return one starting step per sequence; ``None`` means that all start at step 0."""
    if offsets is None:
        return [0] * count
    if not isinstance(offsets, Iterable):
        raise InvalidParameter(
            "must be one whole number per sequence", parameter="offsets", owner=owner, value=offsets
        )
    numbers = [check_int(offset, "offsets", owner, most=LATEST_STEP) for offset in offsets]
    if len(numbers) != count:
        raise InvalidParameter(
            f"must hold one number per sequence ({count})",
            parameter="offsets",
            owner=owner,
            value=len(numbers),
        )
    return numbers


def without_steps(
    sequences: list[IntArray], leave_out: Iterable[Sequence[bool]] | None, *, owner: str
) -> list[IntArray]:
    """Return checked sequences with a gap at every step whose mask is True; None leaves out none.

    No message repeats a cell.
    """
    if leave_out is None:
        return sequences
    masks = [np.asarray(mask) for mask in leave_out]
    fits = len(masks) == len(sequences) and all(
        mask.dtype == np.bool_ and mask.shape == cells.shape
        for mask, cells in zip(masks, sequences, strict=False)
    )
    if not fits:
        raise InvalidParameter(
            "must hold one mask of True and False per sequence, as long as it",
            parameter="leave_out",
            owner=owner,
            got=f"{len(masks)} masks for {len(sequences)} sequences",
        )
    return [
        np.where(mask, GAP, cells).astype(np.int64)
        for mask, cells in zip(masks, sequences, strict=True)
    ]


@dataclass(frozen=True)
class Moves:
    """Moves between known cells: ``sources[k]`` to ``targets[k]`` at step ``steps[k]``.

    ``before[k]`` is the cell before the source, or ``GAP`` if that is not known.
    """

    sources: IntArray
    targets: IntArray
    steps: IntArray
    before: IntArray


def moves_of(sequences: list[IntArray], offsets: list[int]) -> Moves:
    """Cut sequences into moves. A gap makes no move, neither into nor out of it."""
    sources, targets, steps, before = [], [], [], []
    for cells, offset in zip(sequences, offsets, strict=True):
        if len(cells) < 2:
            continue
        known = np.flatnonzero((cells[:-1] != GAP) & (cells[1:] != GAP))
        earlier = np.concatenate([np.array([GAP], dtype=np.int64), cells[:-1]])
        sources.append(cells[known])
        targets.append(cells[known + 1])
        steps.append(known + offset)
        before.append(earlier[known])
    empty = [np.empty(0, dtype=np.int64)]
    return Moves(*(np.concatenate(part or empty) for part in (sources, targets, steps, before)))


def counts_of(sources: IntArray, targets: IntArray, shape: tuple[int, int]) -> sparse.csr_array:
    """Count the pairs into a CSR array of whole numbers (as floats, exact below 2**53)."""
    ones = np.ones(sources.size)
    counts = sparse.csr_array((ones, (sources, targets)), shape=shape)
    counts.sum_duplicates()
    return counts
