"""An adversary who holds one of some given priors, or a mixture of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from priste.arguments import check_array, check_distribution
from priste.errors import InvalidParameter
from priste.float_text import floats_to_text, rows_from_texts
from priste.quantify.adversaries.adversary import Adversary, check_size
from priste.quantify.joint_probabilities import Floats
from priste.quantify.lifted import GivenPriors

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from priste.mobility import MarkovModel


@dataclass(frozen=True, eq=False, repr=False)
class KnownPrior(Adversary):
    """These priors and all their mixtures: ``priors`` (K, m), or (m,) for one known prior.

    Each row is >= 0 and sums to 1 within ``SUM_TOLERANCE``. With several models each prior
    goes with each model.

    >>> KnownPrior([0.5, 0.5]).words()
    'an adversary who holds one known prior about where the stream began'
    """

    kind: ClassVar[str] = "known prior"

    priors: Floats

    def __init__(self, priors: ArrayLike) -> None:
        one = np.ndim(priors) == 1
        rows = check_array([priors] if one else priors, "priors", "KnownPrior", (None, None))
        if not len(rows):
            raise InvalidParameter(
                "must hold at least one distribution",
                parameter="priors",
                owner="KnownPrior",
                got="none",
            )
        checked = np.array([check_distribution(row, "priors", "KnownPrior") for row in rows])
        checked.flags.writeable = False
        object.__setattr__(self, "priors", checked)

    def rows(self, model: MarkovModel) -> GivenPriors:
        """Return one row for each prior."""
        check_size("priors", "KnownPrior", self.priors.shape[1], model.grid.size)
        return GivenPriors(self.priors)

    def given_prior(self, number: int) -> Floats:
        """Return one of the priors."""
        return np.asarray(self.priors[number])

    def row_count(self, cells: int) -> int:
        """Return the number of priors."""
        return len(self.priors)

    def mean_prior(self, cells: int) -> Floats:
        """Return the mean of the priors."""
        return np.asarray(self.priors.mean(axis=0))

    def words(self) -> str:
        if len(self.priors) == 1:
            return "an adversary who holds one known prior about where the stream began"
        return (
            f"an adversary who holds one of {len(self.priors)} given priors about where the "
            "stream began, or any mixture of them"
        )

    def to_dict(self) -> dict[str, object]:
        return {"adversary": self.kind, "priors": [floats_to_text(row) for row in self.priors]}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        given = dict(values)
        return cls(rows_from_texts(given.pop("priors")), **given)

    def __repr__(self) -> str:
        rows, cells = self.priors.shape
        return f"KnownPrior(<{rows} prior{'s' * (rows > 1)} on {cells} cells>)"
