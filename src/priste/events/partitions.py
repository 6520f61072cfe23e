"""Which cells the event distinguishes at a step: those that some region separates."""

from __future__ import annotations

from collections.abc import Iterable

from priste.events.formula import At, AtLeast, Event, walk


class Partition:
    """The cells of one step in classes that its regions cannot split.

    Class 0 is every cell in no region, with no end; ``classes[k]`` is class ``k + 1``,
    ordered by smallest cell.
    """

    def __init__(self, regions: Iterable[frozenset[int]]) -> None:
        class_of: dict[int, int] = {}
        made = 0
        for region in regions:
            split: dict[int, int] = {}
            for cell in region:
                old = class_of.get(cell, 0)
                if old not in split:
                    made += 1
                    split[old] = made
                class_of[cell] = split[old]
        members: dict[int, list[int]] = {}
        for cell, number in class_of.items():
            members.setdefault(number, []).append(cell)
        self.classes = tuple(sorted(map(frozenset, members.values()), key=min))
        self._first_cells = [min(cells) for cells in self.classes]
        self._memberships: dict[frozenset[int], tuple[bool, ...]] = {}

    def membership(self, region: frozenset[int]) -> tuple[bool, ...]:
        """Return for each class, 0 first, whether it lies in a region of this step."""
        found = self._memberships.get(region)
        if found is None:
            found = self._memberships[region] = self.contained(region)
        return found

    def contained(self, cells: frozenset[int]) -> tuple[bool, ...]:
        """Return the same of any union of classes, without remembering the answer."""
        return (False, *(cell in cells for cell in self._first_cells))


def partitions_of(event: Event) -> dict[int, Partition]:
    """Return the partition of every step an event names; steps with equal regions share one."""
    named: dict[int, frozenset[int] | set[frozenset[int]]] = {}
    for node in walk(event):
        if isinstance(node, At):
            _name(named, node.step, node.cells)
        elif isinstance(node, AtLeast):
            for step in node.steps:
                _name(named, step, node.cells)
    shared: dict[frozenset[frozenset[int]], Partition] = {}
    partitions = {}
    for step, regions in named.items():
        key = frozenset((regions,)) if isinstance(regions, frozenset) else frozenset(regions)
        if key not in shared:
            # Sorted, so that equal events are compiled by equal steps in every process.
            shared[key] = Partition(sorted(key, key=sorted))
        partitions[step] = shared[key]
    return partitions


def _name(
    named: dict[int, frozenset[int] | set[frozenset[int]]], step: int, region: frozenset[int]
) -> None:
    # Nearly every step names one region: a set for each would cost a million-step event dearly.
    known = named.get(step)
    if known is None:
        named[step] = region
    elif isinstance(known, set):
        known.add(region)
    elif known != region:
        named[step] = {known, region}
