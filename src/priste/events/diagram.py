"""Decision diagrams over steps: every formula's meaning in one smallest form.

A node reads the cell at its step and points to what is left to decide, for each class
of cells of that step. Nodes are made once per content and never when all their arrows
agree, so two diagrams in one store are the same function exactly when they are the same
number: combining diagrams keeps every intermediate result the smallest possible.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import repeat

FALSE = 0
TRUE = 1
"""The two ends of every diagram; all other numbers are nodes."""

COLLECT_AFTER = 1_000_000
"""Unused nodes are looked for when this many were made, or as many as were in use."""

_OPEN = -1
_Choice = tuple[int, int, int]
"""A condition, and the diagrams to follow where it holds and where it does not."""


class DiagramTooWide(Exception):
    """Too many nodes at one step; caught inside the package and worded for the user."""

    def __init__(self, step: int, nodes: int) -> None:
        super().__init__(step, nodes)
        self.step = step
        self.nodes = nodes


class WorkExhausted(Exception):
    """The allowed work is done or the allowed room is full; caught inside the package."""


class DiagramStore:
    """Nodes shared by all diagrams made while one event is compiled.

    ``max_nodes`` bounds the nodes a single operation may need at one step, ``max_work`` all
    the arrows ever followed, and ``max_room`` the arrows kept at one time. Each ends an
    operation with an exception instead of exhausting time or memory.
    """

    def __init__(self, max_nodes: int, max_work: int, max_room: int) -> None:
        self._contents: list[tuple[int, ...]] = [(), ()]
        self._numbers: dict[tuple[int, ...], int] = {}
        self._free: list[int] = []
        self._max_nodes = max_nodes
        self._work_left = max_work
        self._room_left = max_room
        self._made_since_collection = 0

    def step(self, node: int) -> int:
        """Return the step a node reads; not for FALSE and TRUE."""
        return self._contents[node][0]

    def arrows(self, node: int) -> tuple[int, ...]:
        """Return where a node leads, one entry per class of cells; not for FALSE and TRUE."""
        return self._contents[node][1:]

    def make(self, step: int, arrows: tuple[int, ...]) -> int:
        """Return the node with these arrows, or what they all point to."""
        if arrows.count(arrows[0]) == len(arrows):
            return arrows[0]
        content = (step, *arrows)
        node = self._numbers.get(content)
        if node is None:
            self._room_left -= len(arrows)
            if self._room_left < 0:
                raise WorkExhausted
            self._made_since_collection += 1
            if self._free:
                node = self._free.pop()
                self._contents[node] = content
            else:
                node = len(self._contents)
                self._contents.append(content)
            self._numbers[content] = node
        return node

    def require_room(self, step: int, nodes: int) -> None:
        """Raise :class:`DiagramTooWide` if one operation needs too many nodes at a step."""
        if nodes > self._max_nodes:
            raise DiagramTooWide(step, nodes)

    def join(self, diagrams: Iterable[int], absorbing: int) -> int:
        """Join with ``and`` (``absorbing`` FALSE) or ``or`` (TRUE).

        Diagrams that start late are joined first. Then each further one is only walked
        over its own steps and the rest hangs unchanged below, so joining thousands of
        short events along a long time is linear.
        """
        neutral = 1 - absorbing
        remaining = []
        for diagram in set(diagrams):
            if diagram == absorbing:
                return absorbing
            if diagram != neutral:
                remaining.append(diagram)
        remaining.sort(key=lambda node: (-self.step(node), node))
        result = neutral
        for diagram in remaining:
            result = self._join_two(diagram, result, absorbing)
            if result == absorbing:
                break
        return result

    def _join_two(self, first: int, second: int, absorbing: int) -> int:
        if first > TRUE and second > TRUE:
            step, *arrows = self._contents[first]
            if step < self._contents[second][0] and max(arrows) <= TRUE:
                # A predicate above everything else: the whole rest hangs below unchanged.
                return self.make(step, tuple(t if t == absorbing else second for t in arrows))
        if absorbing == TRUE:
            return self.choose(first, TRUE, second)
        return self.choose(first, second, FALSE)

    def choose(self, condition: int, then: int, otherwise: int) -> int:
        """Return the diagram that equals ``then`` where ``condition`` holds, else ``otherwise``.

        Works level by level: what can be met together is found downwards, nodes are made
        upwards. Costs no more than the product of the three sizes, and only walks
        ``condition`` where it ends before the other two begin.
        """
        start = (condition, then, otherwise)
        # What every choice becomes. One that needs no walk is entered at once, any other
        # gets a place here when it is found and its node on the way back up.
        made = {start: _closed(condition, then, otherwise)}
        if made[start] != _OPEN:
            return made[start]
        contents = self._contents
        levels: dict[int, dict[_Choice, list[_Choice]]] = {self._top(start): {start: []}}
        waiting = list(levels)
        order = []
        while waiting:
            step = heapq.heappop(waiting)
            order.append(step)
            level = levels[step]
            self.require_room(step, len(level))
            for choice in level:
                columns = [
                    content[1:] if content and content[0] == step else repeat(node)
                    for node in choice
                    for content in (contents[node],)
                ]
                targets = level[choice] = list(zip(*columns, strict=False))
                self._work_left -= len(targets)
                for target in targets:
                    if target not in made:
                        known = made[target] = _closed(*target)
                        if known == _OPEN:
                            top = self._top(target)
                            if top not in levels:
                                levels[top] = {}
                                heapq.heappush(waiting, top)
                            levels[top][target] = []
            if self._work_left < 0:
                raise WorkExhausted
        for step in reversed(order):
            for choice, targets in levels[step].items():
                made[choice] = self.make(step, tuple([made[target] for target in targets]))
        return made[start]

    def _top(self, choice: _Choice) -> int:
        return min(self._contents[node][0] for node in choice if node > TRUE)

    def reachable(self, roots: Iterable[int]) -> set[int]:
        """Return all nodes at or below some roots, without FALSE and TRUE."""
        seen: set[int] = set()
        stack = [node for node in roots if node > TRUE]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                stack.extend(below for below in self.arrows(node) if below > TRUE)
        return seen

    @property
    def wants_collection(self) -> bool:
        """Whether enough nodes were made for :meth:`keep_only` to save time."""
        in_use = len(self._contents) - len(self._free)
        return self._made_since_collection > max(COLLECT_AFTER, in_use // 2)

    def keep_only(self, roots: Iterable[int]) -> None:
        """Forget every node not at or below some roots; all other diagrams become invalid."""
        kept = self.reachable(roots)
        for content, node in list(self._numbers.items()):
            if node not in kept:
                del self._numbers[content]
                self._room_left += len(content) - 1
                self._contents[node] = ()
                self._free.append(node)
        self._made_since_collection = 0


def _closed(condition: int, then: int, otherwise: int) -> int:
    """Return what a choice becomes where that is known at once, else ``_OPEN``."""
    if condition <= TRUE:
        return then if condition == TRUE else otherwise
    if then == otherwise:
        return then
    if then in (TRUE, condition) and otherwise in (FALSE, condition):
        return condition
    return _OPEN
