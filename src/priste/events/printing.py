"""Formulas as text of the event language, piece by piece.

The text is made lazily and without recursion: the beginning of a formula can be shown
even where the whole text would be astronomically long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from priste.events.formula import (
    And,
    At,
    AtLeast,
    Constant,
    Event,
    Junction,
    Not,
    unknown_formula,
)

SHORTEST_RANGE = 3
"""Runs of at least this many consecutive numbers are written as ``first..last``."""


def text_pieces(event: Event) -> Iterator[str]:
    """Yield the text of an event in nonempty pieces, from left to right.

    ``parse_event`` of the whole text gives an event equal to ``event``: chains of one
    connective are written without brackets only where reading from the left rebuilds them.
    """
    stack: list[Event | str] = [event]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Constant):
            yield "true" if item.value else "false"
        elif isinstance(item, At):
            yield f"at({cells_text(item.cells)}, {item.step})"
        elif isinstance(item, AtLeast):
            yield _counting_text(item)
        elif isinstance(item, Not):
            yield "not "
            stack.extend(_bracketed(item.part, isinstance(item.part, Junction)))
        elif isinstance(item, Junction):
            operands = _left_chain(item)
            if isinstance(item, And) and all(isinstance(part, At) for part in operands):
                yield _pattern_text(part for part in operands if isinstance(part, At))
            else:
                stack.extend(_joined(item, operands))
        else:
            unknown_formula(item)


def cells_text(cells: Iterable[int]) -> str:
    """Write a set of cells as the event language does.

    >>> cells_text([5, 0, 1, 6, 7])
    '{0, 1, 5..7}'
    """
    return "{" + numbers_text(sorted(cells)) + "}"


def numbers_text(ordered: Iterable[int]) -> str:
    """Write increasing numbers, runs of three and more as ``first..last``."""
    runs: list[list[int]] = []
    for number in ordered:
        if runs and runs[-1][-1] + 1 == number:
            runs[-1][-1] = number
        else:
            runs.append([number, number])
    return ", ".join(_run_text(first, last) for first, last in runs)


def _run_text(first: int, last: int) -> str:
    if last - first + 1 >= SHORTEST_RANGE:
        return f"{first}..{last}"
    return ", ".join(str(number) for number in range(first, last + 1))


def _counting_text(event: AtLeast) -> str:
    place = f"{cells_text(event.cells)}, {numbers_text(event.steps)}"
    return f"presence({place})" if event.count == 1 else f"at_least({event.count}, {place})"


def _pattern_text(places: Iterable[At]) -> str:
    return f"pattern({', '.join(f'{cells_text(p.cells)}@{p.step}' for p in places)})"


def _left_chain(event: Junction) -> list[Event]:
    """Return a, b, c, d of ``((a op b) op c) op d``."""
    operands = []
    node: Event = event
    while isinstance(node, Junction) and type(node) is type(event):
        operands.append(node.right)
        node = node.left
    operands.append(node)
    operands.reverse()
    return operands


def _joined(event: Junction, operands: list[Event]) -> list[Event | str]:
    """Return what to put on the stack, last first, to write operands joined by a word."""
    pieces: list[Event | str] = []
    for position, part in enumerate(operands):
        if position:
            pieces.append(f" {event.word} ")
        # An "and" inside an "or" needs no brackets; any other joined part does.
        loose = isinstance(part, Junction) and not (event.word == "or" and isinstance(part, And))
        pieces.extend(reversed(_bracketed(part, loose)))
    pieces.reverse()
    return pieces


def _bracketed(part: Event, brackets: bool) -> list[Event | str]:
    return [")", part, "("] if brackets else [part]
