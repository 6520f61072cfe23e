"""An adversary whose prior is near a given one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from priste.arguments import check_distribution, check_float
from priste.errors import InvalidParameter
from priste.float_text import floats_to_text, rows_from_texts
from priste.quantify.adversaries.adversary import Adversary, check_size
from priste.quantify.joint_probabilities import Floats
from priste.quantify.judges import MixtureJudge, WithinFactor
from priste.quantify.lifted import FirstCells, StartRows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from priste.mobility import MarkovModel

LARGEST_FACTOR = 1e6
"""Beyond this doubles would leave the bound in doubt; ``StartsIn`` is nearly the same and exact."""


@dataclass(frozen=True, eq=False, repr=False)
class PriorsWithin(Adversary):
    """Priors whose odds between any two starts are within ``factor`` of those of ``prior``.

    That is all π with π_i proportional to p_i w_i, 1 <= w_i <= ``factor``. ``prior`` is (m,), >= 0,
    and sums to 1 within ``SUM_TOLERANCE``; starts where it is 0 are excluded. A factor of 1 is
    the known prior; the larger it is the nearer the class comes to any prior on the support.

    With n models guarded jointly ``prior`` may be (n, m), the joint prior over model and first
    cell, which sums to 1 in all; (m,) gives each model the same weight. Odds are then those between
    any two pairs (model, first cell).

    >>> PriorsWithin([0.5, 0.5], factor=3.0).words()
    'an adversary whose odds between any two first cells are within a factor 3 of a given prior'
    """

    kind: ClassVar[str] = "priors within"

    prior: Floats
    factor: float

    def __init__(self, prior: ArrayLike, factor: float) -> None:
        factor = check_float(
            factor,
            "factor",
            "PriorsWithin",
            least=1.0,
            most=LARGEST_FACTOR,
            hint="For every prior on given cells use StartsIn(cells).",
        )
        shape: tuple[int | None, ...] = (None,) if np.ndim(prior) == 1 else (None, None)
        object.__setattr__(self, "factor", factor)
        kept = check_distribution(prior, "prior", "PriorsWithin", shape)
        object.__setattr__(self, "prior", kept)

    def rows(self, model: MarkovModel) -> FirstCells:
        """Return one row for each cell that the prior allows under some model."""
        check_size("prior", "PriorsWithin", self.prior.shape[-1], model.grid.size)
        support = np.flatnonzero(np.atleast_2d(self.prior).any(axis=0))
        return FirstCells(support, model.grid.size)

    def row_count(self, cells: int) -> int:
        """Return the number of cells that the prior allows."""
        return int(np.count_nonzero(np.atleast_2d(self.prior).any(axis=0)))

    def judge(self, rows: Sequence[StartRows]) -> MixtureJudge:
        """Return what decides about priors within the factor."""
        lines = self.prior if self.prior.ndim == 2 else np.stack([self.prior] * len(rows))
        weights = [line[each.labels] for line, each in zip(lines, rows, strict=True)]
        return WithinFactor(np.concatenate(weights), self.factor)

    def check_models(self, count: int) -> None:
        """Refuse a joint prior over another number of models."""
        if self.prior.ndim == 2 and len(self.prior) != count:
            raise InvalidParameter(
                f"has one line for each of {len(self.prior)} models, and there are {count}",
                parameter="prior",
                owner="PriorsWithin",
                hint="Give (m,) for the same prior under each.",
            )

    def mean_prior(self, cells: int) -> Floats:
        """Return the given prior; its sum over models where there are several."""
        return np.asarray(np.atleast_2d(self.prior).sum(axis=0))

    @property
    def every_mixture(self) -> bool:
        """False: odds are bounded."""
        return False

    def words(self) -> str:
        starts = "first cells" if self.prior.ndim == 1 else "models and first cells"
        return (
            f"an adversary whose odds between any two {starts} are within a factor "
            f"{self.factor:.4g} of a given prior"
        )

    def to_dict(self) -> dict[str, object]:
        lines = np.atleast_2d(self.prior)
        return {
            "adversary": self.kind,
            "prior": [floats_to_text(line) for line in lines],
            "joint": self.prior.ndim == 2,
            "factor": self.factor,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        given = dict(values)
        lines, joint = rows_from_texts(given.pop("prior")), given.pop("joint")
        return cls(lines if joint else lines.ravel(), **given)  # type: ignore[arg-type]  # checked by the class

    def __repr__(self) -> str:
        return f"PriorsWithin(<prior on {self.prior.shape[-1]} cells>, factor={self.factor!r})"
