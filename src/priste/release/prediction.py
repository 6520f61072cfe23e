"""Where the user is predicted to be, from public knowledge: a prior and past releases."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.mobility import MarkovModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PredictionSnapshot:
    """Where the user was predicted to be at ``step``, and how many steps have passed since."""

    states: Floats
    step: int
    due: int


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

    def snapshot(self) -> PredictionSnapshot:
        """Return all that the prediction remembers."""
        return PredictionSnapshot(self._states, self._step, self._due)

    def restored(self, snapshot: PredictionSnapshot) -> Prediction:
        """Return this prediction as it was at a snapshot; ValueError if it is of another one."""
        states = snapshot.states
        if snapshot.step < 0 or snapshot.due < 0:
            raise ValueError("its prediction is of an impossible step")
        if states.shape != (self._model.states(snapshot.step),):
            raise ValueError("its prediction has another shape")
        if not (states.min() >= 0.0 and states.max() < math.inf and states.sum() > 0.0):
            raise ValueError("its prediction is no distribution")
        twin = self.copy()
        twin._states, twin._step, twin._due = states, snapshot.step, snapshot.due
        return twin

    def copy(self) -> Prediction:
        """Return an independent copy."""
        return copy.copy(self)  # its arrays are replaced, never written to

    def _catch_up(self) -> None:
        while self._due:
            pushed = self._model.transition(self._step).push(self._states)
            self._states = pushed / pushed.sum()
            self._step += 1
            self._due -= 1
