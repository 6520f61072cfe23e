"""The answer to "how much do the releases say about the event?"."""

from __future__ import annotations

from dataclasses import dataclass, field

from priste.quantify.guarantees import BeliefBound, Guarantee, as_guarantee


@dataclass(frozen=True)
class Leakage:
    """How far releases move the odds of an event, against every prior that is allowed.

    ``for_event`` is the natural logarithm of the supremum, over all priors, of
    Pr(releases | EVENT) / Pr(releases | not EVENT); ``against_event`` is the same with
    the event and its negation exchanged; ``value`` is the larger of the two. Each is an
    upper bound: never below the exact supremum, and above it by at most what
    :func:`priste.quantify.worst_prior.worst_prior_leakage` states. ``inf`` means that
    some prior makes the releases prove the event (or its negation).

    ``worst_prior`` maps first cells to weights that sum to 1: a prior of the class that comes as
    close to ``value`` as doubles allow, with one or two entries where the class is all mixtures
    of some rows. Rows that are no cells are named by their number (``KnownPrior``), or by the cell
    where the user was seen last (``LastSeen``). It is empty when no prior makes the comparison
    possible. With several models ``worst_joint`` maps (model, cell) to weights, and
    ``worst_prior`` is its sum over models. Where each of several models is tested by itself,
    ``model`` is the number of the one under which ``value`` is reached; None elsewhere.

    >>> Leakage(0.5, 0.5, 0.25, {3: 1.0}).value
    0.5
    """

    value: float
    for_event: float
    against_event: float
    worst_prior: dict[int, float]
    worst_joint: dict[tuple[int, int], float] = field(default_factory=dict)
    model: int | None = None

    def over(self, guarantee: float | Guarantee) -> float:
        """Return the larger of the directions that a guarantee bounds.

        A ``BeliefBound`` bounds what speaks for the event. It may be below 0 when one direction is
        bounded: then the releases have only spoken the other way.

        >>> from priste.quantify.guarantees import OddsBound
        >>> Leakage(0.5, 0.25, 0.5, {3: 1.0}).over(OddsBound(up=1.0, down=float("inf")))
        0.25
        """
        directions = (self.for_event, self.against_event)
        return max(directions[side] for side in bounded_directions(guarantee))


def bounded_directions(guarantee: float | Guarantee | None) -> list[int]:
    """Return which of the directions (0 for the event, 1 against) a guarantee bounds.

    Both for None, and where a guarantee leaves both free.
    """
    if guarantee is None:
        return [0, 1]
    given = as_guarantee(guarantee)
    if isinstance(given, BeliefBound):
        return [0]
    free = float("inf")
    return [side for side, bound in enumerate((given.up, given.down)) if bound < free] or [0, 1]
