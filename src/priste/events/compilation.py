"""From a formula to the smallest automaton of worlds.

Every part of the formula is turned into a decision diagram (see :mod:`diagram`), the
innermost first; ``not`` costs nothing because it is pushed down to the predicates.
Chosen over rewriting the whole formula step by step ("residuals"), because a rewritten
formula is only as small as the rewriting rules see, while a diagram is the smallest form
of its part always: what is temporarily wide is a part that is wide by itself. Parts may
be ``INTERMEDIATE_FACTOR`` times wider than the limit before compiling gives up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from priste.errors import TooManyWorlds
from priste.events.automaton import Automaton, Layer
from priste.events.diagram import FALSE, TRUE, DiagramStore, DiagramTooWide, WorkExhausted
from priste.events.formula import (
    And,
    At,
    AtLeast,
    Constant,
    Event,
    Junction,
    Not,
    abbreviated,
    unknown_formula,
    walk,
)
from priste.events.partitions import Partition, partitions_of

INTERMEDIATE_FACTOR = 16
"""How many times wider than the limit a part of the formula may be on the way."""

MAX_ARROWS = 100_000_000
"""The most arrows drawn for one event: some minutes of work and a few GB."""

SHOWN_PARTS = 3
SHOWN_LENGTH = 60
"""How many open parts an error shows, and how much of each."""


def compile_event(event: Event, max_worlds: int) -> Automaton:
    """Return the smallest automaton of an event; see :meth:`Event.automaton`."""
    builder = _DiagramBuilder(event, max_worlds)
    root = builder.build()
    return _automaton_of(event, root, builder.store, builder.partitions, max_worlds)


def require_width(event: Event, automaton: Automaton, max_worlds: int) -> None:
    """Raise :class:`TooManyWorlds` if an automaton is wider than the limit."""
    if automaton.width > max_worlds:
        widest = max(automaton.layers, key=lambda layer: layer.worlds_after)
        raise _too_wide(event, widest.worlds_after, widest.step, max_worlds)


_Moves = tuple[tuple[int, ...], ...]
_Classes = tuple[frozenset[int], ...]
_Signed = tuple[Event, bool]
"""A formula and whether its negation is meant."""


@dataclass
class _Operands:
    """What a chain of one connective joins: predicates by step, and other parts."""

    places: dict[int, list[tuple[frozenset[int], bool]]] = field(default_factory=dict)
    others: list[_Signed] = field(default_factory=list)


class _DiagramBuilder:
    """Builds the diagram of one event, part by part, without recursion."""

    def __init__(self, event: Event, max_worlds: int) -> None:
        self.store = DiagramStore(INTERMEDIATE_FACTOR * max_worlds, MAX_ARROWS)
        self.partitions = partitions_of(event)
        self._event = event
        self._max_worlds = max_worlds
        self._uses: dict[int, int] = {}
        for node in walk(event):
            for part in node.parts:
                self._uses[id(part)] = self._uses.get(id(part), 0) + 1
        self._done: dict[tuple[int, bool], int] = {}

    def build(self) -> int:
        """Return the diagram of the event; raise :class:`TooManyWorlds` if it is too wide."""
        top = _without_not(self._event, False)
        waiting: dict[tuple[int, bool], _Operands] = {}
        stack = [top]
        while stack:
            node, negated = stack[-1]
            key = (id(node), negated)
            if key not in self._done and isinstance(node, Junction):
                operands = waiting.get(key)
                if operands is None:
                    operands = waiting[key] = self._operands(node, negated)
                    missing = [o for o in operands.others if (id(o[0]), o[1]) not in self._done]
                    if missing:
                        stack.extend(missing)
                        continue
                del waiting[key]
            else:
                operands = None
            if key not in self._done:
                self._done[key] = self._diagram(node, negated, operands)
            stack.pop()
        return self._done[(id(top[0]), top[1])]

    def _diagram(self, node: Event, negated: bool, operands: _Operands | None) -> int:
        try:
            if operands is not None:
                return self._joined(operands, TRUE if _is_or(node, negated) else FALSE)
            if isinstance(node, Constant):
                return TRUE if node.value != negated else FALSE
            if isinstance(node, At):
                return self._place(node.step, [(node.cells, negated)], FALSE)
            if isinstance(node, AtLeast):
                return self._counting(node, negated)
            unknown_formula(node)
        except DiagramTooWide as found:
            raise _too_wide_inside(node, found, self._max_worlds) from None
        except WorkExhausted:
            raise _too_much_work(node) from None

    def _operands(self, node: Junction, negated: bool) -> _Operands:
        """Collect what a chain of one connective joins, as far as no part is used elsewhere."""
        chain_is_or = _is_or(node, negated)
        operands = _Operands()
        stack: list[_Signed] = [(part, negated) for part in node.parts]
        while stack:
            part, sign = _without_not(*stack.pop())
            if isinstance(part, At):
                operands.places.setdefault(part.step, []).append((part.cells, sign))
            elif (
                isinstance(part, Junction)
                and _is_or(part, sign) == chain_is_or
                and self._uses[id(part)] == 1
            ):
                stack.extend((below, sign) for below in part.parts)
            else:
                operands.others.append((part, sign))
        return operands

    def _joined(self, operands: _Operands, absorbing: int) -> int:
        diagrams = [self._done[(id(part), sign)] for part, sign in operands.others]
        diagrams += [
            self._place(step, regions, absorbing) for step, regions in operands.places.items()
        ]
        return self.store.join(diagrams, absorbing)

    def _place(self, step: int, regions: list[tuple[frozenset[int], bool]], absorbing: int) -> int:
        """Return the diagram of predicates of one step (with signs) joined at once."""
        if len(regions) == 1:
            ((region, negated),) = regions
            end = FALSE if negated else TRUE
            inside = self.partitions[step].membership(region)
            return self.store.make(step, tuple(end if i else 1 - end for i in inside))
        # Worked out on cells rather than class by class: a step may name a million regions.
        plain = [region for region, negated in regions if not negated]
        hollow = [region for region, negated in regions if negated]
        if absorbing == TRUE:
            union: frozenset[int] = frozenset().union(*plain)
            if hollow:
                # Outside the intersection of the negated ones, or in the union.
                return self._inside(step, hollow[0].intersection(*hollow) - union, FALSE)
            return self._inside(step, union, TRUE)
        union = frozenset().union(*hollow)
        if plain:
            return self._inside(step, plain[0].intersection(*plain) - union, TRUE)
        return self._inside(step, union, FALSE)

    def _inside(self, step: int, cells: frozenset[int], end: int) -> int:
        """Return the diagram that ends in ``end`` inside a union of classes, else in the other."""
        inside = self.partitions[step].contained(cells)
        return self.store.make(step, tuple(end if i else 1 - end for i in inside))

    def _counting(self, event: AtLeast, negated: bool) -> int:
        """Return the diagram of a count, from the last step back: one node per count missing."""
        enough, short = (FALSE, TRUE) if negated else (TRUE, FALSE)
        total = len(event.steps)
        after: dict[int, int] = {}
        for seen in range(total - 1, -1, -1):
            step = event.steps[seen]
            inside = self.partitions[step].membership(event.cells)
            # Counts that cannot be reached any more, or are reached already, need no node.
            missing = range(max(1, event.count - seen), min(event.count, total - seen) + 1)
            self.store.require_room(step, len(missing))
            here = {}
            for count in missing:
                hit = after.get(count - 1, short) if count > 1 else enough
                miss = after.get(count, short)
                here[count] = self.store.make(step, tuple(hit if i else miss for i in inside))
            after = here
        if event.count == 0:
            return enough
        return after.get(event.count, short)


def _without_not(event: Event, negated: bool) -> _Signed:
    while isinstance(event, Not):
        event, negated = event.part, not negated
    return event, negated


def _is_or(event: Event, negated: bool) -> bool:
    """Tell whether a connective acts as an "or" once negation is pushed through it."""
    return isinstance(event, And) == negated


def _automaton_of(
    event: Event,
    root: int,
    store: DiagramStore,
    partitions: dict[int, Partition],
    max_worlds: int,
) -> Automaton:
    """Cut a diagram into layers: the worlds after a step are the nodes its cut leads to."""
    if root in (FALSE, TRUE):
        return Automaton((), root == TRUE)
    steps = sorted(store.reachable(root))
    shared_moves: dict[_Moves, _Moves] = {}
    shared_classes: dict[_Classes, _Classes] = {}
    layers: list[Layer] = []
    worlds = [root]
    widest = (1, steps[0])
    for step in steps:
        rows = [
            store.arrows(world) if world > TRUE and store.step(world) == step else None
            for world in worlds
        ]
        if widest[0] > max_worlds:
            # Too wide already: only look for how wide it gets.
            following = {t for w, row in zip(worlds, rows, strict=True) for t in row or (w,)}
            worlds = sorted(following)
        else:
            classes, columns = _merged_classes(partitions[step].classes, rows)
            targets = [
                (world,) * len(columns) if row is None else tuple(row[c] for c in columns)
                for world, row in zip(worlds, rows, strict=True)
            ]
            last = step == steps[-1]
            numbers = {FALSE: 0, TRUE: 1} if last else {}
            for row in targets:
                for target in row:
                    numbers.setdefault(target, len(numbers))
            moves = tuple(tuple(numbers[target] for target in row) for row in targets)
            # Long events repeat their layers: keep one copy of what is equal.
            moves = shared_moves.setdefault(moves, moves)
            classes = shared_classes.setdefault(classes, classes)
            layers.append(Layer(step, classes, moves, len(numbers)))
            worlds = list(numbers)
        widest = max(widest, (len(worlds), step), key=lambda found: found[0])
    if widest[0] > max_worlds:
        raise _too_wide(event, *widest, max_worlds)
    return Automaton(tuple(layers), None)


def _merged_classes(
    classes: tuple[frozenset[int], ...], rows: list[tuple[int, ...] | None]
) -> tuple[tuple[frozenset[int], ...], list[int]]:
    """Merge classes that behave alike in every world.

    Returns the merged classes and, for class 0 and each of them, one column to read.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    columns = zip(*(row for row in rows if row is not None), strict=True)
    for number, column in enumerate(columns):
        groups.setdefault(column, []).append(number)
    merged = []
    for members in groups.values():
        if members[0] != 0:
            cells = frozenset().union(*(classes[number - 1] for number in members))
            merged.append((members[0], cells))
    # Classes are ordered by smallest cell, so the first members are in order already.
    return tuple(cells for _, cells in merged), [0, *(first for first, _ in merged)]


def _too_wide(event: Event, worlds: int, step: int, max_worlds: int) -> TooManyWorlds:
    return TooManyWorlds(
        f"The event needs {worlds:,} worlds after step {step}, more than the limit of "
        f"{max_worlds:,}. {_open_parts(event, step)} Raise max_worlds, or ask for less."
    )


def _too_wide_inside(event: Event, found: DiagramTooWide, max_worlds: int) -> TooManyWorlds:
    return TooManyWorlds(
        f"Compiling the event needs at least {found.nodes:,} worlds at step {found.step}, far "
        f"more than the limit of {max_worlds:,}. {_open_parts(event, found.step)} "
        "Raise max_worlds, or ask for less."
    )


def _too_much_work(event: Event) -> TooManyWorlds:
    return TooManyWorlds(
        f"Compiling the event was given up after {MAX_ARROWS:,} moves between worlds, in the part "
        f"'{abbreviated(event, SHOWN_LENGTH)}' (steps {event.first_step} to {event.last_step}). "
        "Protect it as several smaller events, or name fewer regions per step."
    )


def _open_parts(event: Event, step: int) -> str:
    """Say which parts of an event have begun but not ended at a step: they make it wide."""
    node, negated = _without_not(event, False)
    if not isinstance(node, Junction):
        return f"It counts up to a large number: '{abbreviated(node, SHOWN_LENGTH)}'."
    begun: list[Event] = []
    stack: list[_Signed] = [(node, negated)]
    while stack:
        part, sign = _without_not(*stack.pop())
        if isinstance(part, Junction) and _is_or(part, sign) == _is_or(node, negated):
            stack.extend((below, sign) for below in reversed(part.parts))
        elif _spans(part, step):
            begun.append(part)
    listed = ", ".join(f"'{abbreviated(part, SHOWN_LENGTH)}'" for part in begun[:SHOWN_PARTS])
    more = f" and {len(begun) - SHOWN_PARTS:,} more" if len(begun) > SHOWN_PARTS else ""
    return (
        f"All of what has begun by then and ends later must be remembered together: {listed}{more}."
    )


def _spans(part: Event, step: int) -> bool:
    if part.first_step is None or part.last_step is None:
        return False
    return part.first_step <= step < part.last_step
