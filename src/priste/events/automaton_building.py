"""From a formula to the smallest automaton of worlds.

Every part of the formula is turned into a decision diagram (:mod:`building`,
:mod:`diagram`), the innermost first, and the diagram of the whole is cut into layers.
Chosen over rewriting the whole formula step by step ("residuals"), because a rewritten
formula is only as small as the rewriting rules see, while a diagram is always the
smallest form of its part: what is wide on the way is a part that is wide by itself.
Parts may be ``INTERMEDIATE_FACTOR`` times wider than the limit before compiling gives up.
"""

from __future__ import annotations

from collections.abc import Sequence

from priste.events.automaton import Automaton, Layer
from priste.events.building import DiagramBuilder
from priste.events.diagram import FALSE, TRUE, DiagramStore
from priste.events.event_words import too_wide
from priste.events.formula import Event
from priste.events.partitions import Partition, partitions_of

_Moves = tuple[tuple[int, ...], ...]
_Classes = tuple[frozenset[int], ...]
_Row = tuple[int, ...] | None
"""The arrows of a world at a step, or None for a world that does not read it."""


def compile_event(event: Event, max_worlds: int) -> Automaton:
    """Return the smallest automaton of an event; see :meth:`Event.automaton`."""
    partitions = partitions_of(event)
    builder = DiagramBuilder(event, partitions, max_worlds)
    root = builder.build()
    if root in (FALSE, TRUE):
        return Automaton((), root == TRUE)
    return _Layering(builder.store, partitions).automaton(event, root, max_worlds)


def require_width(event: Event, automaton: Automaton, max_worlds: int) -> None:
    """Raise :class:`TooManyWorlds` if an automaton is wider than the limit."""
    if automaton.width > max_worlds:
        widest = max(automaton.layers, key=lambda layer: layer.worlds_after)
        raise too_wide(event, widest.step, widest.worlds_after, max_worlds)


class _Layering:
    """Cuts a diagram into layers: the worlds after a step are the nodes its cut leads to."""

    def __init__(self, store: DiagramStore, partitions: dict[int, Partition]) -> None:
        self._store = store
        self._partitions = partitions
        # Long events repeat their layers: one copy is kept of what is equal.
        self._moves: dict[_Moves, _Moves] = {}
        self._classes: dict[_Classes, _Classes] = {}

    def automaton(self, event: Event, root: int, max_worlds: int) -> Automaton:
        steps = sorted({self._store.step(node) for node in self._store.reachable([root])})
        layers: list[Layer] = []
        worlds = [root]
        widest, widest_step = 1, steps[0]
        for step in steps:
            if widest > max_worlds:
                # Too wide already: go on only to say how wide it gets.
                worlds = self._following(step, worlds)
            else:
                layer, worlds = self._layer(step, worlds, is_last=step == steps[-1])
                layers.append(layer)
            if len(worlds) > widest:
                widest, widest_step = len(worlds), step
        if widest > max_worlds:
            raise too_wide(event, widest_step, widest, max_worlds)
        return Automaton(tuple(layers), None)

    def _layer(self, step: int, worlds: list[int], is_last: bool) -> tuple[Layer, list[int]]:
        """Return a layer and the nodes that are the worlds after it, in order."""
        rows = [self._row(step, world) for world in worlds]
        classes, columns = merged_classes(self._partitions[step].classes, rows)
        # Worlds are numbered as they are reached, except the last: did not happen, happened.
        numbers = {FALSE: 0, TRUE: 1} if is_last else {}
        moves = []
        for world, row in zip(worlds, rows, strict=True):
            targets = [world] * len(columns) if row is None else [row[c] for c in columns]
            moves.append(tuple(numbers.setdefault(t, len(numbers)) for t in targets))
        kept_moves = self._moves.setdefault(tuple(moves), tuple(moves))
        kept_classes = self._classes.setdefault(classes, classes)
        return Layer(step, kept_classes, kept_moves, len(numbers)), list(numbers)

    def _following(self, step: int, worlds: list[int]) -> list[int]:
        return list({t for world in worlds for t in self._row(step, world) or (world,)})

    def _row(self, step: int, world: int) -> _Row:
        if world > TRUE and self._store.step(world) == step:
            return self._store.arrows(world)
        return None


def merged_classes(classes: _Classes, rows: Sequence[_Row]) -> tuple[_Classes, list[int]]:
    """Merge classes that behave alike in every world.

    Returns the merged classes and, for class 0 and each of them, one column to read.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    columns = zip(*(row for row in rows if row is not None), strict=True)
    for number, column in enumerate(columns):
        groups.setdefault(column, []).append(number)
    # The first group is class 0 with all that behaves like it. The others come in the order
    # of their first members, which is the order of their smallest cells.
    first, *named = groups.values()
    merged = tuple(frozenset().union(*(classes[n - 1] for n in members)) for members in named)
    return merged, [first[0], *(members[0] for members in named)]
