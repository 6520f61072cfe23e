"""One adversary for each of several models: Theorem 5 of docs/explanation/proofs.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from priste.errors import InvalidParameter
from priste.quantify.adversaries.adversary import Adversary
from priste.quantify.joint_probabilities import Floats
from priste.quantify.judges import EveryMixture, MixtureJudge
from priste.quantify.lifted import StartRows

if TYPE_CHECKING:
    from priste.mobility import MarkovModel


@dataclass(frozen=True, eq=False)
class PerModel(Adversary):
    """One adversary for each of several models, in the order of the models.

    With ``family="each"`` the adversary who holds a model has the priors given for that model, such
    as its own stationary distribution. With ``family="joint"`` the rows of all of them are mixed,
    for adversaries whose priors are all mixtures of their rows.
    """

    kind: ClassVar[str] = "per model"

    parts: tuple[Adversary, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        nested = any(isinstance(each, PerModel) for each in parts)
        if not parts or nested or not all(isinstance(each, Adversary) for each in parts):
            raise InvalidParameter(
                "must be adversaries, one for each model, and not PerModel themselves",
                parameter="parts",
                owner="PerModel",
                value=[type(each).__name__ for each in parts],
            )
        object.__setattr__(self, "parts", parts)

    @property
    def every_mixture(self) -> bool:
        """Whether every mixture of the rows is one of the priors, whatever the model."""
        return all(part.every_mixture for part in self.parts)

    @property
    def states_prior(self) -> bool:
        """Whether the mean prior under the first model follows from what is known."""
        return self.parts[0].states_prior

    def of_model(self, number: int) -> Adversary:
        """Return the adversary of the model with this number."""
        return self.parts[number]

    def check_models(self, count: int) -> None:
        """Refuse another number of models than there are adversaries."""
        if len(self.parts) != count:
            raise InvalidParameter(
                f"must be one adversary, or one for each of {count} models",
                parameter="adversary",
                value=len(self.parts),
            )

    def rows(self, model: MarkovModel) -> StartRows:
        """Return the rows of the first part; those of a model come from :meth:`of_model`."""
        return self.parts[0].rows(model)

    def row_count(self, cells: int) -> int:
        """Return the largest number of rows under a model."""
        return max(part.row_count(cells) for part in self.parts)

    def judge(self, rows: Sequence[StartRows]) -> MixtureJudge:
        """Return what decides about the rows of all models together."""
        if len(self.parts) == 1:
            return self.parts[0].judge(rows)
        if not self.every_mixture:
            raise InvalidParameter(
                "Several models with family='joint' take PriorsWithin once, with a joint prior "
                "over model and first cell, not one for each model.",
                hint="Use family='each', or one PriorsWithin with a (models, m) prior.",
            )
        return EveryMixture()

    def mean_prior(self, cells: int) -> Floats:
        """Return the mean prior under the first model, which predictions use."""
        return self.parts[0].mean_prior(cells)

    def words(self) -> str:
        different = list(dict.fromkeys(part.words() for part in self.parts))
        if len(different) == 1:
            return f"for each of {len(self.parts)} models {different[0]}"
        return "; or ".join(
            f"under model {number}, {part.words()}" for number, part in enumerate(self.parts, 1)
        )

    def to_dict(self) -> dict[str, object]:
        return {"adversary": self.kind, "parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        from priste.quantify.adversaries.adversary_table import adversary_from_dict

        given = dict(values)
        parts = given.pop("parts")
        if not isinstance(parts, list):
            raise TypeError("parts are a list")
        return cls(tuple(adversary_from_dict(part) for part in parts), **given)
