"""Events by enumeration: the meaning of a formula spelled out, trajectory by trajectory.

Formulas here are plain nested tuples, evaluated by the definition and nothing else:

    ("true",)  ("false",)
    ("at", step, cells)
    ("at_least", k, cells, steps)      presence is k = 1
    ("not", f)   ("and", f, g, ...)   ("or", f, g, ...)

No function of priste takes part in an answer; only ``to_event`` touches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from priste import events

Formula = tuple[Any, ...]


def holds(formula: Formula, trajectory: Sequence[int]) -> bool:
    """Evaluate a formula on a trajectory by the definition."""
    word, *parts = formula
    if word in ("true", "false"):
        return bool(word == "true")
    if word == "at":
        step, cells = parts
        return trajectory[step] in cells
    if word == "at_least":
        k, cells, steps = parts
        return len([step for step in set(steps) if trajectory[step] in cells]) >= k
    if word == "not":
        return not holds(parts[0], trajectory)
    if word == "and":
        return all(holds(part, trajectory) for part in parts)
    if word == "or":
        return any(holds(part, trajectory) for part in parts)
    raise ValueError(word)


def trajectories(cells: Iterable[int], steps: int) -> Iterator[tuple[int, ...]]:
    """Every trajectory of a given length over the given cells."""
    return product(list(cells), repeat=steps)


def to_event(formula: Formula) -> events.Event:
    """The same formula as priste writes it."""
    word, *parts = formula
    if word in ("true", "false"):
        return events.ALWAYS if word == "true" else events.NEVER
    if word == "at":
        return events.at(parts[1], parts[0])
    if word == "at_least":
        return events.at_least(*parts)
    if word == "not":
        return ~to_event(parts[0])
    joined = to_event(parts[0])
    for part in parts[1:]:
        joined = joined & to_event(part) if word == "and" else joined | to_event(part)
    return joined


def worlds_after_each_step(formula: Formula, cells: Iterable[int], steps: int) -> list[int]:
    """How many beginnings must be told apart after each step (Myhill and Nerode).

    Two beginnings are alike when every continuation decides the event alike. No
    automaton that reads the steps in order has fewer worlds.
    """
    alphabet = list(cells)
    counts = []
    for length in range(1, steps + 1):
        futures = list(product(alphabet, repeat=steps - length))
        counts.append(
            len(
                {
                    tuple(holds(formula, beginning + future) for future in futures)
                    for beginning in product(alphabet, repeat=length)
                }
            )
        )
    return counts


def cells_told_apart(formula: Formula, cells: Iterable[int], steps: int, step: int) -> int:
    """How many classes of cells must be told apart at one step, all else being equal."""
    alphabet = list(cells)
    rests = [
        (before, after)
        for before in product(alphabet, repeat=step)
        for after in product(alphabet, repeat=steps - step - 1)
    ]
    return len(
        {
            tuple(holds(formula, (*before, cell, *after)) for before, after in rests)
            for cell in alphabet
        }
    )
