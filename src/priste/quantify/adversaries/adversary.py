"""What every adversary is: a class of priors over the first cell, independent of any model.

All priors of an adversary are mixtures of its rows, distributions of the first cell under a model.
A judge says which mixtures count and decides about all of them at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from priste.errors import InvalidParameter
from priste.quantify.judges import EveryMixture, MixtureJudge

if TYPE_CHECKING:
    from priste.mobility import MarkovModel
    from priste.quantify.joint_probabilities import Floats
    from priste.quantify.leakage import Leakage
    from priste.quantify.lifted import StartRows


class Adversary(ABC):
    """The priors that a guarantee is against.

    Subclasses are frozen dataclasses, equal by their dictionaries.

    To add one, write its file and add it to ``KINDS`` in
    :mod:`priste.quantify.adversaries.adversary_table`.
    """

    kind: ClassVar[str]
    """The name under ``adversary`` in the dictionary of :meth:`to_dict`."""

    @abstractmethod
    def rows(self, model: MarkovModel) -> StartRows:
        """Return the rows under a model; InvalidParameter for what does not fit it."""

    @abstractmethod
    def words(self) -> str:
        """Return who is meant, as part of a sentence."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Return what ``adversary_from_dict`` reads, ready for JSON; floats are kept to the bit."""

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Return the adversary with these values, as :meth:`to_dict` wrote them."""
        return cls(**values)

    def row_count(self, cells: int) -> int:
        """Return how many rows there are on a map of this many cells: one for each by default."""
        return cells

    def mean_prior(self, cells: int) -> Floats:
        """Return (cells,), what the priors are on average; uniform where nothing is stated."""
        return np.full(cells, 1.0 / cells)

    @property
    def states_prior(self) -> bool:
        """Whether the class has a :meth:`mean_prior` of its own; else it is uniform."""
        return type(self).mean_prior is not Adversary.mean_prior

    @property
    def every_mixture(self) -> bool:
        """Whether every mixture of the rows is one of the priors."""
        return True

    def judge(self, rows: Sequence[StartRows]) -> MixtureJudge:
        """Return what decides about joint probabilities with the rows of these models, stacked."""
        return EveryMixture()

    def given_prior(self, number: int) -> Floats:
        """Return (cells,), the given prior with this number; KeyError if priors are not given."""
        raise KeyError(number)

    def first_cells(self, found: Leakage, cells: int) -> Floats:
        """Return (cells,), the prior that ``found`` names as worst: where the stream began.

        For ``LastSeen``: where the user was seen.
        """
        weights = np.zeros(cells)
        for cell, weight in (*found.worst_prior.items(), *found.worst_last_seen.items()):
            weights[cell] += weight
        for (model, number), weight in found.worst_given.items():
            weights += weight * self.of_model(model).given_prior(number)
        return weights

    def of_model(self, number: int) -> Adversary:
        """Return the adversary under the model with this number: the same one by default."""
        return self

    def check_models(self, count: int) -> None:  # noqa: B027  # most fit any number
        """Raise InvalidParameter if this adversary is made for another number of models."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Adversary) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))


def check_size(name: str, owner: str, given: int, cells: int) -> None:
    """Refuse priors that are not for the map of a model."""
    if given != cells:
        raise InvalidParameter(
            f"must have one number for each of the {cells} cells of the model's map",
            parameter=name,
            owner=owner,
            value=given,
        )
