"""The words events are built from: at, presence, pattern, at_least.

Everything a user passes in is checked here, once; the formulas behind trust it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from priste.arguments import check_int
from priste.errors import InvalidParameter
from priste.events.formula import And, At, AtLeast, Event
from priste.maps.cells import Cells, cell_numbers

MAX_STEPS = 10_000_000
"""The most steps one event may be given: an endless iterable must not fill the memory."""


def at(cells: Cells, step: int) -> Event:
    """Return the predicate "in one of these cells at this step".

    ``cells`` is any nonempty iterable of cell numbers or a ``Region``; ``step`` is a whole number
    >= 0. Raises :class:`InvalidParameter` otherwise.

    >>> at([0, 1], 3).holds([7, 7, 7, 1])
    True
    """
    region = cell_numbers(cells, name="cells")
    return At(step_number(step, "step", "at"), region)


def presence(cells: Cells, steps: Iterable[int]) -> Event:
    """Return the event "in one of these cells at one or more of these steps".

    The paper's PRESENCE. ``steps`` may come in any order; a step given twice counts once.
    At least one is needed.

    >>> presence({0}, range(1, 3)).holds([0, 5, 0])
    True
    """
    region = cell_numbers(cells, name="cells")
    return AtLeast(1, region, tuple(sorted(set(step_numbers(steps, "presence")))))


def pattern(regions: Iterable[Cells], steps: Iterable[int]) -> Event:
    """Return the event "in ``regions[i]`` at ``steps[i]``, for every i".

    The paper's PATTERN. As many regions as steps, at least one; the steps may come in any
    order, and a step given twice asks for both of its regions.

    >>> pattern([[0], [1, 2]], [0, 2]).holds([0, 9, 2])
    True
    """
    numbers = step_numbers(steps, "pattern")
    if isinstance(regions, (str, bytes, Mapping)) or not isinstance(regions, Iterable):
        raise InvalidParameter(
            "must be a sequence with one region per step",
            parameter="regions",
            owner="pattern",
            value=type(regions),
        )
    checked = [cell_numbers(region, name=f"regions[{i}]") for i, region in enumerate(regions)]
    if len(checked) != len(numbers):
        raise InvalidParameter(
            "must be as many as the 'steps', one region per step",
            parameter="regions",
            owner="pattern",
            got=f"{len(checked)} regions and {len(numbers)} steps",
        )
    return pattern_of(zip(numbers, checked, strict=True))


def at_least(k: int, cells: Cells, steps: Iterable[int]) -> Event:
    """Return the event "in one of these cells at ``k`` or more of these steps".

    ``k`` is a whole number >= 0: with 0 the event always happens, with more than there are
    steps never. ``steps`` may come in any order but not twice, since it would be unclear
    how often a repeated step counts.

    >>> gym_twice = at_least(2, [4], range(5))
    >>> gym_twice.holds([4, 0, 0, 4, 0]), gym_twice.holds([4, 0, 0, 0, 0])
    (True, False)
    >>> gym_twice.automaton().width
    3
    """
    count = check_int(k, "k", "at_least", why="how many of the steps are spent in the cells")
    region = cell_numbers(cells, name="cells")
    return counting(count, region, step_numbers(steps, "at_least"), "at_least")


def counting(k: int, cells: frozenset[int], steps: list[int], who: str) -> Event:
    """Return "in the cells at ``k`` or more of the steps" from checked numbers, if all differ."""
    ordered = tuple(sorted(set(steps)))
    if len(ordered) != len(steps):
        raise InvalidParameter(
            "must all differ, or it is unclear how often a step counts",
            parameter="steps",
            owner=who,
            got=f"{len(steps)} steps of which {len(ordered)} are distinct",
        )
    return AtLeast(k, cells, ordered)


def pattern_of(places: Iterable[tuple[int, frozenset[int]]]) -> Event:
    """Join checked (step, cells) pairs, at least one, with ``and``."""
    event: Event | None = None
    for step, cells in places:
        event = At(step, cells) if event is None else And(event, At(step, cells))
    if event is None:
        raise InvalidParameter(
            "must have at least one region and step",
            parameter="regions",
            owner="pattern",
            got="none",
        )
    return event


def step_number(step: object, name: str, who: str) -> int:
    """Return a checked step number as a plain ``int``."""
    return check_int(step, name, who, why="steps count from 0")


def step_numbers(steps: Iterable[int], who: str) -> list[int]:
    """Return checked step numbers in the order given, repetitions included; at least one."""
    if isinstance(steps, (str, bytes, Mapping)) or not isinstance(steps, Iterable):
        raise InvalidParameter(
            "must be an iterable of step numbers",
            parameter="steps",
            owner=who,
            value=type(steps),
            hint="For a single step write [step].",
        )
    numbers: list[int] = []
    for entry in steps:
        if len(numbers) >= MAX_STEPS:
            raise InvalidParameter(
                f"must be at most {MAX_STEPS:,} numbers", parameter="steps", owner=who, got="more"
            )
        numbers.append(step_number(entry, "steps", who))
    if not numbers:
        raise InvalidParameter(
            "must name at least one step",
            parameter="steps",
            owner=who,
            got="none",
            hint="An event that never happens is priste.events.NEVER.",
        )
    return numbers
