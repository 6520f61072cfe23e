"""What every guarantee about an event can do: bounds on odds, a cap on beliefs, or both."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Self

from priste.arguments import as_float, check_float
from priste.errors import InvalidParameter
from priste.float_text import number_to_json
from priste.quantify.joint_probabilities import UNIT_ROUNDOFF

REPORTED_SLACK = 1e-8
"""How far a reported leakage or belief may lie above the exact one: the ``SLACK`` of the search for
the worst prior and rounding, with a margin (docs/explanation/soundness.md)."""


@dataclass(frozen=True)
class Limits:
    """The numbers that a check compares with; ``inf`` switches one off.

    ``up`` and ``down`` bound the logarithms of R = Pr(o | EVENT) / Pr(o | not EVENT) and of 1 / R;
    ``belief`` bounds the odds Pr(EVENT, o) / Pr(not EVENT, o).
    """

    up: float
    down: float
    belief: float


@dataclass(frozen=True)
class Comparison:
    """One question of a guarantee about a secret: some answers against others, by number.

    "One of ``first``" is the event and "one of ``second``" its negation, about which ``guarantee``
    is to be kept.
    """

    first: tuple[int, ...]
    second: tuple[int, ...]
    guarantee: Guarantee


class Guarantee(ABC):
    """What is guaranteed about one event, as three bounds of which any may be left open.

    A subclass is a frozen dataclass. It states its bounds, its words and its dictionary; all other
    methods follow from the bounds. To add one, write its file and add it to ``KINDS`` in
    :mod:`priste.quantify.guarantees`.
    """

    kind: ClassVar[str]
    """The name under ``guarantee`` in the dictionary of :meth:`to_dict`."""

    up: float
    """The largest ln of the factor by which the odds of the event may rise; inf: no bound."""

    down: float
    """The largest ln of the factor by which the odds of the event may fall; inf: no bound."""

    @property
    @abstractmethod
    def belief_cap(self) -> float | None:
        """The largest Pr(EVENT | releases) that is allowed; None: no cap."""

    @abstractmethod
    def words(self, answers: int = 2) -> str:
        """Return the guarantee as part of a sentence, for a secret with this many answers."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Return what ``guarantee_from_dict`` reads, ready for JSON."""

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Return the guarantee with these values, as :meth:`to_dict` wrote them."""
        return cls(**{name: math.inf if x == "inf" else x for name, x in values.items()})

    @abstractmethod
    def comparisons(self, answers: int, has_rest: bool) -> tuple[Comparison, ...]:
        """Return what is to be kept of a secret with this many answers.

        ``has_rest`` says whether the last answer is that nothing happened. For an event (two
        answers, the second that it did not happen) that is the guarantee itself.
        """

    @abstractmethod
    def with_bounds(
        self,
        odds: Callable[[float], float] | None = None,
        belief: Callable[[float], float] | None = None,
    ) -> Self:
        """Return the same guarantee with each bound replaced by a function of it.

        ``odds`` is applied to every finite bound on odds, ``belief`` to the cap on beliefs; None
        leaves them as they are.
        """

    def limits(self) -> Limits:
        """Return the numbers that a check compares with, never above what is guaranteed."""
        odds = math.inf
        if self.belief_cap is not None:
            odds = self.belief_cap / (1.0 - self.belief_cap) * (1.0 - 4.0 * UNIT_ROUNDOFF)
        return Limits(self.up, self.down, odds)

    @property
    def bounded_directions(self) -> tuple[int, ...]:
        """Which directions count: 0 for the event, 1 against it.

        A cap on beliefs bounds the first. Both where nothing is bounded.
        """
        up = self.up < math.inf or self.belief_cap is not None
        found = tuple(side for side, bounded in enumerate((up, self.down < math.inf)) if bounded)
        return found or (0, 1)

    @property
    def largest_leakage(self) -> float:
        """The largest leakage at which this may still be kept; inf where no odds are bounded."""
        return max((x for x in (self.up, self.down) if x < math.inf), default=math.inf)

    def leakage(self, for_event: float, against_event: float) -> float:
        """Return the larger of two log-ratios over the directions that are bounded."""
        return max((for_event, against_event)[side] for side in self.bounded_directions)

    def implies(self, other: Guarantee) -> bool:
        """Return whether keeping this guarantee keeps another one."""
        cap = 1.0 if self.belief_cap is None else self.belief_cap
        other_cap = 1.0 if other.belief_cap is None else other.belief_cap
        return self.up <= other.up and self.down <= other.down and cap <= other_cap

    def is_kept(
        self, for_event: float, against_event: float, belief: float, tolerance: float = 0.0
    ) -> bool:
        """Return whether numbers that were reached are within all bounds, up to ``tolerance``."""
        return (
            for_event <= self.up + tolerance
            and against_event <= self.down + tolerance
            and (self.belief_cap is None or belief <= self.belief_cap + tolerance)
        )

    def is_kept_by(self, leakage: float, belief: float | None) -> bool | None:
        """Return whether this is kept, from one reported leakage over all bounded directions.

        Reported numbers are upper bounds, which count as kept up to ``REPORTED_SLACK`` above a
        bound. None where that does not decide: directions may have different bounds, and ``belief``
        may not be known.
        """
        cap = self.belief_cap
        if cap is not None and not (belief is not None and belief <= cap + REPORTED_SLACK):
            return None if belief is None else False
        bounds = [bound for bound in (self.up, self.down) if bound < math.inf]
        within = [leakage <= bound + REPORTED_SLACK for bound in bounds]
        return True if all(within) else None if any(within) else False

    def ratio_limits(self, prior_odds: float) -> tuple[float, float]:
        """Return the bounds of ln R and of -ln R for a prior with these odds of the event."""
        up = self.up
        if self.belief_cap is not None:
            capped = math.log(self.belief_cap / (1.0 - self.belief_cap)) - math.log(prior_odds)
            up = min(up, capped)
        return up, self.down

    def paced(self, leakage: float, belief: float, pace: float) -> Self:
        """Return the guarantee for one step that may use up a share ``pace`` of what is left.

        ``leakage`` and ``belief`` are what was reached so far. A release that says nothing keeps
        the result, since each bound is at least what was reached.
        """

        def between(reached: float, bound: float) -> float:
            between = max(0.0, reached + pace * (bound - reached))
            return bound if reached >= bound else min(bound, between)

        return self.with_bounds(
            lambda bound: between(leakage, bound), lambda cap: between(belief, cap)
        )

    def check_usable(self, owner: str) -> None:
        """Raise InvalidParameter if no release could be made under this guarantee."""
        bounded = self.belief_cap is not None or min(self.up, self.down) < math.inf
        if min(self.up, self.down) > 0.0 and bounded:
            return
        raise InvalidParameter(
            "must be > 0 in both directions, and finite in one at least",
            parameter="guarantee",
            owner=owner,
            value=repr(self),
            hint="To release without a guarantee use calibrator='uncalibrated'.",
        )

    def check_feasible(self, event: str, prior_belief: float, adversary: str) -> None:
        """Raise InvalidParameter if a prior of the adversary exceeds the cap before any release.

        ``event`` names the event, ``prior_belief`` is the largest belief in it before any release,
        ``adversary`` its words.
        """
        if self.belief_cap is None or prior_belief <= self.belief_cap:
            return
        raise InvalidParameter(
            f"The event {event!r} is guaranteed a belief of at most {self.belief_cap:g}, and "
            f"before any release {adversary} may believe it with {prior_belief:.6g} already. No "
            "release can take that back.",
            hint="Guarantee a cap above that number, guard against an adversary with less extreme "
            "beliefs, such as one who knows the population, or bound the change of odds instead.",
        )


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
        up, down = number_to_json(self.up), number_to_json(self.down)
        return {"guarantee": self.kind, "up": up, "down": down}

    def words(self, answers: int = 2) -> str:
        """Return the guarantee as part of a sentence, for a secret with this many answers.

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


@dataclass(frozen=True)
class BeliefBound(Guarantee):
    """No adversary of the class gets surer than ``at_most`` that the event happened; 0 < it < 1.

    It can be kept only if no prior of the class holds more before the first release. It says
    nothing about the other direction: releases may show that the event did not happen.

    >>> BeliefBound(0.2).words()
    'no adversary gets more than 20 % sure that it happened'
    """

    kind: ClassVar[str] = "belief"
    up: ClassVar[float] = math.inf  # type: ignore[misc]  # a bound that is open for every cap
    down: ClassVar[float] = math.inf  # type: ignore[misc]  # likewise

    at_most: float

    def __post_init__(self) -> None:
        bound = check_float(
            self.at_most, "at_most", "BeliefBound", above=0.0, below=1.0, hint="20 % is 0.2."
        )
        object.__setattr__(self, "at_most", bound)

    @property
    def belief_cap(self) -> float | None:
        """The cap, ``at_most``."""
        return self.at_most

    def with_bounds(
        self,
        odds: Callable[[float], float] | None = None,
        belief: Callable[[float], float] | None = None,
    ) -> Self:
        """Return the same guarantee with a function applied to the cap."""
        return self if belief is None else type(self)(belief(self.at_most))

    def comparisons(self, answers: int, has_rest: bool) -> tuple[Comparison, ...]:
        """Compare each answer but "neither" with all others together: each belief has the cap."""
        return tuple(
            Comparison((answer,), tuple(k for k in range(answers) if k != answer), self)
            for answer in range(answers - has_rest)
        )

    def to_dict(self) -> dict[str, object]:
        return {"guarantee": self.kind, "at_most": self.at_most}

    def words(self, answers: int = 2) -> str:
        """Return the guarantee as part of a sentence, for a secret with this many answers."""
        sure = f"no adversary gets more than {100.0 * self.at_most:.4g} % sure"
        return f"{sure} that it happened" if answers == 2 else f"{sure} of one of its answers"


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
