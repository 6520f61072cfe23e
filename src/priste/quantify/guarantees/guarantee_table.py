"""The kinds of guarantees that there are, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping

from priste.arguments import as_float
from priste.errors import InvalidParameter
from priste.quantify.guarantees.belief_bound import BeliefBound
from priste.quantify.guarantees.guarantee import Guarantee, Limits
from priste.quantify.guarantees.odds_bound import OddsBound

KINDS: dict[str, type[Guarantee]] = {each.kind: each for each in (OddsBound, BeliefBound)}
"""Every kind of guarantee, by the name that its dictionaries carry."""


def as_guarantee(value: object, *, name: str = "epsilon", owner: str = "") -> Guarantee:
    """Return the guarantee that ``value`` means; a number ε >= 0 is ``OddsBound(ε, ε)``.

    >>> as_guarantee(0.5)
    OddsBound(up=0.5, down=0.5)
    """
    if isinstance(value, Guarantee):
        return value
    bound = as_float(value)
    if bound is None or bound < 0.0:
        raise InvalidParameter(
            "must be a number >= 0, an OddsBound(up, down) or a BeliefBound(at_most)",
            parameter=name,
            owner=owner,
            value=value,
        )
    return OddsBound(bound, bound)


def as_limits(value: object) -> Limits:
    """Return what a check compares with: limits as they are, or those of a guarantee or number."""
    return value if isinstance(value, Limits) else as_guarantee(value).limits()


def guarantee_from_dict(described: Mapping[str, object]) -> Guarantee:
    """Undo ``to_dict()``; raises ``InvalidParameter`` for anything else.

    >>> guarantee_from_dict(OddsBound(1.0, 0.5).to_dict())
    OddsBound(up=1.0, down=0.5)
    """
    try:
        values = dict(described)
        return KINDS[str(values.pop("guarantee"))].from_dict(values)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidParameter(
            f"must have 'guarantee' ({' or '.join(KINDS)}) and its bounds, as to_dict() wrote them",
            parameter="dictionary",
            owner="a guarantee",
            value=described,
        ) from error
