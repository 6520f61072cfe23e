"""Which outputs of a mechanism are treated alike: groups of them, and halves of the map.

Outputs lie where the user is expected to be when they are seen, given the public prediction. That
works for mechanisms whose outputs are no cells too. To treat outputs alike is a restriction of
the remap, so nothing here can weaken a guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priste.mechanisms import Mechanism
from priste.release.calibrator import Booleans, Floats

Integers = NDArray[np.int64]

DIRECTIONS = 12
"""How many directions the lines that halve the map have."""

SHARES = (0.35, 0.5, 0.65)
"""Which share of the predicted outputs lies on the first side of a line."""


@dataclass(frozen=True, eq=False)
class OutputPlaces:
    """Where each output means the user to be: ``places`` (outputs, 2) in km, ``mass`` (outputs,).

    ``mass`` is how likely each output is under the prediction.
    """

    places: Floats
    mass: Floats

    @classmethod
    def of(cls, mechanism: Mechanism, predicted: Floats) -> OutputPlaces:
        """Return the expected location given each output; the map's middle for impossible ones."""
        emission, centers = mechanism.emission(), mechanism.grid.centers
        mass = predicted @ emission
        likely = mass > np.finfo(np.float64).tiny
        sums = (emission * predicted[:, None]).T @ centers
        places = np.where(
            likely[:, None], sums / np.where(likely, mass, 1.0)[:, None], centers.mean(axis=0)
        )
        return cls(places, mass)

    def groups(self, count: int, side: Booleans | None = None) -> Integers:
        """Return (outputs,) labels from 0 of at most ``count`` groups of neighbouring outputs.

        The group that is most spread out, weighted by how likely it is, is cut in two at its
        median, until there are enough or none can be cut. With ``side`` (outputs,) that cut comes
        first: no group lies on both sides of it.
        """
        labels = np.zeros(len(self.mass), dtype=np.int64)
        if side is not None and side.any() and not side.all():
            labels[side] = 1
        spread = [self._spread(np.flatnonzero(labels == k)) for k in range(labels.max() + 1)]
        while len(spread) < count and max(spread) > 0.0:
            widest = int(np.argmax(spread))
            members = np.flatnonzero(labels == widest)
            upper = self._upper_part(members)
            labels[upper] = len(spread)
            spread[widest] = self._spread(np.flatnonzero(labels == widest))
            spread.append(self._spread(upper))
        return labels

    def _spread(self, members: Integers) -> float:
        """Return how far the members lie apart, summed over them; 0 if they cannot be parted."""
        places, mass = self.places[members], self.mass[members]
        if len(members) < 2 or not (places != places[0]).any():
            return 0.0
        middle = np.average(places, axis=0, weights=mass) if mass.sum() > 0 else places.mean(axis=0)
        return float(mass @ np.hypot(*(places - middle).T))

    def _upper_part(self, members: Integers) -> Integers:
        """Return the members beyond the weighted median of their longer axis; some, not all."""
        places = self.places[members]
        axis = int(np.argmax(np.ptp(places, axis=0)))
        order = np.argsort(places[:, axis], kind="stable")
        along = places[order, axis]
        below = np.cumsum(self.mass[members][order])
        cuts = np.flatnonzero(np.diff(along) > 0.0)  # equal places are not parted
        best = cuts[np.argmin(np.abs(below[cuts] - 0.5 * below[-1]))]
        return members[order[best + 1 :]]

    def halves(self) -> Booleans:
        """Return (outputs, k): each column tells which outputs lie on one side of a line.

        Both sides of every line are columns next to each other; lines that part nothing are left
        out.
        """
        angles = np.pi * np.arange(DIRECTIONS) / DIRECTIONS
        along = self.places @ np.array([np.cos(angles), np.sin(angles)])
        sides = []
        for direction in range(DIRECTIONS):
            order = np.argsort(along[:, direction], kind="stable")
            below = np.cumsum(self.mass[order])
            for share in SHARES:
                place = min(int(np.searchsorted(below, share * below[-1])), len(order) - 1)
                side = along[:, direction] > along[order[place], direction]
                if side.any():
                    sides.append(side)
        if not sides:
            return np.zeros((len(self.mass), 0), dtype=bool)
        unique = np.unique(np.array(sides), axis=0)
        return np.stack([unique, ~unique], axis=1).reshape(-1, len(self.mass)).T
