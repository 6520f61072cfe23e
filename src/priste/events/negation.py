"""Negation pushed inwards: a formula together with whether its opposite is meant."""

from __future__ import annotations

from typing import TypeAlias

from priste.events.formula import And, Event, Not

Signed: TypeAlias = tuple[Event, bool]
"""A formula, and whether its negation is meant."""


def without_not(event: Event, negated: bool) -> Signed:
    """Take every ``not`` off the top of a formula and into its sign."""
    while isinstance(event, Not):
        event, negated = event.part, not negated
    return event, negated


def is_or(event: Event, negated: bool) -> bool:
    """Return whether a connective acts as an "or" once the negation is pushed through it."""
    return isinstance(event, And) == negated
