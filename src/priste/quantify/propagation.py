"""Two ways to the same numbers: the forward operator and the backward replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from priste.quantify.joint_probabilities import Floats, Integers
from priste.quantify.lifted import BackwardVectors, LiftedChain
from priste.quantify.scaling import ScaledRows

LARGE_BYTES = 2**26
"""Above this what an operator made for candidates is forgotten when it has moved on: 64 MiB."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """P(release | cell) = values * 2**exponent, the largest value in [0.5, 1)."""

    values: Floats
    exponent: int


Record = Likelihood | None
"""One observation: the likelihood of a release, or None for silence."""


class ForwardOperator:
    """G: Pr(o_0 .. o_t, (world, state) at t | row), one row per start or prior.

    Immutable: ``observed`` returns the next one. What is known before the next release
    (one transition further) is computed on demand and kept, since candidates and the
    observation itself both need it.
    """

    def __init__(self, chain: LiftedChain, rows: ScaledRows, absorbed: int) -> None:
        """``rows`` are (rows, worlds, states) after ``absorbed`` observations; see ``at_start``."""
        self._chain = chain
        self.absorbed = absorbed
        self.rows = rows
        self._predicted = rows if absorbed == 0 else None
        self._candidates: ScaledRows | None = None

    @classmethod
    def at_start(cls, chain: LiftedChain, starts: ScaledRows) -> ForwardOperator:
        """``starts`` (rows, 1, cells): the distribution of the first cell in each row."""
        return cls(chain, chain.entered(starts, 0), 0)

    def predicted(self) -> ScaledRows:
        """Return (rows, worlds, states) at step ``absorbed``, before what it releases."""
        if self._predicted is None:
            self._predicted = self._chain.advanced(self.rows, self.absorbed)
        return self._predicted

    def observed(self, record: Record) -> ForwardOperator:
        """Return the operator after one more observation."""
        rows = self.predicted()
        if sum(band.nbytes for band in rows.bands) > LARGE_BYTES:
            self._candidates = None  # whoever asks again has them made again
        if record is not None:
            emission = self._chain.on_states(record.values, self.absorbed)
            rows = rows.through(lambda values: values * emission, by_blocks=True)
            rows = rows.times_power(record.exponent)
        return ForwardOperator(self._chain, rows, self.absorbed + 1)

    def joint(self, backward: BackwardVectors) -> tuple[Floats, Integers]:
        """Return mantissas and exponents (rows, answers) of b; needs an observation."""
        rows = self.rows
        vectors = backward.at(max(self.absorbed - 1, 0))
        if vectors.shape[2] == 1:
            outcome = vectors[:, :, 0].T
            return rows.entries(lambda values: values.sum(axis=2) @ outcome)
        flat = vectors.reshape(len(vectors), -1).T
        return rows.entries(lambda values: values.reshape(len(values), -1) @ flat)

    def candidates(self, backward: BackwardVectors) -> ScaledRows:
        """Return H (rows, answers, cells): b of the next release is H times its likelihood."""
        if self._candidates is None:
            chain, step = self._chain, self.absorbed
            vectors = backward.at(step)

            def weigh(values: Floats) -> Floats:
                weighed = np.zeros((values.shape[0], len(vectors), values.shape[2]))
                for world in range(values.shape[1]):
                    for answer in range(len(vectors)):
                        vector = vectors[answer, world]
                        if vector.any():
                            weighed[:, answer] += values[:, world] * vector
                return chain.on_cells(weighed, step)

            # The vectors are probabilities: no row's total grows.
            self._candidates = self.predicted().through(weigh, rescale=False, by_blocks=True)
        return self._candidates


def replay(
    chain: LiftedChain,
    backward: BackwardVectors,
    records: Sequence[Record],
    columns: Likelihood | None = None,
) -> ScaledRows:
    """Return (k, answers, 1, cells): b for every first cell, by going back through time.

    ``columns`` (values (k, cells)) are candidates for the release after ``records``; k = 1
    without them. Needs a record or candidates. Costs one pull per step and column after
    the event, answers times worlds before its end, and no memory beyond that of the columns.
    """
    pending: list[Record] = [*records] if columns is None else [*records, columns]
    newest = len(pending) - 1
    count = 1 if columns is None else len(columns.values)
    current = ScaledRows.of(np.ones((count, 1, 1, chain.model.states(newest))))
    # After the event worlds no longer matter: all answers share one column until its end.
    if newest < chain.last:
        current = _lifted(current, backward.at(newest))
    for step in range(newest, -1, -1):
        record = pending[step]
        if record is not None:
            current = _weighed(current, chain.on_states(record.values, step), record.exponent)
        if step == chain.last:
            current = _lifted(current, backward.at(step))
        current = _one_back(chain, current, step)
    return current if chain.last >= 0 else _lifted(current, backward.at(0))


def _lifted(rows: ScaledRows, vectors: Floats) -> ScaledRows:
    """Split columns into answers and into worlds."""
    return rows.through(lambda values: values * vectors)


def _weighed(rows: ScaledRows, emission: Floats, exponent: int) -> ScaledRows:
    """Multiply by one likelihood (states,) for all, or by one per column (k, states)."""
    by_column = emission.reshape(-1, 1, 1, emission.shape[-1])
    return rows.through(lambda values: values * by_column).times_power(exponent)


def _one_back(chain: LiftedChain, rows: ScaledRows, step: int) -> ScaledRows:
    """Carry columns from after the layer of ``step`` to after that of ``step - 1``."""
    if step <= chain.last:
        rows = rows.through(partial(chain.leave, step=step), rescale=False)
    return chain.pulled(rows, step) if step > 0 else rows
