"""Which weights over the rows of moments count: the class of priors, once rows are made.

Every adversary answers the same questions about any ``Moments`` with those rows: of releases, of
candidates, or of sums of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from priste.quantify.leakage import Leakage
from priste.quantify.moments import Floats, Moments
from priste.quantify.posteriors import largest_belief, largest_prior_belief
from priste.quantify.promises import Limits, Promise
from priste.quantify.worst_prior import leakages, passes, worst_prior_leakage

Booleans = NDArray[np.bool_]


class Adversary(Protocol):
    """The priors that count, as weights over rows. ``worst_prior`` names rows by number."""

    def passes(self, moments: Moments, promise: float | Promise | Limits) -> Booleans:
        """Tell (k,) whether every prior surely keeps a promise after each candidate."""

    def leakage(self, moments: Moments) -> Leakage:
        """Bound the leakage of one set of releases, from above."""

    def leakages(self, moments: Moments, promise: float | Promise | None = None) -> Floats:
        """Return (k,) the leakage of each candidate, over the directions that a promise bounds."""

    def belief(self, moments: Moments) -> float:
        """Bound Pr(EVENT | releases) of one set of releases, from above."""

    def prior_belief(self, moments: Moments) -> float:
        """Bound Pr(EVENT) before any release, from above."""


@dataclass(frozen=True)
class AnyMixture:
    """Every mixture of the rows."""

    def passes(self, moments: Moments, promise: float | Promise | Limits) -> Booleans:
        return passes(moments, promise)

    def leakage(self, moments: Moments) -> Leakage:
        return worst_prior_leakage(moments)

    def leakages(self, moments: Moments, promise: float | Promise | None = None) -> Floats:
        return leakages(moments, promise)

    def belief(self, moments: Moments) -> float:
        return largest_belief(moments)

    def prior_belief(self, moments: Moments) -> float:
        return largest_prior_belief(moments)
