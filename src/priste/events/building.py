"""From a formula to its diagram, without recursion.

``not`` is pushed down to the predicates, where it costs nothing. A chain of one connective is
joined at once, however long. Chains nested in chains are worked off from the inside, which
rebuilds the diagram at every level: nesting is limited to ``MAX_NESTING`` levels.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from priste.events.diagram import FALSE, TRUE, DiagramStore, DiagramTooWide, WorkExhausted
from priste.events.event_words import too_deep, too_much_work, too_wide_inside
from priste.events.formula import (
    At,
    AtLeast,
    Constant,
    Event,
    Junction,
    Signed,
    is_or,
    unknown_formula,
    walk,
    without_not,
)
from priste.events.partitions import Partition

INTERMEDIATE_FACTOR = 16
"""How many times wider than the limit a part of the formula may be on the way."""

MAX_WORK = 50_000_000
"""The most arrows followed for one event: a few minutes."""

MAX_ROOM = 20_000_000
"""The most arrows kept at one time: about 2 GB."""

MAX_NESTING = 1_000
"""How many times "and" and "or" may alternate on the way into a formula."""

_Key = tuple[int, bool]
"""A formula by identity, and whether its negation is meant."""


@dataclass(slots=True)
class _Chain:
    """What one connective joins: predicates by step, and other parts."""

    absorbing: int
    places: dict[int, list[tuple[frozenset[int], bool]]] = field(default_factory=dict)
    others: list[Signed] = field(default_factory=list)


class DiagramBuilder:
    """Builds the diagram of one event, part by part, without recursion."""

    def __init__(self, event: Event, partitions: dict[int, Partition], max_worlds: int) -> None:
        self.store = DiagramStore(INTERMEDIATE_FACTOR * max_worlds, MAX_WORK, MAX_ROOM)
        self._event = event
        self._partitions = partitions
        self._max_worlds = max_worlds
        # Parts used in several places are compiled once, on their own.
        self._uses: dict[int, int] = {}
        for node in walk(event):
            for part in node.parts if isinstance(node, Junction) else ():
                used = id(without_not(part, False)[0])
                self._uses[used] = self._uses.get(used, 0) + 1
        self._done: dict[_Key, int] = {}

    def build(self) -> int:
        """Return the diagram of the event.

        Raises :class:`TooManyWorlds` if it is too wide, InvalidParameter if it is nested deeper
        than ``MAX_NESTING``.
        """
        top = without_not(self._event, False)
        chains: dict[_Key, _Chain] = {}
        stack = [(top, 1)]
        while stack:
            (node, negated), depth = stack[-1]
            key = (id(node), negated)
            if key in self._done:
                stack.pop()
                continue
            if isinstance(node, Junction) and key not in chains:
                if depth > MAX_NESTING:
                    raise too_deep(MAX_NESTING)
                chains[key] = self._chain(node, negated)
                stack.extend((part, depth + 1) for part in chains[key].others)
                continue
            self._done[key] = self._diagram(node, negated, chains.pop(key, None))
            stack.pop()
            if self.store.wants_collection:  # forget nodes that are part of nothing, now and then
                self.store.keep_only(list(self._done.values()))
        return self._done[_key(top)]

    def _diagram(self, node: Event, negated: bool, chain: _Chain | None) -> int:
        try:
            if chain is not None:
                return self.store.join(self._operands(chain), chain.absorbing)
            if isinstance(node, Constant):
                return TRUE if node.value != negated else FALSE
            if isinstance(node, At):
                return self._place(node.step, [(node.cells, negated)], FALSE)
            if isinstance(node, AtLeast):
                return self._counting(node, negated)
            unknown_formula(node)
        except DiagramTooWide as found:
            raise too_wide_inside(node, found.step, found.nodes, self._max_worlds) from None
        except WorkExhausted:
            raise too_much_work(node) from None

    def _chain(self, node: Event, negated: bool) -> _Chain:
        """Collect what a chain of one connective joins, as far as no part is used by another."""
        acts_as_or = is_or(node, negated)
        chain = _Chain(TRUE if acts_as_or else FALSE)
        stack: list[Signed] = [(part, negated) for part in node.parts]
        while stack:
            part, sign = without_not(*stack.pop())
            if isinstance(part, At):
                chain.places.setdefault(part.step, []).append((part.cells, sign))
            elif self._is_own_chain(part) and is_or(part, sign) == acts_as_or:
                stack.extend((below, sign) for below in part.parts)
            else:
                chain.others.append((part, sign))
        return chain

    def _is_own_chain(self, part: Event) -> bool:
        return isinstance(part, Junction) and self._uses[id(part)] == 1

    def _operands(self, chain: _Chain) -> list[int]:
        diagrams = [self._taken(part) for part in chain.others]
        for step, regions in chain.places.items():
            diagrams.append(self._place(step, regions, chain.absorbing))
        return diagrams

    def _place(self, step: int, regions: list[tuple[frozenset[int], bool]], absorbing: int) -> int:
        """Return the diagram of predicates of one step (with signs) joined at once."""
        partition = self._partitions[step]
        if len(regions) == 1:
            ((region, negated),) = regions
            return self._inside(step, partition.membership(region), FALSE if negated else TRUE)
        # Worked out on cells rather than class by class: a step may name a million regions.
        plain = [region for region, negated in regions if not negated]
        hollow = [region for region, negated in regions if negated]
        if absorbing == FALSE:
            # "and" is the negation of "or" with all signs changed.
            plain, hollow = hollow, plain
        union: frozenset[int] = frozenset().union(*plain)
        if not hollow:
            return self._inside(step, partition.contained(union), absorbing)
        gap = hollow[0].intersection(*hollow) - union
        return self._inside(step, partition.contained(gap), 1 - absorbing)

    def _inside(self, step: int, inside: tuple[bool, ...], end: int) -> int:
        """Return the diagram that ends in ``end`` in some classes and in the other for the rest."""
        return self.store.make(step, tuple(end if i else 1 - end for i in inside))

    def _counting(self, event: AtLeast, negated: bool) -> int:
        """Return the diagram of a count, from the last step back: one node per count missing."""
        enough, short = (FALSE, TRUE) if negated else (TRUE, FALSE)
        total = len(event.steps)
        if event.count == 0 or event.count > total:
            return short if event.count else enough
        # The most counts are open where neither end of the steps cuts them off.
        widest = min(event.count, total - event.count + 1)
        self.store.require_room(event.steps[widest - 1], widest)
        after: dict[int, int] = {}
        for seen in range(total - 1, -1, -1):
            step = event.steps[seen]
            inside = self._partitions[step].membership(event.cells)
            # Counts that cannot be reached any more, or are reached already, need no node.
            missing = range(max(1, event.count - seen), min(event.count, total - seen) + 1)
            here = {}
            for count in missing:
                hit = after.get(count - 1, short) if count > 1 else enough
                miss = after.get(count, short)
                here[count] = self.store.make(step, tuple(hit if i else miss for i in inside))
            after = here
        return after[event.count]

    def _taken(self, part: Signed) -> int:
        """Return a finished part, and let go of it if nothing else uses it."""
        if self._uses[id(part[0])] == 1:
            return self._done.pop(_key(part))
        return self._done[_key(part)]


def _key(part: Signed) -> _Key:
    return id(part[0]), part[1]
