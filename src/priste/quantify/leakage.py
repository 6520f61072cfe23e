"""The answer to "how much do the releases say about the event?"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Leakage:
    """How far releases move the odds of an event, against every prior that is allowed.

    ``for_event`` is the natural logarithm of the supremum, over all priors, of
    Pr(releases | EVENT) / Pr(releases | not EVENT); ``against_event`` is the same with
    the event and its negation exchanged; ``value`` is the larger of the two. Each is an
    upper bound: never below the exact supremum, and above it by at most what
    :func:`priste.quantify.worst_prior.worst_prior_leakage` states. ``inf`` means that
    some prior makes the releases prove the event (or its negation).

    ``worst_prior`` maps row numbers (first cells) to weights that sum to 1: one or two
    entries, a prior that comes as close to ``value`` as doubles allow. It is empty when
    no prior makes the comparison possible.

    >>> Leakage(0.5, 0.5, 0.25, {3: 1.0}).value
    0.5
    """

    value: float
    for_event: float
    against_event: float
    worst_prior: dict[int, float]
