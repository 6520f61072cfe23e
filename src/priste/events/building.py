"""From a formula to its diagram, however large and however deep.

``not`` is pushed down to the predicates, where it costs nothing. A chain of one
connective is joined at once. Chains nested in chains are followed along *spines*: from a
chain to its largest inner chain, and so on; what hangs off a spine is smaller by half, so
it is never deeper than the logarithm of the formula. A long spine is not worked off from
its inner end, which would rebuild ever larger diagrams a million times over, but by
halves. A piece of spine is a function of what lies inside it, and since only "and" and
"or" are left it is known by two diagrams: its value with "always" and with "never" inside.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from priste.events.diagram import FALSE, TRUE, DiagramStore, DiagramTooWide, WorkExhausted
from priste.events.explanation import too_much_work, too_wide_inside
from priste.events.formula import At, AtLeast, Constant, Event, Junction, unknown_formula, walk
from priste.events.negation import Signed, is_or, without_not
from priste.events.partitions import Partition

INTERMEDIATE_FACTOR = 16
"""How many times wider than the limit a part of the formula may be on the way."""

MAX_WORK = 50_000_000
"""The most arrows followed for one event: a few minutes."""

MAX_ROOM = 20_000_000
"""The most arrows kept at one time: about 2 GB."""

SHORT_SPINE = 16
"""Spines of at most this many chains are worked off from the inside."""

_Key = tuple[int, bool]
"""A formula by identity, and whether its negation is meant."""

_Piece = tuple[int, int]
"""A piece of spine: its diagram with "always" inside, and with "never" inside."""


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
        self._sizes: dict[int, int] = {}
        for node in walk(event):
            size = 1
            for part in node.parts:
                size += self._sizes[id(part)]
                if isinstance(node, Junction):
                    used = id(without_not(part, False)[0])
                    self._uses[used] = self._uses.get(used, 0) + 1
            # Shared parts make true sizes astronomical; a bound keeps the numbers small.
            self._sizes[id(node)] = min(size, 2**62)
        self._done: dict[_Key, int] = {}

    def build(self) -> int:
        """Return the diagram of the event; raise :class:`TooManyWorlds` if it is too wide."""
        top = without_not(self._event, False)
        spines: dict[_Key, list[_Chain]] = {}
        stack = [top]
        while stack:
            node, negated = stack[-1]
            key = (id(node), negated)
            if key in self._done:
                stack.pop()
                continue
            if isinstance(node, Junction) and key not in spines:
                spines[key] = self._spine(node, negated)
                stack.extend(
                    part
                    for chain in spines[key]
                    for part in chain.others
                    if (id(part[0]), part[1]) not in self._done
                )
                continue
            self._done[key] = self._diagram(node, negated, spines.pop(key, []))
            stack.pop()
            self._tidy([])
        return self._done[_key(top)]

    def _diagram(self, node: Event, negated: bool, spine: list[_Chain]) -> int:
        try:
            if isinstance(node, Junction):
                return self._spine_diagram(spine)
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

    def _spine(self, node: Junction, negated: bool) -> list[_Chain]:
        """Follow the largest inner chains from a chain inwards, outermost first."""
        spine = []
        inner: Signed | None = (node, negated)
        while inner is not None:
            chain = self._chain(*inner)
            spine.append(chain)
            inner = max(
                (part for part in chain.others if self._is_own_chain(part[0])),
                key=lambda part: self._sizes[id(part[0])],
                default=None,
            )
            if inner is not None:
                chain.others.remove(inner)
        return spine

    def _chain(self, node: Event, negated: bool) -> _Chain:
        """Collect what a chain of one connective joins, as far as no part is used elsewhere."""
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

    def _spine_diagram(self, spine: list[_Chain]) -> int:
        if len(spine) > SHORT_SPINE:
            return self._halved_spine(spine)
        inside: list[int] = []
        for chain in reversed(spine):
            inside = [self.store.join(self._operands(chain) + inside, chain.absorbing)]
        return inside[0]

    def _halved_spine(self, spine: list[_Chain]) -> int:
        """Work off a long spine from its outer end, in ever larger blocks.

        Where the outer chains decide everything, the inside need not be looked at.
        """
        pieces = self._pieces(spine)
        outer = (TRUE, FALSE)
        start = 0
        while start < len(pieces) and outer[0] != outer[1]:
            size = max(SHORT_SPINE, start)
            block = self._halved(pieces[start : start + size], [*pieces[start + size :], outer])
            outer = self._composed(outer, block)
            start += size
        return outer[0]

    def _pieces(self, spine: list[_Chain]) -> list[_Piece]:
        """Return the chains of a spine as pieces, without those that cannot matter.

        A chain matters only where every chain around it is undecided, that is, where the
        values joined by "or" are false and those joined by "and" are true. Met again
        further in, such a value is known: under its own connective it changes nothing,
        under the other it decides.
        """
        pieces: list[_Piece] = []
        known: dict[int, int] = {}
        neutral = TRUE
        for chain in spine:
            value = self.store.join(self._operands(chain), chain.absorbing)
            neutral = 1 - chain.absorbing
            if known.get(value) == chain.absorbing:
                neutral = chain.absorbing
                break
            if value not in known:
                known[value] = neutral
                pieces.append((TRUE, value) if chain.absorbing == TRUE else (value, FALSE))
        # The innermost chain has nothing inside it: it joins what changes nothing.
        return [*pieces, (neutral, neutral)]

    def _halved(self, pieces: list[_Piece], needed_later: list[_Piece]) -> _Piece:
        """Compose neighbouring pieces of spine two by two until one is left."""
        while len(pieces) > 1:
            halved = [
                self._composed(pieces[i], pieces[i + 1]) for i in range(0, len(pieces) - 1, 2)
            ]
            if len(pieces) % 2:
                halved.append(pieces[-1])
            pieces = halved
            self._tidy([*pieces, *needed_later])
        return pieces[0]

    def _composed(self, outer: _Piece, inner: _Piece) -> _Piece:
        always = self.store.choose(inner[0], *outer)
        never = always if inner[0] == inner[1] else self.store.choose(inner[1], *outer)
        return always, never

    def _tidy(self, pieces: list[_Piece]) -> None:
        """Forget nodes that are no longer part of anything, now and then."""
        if self.store.wants_collection:
            self.store.keep_only([*self._done.values(), *(d for piece in pieces for d in piece)])

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
        """Return the diagram that ends in ``end`` in some classes and in the other elsewhere."""
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
