"""Events and secrets: formulas about where somebody was at which steps, and their automata.

Build formulas in Python with :func:`at`, :func:`presence`, :func:`pattern`,
:func:`at_least`, ``&``, ``|``, ``~``, or read them from text with :func:`parse_event`. A
:class:`Secret` has several answers; :func:`together` joins events so that combinations are guarded.
"""

from priste.events.automaton import Automaton, Layer
from priste.events.formula import ALWAYS, DEFAULT_MAX_WORLDS, NEVER, Event
from priste.events.language import StepReader, parse_event
from priste.events.nearness import NEAR_HOURS, near_events, near_reach
from priste.events.predicates import at, at_least, pattern, presence
from priste.events.secrets import MAX_ANSWERS, Guarded, Secret, secret_from_dict, together

__all__ = [
    "ALWAYS",
    "DEFAULT_MAX_WORLDS",
    "MAX_ANSWERS",
    "NEAR_HOURS",
    "NEVER",
    "Automaton",
    "Event",
    "Guarded",
    "Layer",
    "Secret",
    "StepReader",
    "at",
    "at_least",
    "near_events",
    "near_reach",
    "parse_event",
    "pattern",
    "presence",
    "secret_from_dict",
    "together",
]
