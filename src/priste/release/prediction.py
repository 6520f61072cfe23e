"""Where the user is predicted to be, from public knowledge: a prior and past releases."""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import NDArray

from priste.mobility import MarkovModel

Floats = NDArray[np.float64]


class Prediction:
    """The filter of Algorithm 3: predict with the model, correct with each release.

    It holds nothing that an adversary with the same prior could not compute.
    """

    def __init__(self, model: MarkovModel, prior: Floats | None) -> None:
        self._model = model
        cells = model.grid.size
        self._states: Floats = np.full(cells, 1.0 / cells) if prior is None else np.array(prior)
        self._step = 0
        self._due = 0  # steps passed since the last time the states were pushed forward

    def predicted(self) -> Floats:
        """Return (m,), the probability of each cell before the release of this step."""
        self._catch_up()
        cells = self._model.cell_of_state(self._step)
        marginal = np.zeros(self._model.grid.size)
        np.add.at(marginal, cells, self._states)
        return np.asarray(marginal / marginal.sum())

    def correct(self, likelihood: Floats | None) -> None:
        """Take in the release of this step (None for one that says nothing) and go on.

        A release that was predicted to be impossible (only under a prior with zeros) leaves the
        prediction alone.
        """
        if likelihood is not None:
            self._catch_up()
            scaled = likelihood / likelihood.max()
            weighted = self._states * scaled[self._model.cell_of_state(self._step)]
            total = weighted.sum()
            if total > 0.0:
                self._states = weighted / total
        self._due += 1

    def copy(self) -> Prediction:
        """Return an independent copy."""
        return copy.copy(self)  # its arrays are replaced, never written to

    def _catch_up(self) -> None:
        while self._due:
            pushed = self._model.transition(self._step).push(self._states)
            self._states = pushed / pushed.sum()
            self._step += 1
            self._due -= 1
