"""A bound on how far the odds of an event move, in either direction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Self

from priste.arguments import check_float
from priste.errors import InvalidParameter
from priste.float_text import number_to_json
from priste.quantify.guarantees.guarantee import Comparison, Guarantee


@dataclass(frozen=True)
class OddsBound(Guarantee):
    """The odds of the event rise by at most e^up and fall by at most e^down.

    Both >= 0; ``math.inf`` leaves a direction open. A plain number ε means ``OddsBound(ε, ε)``.
    With ``down=math.inf`` releases may show that the event did *not* happen, and days without it
    can be recognised as such (at most a share 1 - e^-up of them).

    >>> OddsBound(up=1.0, down=math.inf).words()
    'the odds that it happened rise by at most a factor 2.72; releases may show that it did not'
    """

    kind: ClassVar[str] = "odds"

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
                why="math.inf for a direction without a bound",
            )
            object.__setattr__(self, name, bound)

    @property
    def belief_cap(self) -> float | None:
        """None: beliefs are not capped."""
        return None

    def with_bounds(
        self,
        odds: Callable[[float], float] | None = None,
        belief: Callable[[float], float] | None = None,
    ) -> Self:
        """Return the same guarantee with a function applied to each finite bound."""
        if odds is None:
            return self
        bounds = (self.up, self.down)
        return type(self)(*(x if x == math.inf else odds(x) for x in bounds))

    def comparisons(self, answers: int, has_rest: bool) -> tuple[Comparison, ...]:
        """Compare each two answers.

        The odds of every answer but "neither" against any other rise by at most e^up and fall by at
        most e^down. Between two such answers one's rise is the other's fall, so the smaller bound
        holds both ways. Without a "neither" no answer differs from the others, and the two bounds
        must be equal, else InvalidParameter is raised.

        >>> [each.guarantee for each in OddsBound(1.0, math.inf).comparisons(3, True)]
        [OddsBound(up=1.0, down=1.0), OddsBound(up=1.0, down=inf), OddsBound(up=1.0, down=inf)]
        """
        if not has_rest and self.up != self.down:
            raise InvalidParameter(
                "The directions of an OddsBound are for and against what is guarded. The answers "
                "of this secret cover everything, so none of them is that nothing happened.",
                hint="Give one number for both directions, or a BeliefBound.",
            )
        least = min(self.up, self.down)
        return tuple(
            Comparison(
                (first,),
                (second,),
                self if has_rest and second == answers - 1 else type(self)(least, least),
            )
            for first, second in combinations(range(answers), 2)
        )

    def to_dict(self) -> dict[str, object]:
        """Return what ``guarantee_from_dict`` reads, ready for JSON."""
        up, down = number_to_json(self.up), number_to_json(self.down)
        return {"guarantee": self.kind, "up": up, "down": down}

    def words(self, answers: int = 2) -> str:
        """Return the guarantee as part of a sentence, for a secret with so many answers.

        >>> OddsBound(1.0, 1.0).words(answers=4)
        'the odds between any two of its 4 answers change by at most a factor 2.72'
        """
        if answers > 2:
            return self._words_of_answers(answers)
        if self.up == self.down == math.inf:
            return "the odds that it happened may change without bound: nothing is guaranteed"
        if self.up == self.down:
            change = f"change by at most a factor {_factor(self.up)}, either way"
            return f"the odds that it happened {change}"
        rise = f"the odds that it happened rise by at most a factor {_factor(self.up)}"
        if self.down == math.inf:
            return f"{rise}; releases may show that it did not"
        if self.up == math.inf:
            fall = f"the odds that it happened fall by at most a factor {_factor(self.down)}"
            return f"{fall}; releases may show that it did"
        return f"{rise} and fall by at most a factor {_factor(self.down)}"

    def _words_of_answers(self, answers: int) -> str:
        least = min(self.up, self.down)
        between = f"the odds between any two of its {answers} answers change"
        if least == math.inf:
            return f"{between} without bound: nothing is guaranteed"
        if self.up == self.down:
            return f"{between} by at most a factor {_factor(least)}"
        between += f' by at most a factor {_factor(least)}, but those against "neither"'
        rise, fall = (
            "without bound" if bound == math.inf else f"by at most a factor {_factor(bound)}"
            for bound in (self.up, self.down)
        )
        return f"{between}, which rise {rise} and fall {fall}"


def _factor(bound: float) -> str:
    return f"{math.exp(bound):.3g}" if bound < 700.0 else f"e^{bound:.4g}"
