"""What is guaranteed about an event: how far odds may move, or how sure anybody may get.

The values here are written by people and stored with streams. What a check compares with
are the :class:`Limits` that follow from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from priste.arguments import as_float, check_float
from priste.errors import InvalidParameter, shown
from priste.float_text import number_to_json
from priste.quantify.rounding import UNIT_ROUNDOFF


@dataclass(frozen=True)
class Limits:
    """The numbers that a check compares with; ``inf`` switches one off.

    ``up`` and ``down`` bound the logarithms of R = Pr(o | EVENT) / Pr(o | not EVENT) and of 1 / R;
    ``belief`` bounds the odds Pr(EVENT, o) / Pr(not EVENT, o).
    """

    up: float
    down: float
    belief: float

    def moved(self, by: float) -> Limits | None:
        """Return limits wider by a factor e^by in each odds, None where none could be kept."""
        up, down = self.up + by, self.down + by
        if up < 0.0 or down < 0.0:
            return None
        return Limits(up, down, self.belief * math.exp(by))


@dataclass(frozen=True)
class OddsBound:
    """The odds of the event rise by at most e^up and fall by at most e^down.

    Both >= 0; ``math.inf`` leaves a direction free. A plain number ε means ``OddsBound(ε, ε)``.
    With ``down=math.inf`` it may be told that the event did *not* happen, and days without it
    can be recognised as such (at most a share 1 - e^-up of them).

    >>> OddsBound(up=1.0, down=math.inf).words()
    'the odds that it happened rise by at most a factor 2.72; that it did not may be told'
    """

    up: float
    down: float

    def __post_init__(self) -> None:
        for name in ("up", "down"):
            bound = check_float(
                getattr(self, name),
                name,
                "OddsBound",
                least=0.0,
                most=math.inf,
                why="math.inf for a direction that is left free",
            )
            object.__setattr__(self, name, bound)

    def limits(self) -> Limits:
        """Return what a check compares with."""
        return Limits(self.up, self.down, math.inf)

    def leakage(self, up: float, down: float) -> float:
        """Return the larger of two log-ratios over the directions that are bounded."""
        bounded = ((up, self.up), (down, self.down))
        return max((value for value, bound in bounded if bound < math.inf), default=max(up, down))

    def implies(self, other: Guarantee) -> bool:
        """Tell whether keeping this guarantee keeps another one."""
        return isinstance(other, OddsBound) and self.up <= other.up and self.down <= other.down

    def describe(self) -> dict[str, object]:
        """Return what :func:`guarantee_from_dict` reads, ready for JSON."""
        up, down = number_to_json(self.up), number_to_json(self.down)
        return {"guarantee": "odds", "up": up, "down": down}

    def words(self) -> str:
        """Return the guarantee as part of a sentence."""
        if self.up == self.down == math.inf:
            return "the odds that it happened may change without bound: nothing is guaranteed"
        if self.up == self.down:
            return (
                f"the odds that it happened change by at most a factor {_factor(self.up)}, "
                "either way"
            )
        if self.down == math.inf:
            return (
                f"the odds that it happened rise by at most a factor {_factor(self.up)}; that it "
                "did not may be told"
            )
        if self.up == math.inf:
            return (
                f"the odds that it happened fall by at most a factor {_factor(self.down)}; that "
                "it did may be told"
            )
        return (
            f"the odds that it happened rise by at most a factor {_factor(self.up)} and fall by at "
            f"most a factor {_factor(self.down)}"
        )


@dataclass(frozen=True)
class BeliefBound:
    """No adversary of the class gets surer than ``at_most`` that the event happened; 0 < it < 1.

    It can be kept only if no prior of the class holds more before the first release. It says
    nothing about the other direction: that the event did not happen may be told.

    >>> BeliefBound(0.2).words()
    'nobody gets more than 20 % sure that it happened'
    """

    at_most: float

    def __post_init__(self) -> None:
        bound = check_float(
            self.at_most, "at_most", "BeliefBound", above=0.0, below=1.0, hint="20 % is 0.2."
        )
        object.__setattr__(self, "at_most", bound)

    def limits(self) -> Limits:
        """Return what a check compares with; odds are never above those of ``at_most``."""
        odds = self.at_most / (1.0 - self.at_most)
        return Limits(math.inf, math.inf, odds * (1.0 - 4.0 * UNIT_ROUNDOFF))

    def leakage(self, up: float, down: float) -> float:
        """Return the log-ratio in the direction that the belief rises."""
        return up

    def implies(self, other: Guarantee) -> bool:
        """Tell whether keeping this guarantee keeps another one."""
        return isinstance(other, BeliefBound) and self.at_most <= other.at_most

    def describe(self) -> dict[str, object]:
        """Return what :func:`guarantee_from_dict` reads, ready for JSON."""
        return {"guarantee": "belief", "at_most": self.at_most}

    def words(self) -> str:
        """Return the guarantee as part of a sentence."""
        return f"nobody gets more than {100.0 * self.at_most:.4g} % sure that it happened"


Guarantee: TypeAlias = OddsBound | BeliefBound
"""What may be guaranteed about one event."""


def as_guarantee(value: object, *, name: str = "'epsilon'") -> Guarantee:
    """Return the guarantee that ``value`` means: itself, or ``OddsBound(ε, ε)`` for a number ε >=
    0.

    >>> as_guarantee(0.5)
    OddsBound(up=0.5, down=0.5)
    """
    if isinstance(value, OddsBound | BeliefBound):
        return value
    bound = as_float(value)
    if bound is None or bound < 0.0:
        raise InvalidParameter(
            f"The {name} must be >= 0, an OddsBound(up, down) or a BeliefBound(at_most). Got "
            f"{shown(value)}."
        )
    return OddsBound(bound, bound)


def as_limits(value: object) -> Limits:
    """Return what a check compares with: of a guarantee, or of whatever :func:`as_guarantee`
    reads."""
    return value if isinstance(value, Limits) else as_guarantee(value).limits()


def guarantee_from_dict(described: Mapping[str, object]) -> Guarantee:
    """Undo ``describe()``; raises ``InvalidParameter`` for anything else.

    >>> guarantee_from_dict(OddsBound(1.0, math.inf).describe())
    OddsBound(up=1.0, down=inf)
    """
    kind = described.get("guarantee") if isinstance(described, Mapping) else None
    if kind == "odds" and set(described) == {"guarantee", "up", "down"}:
        up, down = (math.inf if described[k] == "inf" else described[k] for k in ("up", "down"))
        return OddsBound(up, down)  # type: ignore[arg-type]  # checked by OddsBound
    if kind == "belief" and set(described) == {"guarantee", "at_most"}:
        return BeliefBound(described["at_most"])  # type: ignore[arg-type]  # checked by BeliefBound
    raise InvalidParameter(
        "A described guarantee must have 'guarantee' (odds or belief) and its bounds, as "
        f"describe() wrote it. Got {shown(described)}."
    )


def _factor(bound: float) -> str:
    return f"{math.exp(bound):.3g}" if bound < 700.0 else f"e^{bound:.4g}"
