"""What a stream without history remembers of its observations: the forward operator, to the bit.

A snapshot is all that a stream needs to go on, here or on another machine. The numbers come from
sums and products that were rounded once, wherever that was, so the error bound of a stream that
goes on from it is the one it would have had: it follows from the counts, and ``inherited``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from priste.quantify.joint_probabilities import Integers
from priste.quantify.lifted import LiftedChain
from priste.quantify.scaling import SMALLEST, TOP, Band, ScaledRows

_LARGEST_EXPONENT = 2**53
"""Beyond any that a stream could reach: 2**40 steps of the smallest floats."""


_LARGEST_INHERITED = 100.0
"""Nothing is left of a number that may be off by a factor e**100."""


@dataclass(frozen=True, eq=False)
class StreamSnapshot:
    """The forward operator of an event and model after ``step`` observations.

    ``observed`` of them were not silent; ``inherited`` is the logarithm of the factor by which they
    may be off together. ``rows`` are (rows, worlds, states). ``layout`` is a digest of what those
    three axes mean, so that the numbers are never read as something else.
    """

    step: int
    observed: int
    inherited: float
    rows: ScaledRows
    layout: str

    @property
    def bytes(self) -> int:
        """How much memory the numbers take."""
        return sum(band.nbytes + band.exponent.nbytes for band in self.rows.bands)


def layout_digest(chain: LiftedChain, labels: Integers, step: int) -> str:
    """Return a digest of what rows, worlds and states stand for after ``step`` observations."""
    worlds = [
        [layer.step, [sorted(cells) for cells in layer.classes], layer.moves]
        for layer in chain.layers.values()
    ]
    digest = hashlib.sha256(json.dumps([worlds, chain.outcome.tolist()]).encode("ascii"))
    for numbers in (labels, chain.model.cell_of_state(step - 1)):
        digest.update(np.ascontiguousarray(numbers, dtype="<i8").tobytes() + b";")
    return digest.hexdigest()


def check_snapshot(snapshot: StreamSnapshot, chain: LiftedChain, labels: Integers) -> None:
    """Raise ValueError if a snapshot is not one of a stream under this chain with these rows.

    What is checked are its shape and the invariants of scaled rows; not how it came about.
    """
    step = snapshot.step
    known = 0.0 <= snapshot.inherited <= _LARGEST_INHERITED
    if step < 1 or not 0 <= snapshot.observed <= step or not known:
        raise ValueError("its counts are impossible")
    chain.roundings(step - 1)  # refuses a step that the model does not have
    if snapshot.layout != layout_digest(chain, labels, step):
        raise ValueError("its numbers are of other rows, worlds or states")
    shape = (len(labels), chain.worlds(step - 1), chain.model.states(step - 1))
    if not snapshot.rows.bands:
        raise ValueError("it holds no numbers")
    for each in snapshot.rows.bands:
        band = Band(each.values, each.exponent)
        if band.values.shape != shape or band.exponent.shape != shape[:1]:
            raise ValueError("its numbers have another shape")
        least = band.values.min(where=band.values != 0.0, initial=SMALLEST)
        largest = band.values.max(initial=0.0)
        if not (least >= SMALLEST and largest <= shape[2] * 2.0**TOP):  # NaN is neither
            raise ValueError("its numbers are not scaled")
        if (np.abs(band.exponent) > _LARGEST_EXPONENT).any():
            raise ValueError("its exponents are impossible")
