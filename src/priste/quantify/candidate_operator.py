"""How the joint probabilities of a secret depend on the next release: a linear map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from priste.quantify.joint_probabilities import Floats, Integers
from priste.quantify.judges import MixtureJudge
from priste.quantify.start_rows import StartRows


@dataclass(frozen=True, eq=False)
class CandidateOperator:
    """The map from the likelihood of the next release to b, for rows that may be mixed.

    For a likelihood e (m,), answer c and row i: ``b_ci = (joint[c] @ e)_i * 2**exponent_i``;
    ``prior`` (C, rows) is a. The largest entry of a row of ``joint`` (C, rows, m) over all answers
    is in [0.5, 1); entries more than a factor 2**1022 below it may lose digits. ``judge`` says
    which mixtures of the rows count and decides about joint probabilities with these rows. Of an
    event ``event`` and ``complement`` are the two answers.
    """

    prior: Floats
    joint: Floats
    exponent: Integers
    judge: MixtureJudge
    starts: tuple[StartRows, ...]
    has_rest: bool = True
    kept: Integers | None = None
    """The rows of ``starts`` that are left; None for all."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.prior.shape[1])

    @property
    def prior_event(self) -> Floats:
        """The a of the first answer, (rows,)."""
        return np.asarray(self.prior[0])

    @property
    def prior_complement(self) -> Floats:
        """The a of the second answer, (rows,)."""
        return np.asarray(self.prior[1])

    @property
    def event(self) -> Floats:
        """The map of the first answer, (rows, m)."""
        return np.asarray(self.joint[0])

    @property
    def complement(self) -> Floats:
        """The map of the second answer, (rows, m)."""
        return np.asarray(self.joint[1])

    def compared(self, first: Sequence[int], second: Sequence[int]) -> CandidateOperator:
        """Return "one of the first answers" and "one of the second" as an event and its negation.

        Rows in which neither is possible drop out.
        """
        if len(self.prior) == 2 and (*first, *second) == (0, 1):
            return self
        sides = [list(first), list(second)]
        prior, joint = (
            np.stack([values[side].sum(axis=0) for side in sides])
            for values in (self.prior, self.joint)
        )
        rows = np.flatnonzero(prior.any(axis=0))
        return replace(
            self,
            prior=prior[:, rows],
            joint=joint[:, rows],
            exponent=self.exponent[rows],
            judge=self.judge.of_rows(rows),
            has_rest=True,
            kept=rows,
        )

    def weights_of(self, prior: Floats) -> Floats:
        """Return weights (rows,) that stand for a prior (m,) over cells.

        They sum to 1 where all rows are kept. Rows that are cells have the weight of their cell,
        given priors the same weight each; with several models each has the same share.
        """
        parts = [starts.weights_of(prior) / len(self.starts) for starts in self.starts]
        weights = np.concatenate(parts)
        return weights if self.kept is None else weights[self.kept]
