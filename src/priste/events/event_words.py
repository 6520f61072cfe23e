"""Why an event needs too many worlds, in words for the person who wrote it."""

from __future__ import annotations

from collections.abc import Sequence

from priste.errors import InvalidParameter, TooManyWorlds
from priste.events.formula import Event, Junction, Signed, abbreviated, is_or, without_not

SHOWN_PARTS = 3
SHOWN_LENGTH = 60
"""How many open parts an error shows, and how much of each."""

NEXT_STEP = "Raise max_worlds, or protect it as several smaller events."


def too_wide(event: Event, step: int, worlds: int, max_worlds: int) -> TooManyWorlds:
    """Return the error for an automaton that is wider than the limit."""
    return TooManyWorlds(
        f"The event needs {worlds:,} worlds after step {step}, more than the limit of "
        f"{max_worlds:,}. {_open_parts(event, step)}",
        hint=NEXT_STEP,
    )


def too_wide_inside(event: Event, step: int, nodes: int, max_worlds: int) -> TooManyWorlds:
    """Return the error for a part of an event that is far too wide to be compiled."""
    return TooManyWorlds(
        f"Compiling the event passes through at least {nodes:,} worlds at step {step}, far more "
        f"than the limit of {max_worlds:,}. {_open_parts(event, step)}",
        hint=NEXT_STEP,
    )


def too_many_together(names: Sequence[str], step: int, worlds: int) -> TooManyWorlds:
    """Return the error for events whose automata side by side are too wide."""
    return TooManyWorlds(
        f"Following {', '.join(map(repr, names))} side by side needs {worlds:,} worlds after step "
        f"{step}.",
        hint="Guard fewer of them together, or such as do not overlap in time.",
    )


def too_much_work(event: Event) -> TooManyWorlds:
    """Return the error for an event whose compilation was given up."""
    return TooManyWorlds(
        "Compiling the event was given up: its worlds, cells and steps together are too many. "
        f"It happened in the part '{abbreviated(event, SHOWN_LENGTH)}' "
        f"(steps {event.first_step} to {event.last_step}).",
        hint="Protect it as several smaller events, or name fewer regions per step.",
    )


def _open_parts(event: Event, step: int) -> str:
    """Say which parts of an event have begun but not ended at a step: they make it wide."""
    node, negated = without_not(event, False)
    if not isinstance(node, Junction):
        return f"It has much to count: '{abbreviated(node, SHOWN_LENGTH)}'."
    begun: list[Event] = []
    seen: set[int] = set()
    stack: list[Signed] = [(node, negated)]
    while stack:
        part, sign = without_not(*stack.pop())
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Junction) and is_or(part, sign) == is_or(node, negated):
            stack.extend((below, sign) for below in reversed(part.parts))
        elif _spans(part, step):
            begun.append(part)
    if not begun:
        return f"It is joined from '{abbreviated(node, SHOWN_LENGTH)}'."
    listed = ", ".join(f"'{abbreviated(part, SHOWN_LENGTH)}'" for part in begun[:SHOWN_PARTS])
    more = f" and {len(begun) - SHOWN_PARTS:,} more" if len(begun) > SHOWN_PARTS else ""
    return f"What has begun by then and ends later must all be remembered together: {listed}{more}."


def _spans(part: Event, step: int) -> bool:
    if part.first_step is None or part.last_step is None:
        return False
    return part.first_step <= step < part.last_step


def too_deep(limit: int) -> InvalidParameter:
    """Say that a formula is nested beyond the limit."""
    return InvalidParameter(
        f"This event alternates between 'and' and 'or' more than {limit} levels deep.",
        hint="Write it flatter, with presence, pattern or at_least over several steps, or split "
        "it into events.",
    )
