"""Priors that refused releases before: they refuse most of those that are refused later.

Whether a release keeps ε for every prior takes the whole history; whether it breaks it for one
prior takes a product with what is known of that prior already. A study asks about many releases of
which most are refused, so that asking the priors that refused earlier ones first saves most of the
work. They only ever refuse, and only where no rounding could be to blame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paper.experiments.many_histories import ManyHistories
from priste.quantify.joint_probabilities import Floats, Integers

Booleans = NDArray[np.bool_]

KEPT = 3
"""How many priors are kept of each stream; a new one takes the place of the oldest."""

SURELY = 1e-6
"""Ratios beyond the bound by this share are beyond it, whatever rounding did."""

_TINY = 1e-100
"""Numbers below this may be what underflow left, and decide nothing."""


class Witnesses:
    """Some priors of each stream of :class:`~.many_histories.ManyHistories`, carried forward.

    ``follow`` must be called after every ``observe`` of the histories.
    """

    def __init__(self, histories: ManyHistories, count: int) -> None:
        self._histories = histories
        self._next = np.zeros(count, dtype=np.int64)
        self._missed = np.zeros(count, dtype=np.int64)
        self._prior = np.zeros((count, KEPT, 2))
        self._decided = np.zeros(count, dtype=bool)
        cells = histories.chain.model.grid.size
        # (streams, KEPT, worlds, states) at this step, before its release; zeros: no prior is here.
        self._masses = self._entered(np.zeros((count * KEPT, 1, cells)), 0)
        self._ahead = self._weighed(self._masses, 0)

    @property
    def decided(self) -> Booleans:
        """Of which streams the releases have decided the event: no later release keeps any ε."""
        return self._decided

    def refuse(self, columns: Floats, streams: Integers, limits: Floats) -> Booleans:
        """Tell which columns (m, k) of streams surely break ``limits`` (k,), the ε of each.

        False says nothing.
        """
        ahead = self._ahead.reshape(len(self._next), KEPT * 2, -1)[streams]
        joint = (ahead @ columns.T[:, :, None])[:, :, 0].reshape(-1, KEPT, 2)
        happened, not_happened = joint[..., 0], joint[..., 1]
        odds, against = self._prior[streams, :, 0], self._prior[streams, :, 1]
        bound = (np.exp(limits) * (1.0 + SURELY))[:, None]
        one, other = happened * against, not_happened * odds
        surely = np.minimum(joint.min(axis=2), self._prior[streams].min(axis=2)) > _TINY
        broken = surely & ((one > bound * other) | (other > bound * one))
        return np.asarray(broken.any(axis=1) | self._decided[streams])

    def wanted(self, stream: int) -> bool:
        """Count a refusal that no witness foresaw; True when it is time for another witness.

        To carry a prior through the history costs as much as the whole check, so one is taken for
        every second.
        """
        self._missed[stream] += 1
        return bool(self._missed[stream] >= 2)

    def take(self, streams: Integers, priors: Floats) -> None:
        """Keep a prior (k, m) of each of some streams, none of them twice."""
        if not len(streams):
            return
        step = self._histories.step
        masses = self._entered(priors[:, None, :], 0)
        for past in range(step):
            lines = self._histories.lines[past][streams]
            masses = self._moved(self._released(masses, lines, past), past + 1)
        slots = self._next[streams]
        self._masses.reshape(len(self._next), KEPT, *masses.shape[1:])[streams, slots] = masses
        self._ahead.reshape(len(self._next), KEPT, 2, -1)[streams, slots] = self._weighed(
            masses, step
        )
        self._prior[streams, slots] = priors @ self._histories.by_start.T
        self._next[streams] = (slots + 1) % KEPT
        self._missed[streams] = 0

    def decide(self, stream: int) -> None:
        """Take it that the releases of a stream, with the next one, exclude the event or its
        negation, whatever the prior."""
        self._decided[stream] = True

    def follow(self) -> None:
        """Carry all priors over the newest release of every stream."""
        step = self._histories.step
        lines = np.repeat(self._histories.lines[-1], KEPT, axis=0)
        self._masses = self._moved(self._released(self._masses, lines, step - 1), step)
        self._ahead = self._weighed(self._masses, step)

    def _entered(self, masses: Floats, step: int) -> Floats:
        return self._histories.chain.enter(masses, step)

    def _moved(self, masses: Floats, step: int) -> Floats:
        """Carry masses (rows, worlds, states) from after ``step - 1`` to ``step``."""
        transition = self._histories.chain.model.transition(step - 1)
        rows, worlds, states = masses.shape
        moved = transition.push(masses.reshape(rows * worlds, states))
        return self._entered(moved.reshape(rows, worlds, -1), step)

    def _released(self, masses: Floats, lines: Floats, step: int) -> Floats:
        """Take in a release of each row; every row is scaled so that it sums to 1."""
        weighed = masses * self._histories.chain.on_states(lines, step)[:, None, :]
        total = weighed.sum(axis=(1, 2), keepdims=True)
        return np.asarray(weighed / np.where(total > 0.0, total, 1.0))

    def _weighed(self, masses: Floats, step: int) -> Floats:
        """Return (rows, 2, m): b and d of the next release are these times its likelihood."""
        chain = self._histories.chain
        vectors = self._histories.backward.at(step)  # (2, worlds, states or 1)
        sides = [(masses * vectors[side]).sum(axis=1) for side in range(2)]
        return chain.on_cells(np.stack(sides, axis=1), step)
