"""The kinds of adversaries that there are, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from priste.errors import InvalidParameter
from priste.quantify.adversaries.adversary import Adversary
from priste.quantify.adversaries.any_prior import AnyPrior
from priste.quantify.adversaries.known_prior import KnownPrior
from priste.quantify.adversaries.last_seen import LastSeen
from priste.quantify.adversaries.per_model import PerModel
from priste.quantify.adversaries.priors_within import PriorsWithin
from priste.quantify.adversaries.starts_in import StartsIn

KINDS: dict[str, type[Adversary]] = {
    each.kind: each for each in (AnyPrior, StartsIn, KnownPrior, LastSeen, PriorsWithin, PerModel)
}
"""Every kind of adversary, by the name that its dictionaries carry."""


def as_adversary(value: object, *, owner: str) -> Adversary:
    """Return the adversary that ``value`` means: itself, or ``PerModel`` for a sequence of them."""
    if isinstance(value, Adversary):
        return value
    if isinstance(value, Sequence) and value and all(isinstance(x, Adversary) for x in value):
        return PerModel(tuple(value))
    raise InvalidParameter(
        "must be AnyPrior(), StartsIn(cells), KnownPrior(priors), LastSeen(steps) or "
        "PriorsWithin(prior, factor), or a list with one of these for each model",
        parameter="adversary",
        owner=owner,
        got=type(value).__name__,
    )


def adversary_from_dict(described: Mapping[str, object]) -> Adversary:
    """Undo ``to_dict()``; raises ``InvalidParameter`` for anything else.

    >>> adversary_from_dict(LastSeen(steps=8).to_dict())
    LastSeen(steps=8)
    """
    try:
        values = dict(described)
        return KINDS[str(values.pop("adversary"))].from_dict(values)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidParameter(
            f"must have 'adversary' (one of {', '.join(KINDS)}) and its values, as to_dict() wrote "
            "them",
            parameter="dictionary",
            owner="an adversary",
        ) from error
