"""How the joint probabilities of an event depend on the next release: a linear map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from priste.quantify.joint_probabilities import Floats, Integers
from priste.quantify.judges import Judge
from priste.quantify.start_rows import StartRows


@dataclass(frozen=True, eq=False)
class CandidateOperator:
    """The map from the likelihood of the next release to b and d, for rows that may be mixed.

    For a likelihood e (m,) and row i: ``b_i = (event @ e)_i * 2**exponent_i`` and ``d_i =
    (complement @ e)_i * 2**exponent_i``; ``prior_event`` is a, ``prior_complement`` ā, all
    (rows,). The largest entry of a row of ``event`` and ``complement`` (rows, m) is in [0.5, 1);
    entries more than a factor 2**1022 below it may lose digits. ``judge`` says which mixtures of
    the rows count and decides about joint probabilities with these rows.
    """

    prior_event: Floats
    prior_complement: Floats
    event: Floats
    complement: Floats
    exponent: Integers
    judge: Judge
    starts: tuple[StartRows, ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.prior_event)

    def weights_of(self, prior: Floats) -> Floats:
        """Return weights (rows,) that stand for a prior (m,) over cells; they sum to 1.

        Rows that are cells have the weight of their cell, given priors the same weight each; with
        several models each has the same share.
        """
        parts = [starts.weights_of(prior) / len(self.starts) for starts in self.starts]
        return np.concatenate(parts)
