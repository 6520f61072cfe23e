"""Events as formulas: predicates joined by and, or, not, and counting.

A formula is an immutable tree (or a graph with shared parts) that says nothing
about the map: it knows cell numbers and step numbers only. Nothing in this module
recurses, so chains may be a million long, and every walk visits a shared
part once, so a formula that doubles its text at each line stays cheap to evaluate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NoReturn, TypeAlias

from priste.arguments import check_int
from priste.errors import InvalidParameter
from priste.events.trajectories import trajectory_cells
from priste.showable import Showable

if TYPE_CHECKING:
    from priste.events.automaton import Automaton

DEFAULT_MAX_WORLDS = 1024
"""The width limit of :meth:`Event.automaton` unless another is given."""

REPR_LENGTH = 200
"""``repr`` of an event shows this many characters of its text."""

_set = object.__setattr__


class Event(Showable):
    """Something a trajectory did or did not do: a formula over "in these cells at step t".

    Build events with :func:`at`, :func:`presence`, :func:`pattern`, :func:`at_least`
    and :func:`parse_event`, and join them with ``&``, ``|`` and ``~``.

    - ``first_step``, ``last_step``: the earliest and latest step the formula names,
      ``None`` for a formula without predicates. A step that is named need not matter:
      ``e | ~e`` names steps, and its automaton has none.
    - ``==`` and ``hash`` compare how formulas are written, in linear time;
      :meth:`equivalent` compares what they mean.
    - ``str(event)`` is the event language; reading it back gives an equal event. A part that
      is used in several places is written out in each; ``repr`` shows the beginning only.
    - Events have no truth value: ``e1 and e2`` raises instead of dropping ``e1``.

    >>> from priste.events import at, presence
    >>> e = presence([0, 1], [3, 4]) & ~at([2], 5)
    >>> print(e)
    presence({0, 1}, 3, 4) and not at({2}, 5)
    >>> e.first_step, e.last_step
    (3, 5)
    >>> e.holds([9, 9, 9, 0, 9, 9]), e.holds([9, 9, 9, 0, 9, 2])
    (True, False)
    """

    __slots__ = ("_automaton", "_digest", "first_step", "last_step")

    first_step: int | None
    last_step: int | None
    _automaton: Automaton | None
    _digest: int

    answers: ClassVar[tuple[str, str]] = ("happened", "did not happen")
    """The two answers of an event, as of a :class:`~priste.events.Secret`."""

    has_rest: ClassVar[bool] = True
    """The last answer says that nothing happened."""

    @property
    def parts(self) -> tuple[Event, ...]:
        """The formulas this one is directly made of; empty for a predicate."""
        return ()

    def __and__(self, other: Event) -> Event:
        return And(self, other) if isinstance(other, Event) else NotImplemented

    def __or__(self, other: Event) -> Event:
        return Or(self, other) if isinstance(other, Event) else NotImplemented

    def __invert__(self) -> Event:
        return self.part if isinstance(self, Not) else Not(self)

    def holds(self, trajectory: Sequence[int]) -> bool:
        """Return whether a trajectory of true cells makes the event happen.

        ``trajectory[t]`` is the cell at step ``t``. It must reach ``last_step``, also
        when the event is decided earlier; what follows is ignored. Raises
        :class:`InvalidParameter` for a trajectory that is too short or holds anything
        but cell numbers; the message never shows a cell of the trajectory.
        """
        cells = trajectory_cells(trajectory, self.last_step)
        truth: dict[int, bool] = {}
        for node in walk(self):
            if isinstance(node, Predicate):
                value = node.decide(cells)
            elif isinstance(node, Not):
                value = not truth[id(node.part)]
            elif isinstance(node, And):
                value = truth[id(node.left)] and truth[id(node.right)]
            elif isinstance(node, Or):
                value = truth[id(node.left)] or truth[id(node.right)]
            else:
                unknown_formula(node)
            truth[id(node)] = value
        return truth[id(self)]

    def automaton(self, max_worlds: int = DEFAULT_MAX_WORLDS) -> Automaton:
        """Return the smallest layered automaton of the event; made once, then kept.

        Equivalent events give equal automata. Raises :class:`TooManyWorlds` when more
        than ``max_worlds`` worlds are needed after some step, or when the way there
        is far wider than that; the message says where and why.
        """
        check_int(
            max_worlds,
            "max_worlds",
            "Event.automaton",
            least=2,
            why="every event that can go both ways needs two worlds",
        )
        # Imported here because compilation is written in terms of formulas.
        from priste.events.automaton_building import compile_event, require_width

        found = self._automaton
        if found is None:
            found = compile_event(self, max_worlds)
            _set(self, "_automaton", found)
        require_width(self, found, max_worlds)
        return found

    def equivalent(self, other: Event, max_worlds: int = DEFAULT_MAX_WORLDS) -> bool:
        """Return whether two events happen on exactly the same trajectories.

        Exact, by comparing the smallest automata; raises as :meth:`automaton` does.

        >>> from priste.events import at
        >>> (at([0], 1) | at([1], 1)).equivalent(at([0, 1], 1))
        True
        """
        return self.automaton(max_worlds) == other.automaton(max_worlds)

    def __str__(self) -> str:
        from priste.events.printing import text_pieces

        return "".join(text_pieces(self))

    def __repr__(self) -> str:
        return f"<Event {abbreviated(self, REPR_LENGTH)}>"

    def __eq__(self, other: object) -> bool:
        return _written_alike(self, other) if isinstance(other, Event) else NotImplemented

    def __hash__(self) -> int:
        return self._digest

    def __bool__(self) -> NoReturn:
        raise InvalidParameter(
            "An event is neither true nor false by itself, so Python's 'and', 'or', 'not' and "
            "'if' cannot read it.",
            hint="Join events with '&', '|' and '~', or ask event.holds(trajectory).",
        )

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Events do not change; {name!r} cannot be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Events do not change; {name!r} cannot be deleted.")

    def __copy__(self) -> Event:
        return self

    def __deepcopy__(self, memo: object) -> Event:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        # Pickle's own way would recurse once per level of nesting.
        return _from_records, (_records(self),)

    def _finish(self, first: int | None, last: int | None, digest: int) -> None:
        _set(self, "first_step", first)
        _set(self, "last_step", last)
        _set(self, "_digest", digest)
        _set(self, "_automaton", None)


class Predicate(Event):
    """A formula that is decided by cells only and has no parts."""

    __slots__ = ()

    def decide(self, trajectory: Sequence[int]) -> bool:
        """Evaluate on a trajectory that is already known to be valid and long enough."""
        raise NotImplementedError


class Constant(Predicate):
    """An event that always or never happens, whatever the trajectory."""

    __slots__ = ("value",)
    value: bool

    def __init__(self, value: bool) -> None:
        _set(self, "value", value)
        self._finish(None, None, hash(("constant", value)))

    def decide(self, trajectory: Sequence[int]) -> bool:
        return self.value


ALWAYS: Event = Constant(True)
"""The event that always happens; ``true`` in the event language."""
NEVER: Event = Constant(False)
"""The event that never happens; ``false`` in the event language."""


class At(Predicate):
    """In one of ``cells`` at ``step``. Made by :func:`at`, which checks its arguments."""

    __slots__ = ("cells", "step")
    cells: frozenset[int]
    step: int

    def __init__(self, step: int, cells: frozenset[int]) -> None:
        _set(self, "step", step)
        _set(self, "cells", cells)
        self._finish(step, step, hash((step, cells)))

    def decide(self, trajectory: Sequence[int]) -> bool:
        return trajectory[self.step] in self.cells


class AtLeast(Predicate):
    """In ``cells`` at ``count`` or more of the ``steps`` (sorted, distinct, not empty).

    Made by :func:`at_least` and, with a count of 1, by :func:`presence`.
    """

    __slots__ = ("cells", "count", "steps")
    cells: frozenset[int]
    count: int
    steps: tuple[int, ...]

    def __init__(self, count: int, cells: frozenset[int], steps: tuple[int, ...]) -> None:
        _set(self, "count", count)
        _set(self, "cells", cells)
        _set(self, "steps", steps)
        self._finish(steps[0], steps[-1], hash((count, cells, steps)))

    def decide(self, trajectory: Sequence[int]) -> bool:
        return sum(trajectory[step] in self.cells for step in self.steps) >= self.count


class Not(Event):
    """``part`` does not happen."""

    __slots__ = ("part",)
    part: Event

    def __init__(self, part: Event) -> None:
        _set(self, "part", part)
        self._finish(part.first_step, part.last_step, hash(("not", part._digest)))

    @property
    def parts(self) -> tuple[Event, ...]:
        return (self.part,)


class Junction(Event):
    """Two events joined by :class:`And` or :class:`Or`."""

    __slots__ = ("left", "right")
    left: Event
    right: Event
    word = ""

    def __init__(self, left: Event, right: Event) -> None:
        _set(self, "left", left)
        _set(self, "right", right)
        firsts = [s for s in (left.first_step, right.first_step) if s is not None]
        lasts = [s for s in (left.last_step, right.last_step) if s is not None]
        self._finish(
            min(firsts, default=None),
            max(lasts, default=None),
            hash((self.word, left._digest, right._digest)),
        )

    @property
    def parts(self) -> tuple[Event, ...]:
        return (self.left, self.right)


class And(Junction):
    """Both happen."""

    __slots__ = ()
    word = "and"


class Or(Junction):
    """At least one of the two happens."""

    __slots__ = ()
    word = "or"


def walk(event: Event) -> Iterator[Event]:
    """Yield every distinct part of a formula once, parts before what they make up."""
    done: set[int] = set()
    stack = [event]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        waiting = [part for part in node.parts if id(part) not in done]
        if waiting:
            stack.extend(reversed(waiting))
        else:
            done.add(id(node))
            stack.pop()
            yield node


def abbreviated(event: Event, length: int) -> str:
    """Return the first ``length`` characters of an event's text, with dots if there is more."""
    from priste.events.printing import text_pieces

    # Every piece has at least one character, so this reads no more than is shown.
    text = "".join(islice(text_pieces(event), length + 1))
    return text if len(text) <= length else text[:length] + "..."


def unknown_formula(event: Event) -> NoReturn:
    """Refuse a subclass of Event that did not come from this package."""
    raise InvalidParameter(
        "must be one that this package can read",
        parameter="event",
        value=type(event),
        hint="Build events with at, presence, pattern, at_least and parse_event.",
    )


def _written_alike(first: Event, second: Event) -> bool:
    compared: set[tuple[int, int]] = set()
    stack = [(first, second)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b) or a._digest != b._digest:
            return False
        if isinstance(a, Predicate):
            if _record(a, {}) != _record(b, {}):
                return False
            continue
        # Shared parts are compared once; without this, doubling formulas take for ever.
        pair = (id(a), id(b))
        if pair not in compared:
            compared.add(pair)
            stack.extend(zip(a.parts, b.parts, strict=True))
    return True


_Record = tuple[object, ...]


def _record(node: Event, index: dict[int, int]) -> _Record:
    if isinstance(node, Constant):
        return ("constant", node.value)
    if isinstance(node, At):
        return ("at", node.step, node.cells)
    if isinstance(node, AtLeast):
        return ("at_least", node.count, node.cells, node.steps)
    word = node.word if isinstance(node, Junction) else "not"
    return (word, *(index[id(part)] for part in node.parts))


def _records(event: Event) -> list[_Record]:
    index: dict[int, int] = {}
    records: list[_Record] = []
    for node in walk(event):
        records.append(_record(node, index))
        index[id(node)] = len(index)
    return records


def _from_records(records: list[tuple[object, ...]]) -> Event:
    made: list[Event] = []
    for word, *fields in records:
        made.append(_from_record(str(word), fields, made))
    return made[-1]


def _from_record(word: str, fields: list[object], made: list[Event]) -> Event:
    match word, fields:
        case "constant", [bool(value)]:
            return Constant(value)
        case "at", [int(step), frozenset() as cells]:
            return At(step, cells)
        case "at_least", [int(count), frozenset() as cells, tuple() as steps]:
            return AtLeast(count, cells, steps)
        case "not", [int(part)]:
            return Not(made[part])
        case "and", [int(left), int(right)]:
            return And(made[left], made[right])
        case "or", [int(left), int(right)]:
            return Or(made[left], made[right])
    raise InvalidParameter("must hold records of an event", parameter="pickle", value=word)


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
