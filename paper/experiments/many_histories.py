"""Several streams under one model and event, each with releases of its own, taken together.

A :class:`~priste.quantify.Quantifier` follows one stream and carries a row per first cell forward,
which costs m² numbers a step. Where hundreds of streams share the model, as in a study,
going back through time costs less: all of their columns are pulled through the model in one
product, so that a step of a stream costs a small part of that.
"""

from __future__ import annotations

import numpy as np

from priste.events import Event
from priste.mobility import MarkovModel
from priste.quantify.adversaries import AnyPrior
from priste.quantify.joint_probabilities import Floats, Integers, JointProbabilities
from priste.quantify.lifted import Likelihood, replay
from priste.quantify.model_stream import ModelStream, assembled, checked_candidates
from priste.quantify.scaling import LEAST_NORMAL


class ManyHistories:
    """The four quantities of ``count`` streams against every prior over the first cell.

    >>> from priste.events import presence
    >>> from priste.maps import Grid
    >>> grid = Grid(rows=1, columns=2, cell_size=1.0)
    >>> many = ManyHistories(MarkovModel.gaussian(grid, 1.0), presence([0], [1]), count=2)
    >>> many.observe(np.array([[0.9, 0.5], [0.1, 0.5]]))
    >>> found = many.joint_if(np.array([[0.5, 0.8], [0.5, 0.2]]), np.array([0, 1]))
    >>> found.rows, found.candidates
    (2, 2)
    """

    def __init__(self, model: MarkovModel, event: Event, count: int) -> None:
        # It holds no history; it knows the event, its priors and the bounds of rounding.
        self._stream = ModelStream(model, event, AnyPrior().rows(model), "replay", True)
        self._cells = model.grid.size
        self._count = count
        self.chain = self._stream.chain
        self.backward = self._stream.backward
        self.by_start = self._stream.by_start
        """(2, m): Pr(EVENT | first cell) and Pr(not EVENT | first cell)."""
        self.lines: list[Floats] = []
        """(count, m) per step: what was released, each line times a power of two."""

    @property
    def step(self) -> int:
        """How many releases every stream has seen."""
        return len(self.lines)

    def observe(self, columns: Floats) -> None:
        """Take in the next release of every stream: (m, count) P(release | cell).

        A column with the same number everywhere is silence.
        """
        checked = checked_candidates(columns, self._cells)
        lines = _scaled(checked)
        if lines.shape[0] != self._count or not lines.any(axis=1).all():
            raise ValueError(f"each of {self._count} streams needs a release that can be made")
        self._stream.check_step(self.step)
        self._stream.observe(Likelihood(lines[0], 0))
        self.lines.append(lines)

    def joint_if(self, columns: Floats, streams: Integers) -> JointProbabilities:
        """Return the four quantities if the next release of ``streams[k]`` were column k.

        ``columns`` are (m, k). b and d of a column are in units of their own (a power of
        two, the same for all rows), which no ratio sees.
        """
        checked = checked_candidates(columns, self._cells)
        self._stream.check_step(self.step)
        records = [Likelihood(lines[streams], 0) for lines in self.lines]
        back = replay(self.chain, self.backward, records, Likelihood(_scaled(checked), 0))
        mantissa, exponent = back.entries(lambda values: values[:, :, 0, :])  # (k, 2, m)
        positive = mantissa > 0.0
        top = np.max(exponent, axis=(1, 2), where=positive, initial=np.iinfo(np.int64).min)
        top[~positive.any(axis=(1, 2))] = 0
        shift = np.clip(exponent - top[:, None, None], -3000, 0).astype(np.int32)
        values = np.ldexp(mantissa, shift)
        lost = bool((positive & (values < LEAST_NORMAL)).any())
        return assembled(
            self._stream.prior_rows,
            np.ascontiguousarray(values.transpose(2, 1, 0)),
            np.zeros(self._cells, dtype=np.int64),
            lost,
            self._stream.relative_error(1),
            self._stream.absolute_error,
            True,
        )


def _scaled(columns: Floats) -> Floats:
    """Return columns (m, k) as lines (k, m), each times a power of two: its largest in [0.5, 1)."""
    shift = np.frexp(columns.max(axis=0))[1]
    return np.ascontiguousarray(np.ldexp(columns, -shift).T)
