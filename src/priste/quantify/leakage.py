"""The answer to "how much do the releases say about the event?"."""

from __future__ import annotations

from dataclasses import dataclass, field

from priste.quantify.guarantees import Guarantee, as_guarantee
from priste.showable import Showable


@dataclass(frozen=True)
class Leakage(Showable):
    """How far releases move the odds of an event, against every prior that is allowed.

    ``for_event`` is the natural logarithm of the supremum, over all priors, of
    Pr(releases | EVENT) / Pr(releases | not EVENT); ``against_event`` is the same with
    the event and its negation exchanged; ``value`` is the larger of the two. Each is an
    upper bound: never below the exact supremum, and above it by at most what
    :func:`priste.quantify.worst_prior.worst_prior_leakage` states. ``inf`` means that
    some prior makes the releases prove the event (or its negation).

    ``worst_rows`` maps rows of the joint probabilities, by number, to weights that sum to 1: a
    prior of the class that comes as close to ``value`` as doubles allow, with one or two entries
    where the class is all mixtures of the rows. It is empty when no prior makes the comparison
    possible. A ``Quantifier`` also says what these rows are. ``worst_prior`` maps first cells to
    weights where rows are first cells; ``worst_given`` maps pairs (model, number of a given prior)
    (``KnownPrior``) to weights, and ``worst_last_seen`` the cells in which the user was seen last
    (``LastSeen``). With several models these are summed over the models, ``worst_models`` maps
    models to weights, and ``worst_joint`` pairs (model, first cell). Where each of several models
    is tested by itself, ``model`` is the number of the one under which ``value`` is reached.

    Of a secret with several answers ``for_event`` bounds how far the odds of any answer but the
    last rise against any other, and ``against_event`` how far they fall; ``between`` names the two
    answers that ``value`` tells apart, the first against the second or the reverse.

    >>> Leakage(0.5, 0.5, 0.25, {3: 1.0}, {3: 1.0})
    Leakage(0.5, for_event=0.5, against_event=0.25, worst_prior={3: 1.0})
    """

    value: float
    for_event: float
    against_event: float
    worst_rows: dict[int, float]
    worst_prior: dict[int, float] = field(default_factory=dict)
    worst_given: dict[tuple[int, int], float] = field(default_factory=dict)
    worst_last_seen: dict[int, float] = field(default_factory=dict)
    worst_models: dict[int, float] = field(default_factory=dict)
    worst_joint: dict[tuple[int, int], float] = field(default_factory=dict)
    model: int | None = None
    between: tuple[int, int] | tuple[str, str] | None = None

    def __repr__(self) -> str:
        names = ("worst_prior", "worst_given", "worst_last_seen", "worst_models", "model")
        told = {name: getattr(self, name) for name in names}
        worst = "".join(f", {name}={value!r}" for name, value in told.items() if value)
        return (
            f"Leakage({self.value:.6g}, for_event={self.for_event:.6g}, "
            f"against_event={self.against_event:.6g}{worst})"
        )

    def over(self, guarantee: float | Guarantee) -> float:
        """Return the larger of the directions that a guarantee bounds.

        A ``BeliefBound`` bounds what speaks for the event. It may be below 0 when one direction is
        bounded: then the releases have only spoken the other way.

        >>> from priste.quantify.guarantees import OddsBound
        >>> Leakage(0.5, 0.25, 0.5, {3: 1.0}).over(OddsBound(up=1.0, down=float("inf")))
        0.25
        """
        return as_guarantee(guarantee).leakage(self.for_event, self.against_event)


def bounded_directions(guarantee: float | Guarantee | None) -> list[int]:
    """Return the directions that a guarantee bounds; both for None."""
    return [0, 1] if guarantee is None else list(as_guarantee(guarantee).bounded_directions)
