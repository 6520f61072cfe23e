"""Decision diagrams over steps: every formula's meaning in one smallest form.

A node reads the cell at its step and points to what is left to decide, for each class
of cells of that step. Nodes are made once per content and never when all their arrows
agree, so two diagrams in one store are the same function exactly when they are the same
number: combining diagrams keeps every intermediate result the smallest possible.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

FALSE = 0
TRUE = 1
"""The two ends of every diagram."""

_Pair = tuple[int, int]


class DiagramTooWide(Exception):
    """Too many nodes at one step; caught inside the package and told in the user's words."""

    def __init__(self, step: int, nodes: int) -> None:
        super().__init__(step, nodes)
        self.step = step
        self.nodes = nodes


class WorkExhausted(Exception):
    """The allowed number of arrows was drawn; caught inside the package."""


class DiagramStore:
    """Nodes shared by all diagrams made while one event is compiled.

    ``max_nodes`` bounds the nodes a single operation may need at one step, ``max_arrows``
    all the arrows ever drawn. Both end an operation with an exception instead of
    exhausting time and memory.
    """

    def __init__(self, max_nodes: int, max_arrows: int) -> None:
        self._contents: list[tuple[int, ...]] = [(), ()]
        self._numbers: dict[tuple[int, ...], int] = {}
        self._max_nodes = max_nodes
        self._arrows_left = max_arrows

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
            self.spend(len(arrows))
            node = self._numbers[content] = len(self._contents)
            self._contents.append(content)
        return node

    def spend(self, arrows: int) -> None:
        """Count arrows drawn; raise :class:`WorkExhausted` when there were too many."""
        self._arrows_left -= arrows
        if self._arrows_left < 0:
            raise WorkExhausted

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
        known = _decided(first, second, absorbing)
        if known is not None:
            return known
        step = self.step(first)
        if step < self.step(second):
            arrows = self.arrows(first)
            if max(arrows) <= TRUE:
                # A predicate above everything else: the whole rest hangs below unchanged.
                return self.make(step, tuple(t if t == absorbing else second for t in arrows))
        return self._walk_pairs((first, second), absorbing)

    def _walk_pairs(self, start: _Pair, absorbing: int) -> int:
        """Join two diagrams level by level: pairs found downwards, nodes made upwards."""
        levels: dict[int, dict[_Pair, list[_Pair]]] = {self._top(start): {start: []}}
        waiting = list(levels)
        order = []
        while waiting:
            step = heapq.heappop(waiting)
            order.append(step)
            level = levels[step]
            self.require_room(step, len(level))
            for pair, targets in level.items():
                targets.extend(self._moves(pair, step))
                self.spend(len(targets))
                for target in set(targets):
                    if _decided(*target, absorbing) is None:
                        below = self._top(target)
                        if below not in levels:
                            levels[below] = {}
                            heapq.heappush(waiting, below)
                        levels[below].setdefault(target, [])
        made: dict[_Pair, int] = {}
        for step in reversed(order):
            for pair, targets in levels[step].items():
                ends = {t: _decided(*t, absorbing) for t in set(targets)}
                arrows = []
                for target in targets:
                    end = ends[target]
                    arrows.append(made[target] if end is None else end)
                made[pair] = self.make(step, tuple(arrows))
        return made[start]

    def _top(self, pair: _Pair) -> int:
        return min(self._contents[pair[0]][0], self._contents[pair[1]][0])

    def _moves(self, pair: _Pair, step: int) -> Iterable[_Pair]:
        first, second = self._contents[pair[0]], self._contents[pair[1]]
        if first[0] != step:
            return [(pair[0], target) for target in second[1:]]
        if second[0] != step:
            return [(target, pair[1]) for target in first[1:]]
        return list(zip(first[1:], second[1:], strict=True))

    def reachable(self, root: int) -> dict[int, list[int]]:
        """Return the nodes below ``root`` (itself included) by step."""
        by_step: dict[int, list[int]] = {}
        seen = {FALSE, TRUE}
        stack = [root]
        while stack:
            node = stack.pop()
            if node not in seen:
                seen.add(node)
                by_step.setdefault(self.step(node), []).append(node)
                stack.extend(self.arrows(node))
        return by_step


def _decided(first: int, second: int, absorbing: int) -> int | None:
    """Return the join of two diagrams where it can be told at once."""
    if first == second or second == 1 - absorbing:
        return first
    if first == 1 - absorbing:
        return second
    if first == absorbing or second == absorbing:
        return absorbing
    return None
